"""Stand-ins for what a pickled data set names, so that nothing it names is ever imported.

NumPy pickles an array as calls of its own functions on plain values. The stand-ins check these
values and make the array. NumPy's own functions would crash the process on forged values.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

_KINDS = "biufSU"
_MOST_DIMENSIONS = 8
_LAST_CHARACTER = 0x10FFFF


class Named:
    """A function or class that a pickle names; ``name`` is its module and name, with a dot.

    Calling it gives what the named function would return. Raises ValueError or TypeError on
    arguments that NumPy does not write, and TypeError where ``call`` is None.
    """

    __slots__ = ("_call", "name")

    def __init__(self, name: str, call: Callable[..., Any] | None) -> None:
        self.name, self._call = name, call

    def __call__(self, *arguments: Any) -> Any:
        """Return what the named function would return."""
        if self._call is None:
            raise TypeError(f"{self.name} may be named, but not called")
        return self._call(*arguments)

    def __setstate__(self, state: Any) -> None:
        """Refuse a state: without this method the pickle could change the stand-in."""
        raise ValueError(f"{self.name} is given a state")


class PendingType:
    """A data type before and after its byte order is known."""

    __slots__ = ("value",)

    def __init__(self, letters: Any, *_: Any) -> None:
        letters = _text(letters)
        kind, size = letters[:1], letters[1:]
        # np.dtype() parses much more than this, such as records and comma-separated lists.
        if kind not in _KINDS or not (size.isascii() and size.isdigit() and len(size) <= 6):
            raise ValueError(f"arrays of data type {letters[:20]!r} are not read")
        self.value = np.dtype(letters)

    def __setstate__(self, state: Any) -> None:
        """Set the byte order from NumPy's (version, order, subarray, names, fields, ...)."""
        if not isinstance(state, tuple) or len(state) < 5 or state[2:5] != (None, None, None):
            raise ValueError("a data type has fields, or a state that is not NumPy's")
        order = _text(state[1])
        if order not in ("<", ">", "|", "="):
            raise ValueError("a data type has an unknown byte order")
        self.value = self.value.newbyteorder(order)


class PendingArray:
    """An array, or a number of NumPy's, before and after its content is known."""

    __slots__ = ("value",)

    def __init__(self, value: np.ndarray | None = None) -> None:
        self.value = value

    def __setstate__(self, state: Any) -> None:
        """Set everything from NumPy's (version, shape, type, whether column-major, bytes)."""
        if not isinstance(state, tuple) or len(state) != 5:
            raise ValueError("an array has a state that is not NumPy's")
        _, shape, kind, columns_first, content = state
        self.value = _array(content, kind, shape, "F" if columns_first else "C")


def stand_ins(most_bytes: int) -> Mapping[str, Named]:
    """Make a stand-in for each name that a pickled data set may hold, for one pickle.

    Python 3 writes bytes as text in old protocols. A forged pickle could turn one text into bytes
    again and again; all together they may have ``most_bytes``.
    """
    left = most_bytes

    def encoded(text: Any, encoding: Any) -> bytes:
        nonlocal left
        if encoding != "latin1" or not isinstance(text, str):
            raise ValueError("text is encoded in a way that pickled bytes are not")
        left -= len(text)
        if left < 0:
            raise ValueError("more text is turned into bytes than there is")
        return text.encode("latin1")

    calls: dict[str, Callable[..., Any] | None] = {
        "numpy.ndarray": None,
        "numpy.dtype": PendingType,
        "_codecs.encode": encoded,
        "__builtin__.bytes": lambda: b"",
        "builtins.bytes": lambda: b"",
    }
    for core in ("core", "_core"):  # of NumPy 1 and NumPy 2
        calls[f"numpy.{core}.multiarray._reconstruct"] = _reconstruct
        calls[f"numpy.{core}.multiarray.scalar"] = lambda kind, content: PendingArray(
            _array(content, kind, (), "C")[()]
        )
        calls[f"numpy.{core}.numeric._frombuffer"] = _from_buffer
    return {name: Named(name, call) for name, call in calls.items()}


def _reconstruct(kind: Any, shape: Any, _: Any) -> PendingArray:
    if not isinstance(kind, Named) or kind.name != "numpy.ndarray" or shape != (0,):
        raise ValueError("an array is started in a way that is not NumPy's")
    return PendingArray()


def _from_buffer(content: Any, kind: Any, shape: Any, order: Any, axes: Any = None) -> PendingArray:
    if order not in ("C", "F", "K"):
        raise ValueError("an array is written in a way that is not NumPy's")
    array = _array(content, kind, shape, order)
    if order == "K" and axes is not None:
        if not isinstance(axes, tuple) or sorted(axes) != list(range(array.ndim)):
            raise ValueError("an array's axes are not a permutation")
        array = array.transpose(axes)
    return PendingArray(array)


def _array(content: Any, kind: Any, shape: Any, order: str) -> np.ndarray:
    if not isinstance(content, bytes | bytearray) or not isinstance(kind, PendingType):
        raise TypeError("an array's content or data type is not NumPy's")
    sizes = isinstance(shape, tuple) and all(type(size) is int and size >= 0 for size in shape)
    if not sizes or len(shape) > _MOST_DIMENSIONS:
        raise ValueError("an array's shape is not a tuple of sizes")
    dtype = kind.value
    if math.prod(shape) * dtype.itemsize != len(content):
        raise ValueError(
            f"an array of shape {list(shape)} and type {dtype} has {len(content)} bytes"
        )
    if not content:
        return np.empty(shape, dtype)
    flat = np.frombuffer(content, dtype)
    if dtype.kind == "U" and flat.view(f"{dtype.str[0]}u4").max() > _LAST_CHARACTER:
        raise ValueError("an array of text holds what is no character")
    return flat.reshape(shape, order="F" if order == "F" else "C")


def _text(value: Any) -> str:
    if not isinstance(value, str | bytes):
        raise TypeError("text is expected where there is none")
    return value if isinstance(value, str) else value.decode("ascii")
