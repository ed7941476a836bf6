"""Pickled data sets, read without importing or calling anything that they name.

A pickle is a program: it may name any function and call it. `load_pickle` first reads through its
operations and refuses those that data does not need, and those that could take far more memory or
time than the file is large. Then Python's own unpickler runs it, with a stand-in of ours for each
of the few names that arrays need; any other name is refused. Files that Python 2 or 3 and NumPy 1
or 2 wrote are read.
"""

import io
import pickle
import pickletools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from mmap import ACCESS_READ, mmap
from pathlib import Path
from pickletools import genops
from typing import Any, BinaryIO, cast, final

import numpy as np

from fsl_sweep.datasets.files.pickle_arrays import Named, PendingArray, PendingType, stand_ins
from fsl_sweep.orchestrator.errors import BadData, MachineFailure, MissingData

_MOST_OPERATIONS = 30_000_000
_FRAME_HEADER = 9
# Left out on purpose: instances, persistent ids, extension codes, sets, buffers outside the pickle,
# and what only tuples that contain themselves need (DUP, POP, POP_MARK).
_NEEDED = frozenset(
    """
    PROTO FRAME STOP MARK NONE NEWTRUE NEWFALSE INT BININT BININT1 BININT2 LONG LONG1 LONG4 FLOAT
    BINFLOAT STRING BINSTRING SHORT_BINSTRING UNICODE SHORT_BINUNICODE BINUNICODE BINUNICODE8
    BINBYTES SHORT_BINBYTES BINBYTES8 BYTEARRAY8 EMPTY_LIST LIST APPEND APPENDS EMPTY_TUPLE TUPLE
    TUPLE1 TUPLE2 TUPLE3 EMPTY_DICT DICT SETITEM SETITEMS PUT BINPUT LONG_BINPUT MEMOIZE GET BINGET
    LONG_BINGET GLOBAL STACK_GLOBAL REDUCE BUILD
    """.split()  # noqa: SIM905 (a list would take a line for each)
)
# The value below stays where it is, whatever kind it is.
_CHANGING = frozenset({"APPEND", "APPENDS", "SETITEM", "SETITEMS", "BUILD"})
_Kinds = list[pickletools.StackObject]


def load_pickle(source: Path | bytes, where: str | None = None) -> Any:
    """The lists, tuples, dicts, arrays, text, bytes and numbers in a pickle.

    It takes up to about twice the memory of the file, and up to 3 GB more for a file of very many
    small values.

    Args:
        source: a file, or its content.
        where: its name for messages; by default the path.

    Returns:
        The value. The ``str`` values of Python 2, which held text and bytes alike, are bytes.

    Raises:
        MissingData: there is no such file.
        BadData: it cannot be read, is damaged, or names anything that data does not need; the
            message names the file and the function or class.
        MachineFailure: it does not fit into memory.
    """
    where = where or ("a pickle" if isinstance(source, bytes) else str(source))
    with _opened(source, where) as (content, size, file):
        try:
            _scan(content, size)
            return _settled(_Unpickler(file, size).load(), {})
        except BadData as failure:
            raise BadData(f"{where} is {failure}") from None
        except MemoryError as failure:
            raise MachineFailure(
                f"{where} does not fit into the memory of this machine: reading its {size} bytes "
                "takes about twice as much. Prepare it on a larger machine."
            ) from failure
        except Exception as failure:  # a damaged pickle makes the unpickler raise anything at all
            raise BadData(
                f"{where} is damaged, or not a pickled data set ({failure})."
            ) from failure


def load_dict(source: Path | bytes, where: str) -> dict[str, Any]:
    """The dict in a pickle, as `load_pickle` gives it, with text for keys.

    Raises:
        MissingData, BadData, MachineFailure: as `load_pickle`, or it holds something else.
    """
    content = load_pickle(source, where)
    if not isinstance(content, dict):
        raise BadData(f"{where} holds a {type(content).__name__} instead of a dict.")
    return {as_text(key): value for key, value in content.items()}


def whole_numbers(value: Any) -> np.ndarray | None:
    """A list or array of integers as int64 ``[N]``; None for anything else."""
    try:
        numbers = np.asarray(value)
    except (ValueError, TypeError, OverflowError):
        return None
    if numbers.ndim != 1 or numbers.dtype.kind not in "iu":
        return None
    return numbers.astype(np.int64)


def as_text(value: Any) -> str:
    """The text of a value; bytes, as Python 2's text is read, are decoded."""
    return value.decode("latin1") if isinstance(value, bytes) else str(value)


