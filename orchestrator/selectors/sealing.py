"""A mapping that holds only the measures that a selector declared."""

from collections.abc import Iterator, Mapping
from typing import Any, Generic, TypeVar, final

import numpy as np
from numpy.typing import ArrayLike

from fsl_sweep.orchestrator.errors import SealedMeasurement
from fsl_sweep.orchestrator.records.measures import MEASURES

SCORES = ("train_loss", *MEASURES, "cv")
"""Everything that a selector may declare in its ``needs``. ``cv`` is the accuracy on classes that a
class fold kept out of training, averaged over the folds."""

OPEN = ("", frozenset(SCORES))
"""In place of a selector's name and needs: nothing is sealed."""

V = TypeVar("V")


@final
class Measurements(Mapping[str, V], Generic[V]):
    """Values by measure; in a sealed view, only those of the declared measures.

    Arrays are read-only.

    Args:
        held: values; a function is called whenever its value is read.
        sealed_for: name and needs of the selector that reads them.

    Raises:
        SealedMeasurement: on reading a measure that the selector did not declare.
        KeyError: on reading what was not recorded, or is not a measure.
    """

    __slots__ = ("_held", "_sealed_for")

    def __init__(
        self, held: Mapping[str, Any], sealed_for: tuple[str, frozenset[str]] = OPEN
    ) -> None:
        self._held, self._sealed_for = dict(held), sealed_for

    def __getitem__(self, key: str) -> V:
        if key in self._held:
            value = self._held[key]
            return frozen(value()) if callable(value) else value  # type: ignore[return-value]
        selector, declared = self._sealed_for
        if key in SCORES and key not in declared:
            raise SealedMeasurement(selector, key)
        here = ", ".join(self._held) or "nothing"
        raise KeyError(f"'{key}' was not recorded; there is {here}.")

    def __contains__(self, key: object) -> bool:
        return key in self._held

    def __iter__(self) -> Iterator[str]:
        return iter(self._held)

    def __len__(self) -> int:
        return len(self._held)

    def __reduce__(self) -> tuple[Any, ...]:
        return Measurements, (dict(self), self._sealed_for)

    def __repr__(self) -> str:
        return f"Measurements({', '.join(self._held)})"


def frozen(values: ArrayLike) -> np.ndarray:
    """Return a read-only copy that owns its memory: a slice would hold all of ``base``."""
    copy = np.array(values)
    copy.setflags(write=False)
    return copy
