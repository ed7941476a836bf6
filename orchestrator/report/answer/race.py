"""Who leads, in words: the methods under one strategy, and the best against each other one."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isnan
from typing import TYPE_CHECKING

from fsl_sweep.orchestrator.report import wording
from fsl_sweep.orchestrator.selection.comparing.comparison import MethodComparison
from fsl_sweep.orchestrator.selection.methods import Summary
from fsl_sweep.orchestrator.selection.results import Strategy, identical
from fsl_sweep.orchestrator.statistics.comparison import Comparison, Verdict
from fsl_sweep.orchestrator.text.printed import counted

if TYPE_CHECKING:
    from fsl_sweep.orchestrator.report.content import Report

NAMES_SHOWN = 3


@dataclass(frozen=True)
class Race:
    """The methods under one strategy.

    Attributes:
        report, strategy: which ones; some method has a cell under the strategy.
    """

    report: "Report"
    strategy: Strategy

    @cached_property
    def order(self) -> Sequence[Summary]:
        """The methods' cells, best first."""
        cells = {one.method: one for one in self.report.summaries if one.strategy == self.strategy}
        methods = next(o.methods for o in self.report.rankings if o.strategy == self.strategy)
        return [cells[method] for method in methods]

    @cached_property
    def against(self) -> dict[str, Comparison]:
        """The best minus each other one, in that order; only those with tasks in common with it."""
        own = self.report.differences_under(self.strategy)
        pairs = [(one.method, _minus(own, self.order[0].method, one.method)) for one in self.order]
        return {method: one for method, one in pairs if one is not None}

    @property
    def absent(self) -> list[str]:
        """The planned methods that have no whole cell under the strategy."""
        there = [one.method for one in self.order]
        return [method for method in self.report.completeness.seeds if method not in there]

    @property
    def complete(self) -> bool:
        """Whether nothing is missing from the report."""
        return self.report.completeness.complete

    @property
    def tied(self) -> list[str]:
        """The methods with the best mean; one if there is a leader."""
        best = self.order[0].reported.mean
        return [one.method for one in self.order if round(best - one.reported.mean, 9) == 0]

    @property
    def ahead(self) -> float:
        """By how much the best is above the second, in accuracy; 0 if there is no other."""
        return self.order[0].reported.mean - self.order[1].reported.mean if self.order[1:] else 0.0

    @property
    def copied(self) -> list[str]:
        """The methods whose seeds have the same scores, and so say nothing of training again."""
        return [one.method for one in self.order if identical(one.choices)]

    @property
    def mixed(self) -> bool:
        """Whether some methods answer among all base classes, and others among those of a task."""
        return len({one.among_all for one in self.order}) > 1

    @property
    def seeds(self) -> int:
        """The fewest of the best two."""
        return min(len(one.choices) for one in self.order[:2])

    @property
    def few(self) -> list[str]:
        """Those of the best two that have one seed."""
        return [one.method for one in self.order[:2] if len(one.choices) == 1]

    @cached_property
    def open(self) -> list[str]:
        """The methods that the best is neither better than nor equivalent to, best first."""
        return [m for m, one in self.against.items() if one.verdict not in ("better", "equivalent")]

    @property
    def rival(self) -> str | None:
        """The best of them, or else the second."""
        return (self.open or [one.method for one in self.order[1:]] or [None])[0]

    @property
    def decided(self) -> bool:
        """Whether the best is better than every other method: never of an unfinished run."""
        better = all(one.verdict == "better" for one in self.against.values())
        return len(self.order) > 1 and better and self._why_not is None

    def won(self) -> str:
        """Who leads and whether that is decided, in a sentence."""
        if len(self.order) == 1:
            return self._single()
        first = "" if self.complete else "So far, "
        if len(self.tied) > 1:
            names = some(self.tied)
            if self.seeds == 1:
                text = f"{names} have snapshots of the same mean under {self.strategy}; {self._one}"
                return f"{first}{text}."
            return f"{first}{names} have the same mean under {self.strategy}, over {self._seeds}."
        best, second = (one.method for one in self.order[:2])
        if self.seeds == 1:
            who = f"{first}{best}'s snapshots score {self._points} above {second}'s"
            return f"{who} under {self.strategy}, but {self._one}."
        if self.decided:
            return self._best(best, second)
        leads = f"{first}{best} leads {second} by {self._points} under {self.strategy}"
        if self._why_not is not None:
            return f"{leads}, over {self._seeds}{self._why_not}."
        return f"{leads}{self._undecided(second)}."

    def _single(self) -> str:
        (one,) = self.order
        score = f"{100 * one.reported.mean:.1f} % {self._metric} under {self.strategy}"
        who = f"{one.method} scores {score}, over {self._seeds}"
        if len(one.choices) == 1:
            who = f"a snapshot of {one.method} scores {score}, with one seed"
        who = f"{who[0].upper()}{who[1:]}" if self.complete else f"So far, {who}"
        alone = "there is no other method to compare it with"
        return f"{who}; {'no other method can be compared with it' if self.absent else alone}."

    def _best(self, best: str, second: str) -> str:
        shown, count = self._range(second), len(self.order)
        if count == 2:
            text = f"{best} is better than {second} by {self._points} under {self.strategy}"
            return f"{text}, over {self._seeds} ({shown})."
        text = f"{best} is the best of {count} methods under {self.strategy}, over {self._seeds}"
        return f"{text}: {self._points} above {second}, the next ({shown})."

    @cached_property
    def _why_not(self) -> str | None:
        """What keeps any difference from being decided, whatever its size."""
        if apart := [one.method for one in self.order[1:] if one.method not in self.against]:
            return f", but has no tasks in common with {some(apart)}: nothing is decided"
        shown = f" ({self._range(self.order[1].method)})"
        if self.strategy.oracle:
            return f"{shown}, where novel scores choose: a reference, not a result"
        if self.mixed:
            among_all = some([one.method for one in self.order if one.among_all])
            easier = "the others among those of a task, which is easier"
            return f"{shown}; {among_all} answers among all base classes, {easier}: no comparison"
        if self.copied:
            return f"; all seeds of {some(self.copied)} have the same scores: nothing is decided"
        # Without a repeated selection nothing is decided.
        again = {c.method for c in self.report.resampled if c.strategy == self.strategy}
        if not again >= {one.method for one in self.order}:
            if not len(self.order[0].choices[0].novel_tasks):
                return "; records without scores by task decide nothing"
            if self.report.partly is not None:
                every = wording.measuring(self.report.partly, every=True)
                return f"; nothing is decided before every snapshot is measured ({every})"
            return "; nothing is decided unless the selection is repeated (`--bootstrap 1000`)"
        if not self.complete:
            return f"{shown}; an incomplete run decides nothing"
        if self.absent:
            return f"{shown}; {some(self.absent)} cannot be compared: nothing is decided"
        return None

    def _undecided(self, second: str) -> str:
        """From the lead on: what is open, what is equivalent, what is decided."""
        of: dict[Verdict, list[str]] = {}
        for method, one in self.against.items():
            of.setdefault(one.verdict, []).append(method)
        tails = []
        if equal := of.get("equivalent"):
            rope = wording.points(self.against[equal[0]].rope)
            tails.append(f"is equivalent to {some(equal)} within {rope} points")
        if beaten := of.get("better"):
            tails.append(f"is better than {some(beaten)}")
        rest = f"; it {' and '.join(tails)}" if tails else ""
        if not self.open:
            return f", over {self._seeds}{rest}"
        if self.open == [second]:
            return f", but {self._seeds} cannot decide it ({self._range(second)}){rest}"
        shown = self._range(self.open[0], named=True)
        return f", but {self._seeds} cannot tell it from {some(self.open)} ({shown}){rest}"

    @property
    def _metric(self) -> str:
        return wording.metric(self.order[0].base_weight)

    @property
    def _points(self) -> str:
        by = "" if self.order[0].base_weight is None else f" of {self._metric}"
        return f"{wording.points(self.ahead)} points{by}"

    @property
    def _one(self) -> str:
        """That one seed is no sample, of the two methods or of one of them."""
        trained = [one for one in self.few if one not in self.report.seedless]
        if len(trained) == 2:
            return "one seed says nothing about training the methods again"
        if trained:
            return f"one seed of {trained[0]} says nothing about training it again"
        return "neither is trained" if self.few[1:] else f"{self.few[0]} is not trained"

    @property
    def _seeds(self) -> str:
        """``2 seeds``, ``2 to 3 seeds`` where the best two differ, ``2 of 3 seeds`` so far."""
        counts = sorted({len(one.choices) for one in self.order[:2]})
        planned = max(planned for _, planned in self.report.completeness.seeds.values())
        shown = " to ".join(map(str, counts))
        if counts != [planned] and not self.complete:
            return f"{shown} of {counted(planned, 'seed')}"
        return f"{shown} seed{'' if counts == [1] else 's'}"

    def _range(self, other: str, named: bool = False) -> str:
        """The interval of the best minus the other, at the level of Holm's correction."""
        effect = self.against[other].effect
        if isnan(effect.low):
            return f"{other} has one seed"
        return f"95 %{f' against {other}' if named else ''}: {_ends(effect.low, effect.high)}"


def some(names: Sequence[str]) -> str:
    """The first few names, and how many more there are."""
    shown, left = [*names[:NAMES_SHOWN]], len(names) - NAMES_SHOWN
    if left == 1:
        shown, left = [*names[: NAMES_SHOWN - 1]], 2
    if left > 0:
        return f"{', '.join(shown)} and {left} more"
    return " and ".join(filter(None, (", ".join(shown[:-1]), shown[-1])))


def _minus(pairs: Sequence[MethodComparison], best: str, other: str) -> Comparison | None:
    """The best minus the other, whichever way they were compared; None if they were not."""
    for pair in pairs:
        if (pair.a, pair.b) == (best, other):
            return pair.result
        if (pair.a, pair.b) == (other, best):
            return pair.result.swapped()
    return None


def _ends(low: float, high: float) -> str:
    """Ends of an interval in points, with so many digits that one near 0 keeps its side of it."""
    digits = 1 if min(abs(low), abs(high)) >= 0.0005 else 2
    return f"{100 * low:.{digits}f} to {100 * high:.{digits}f}"