@contextmanager
def _opened(source: Path | bytes, where: str) -> Iterator[tuple[mmap | io.BytesIO, int, BinaryIO]]:
    """The content to scan, its size, and the content again to load."""
    if isinstance(source, bytes):
        yield io.BytesIO(source), len(source), io.BytesIO(source)
        return
    try:
        with source.open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as content:
            yield content, len(content), file
    except FileNotFoundError as failure:
        raise MissingData(f"There is no file {where}.") from failure
    except (OSError, ValueError) as failure:  # an empty file cannot be mapped
        raise BadData(f"{where} cannot be read as a pickle ({failure}).") from failure


@final
class _Unpickler(pickle.Unpickler):
    def __init__(self, file: BinaryIO, size: int) -> None:
        super().__init__(file, encoding="bytes")
        self._stand_ins = stand_ins(size)

    def find_class(self, module: str, name: str) -> Named:
        """The stand-in for a name; nothing is imported."""
        found = self._stand_ins.get(f"{module}.{name}")
        if found is None:
            raise BadData(
                f"refused: it names {f'{module}.{name}'[:80]!r}, and a pickled data set needs only "
                "arrays, lists, dicts, text and numbers. Do not open it with Python's own pickle "
                "either; it may run code."
            )
        return found


def _scan(content: mmap | io.BytesIO, size: int) -> None:
    """Read through the operations, with a stack that holds only what kind of value there is.

    Refused are operations that no data set needs, too many of them, memo places far beyond the
    number of values (the unpickler allocates the memo up to there), frames that end inside an
    operation (the unpickler would read other operations than this scan), and tuples as keys
    (hashing nested ones may never end).
    """
    stack: _Kinds = []
    memo: dict[int, pickletools.StackObject] = {}
    frame_end = start = 0
    for count, (operation, argument, position) in enumerate(genops(cast(BinaryIO, content))):
        name = operation.name
        if name not in _NEEDED:
            raise BadData(
                f"not a pickled data set: it has the operation {name} at byte {position}, and "
                "lists, dicts, arrays, text and numbers do not need that one."
            )
        if count >= _MOST_OPERATIONS:
            raise BadData(f"refused: it has more than {_MOST_OPERATIONS:,} operations.")
        if start < frame_end < (position or 0):
            raise ValueError("a frame ends inside an operation")
        start = position or 0
        number = argument if isinstance(argument, int) else 0
        if name == "FRAME":
            if start < frame_end or start + _FRAME_HEADER + number > size:
                raise ValueError("a frame is longer than what follows")
            frame_end = start + _FRAME_HEADER + number
        elif name.endswith("PUT") or name == "MEMOIZE":
            place = len(memo) if name == "MEMOIZE" else number
            if place > count + 256:
                raise ValueError(f"it has no {place} values to remember")
            memo[place] = stack[-1]
        elif name.endswith("GET"):
            stack.append(memo[number])
        else:
            below, above = _taken(stack, operation.stack_before)
            if pickletools.pytuple in _keys(name, below, above):
                raise ValueError("a dict has a tuple as a key")
            stack.extend(below[:1] if name in _CHANGING else operation.stack_after)


def _taken(stack: _Kinds, before: Sequence[pickletools.StackObject]) -> tuple[_Kinds, _Kinds]:
    """Pop what an operation takes: what lies below a mark, or all without one; what lies above."""
    below, above = len(before), []
    if pickletools.markobject in before:
        while (kind := stack.pop()) is not pickletools.markobject:
            above.append(kind)
        below = before.index(pickletools.markobject)
    popped = [stack.pop() for _ in range(below)]
    if pickletools.markobject in popped:
        raise ValueError("a mark is where a value should be")
    return popped[::-1], above[::-1]


def _keys(name: str, below: _Kinds, above: _Kinds) -> _Kinds:
    if name == "SETITEM":
        return below[1:2]
    return above[::2] if name in ("DICT", "SETITEMS") else []


def _settled(value: Any, seen: dict[int, tuple[Any, Any]]) -> Any:
    """A value with arrays in the place of their stand-ins; lists and dicts are changed in place.

    Args:
        value: what was unpickled.
        seen: by identity, the lists, dicts and tuples so far and what became of them.
    """
    kind = type(value)
    if kind is PendingArray and value.value is not None:
        return value.value
    if kind in (PendingArray, PendingType, Named):
        raise ValueError("a part of an array stands where data should be")
    if kind not in (list, dict, tuple):
        return value
    if id(value) not in seen:
        seen[id(value)] = value, value
        if kind is list:
            value[:] = [_settled(part, seen) for part in value]
        elif kind is dict:
            items = [(_settled(key, seen), _settled(part, seen)) for key, part in value.items()]
            value.clear()
            value.update((getattr(key, "item", lambda key=key: key)(), part) for key, part in items)
        else:
            seen[id(value)] = value, tuple(_settled(part, seen) for part in value)
    return seen[id(value)][1]
