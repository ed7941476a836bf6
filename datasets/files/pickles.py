"""Pickled data sets, read without importing or calling anything that they name.

A pickle is a program: it may name any function and call it. The standard library's unpickler runs
it here with only the operations that data needs, and with a stand-in of ours for each of the few
names that arrays need; any other operation or name is refused. It is the unpickler that is written
in Python: the one in C allocates what a file only claims to hold, such as a memo of 2^31 places.
Files that Python 2 or 3 and NumPy 1 or 2 wrote are read.
"""

import io
import pickle
import pickletools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any, cast, final

import numpy as np

from fsl_sweep.datasets.files.pickle_arrays import Named, PendingArray, PendingType, stand_ins
from fsl_sweep.datasets.files.plain_file import check_plain
from fsl_sweep.orchestrator.errors import BadData, MachineFailure, MissingData

_MOST_OPERATIONS = 30_000_000
_Python = cast(Any, pickle)._Unpickler
_Operation = Callable[[Any], None]


def _unless_tuples_are_keys(code: bytes, keys: slice) -> _Operation:
    """Guard an operation that puts keys into a dict: hashing nested tuples may never end."""
    operation = _Python.dispatch[code[0]]

    def checked(unpickler: Any) -> None:
        if any(type(key) is tuple for key in unpickler.stack[keys]):
            raise ValueError("a dict has a tuple as a key")
        operation(unpickler)

    return checked


def _read_bytearray(unpickler: Any) -> None:
    """Do BYTEARRAY8 without allocating what the file only claims to hold."""
    size = int.from_bytes(unpickler.read(8), "little")
    unpickler.append(bytearray(unpickler.read(size)))


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
_NAMES = {ord(operation.code): operation.name for operation in pickletools.opcodes}
_OPERATIONS: dict[int, _Operation] = {
    **{code: _Python.dispatch[code] for code, name in _NAMES.items() if name in _NEEDED},
    pickle.BYTEARRAY8[0]: _read_bytearray,
    pickle.SETITEM[0]: _unless_tuples_are_keys(pickle.SETITEM, slice(-2, -1)),
    pickle.SETITEMS[0]: _unless_tuples_are_keys(pickle.SETITEMS, slice(None, None, 2)),
    pickle.DICT[0]: _unless_tuples_are_keys(pickle.DICT, slice(None, None, 2)),
}


def load_pickle(source: Path | bytes, where: str | None = None) -> Any:
    """Read the lists, tuples, dicts, arrays, text, bytes and numbers in a pickle.

    It takes up to about twice the memory of the file, and up to 3 GB more for a file of very many
    small values.

    The ``str`` values of Python 2, which held text and bytes alike, are bytes. ``where`` is the
    name for messages, by default the path.

    Raises:
        MissingData: there is no such file.
        BadData: it cannot be read, is damaged, or names anything that data does not need; the
            message names the file and the function or class.
        MachineFailure: it does not fit into memory.
    """
    where = where or ("a pickle" if isinstance(source, bytes) else str(source))
    with _opened(source, where) as (content, size):
        try:
            return _settled(_Unpickler(content, size).load(), {})
        except BadData as failure:
            raise BadData(f"{where} is {failure}") from None
        except MemoryError as failure:
            raise MachineFailure(
                f"{where} does not fit into the memory of this machine: reading its {size} bytes "
                "takes about twice as much. Prepare it on a larger machine."
            ) from failure
        except Exception as failure:  # a damaged pickle makes the unpickler raise anything at all
            problem = "it is cut off" if isinstance(failure, EOFError) else failure
            raise BadData(
                f"{where} is damaged, or not a pickled data set ({problem})."
            ) from failure


def load_dict(source: Path | bytes, where: str) -> dict[str, Any]:
    """Read the dict in a pickle, with text for keys.

    Raises:
        BadData: it holds no dict.
        As `load_pickle`.
    """
    content = load_pickle(source, where)
    if not isinstance(content, dict):
        raise BadData(f"{where} holds a {type(content).__name__} instead of a dict.")
    return {as_text(key): value for key, value in content.items()}


def whole_numbers(value: Any) -> np.ndarray | None:
    """Return a list or array of integers as int64 ``[N]``; None for anything else."""
    try:
        numbers = np.asarray(value)
    except (ValueError, TypeError, OverflowError):
        return None
    if numbers.ndim != 1 or numbers.dtype.kind not in "iu":
        return None
    return numbers.astype(np.int64)


def as_text(value: Any) -> str:
    """Return the text of a value; bytes, as Python 2's text is read, are decoded."""
    return value.decode("latin1") if isinstance(value, bytes) else str(value)


@contextmanager
def _opened(source: Path | bytes, where: str) -> Iterator[tuple[io.BytesIO | mmap, int]]:
    """Open the content, with its size; reading never allocates more than there is."""
    if isinstance(source, bytes):
        yield io.BytesIO(source), len(source)
        return
    check_plain(source)
    try:
        with source.open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as content:
            yield content, len(content)
    except FileNotFoundError as failure:
        raise MissingData(f"There is no file {where}.") from failure
    except (OSError, ValueError) as failure:  # an empty file cannot be mapped
        raise BadData(f"{where} cannot be read as a pickle ({failure}).") from failure


@final
class _Unpickler(_Python):
    def __init__(self, content: io.BytesIO | mmap, size: int) -> None:
        super().__init__(content, encoding="bytes")
        self._stand_ins, self._left = stand_ins(size), _MOST_OPERATIONS
        self.dispatch = self  # where the unpickler looks its operations up

    def __getitem__(self, code: int) -> _Operation:
        """Return what an operation of the pickle does."""
        self._left -= 1
        if self._left < 0:
            raise BadData(f"refused: it has more than {_MOST_OPERATIONS:,} operations.")
        if code not in _OPERATIONS:
            raise BadData(
                f"not a pickled data set: it has the operation {_NAMES.get(code, code)}, which "
                "lists, dicts, arrays, text and numbers do not need."
            )
        return _OPERATIONS[code]

    def find_class(self, module: str, name: str) -> Named:
        """Return the stand-in for a name; nothing is imported."""
        name = f"{module}.{name}"
        if name not in self._stand_ins:
            raise BadData(
                f"refused: it names {name[:80]!r}, and a pickled data set needs only "
                "arrays, lists, dicts, text and numbers. Do not open it with Python's own pickle "
                "either; it may run code."
            )
        return self._stand_ins[name]


def _settled(value: Any, seen: dict[int, tuple[Any, Any]]) -> Any:
    """Put arrays in place of their stand-ins; ``seen`` has what became of containers."""
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
