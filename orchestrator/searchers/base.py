"""What a searcher is, and the axes that it proposes values of."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import exp, log, prod
from typing import Any, ClassVar, Literal

from fsl_sweep.orchestrator.records.model import canonical_json
from fsl_sweep.orchestrator.records.search import Outcome, Values

Kind = Literal["uniform", "loguniform", "choice"]


@dataclass(frozen=True)
class Axis:
    """An axis of a method.

    Attributes:
        kind: how its values are distributed.
        values: all of a ``choice``; else the lowest and the highest.
    """

    kind: Kind
    values: Sequence[Any]

    def at(self, quantile: float) -> Any:
        """Return the value at a quantile in [0, 1) of its distribution."""
        if self.kind == "choice":
            return self.values[int(quantile * len(self.values))]
        low, high = self.values
        if self.kind == "uniform":
            value = low + quantile * (high - low)
        else:
            value = exp(log(low) + quantile * (log(high) - log(low)))
        return float(min(max(value, low), high))  # whatever was rounded

    def has(self, value: Any) -> bool:
        """Tell whether a value lies on it: one of the choices, or a number in the range."""
        if self.kind == "choice":
            return any(type(value) is type(other) and value == other for other in self.values)
        number = isinstance(value, int | float) and not isinstance(value, bool)
        return number and self.values[0] <= value <= self.values[1]


Axes = Mapping[str, Axis]
"""The axes of a method, by dotted path."""


class Searcher(ABC):
    """Proposes configurations of a method.

    Attributes:
        name: as in a sweep file.
        packages: those whose versions are recorded with what it proposes.
    """

    name: ClassVar[str]
    packages: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def propose(
        self, axes: Axes, history: Sequence[Outcome], count: int, seed: int
    ) -> list[dict[str, Any]]:
        """Propose configurations, from these arguments only.

        Args:
            axes: of the method.
            history: the configurations of the rounds before, in the order of the proposals.
            count: how many to propose; never more than there are left.
            seed: the sweep's.

        Returns:
            A value of each axis for each of ``count`` configurations that differ from each other
            and from those of the history: a float of a range, or one of the choices.
        """


def size(axes: Axes) -> int | None:
    """Count the configurations there are; None where a range has more than can be counted."""
    if any(axis.kind != "choice" for axis in axes.values()):
        return None
    return prod(len(axis.values) for axis in axes.values())


def key(values: Values) -> str:
    """Return the same text for the same configuration."""
    return canonical_json(dict(values))


def fresh(
    points: Iterable[dict[str, Any]],
    axes: Axes,
    history: Sequence[Outcome],
    count: int,
    patience: int = 1000,
) -> list[dict[str, Any]]:
    """Take the first points that are known neither from the history nor from each other.

    Where so many in a row are known already, the rest are the first that are left, in the order of
    the axes' values.
    """
    known, kept, misses = {key(outcome.values) for outcome in history}, [], 0

    def take(values: dict[str, Any]) -> bool:
        if is_new := key(values) not in known:
            known.add(key(values))
            kept.append(values)
        return is_new

    for values in points:
        misses = 0 if take(values) else misses + 1
        if len(kept) == count or misses > patience + len(history):
            break
    if size(axes) is not None:
        for combination in product(*(axis.values for axis in axes.values())):
            if len(kept) == count:
                break
            take(dict(zip(axes, combination, strict=True)))
    return kept
