"""What a selector is handed: copies of what it declared, with nothing to follow any further."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Generic, TypeVar, final
from weakref import WeakKeyDictionary

import numpy as np

from fsl_sweep.orchestrator.errors import SealedMeasurement
from fsl_sweep.orchestrator.records import MEASURES

SCORES = ("train_loss", *MEASURES, "cv")
"""Everything that a selector may declare in its ``needs``.

``cv`` is the accuracy on classes that a class fold kept out of training, averaged over the folds.
"""

V = TypeVar("V")


@final
class Measurements(Mapping[str, V], Generic[V]):
    """Values by measure; in a sealed view, of the declared measures alone.

    Iteration, length and membership tell of what is held. Arrays are handed out as read-only
    copies. A measure can also be read as an attribute (``scores.val``).

    Raises:
        SealedMeasurement: on reading a measure that the selector did not declare.
        KeyError: on reading what was not recorded, or is no measure.
    """

    __slots__ = ("_held", "_known", "_sealed_for")

    def __init__(
        self, held: Mapping[str, Any], known: Iterable[str], sealed_for: tuple[str, frozenset[str]]
    ) -> None:
        self._held, self._known, self._sealed_for = dict(held), tuple(known), sealed_for

    def __getitem__(self, key: str) -> V:
        if key in self._held:
            return handed_out(self._held[key])
        selector, declared = self._sealed_for
        if key in self._known and key not in declared:
            raise SealedMeasurement(selector, key)
        here = ", ".join(self._held) or "nothing"
        raise KeyError(f"'{key}' was not recorded; there is {here}.")

    def __getattr__(self, name: str) -> V:
        # Called for what is no ordinary attribute alone; the guard keeps copying and pickling,
        # which probe for special methods on half-built objects, from looping.
        if name in SCORES:
            return self[name]
        raise AttributeError(f"Measurements have no attribute '{name}'.")

    def __contains__(self, key: object) -> bool:
        return key in self._held

    def __iter__(self) -> Iterator[str]:
        return iter(self._held)

    def __len__(self) -> int:
        return len(self._held)

    def __repr__(self) -> str:
        return f"Measurements({', '.join(self._held)})"


@final
class Deferred:
    """A promise of an array that is read on demand, without a reference to what reads it.

    The reader of one measure could be followed to the reader of another, so it is kept outside
    of the object graph that a selector is given. Pickling delivers the array itself.
    """

    __slots__ = ("__weakref__",)

    def __init__(self, load: Callable[[], np.ndarray]) -> None:
        _READERS[self] = load

    def __reduce__(self) -> tuple[Any, ...]:
        return owned, (_READERS[self](),)


_READERS: "WeakKeyDictionary[Deferred, Callable[[], np.ndarray]]" = WeakKeyDictionary()


def owned(values: np.ndarray) -> np.ndarray:
    """A copy of an array that leads to nothing else."""
    # A copy that owns its memory: a slice would carry the whole table along in `.base`.
    return np.array(values, copy=True)


def handed_out(value: Any) -> Any:
    """A held value as a selector gets it: read if it was deferred; arrays are read-only copies."""
    if isinstance(value, Deferred):
        value = _READERS[value]()
    if isinstance(value, np.ndarray):
        value = owned(value)
        value.setflags(write=False)
    return value


def copied(value: Any) -> Any:
    """Another promise of the same array, or a copy of it."""
    return Deferred(_READERS[value]) if isinstance(value, Deferred) else owned(value)


def row_of(table: Any, i: int) -> Any:
    """Row ``i`` of a held table, deferred where the table is."""
    if not isinstance(table, Deferred):
        return owned(table[i])
    load = _READERS[table]
    return Deferred(lambda: load()[i])
