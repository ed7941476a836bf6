"""The stack machine that carries out a pickle, and that can make nothing but data."""

import struct
from collections.abc import Callable, Iterator
from mmap import mmap
from typing import Any, ClassVar, Literal, final

import numpy as np

from fsl_sweep.datasets.pickle_arrays import (
    Name,
    Payload,
    PendingArray,
    PendingType,
    admitted,
    construct,
    text_of,
)
from fsl_sweep.datasets.pickle_operations import Operation, operations
from fsl_sweep.orchestrator.errors import BadData

Encoding = Literal["latin1", "utf-8", "bytes"]
"""What becomes of the ``str`` values of Python 2: text in that encoding, or bytes."""

_MOST_VALUES = 10_000_000
_MOST_COPIED = 4 * 2**30
_MARK = object()
_PLAIN = frozenset({str, bytes, int, float, bool, type(None), list, dict, np.ndarray})
_CONSTANTS: dict[int, Any] = {0x4E: None, 0x88: True, 0x89: False, 0x29: ()}
_FAILURES = (ValueError, TypeError, IndexError, KeyError, OverflowError, RecursionError)


@final
class Machine:
    """The stack, the memo and what each operation does to them.

    Args:
        content: the pickle.
        where: the file, for messages.
        encoding: for the ``str`` values of Python 2.
        streaming: whether the outermost value is a list whose items are yielded by ``run`` and
            forgotten.

    Attributes:
        result: the outermost value, once ``run`` has ended; an emptied list while streaming.
    """

    def __init__(
        self, content: bytes | mmap, where: str, encoding: Encoding, streaming: bool
    ) -> None:
        self._content, self._where = content, where
        self._encoding, self._streaming = encoding, streaming
        self._stack: list[Any] = []
        self._memo: dict[int, Any] = {}
        self._memoized = 0
        self._held = self._copied = 0
        self._again: frozenset[int] = frozenset()
        self.result: Any = None

    def run(self) -> Iterator[Any]:
        """Carry out the pickle; while streaming, yield the items of the outermost list.

        Raises:
            BadData: it is damaged, too large, or names a function or class that data does not
                need; or it is not a list while streaming.
        """
        try:
            self._again = self._referred_to()
            for operation in operations(self._content, self._where):
                self._actions[operation.code](self, operation)
                if self._streaming and len(self._stack) == 1:
                    yield from self._items()
            (outermost,) = self._stack
            self.result = self._settled(outermost)
        except _FAILURES as failure:
            raise BadData(
                f"{self._where} is damaged, or not a pickled data set ({failure})."
            ) from failure

    def _referred_to(self) -> frozenset[int]:
        """The places of the memo that are read again: the others need not be filled."""
        places: set[int] = set()
        for operation in operations(self._content, self._where):
            if operation.code in b"ghj":
                places.add(_number(operation))
                if len(places) > _MOST_VALUES:
                    raise ValueError("it refers to its own parts too often")
        return frozenset(places)

    def _items(self) -> Iterator[Any]:
        outermost = self._stack[0]
        if outermost is _MARK:
            return
        if not isinstance(outermost, list):
            raise BadData(f"{self._where} does not hold a list.")
        self._held, self._copied = len(self._memo), 0
        yield from outermost
        outermost.clear()

    # What every operation is made of.

    def _charge(self, values: int, copied: int = 0) -> None:
        self._held += values
        self._copied += copied
        if self._held > _MOST_VALUES or self._copied > _MOST_COPIED:
            raise BadData(
                f"{self._where} is refused: it makes more than {_MOST_VALUES:,} values or "
                f"{_MOST_COPIED / 2**30:.0f} GB of text at once."
            )

    def _push(self, value: Any) -> None:
        self._charge(1)
        self._stack.append(value)

    def _pop(self) -> Any:
        value = self._stack.pop()
        if value is _MARK:
            raise ValueError("a mark is where a value should be")
        return value

    def _pop_mark(self) -> list[Any]:
        at = len(self._stack) - 1
        while self._stack[at] is not _MARK:
            at -= 1
            if at < 0:
                raise ValueError("a mark is missing")
        values = self._stack[at + 1 :]
        del self._stack[at:]
        return values

    def _remember(self, place: int) -> None:
        self._memoized += 1
        if place in self._again:
            self._charge(1)
            self._memo[place] = self._stack[-1]

    def _settled(self, value: Any) -> Any:
        """A value as the caller gets it: bytes, text and arrays in place of their parts."""
        kind = type(value)
        if kind in _PLAIN:
            return value
        if kind is tuple:
            self._charge(len(value))  # a tuple of tuples of tuples may be short and yet enormous
            return tuple(self._settled(part) for part in value)
        if kind is Payload:
            self._charge(0, value.view.nbytes)
            if value.old_text and self._encoding != "bytes":
                return str(value.view, self._encoding)
            return bytes(value.view)
        if kind is PendingArray and value.value is not None:
            return value.value
        if kind in (PendingArray, PendingType, Name):
            raise ValueError("a part of an array stands where data should be")
        return value

    # The operations.

    def _push_constant(self, operation: Operation) -> None:
        self._push(_CONSTANTS[operation.code])

    def _push_mark(self, _: Operation) -> None:
        self._push(_MARK)

    def _push_list(self, _: Operation) -> None:
        self._push([])

    def _push_dict(self, _: Operation) -> None:
        self._push({})

    def _push_number(self, operation: Operation) -> None:
        self._push(_number(operation))

    def _push_float(self, operation: Operation) -> None:
        code, argument = operation.code, operation.argument
        self._push(struct.unpack(">d", argument)[0] if code == 0x47 else float(bytes(argument)))

    def _push_text(self, operation: Operation) -> None:
        if operation.code == 0x56:  # "V", in lines
            self._push(str(operation.argument, "raw-unicode-escape"))
        else:
            self._push(str(operation.argument, "utf-8", "surrogatepass"))

    def _push_bytes(self, operation: Operation) -> None:
        self._push(Payload(operation.argument, False))

    def _push_old_text(self, operation: Operation) -> None:
        argument = operation.argument
        if operation.code == 0x53:  # "S", in lines and quotes
            line = bytes(argument).rstrip()
            if len(line) < 2 or line[0] != line[-1] or line[0] not in b"'\"":
                raise ValueError("a text has no quotes")
            argument = memoryview(_unescaped(line[1:-1]))
        self._push(Payload(argument, True))

    def _push_name(self, operation: Operation) -> None:
        if operation.code == 0x93:
            name, module = text_of(self._pop()), text_of(self._pop())
        else:
            module, name = str(operation.argument, "utf-8").split("\n")
        text = f"{module}.{name}"
        if operation.code == 0x69 or not admitted(text):
            raise BadData(
                f"{self._where} is refused: it names {text[:80]!r}, and a pickled data set needs "
                "nothing but arrays, lists, dicts, text and numbers. Do not open it with Python's "
                "own pickle either; it may run code."
            )
        self._push(Name(text))

    def _pop_one(self, _: Operation) -> None:
        self._stack.pop()

    def _drop_to_mark(self, _: Operation) -> None:
        self._pop_mark()

    def _duplicate(self, _: Operation) -> None:
        self._push(self._stack[-1])

    def _put(self, operation: Operation) -> None:
        self._remember(self._memoized if operation.code == 0x94 else _number(operation))

    def _get(self, operation: Operation) -> None:
        self._push(self._memo[_number(operation)])

    def _make_tuple(self, operation: Operation) -> None:
        size = {0x85: 1, 0x86: 2, 0x87: 3}.get(operation.code)
        values = self._pop_mark() if size is None else [self._pop() for _ in range(size)][::-1]
        self._push(tuple(values))

    def _make_list(self, _: Operation) -> None:
        self._push([self._settled(value) for value in self._pop_mark()])

    def _make_dict(self, _: Operation) -> None:
        values = self._pop_mark()
        self._push({})
        self._set(self._stack[-1], values)

    def _append(self, operation: Operation) -> None:
        values = self._pop_mark() if operation.code == 0x65 else [self._pop()]
        target = self._stack[-1]
        if not isinstance(target, list):
            raise TypeError("something is appended to what is no list")
        target.extend(self._settled(value) for value in values)

    def _set_items(self, operation: Operation) -> None:
        values = self._pop_mark() if operation.code == 0x75 else [self._pop(), self._pop()][::-1]
        self._set(self._stack[-1], values)

    def _set(self, target: Any, values: list[Any]) -> None:
        if not isinstance(target, dict) or len(values) % 2:
            raise ValueError("a key is set in what is no dict")
        for key, value in zip(values[::2], values[1::2], strict=True):
            settled = self._settled(key)
            if isinstance(settled, np.generic):
                settled = settled.item()
            # Hashing tuples of tuples of tuples may take for ever.
            if type(settled) not in (str, bytes, int, float, bool, type(None)):
                raise TypeError("a dict has a key that is neither text nor number")
            target[settled] = self._settled(value)

    def _reduce(self, _: Operation) -> None:
        arguments, name = self._pop(), self._pop()
        if not isinstance(name, Name) or not isinstance(arguments, tuple):
            raise TypeError("something is called that is no function")
        made = construct(name, arguments)
        if isinstance(made, Payload):
            self._charge(0, made.view.nbytes)
        self._push(made)

    def _build(self, _: Operation) -> None:
        state, pending = self._pop(), self._stack[-1]
        if not isinstance(pending, (PendingArray, PendingType)):
            raise TypeError("something has a state that needs none")
        pending.build(state)

    def _nothing(self, operation: Operation) -> None:
        if operation.code == 0x80 and operation.argument[0] > 5:
            raise ValueError(f"pickle protocol {operation.argument[0]} is newer than this reader")

    _actions: ClassVar[dict[int, Callable[["Machine", Operation], None]]] = {
        **dict.fromkeys(b"\x80\x95.", _nothing),
        **dict.fromkeys(b"N\x88\x89)", _push_constant),
        **dict.fromkeys(b"(", _push_mark),
        **dict.fromkeys(b"]", _push_list),
        **dict.fromkeys(b"}", _push_dict),
        **dict.fromkeys(b"IJKLM\x8a\x8b", _push_number),
        **dict.fromkeys(b"FG", _push_float),
        **dict.fromkeys(b"VX\x8c\x8d", _push_text),
        **dict.fromkeys(b"BC\x8e\x96", _push_bytes),
        **dict.fromkeys(b"STU", _push_old_text),
        **dict.fromkeys(b"ci\x93", _push_name),
        **dict.fromkeys(b"0", _pop_one),
        **dict.fromkeys(b"1", _drop_to_mark),
        **dict.fromkeys(b"2", _duplicate),
        **dict.fromkeys(b"pqr\x94", _put),
        **dict.fromkeys(b"ghj", _get),
        **dict.fromkeys(b"t\x85\x86\x87", _make_tuple),
        **dict.fromkeys(b"l", _make_list),
        **dict.fromkeys(b"d", _make_dict),
        **dict.fromkeys(b"ae", _append),
        **dict.fromkeys(b"su", _set_items),
        **dict.fromkeys(b"R", _reduce),
        **dict.fromkeys(b"b", _build),
    }


def _unescaped(text: bytes) -> bytes:
    # The escapes of a Python 2 literal; a literal of bytes in Python 3 has the same.
    return text.decode("unicode-escape").encode("latin1")


def _number(operation: Operation) -> int | bool:
    code, argument = operation.code, operation.argument
    if code in b"KMqhr" or code in b"j":
        return int.from_bytes(argument, "little")
    if code in b"J\x8a\x8b":
        return int.from_bytes(argument, "little", signed=True)
    text = bytes(argument).strip()
    if code == 0x49 and text in (b"00", b"01"):  # "I": also how truth was once written
        return text == b"01"
    return int(text.removesuffix(b"L"))
