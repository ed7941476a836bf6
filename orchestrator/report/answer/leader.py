"""Who leads, in words: the methods under one strategy, and the best against each other one."""

from collections.abc import Sequence
from functools import cached_property
from math import isnan

from fsl_sweep.orchestrator.report import wording
from fsl_sweep.orchestrator.report.answer.divergence import lost_everywhere
from fsl_sweep.orchestrator.report.content import RunContent
from fsl_sweep.orchestrator.report.wording import some
from fsl_sweep.orchestrator.selection.comparing.comparison import MethodComparison
from fsl_sweep.orchestrator.selection.results import Strategy, identical
from fsl_sweep.orchestrator.statistics.comparison import Comparison, Verdict
from fsl_sweep.orchestrator.text.printed import counted


class Leader:
    """The best method under one strategy, against each other one; some method has a cell under it.

    Attributes:
        report, strategy: which ones.
        order: the methods' cells, best first.
        methods: their names, best first.
        absent: the planned methods that have no cell under the strategy.
        tied: the methods with the best mean: one if there is a leader.
        lead: by how much the best is above the second, in accuracy; 0 if there is no other.
        copied: the methods whose seeds have the same scores: no sample of training again.
        mixed: whether only some methods answer among all base classes.
        seeds: the number of seeds of the best two, the fewer; without those that draw nothing, and
            None if neither draws anything.
        single: those of the best two that have one seed, though they draw something.
        against: the best minus each other one that has tasks in common with it, best first.
        undecided: the methods that the best is neither better than nor equivalent to, best first.
        rival: the best of the undecided methods, or else the second.
    """

    def __init__(self, report: RunContent, strategy: Strategy) -> None:
        self.report, self.strategy = report, strategy
        ranking = next(r for r in report.rankings if r.strategy == strategy)
        cells = {cell.method: cell for cell in report.summaries_of(strategy)}
        self.order = order = [cells[method] for method in ranking.methods]
        self.methods = methods = [cell.method for cell in order]
        self.absent = [name for name in report.completeness.seeds if name not in methods]
        means = [cell.reported.mean for cell in order]
        self.tied = [cell.method for cell in order if round(means[0] - cell.reported.mean, 9) == 0]
        self.lead = means[0] - means[1] if means[1:] else 0.0
        self.copied = [cell.method for cell in order if identical(cell.choices)]
        self.mixed = len({cell.among_all for cell in order}) > 1
        drawing = [cell for cell in order[:2] if not cell.draws_nothing]
        self.seeds = min((len(cell.choices) for cell in drawing), default=None)
        self.single = [cell.method for cell in drawing if len(cell.choices) == 1]
        pairs = report.differences_under(strategy)
        results = {other: _minus(pairs, methods[0], other) for other in methods}
        self.against = {other: result for other, result in results.items() if result is not None}
        decided = ("better", "equivalent")
        self.undecided = [m for m, result in self.against.items() if result.verdict not in decided]
        self.rival = (self.undecided or [*methods[1:], None])[0]

    @property
    def decided(self) -> bool:
        """Return whether the best is better than every other: never of an unfinished run."""
        better = all(result.verdict == "better" for result in self.against.values())
        return len(self.order) > 1 and better and self._why_not is None

    def sentence(self) -> str:
        """Say who leads and whether that is decided."""
        if len(self.order) == 1:
            return self._alone()
        so_far = "" if self.report.complete else "So far, "
        if len(self.tied) > 1:
            names = some(self.tied)
            if self.seeds == 1:
                text = f"{names} have snapshots of the same mean under {self.strategy}"
                return f"{so_far}{text}; {self._one_seed}."
            return f"{so_far}{names} have the same mean under {self.strategy}, over {self._seeds}."
        best, second = self.methods[:2]
        if self.seeds == 1:
            text = f"{so_far}{best}'s snapshots score {self._points} above {second}'s"
            return f"{text} under {self.strategy}, but {self._one_seed}."
        if self.decided:
            return f"{self._best(best, second)}{self._drawn_by_none}"
        leads = f"{so_far}{best} leads {second} by {self._points} under {self.strategy}"
        if self._why_not is not None:
            return f"{leads}, over {self._seeds}{self._why_not}."
        return f"{leads}{self._still_open(second)}.{self._drawn_by_none}{self._of_copies}"

    def _alone(self) -> str:
        (cell,) = self.order
        score = f"{100 * cell.reported.mean:.1f} % {self._metric} under {self.strategy}"
        text = f"{cell.method} scores {score}, over {self._seeds}"
        if len(cell.choices) == 1:
            text = f"a snapshot of {cell.method} scores {score}, with one seed"
        text = f"{text[0].upper()}{text[1:]}" if self.report.complete else f"So far, {text}"
        if self.absent:
            return f"{text}; no other method can be compared with it."
        return f"{text}; there is no other method to compare it with."

    def _best(self, best: str, second: str) -> str:
        ends, count = self._interval(second), len(self.order)
        if self.seeds is None and count == 2:
            text = f"{best} is better than {second} by {self._points} under {self.strategy}"
            return f"{text}, on {self._seeds} ({ends})."
        if count == 2:
            text = f"{best} is better than {second} by {self._points} under {self.strategy}"
            return f"{text}, over {self._seeds} ({ends})."
        text = f"{best} is the best of {count} methods under {self.strategy}, over {self._seeds}"
        return f"{text}: {self._points} above {second}, the next ({ends})."

    @cached_property
    def _why_not(self) -> str | None:
        """Say what keeps any difference from being decided, whatever its size."""
        if apart := [method for method in self.methods[1:] if method not in self.against]:
            return f", but has no tasks in common with {some(apart)}: nothing is decided"
        ends = f" ({self._interval(self.methods[1])})"
        if self.strategy.oracle:
            return f"{ends}, where novel scores choose: a reference, not a result"
        if self.mixed:
            among_all = some([cell.method for cell in self.order if cell.among_all])
            return (
                f"{ends}; {among_all} classifies queries among all base classes, the others only "
                "among the classes of the task, which is easier: no comparison"
            )
        if self.methods[0] in self.copied:
            return f"{ends}.{self._of_copies}".removesuffix(".")
        # Without a repeated selection nothing is decided, if a score had a part in it.
        scored = [cell for cell in self.order if any(choice.by_score for choice in cell.choices)]
        if scored and not len(self.order[0].choices[0].novel_tasks):
            return (
                f"{ends}; nothing is decided, because all seeds chose on the same tasks, whose "
                "scores are not recorded one by one"
            )
        if any((cell.method, self.strategy) not in self.report.repeated for cell in scored):
            if self.report.partly is not None:
                command = wording.measuring(self.report.partly, self.report.info.places, every=True)
                return f"; nothing is decided before every snapshot is measured ({command})"
            return "; nothing is decided unless the selection is repeated (`--bootstrap 1000`)"
        if not self.report.complete:
            return f"{ends}; an incomplete run decides nothing"
        if self.order[0].diverged:
            return f"{ends}; it lost seeds, so that nothing is decided in its favour"
        diverged = lost_everywhere(self.report, self.strategy)
        if apart := [method for method in self.absent if method not in diverged]:
            return f"{ends}; {some(apart)} cannot be compared: nothing is decided"
        return None

    def _still_open(self, second: str) -> str:
        """Say after the lead what is open, what is equivalent, what is decided."""
        methods: dict[Verdict, list[str]] = {}
        for method, result in self.against.items():
            methods.setdefault(result.verdict, []).append(method)
        tails = []
        if equal := methods.get("equivalent"):
            rope = wording.points(self.against[equal[0]].rope)
            tails.append(f"is equivalent to {some(equal)} within {rope} points")
        if worse := methods.get("better"):
            tails.append(f"is better than {some(worse)}")
        rest = f"; it {' and '.join(tails)}" if tails else ""
        if not self.undecided:
            return f", over {self._seeds}{rest}"
        if self.undecided == [second]:
            return f", but {self._seeds} cannot decide it ({self._interval(second)}){rest}"
        ends = self._interval(self.undecided[0], named=True)
        return f", but {self._seeds} cannot tell it from {some(self.undecided)} ({ends}){rest}"

    @property
    def _metric(self) -> str:
        return wording.metric(self.report.base_weight)

    @property
    def _points(self) -> str:
        by = "" if self.report.base_weight is None else f" of {self._metric}"
        return f"{wording.points(self.lead)} points{by}"

    @property
    def _one_seed(self) -> str:
        """Say that one seed is no sample, of the two methods or of one of them."""
        if len(self.single) == 2:
            return "one seed says nothing about training the methods again"
        return f"one seed of {self.single[0]} says nothing about training it again"

    @property
    def _of_copies(self) -> str:
        """Say of methods whose seeds are all equal what that may mean."""
        concerned = (self.methods[0], *self.undecided)
        copied = [method for method in self.copied if method in concerned]
        if not copied:
            return ""
        they, nothing = ("it", "draws") if len(copied) == 1 else ("they", "draw")
        return (
            f" All seeds of {some(copied)} are equal on every task: if {they} {nothing} nothing, "
            "this is also the comparison of the methods; if the seeds should differ, the seed does "
            "not reach them."
        )

    @property
    def _drawn_by_none(self) -> str:
        """Say of two methods that draw nothing what their difference holds for."""
        if self.seeds is not None:
            return ""
        return (
            " Neither draws anything: other seeds change nothing, other classes or another "
            "backbone may."
        )

    @property
    def _seeds(self) -> str:
        """Write ``2 seeds``, ``2 to 3 seeds`` where two differ, or ``2 of 3 seeds`` so far.

        Methods that draw nothing have none; of two such, write what their interval is over.
        """
        if self.seeds is None:
            return "tasks of these classes"
        counts = sorted({len(cell.choices) for cell in self.order[:2] if not cell.draws_nothing})
        planned = max(planned for _, planned in self.report.completeness.seeds.values())
        text = " to ".join(map(str, counts))
        if counts != [planned] and not self.report.complete:
            return f"{text} of {counted(planned, 'seed')}"
        return f"{text} seed{'' if counts == [1] else 's'}"

    def _interval(self, other: str, named: bool = False) -> str:
        """Write the interval of the best minus the other, at the level of Holm's correction."""
        result = self.against[other]
        if isnan(result.effect.low):
            return f"{other} has one seed"
        against = f" against {other}" if named else ""
        if result.verdict == "undecided" and (both := self._by_seed(other)):
            return f"seed by seed{against}: {' and '.join(both)}"
        over = " over tasks" if result.effect.kind == "paired" else ""
        alone = "" if len(self.order[0].choices[0].novel_tasks) else ", on this test set"
        return f"95 %{over}{against}: {_ends(result.effect.low, result.effect.high)}{alone}"

    def _by_seed(self, other: str) -> list[str]:
        """Return the best minus the other for each of the only two seeds that both have."""
        means = [
            {choice.seed: choice.reported_mean for choice in cell.choices}
            for cell in (self.order[0], self.order[self.methods.index(other)])
        ]
        if len(means[0]) != 2 or means[0].keys() != means[1].keys():
            return []
        return [f"{100 * (means[0][seed] - means[1][seed]):+.1f}" for seed in sorted(means[0])]


def _minus(pairs: Sequence[MethodComparison], best: str, other: str) -> Comparison | None:
    """Return the best minus the other, however they were compared; None if they were not."""
    for pair in pairs:
        if (pair.a, pair.b) == (best, other):
            return pair.result
        if (pair.a, pair.b) == (other, best):
            return pair.result.swapped()
    return None


def _ends(low: float, high: float) -> str:
    """Write ends in points, with so many digits that one near 0 keeps its side of it."""
    low, high = wording.bounded(low), wording.bounded(high)
    digits = 1 if min(abs(low), abs(high)) >= 0.0005 else 2
    return f"{100 * low:.{digits}f} to {100 * high:.{digits}f}"
