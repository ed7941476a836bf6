"""A search for configurations: as a sweep file asks for it, and what it has proposed so far."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

from pydantic import TypeAdapter

from fsl_sweep.orchestrator.records.model import Count, Model, Text
from fsl_sweep.orchestrator.records.scheduler import StoppingMetric
from fsl_sweep.orchestrator.text.printed import counted

Values = Mapping[str, Any]
"""The values of a configuration's axes, by dotted path."""


class Search(Model):
    """Configurations that are proposed in rounds, each from what was measured of those before.

    Attributes:
        name: the searcher.
        metric: what it is told of configurations.
        configurations: how many are proposed in all, of each method that has axes.
        round: how many of them at a time.
    """

    name: Text
    metric: StoppingMetric = "val"
    configurations: Count
    round: Count = 8


@dataclass(frozen=True)
class Outcome:
    """What a searcher is told of a configuration.

    Attributes:
        values: of its axes.
        score: larger is better; None if it diverged.
    """

    values: Values
    score: float | None


@dataclass(frozen=True)
class Searched:
    """What a search has proposed for a method so far, as the plan records it.

    Attributes:
        of: digest of all that was searched: the settings with their axes, searcher, metric, seed.
        total: how many configurations there will be in the end.
        rounds: the configurations of each round.
    """

    of: Text
    total: int
    rounds: tuple[tuple[Values, ...], ...]

    @property
    def points(self) -> tuple[Values, ...]:
        """Return the configurations of all rounds, in the order in which they were proposed."""
        return tuple(values for proposed in self.rounds for values in proposed)

    @property
    def planned(self) -> tuple[Values, ...]:
        """Return those that are trained: all, unless the sweep file asks for fewer by now."""
        return self.points[: self.total]

    @property
    def rest(self) -> int:
        """Return how many configurations are still to be proposed."""
        return max(0, self.total - len(self.points))


@dataclass(frozen=True)
class Proposals:
    """A round that a searcher proposed, and what it was asked from; a file in ``proposals/``.

    Attributes:
        method: whose configurations these are.
        round: its number, from 1.
        of: as of `Searched`.
        searcher: its name, source and version, and those of packages that it uses.
        seed: the sweep's.
        proposed: the configurations.
        history: those of the rounds before, and their scores.
    """

    method: Text
    round: int
    of: Text
    searcher: Mapping[str, str]
    seed: int
    proposed: tuple[Values, ...]
    history: tuple[Outcome, ...] = ()

    def follows(self, before: Searched) -> bool:
        """Tell whether this is the next round of a search."""
        points = tuple(outcome.values for outcome in self.history)
        here = (self.of, self.round, points)
        return here == (before.of, len(before.rounds) + 1, before.points)

    def to_plain(self) -> dict[str, Any]:
        """Return plain data."""
        return asdict(self)

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> "Proposals":
        """Read what ``to_plain`` gave. Raises ValueError."""
        return _adapter().validate_python(plain)


@cache
def _adapter() -> TypeAdapter[Proposals]:
    return TypeAdapter(Proposals)


def searching(proposed: Mapping[str, tuple[int, int]]) -> str:
    """Say of which methods a search has not proposed all configurations yet, and how many."""
    return ", ".join(
        f"{count} of {counted(total, 'configuration')} of {method}"
        for method, (count, total) in proposed.items()
        if count < total
    )
