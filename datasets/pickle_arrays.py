"""NumPy arrays and data types out of what their pickles say, without calling what they name.

NumPy pickles an array as a call of a function of its own on a few plain values. Here those values
are checked and the array is a view of the pickle's bytes; the function is never looked up.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

_KINDS = "biufSU"
_MOST_DIMENSIONS = 8


class Payload:
    """Bytes of the pickle that may be an array's content, or else bytes or an old text.

    Attributes:
        view: the bytes, still in the pickle.
        old_text: whether they are a ``str`` of Python 2, which held text and bytes alike.
    """

    __slots__ = ("old_text", "view")

    def __init__(self, view: memoryview, old_text: bool) -> None:
        self.view, self.old_text = view, old_text


class PendingType:
    """A data type before and after its byte order is known."""

    __slots__ = ("value",)

    def __init__(self, value: np.dtype) -> None:
        self.value = value

    def build(self, state: Any) -> None:
        """Set the byte order.

        Raises:
            ValueError: the state is not that of a plain data type.
        """
        if not isinstance(state, tuple) or len(state) < 5:
            raise ValueError("a data type has a state that is not NumPy's")
        if state[2:5] != (None, None, None):
            raise ValueError("a data type has fields or is made of arrays")
        order = text_of(state[1])
        if order not in ("<", ">", "|", "="):
            raise ValueError("a data type has an unknown byte order")
        self.value = self.value.newbyteorder(order)


class PendingArray:
    """An array before and after its content is known."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value: np.ndarray | None = None

    def build(self, state: Any) -> None:
        """Set shape, type and content from NumPy's (version, shape, type, column-major, bytes).

        Raises:
            ValueError, TypeError: the state is not NumPy's, or its parts contradict each other.
        """
        if not isinstance(state, tuple) or len(state) != 5:
            raise ValueError("an array has a state that is not NumPy's")
        _, shape, kind, columns_first, content = state
        self.value = _array(content, kind, shape, "F" if columns_first else "C")


class Name:
    """A function or class that a pickle names; nothing is imported for it."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text


def text_of(value: Any) -> str:
    """A short text that Python 2 or 3 wrote, or bytes of ASCII.

    Raises:
        ValueError: it is none.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, Payload):
        return str(value.view, "ascii")
    raise ValueError("a text is expected where there is none")


def admitted(name: str) -> bool:
    """Whether a pickled data set may name that function or class."""
    return name in CONSTRUCTORS or name in _CLASSES


def construct(name: Name, arguments: tuple[Any, ...]) -> Any:
    """What NumPy's or Python's function would make of the arguments.

    Raises:
        ValueError, TypeError: the arguments are not what NumPy writes.
    """
    if name.text not in CONSTRUCTORS:
        raise ValueError(f"{name.text} is called, which makes no array")
    return CONSTRUCTORS[name.text](arguments)


def _pending_array(arguments: tuple[Any, ...]) -> PendingArray:
    if (
        len(arguments) != 3
        or not isinstance(arguments[0], Name)
        or arguments[0].text != "numpy.ndarray"
        or arguments[1] != (0,)
    ):
        raise ValueError("an array is started in a way that is not NumPy's")
    return PendingArray()


def _pending_type(arguments: tuple[Any, ...]) -> PendingType:
    if not 1 <= len(arguments) <= 3:
        raise ValueError("a data type is written in a way that is not NumPy's")
    letters = text_of(arguments[0])
    # Anything but a plain kind and size is left to no parser.
    kind, size = letters[:1], letters[1:]
    if kind not in _KINDS or not (size.isascii() and size.isdigit() and len(size) <= 6):
        raise ValueError(f"arrays of data type {letters[:20]!r} are not read")
    return PendingType(np.dtype(letters))


def _scalar(arguments: tuple[Any, ...]) -> Any:
    if len(arguments) != 2:
        raise ValueError("a NumPy number is written in a way that is not NumPy's")
    return _array(arguments[1], arguments[0], (), "C")[()]


def _array_of_buffer(arguments: tuple[Any, ...]) -> np.ndarray:
    if len(arguments) not in (4, 5) or arguments[3] not in ("C", "F", "K"):
        raise ValueError("an array is written in a way that is not NumPy's")
    content, kind, shape, order = arguments[:4]
    array = _array(content, kind, shape, order)
    axes = arguments[4] if order == "K" and len(arguments) == 5 else None
    if axes is None:
        return array
    if not isinstance(axes, tuple) or set(axes) != set(range(array.ndim)):
        raise ValueError("an array's axes are in an order that is none")
    return array.transpose(axes)


def _array(content: Any, kind: Any, shape: Any, order: str) -> np.ndarray:
    if not isinstance(content, Payload) or not isinstance(kind, PendingType):
        raise TypeError("an array's content or data type is not NumPy's")
    if (
        not isinstance(shape, tuple)
        or len(shape) > _MOST_DIMENSIONS
        or not all(type(size) is int and size >= 0 for size in shape)
    ):
        raise ValueError("an array's shape is not a tuple of sizes")
    if math.prod(shape) * kind.value.itemsize != content.view.nbytes:
        raise ValueError(
            f"an array of shape {list(shape)} and type {kind.value} has {content.view.nbytes} bytes"
        )
    if content.view.nbytes == 0:
        return np.empty(shape, kind.value)
    flat = np.frombuffer(content.view, kind.value)
    return flat.reshape(shape, order="F" if order == "F" else "C")


def _encoded(arguments: tuple[Any, ...]) -> Payload:
    # Python 3 writes bytes so in the protocols of Python 2.
    if len(arguments) != 2 or arguments[1] != "latin1" or not isinstance(arguments[0], str):
        raise ValueError("text is encoded in a way that pickled bytes are not")
    return Payload(memoryview(arguments[0].encode("latin1")), False)


def _no_bytes(arguments: tuple[Any, ...]) -> Payload:
    if arguments:
        raise ValueError("bytes are made in a way that pickled bytes are not")
    return Payload(memoryview(b""), False)


_CLASSES = frozenset({"numpy.ndarray"})
CONSTRUCTORS: Mapping[str, Callable[[tuple[Any, ...]], Any]] = {
    "numpy.dtype": _pending_type,
    "_codecs.encode": _encoded,
    "__builtin__.bytes": _no_bytes,
    "builtins.bytes": _no_bytes,
    # NumPy 1 and NumPy 2 keep these in modules of different names.
    **{f"numpy.{core}.multiarray._reconstruct": _pending_array for core in ("core", "_core")},
    **{f"numpy.{core}.multiarray.scalar": _scalar for core in ("core", "_core")},
    **{f"numpy.{core}.numeric._frombuffer": _array_of_buffer for core in ("core", "_core")},
}
