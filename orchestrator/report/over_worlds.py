"""A report of several worlds: benchmarks on which the same methods were run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isnan

from fsl_sweep.orchestrator.errors import RunFolderError
from fsl_sweep.orchestrator.records.measures import TrialHistory
from fsl_sweep.orchestrator.report import wording
from fsl_sweep.orchestrator.report.answer.answer import cost
from fsl_sweep.orchestrator.report.answer.race import some
from fsl_sweep.orchestrator.report.content import Report
from fsl_sweep.orchestrator.selection.comparing.comparison import MethodComparison
from fsl_sweep.orchestrator.selection.comparing.over_benchmarks import (
    ALL_EQUAL,
    BenchmarkEvidence,
    OverBenchmarks,
    StrategyOverBenchmarks,
    compare_over_benchmarks,
)
from fsl_sweep.orchestrator.selection.completeness import complete_replicates
from fsl_sweep.orchestrator.selection.evidence import USUAL
from fsl_sweep.orchestrator.selection.results import Strategy
from fsl_sweep.orchestrator.statistics import Interval
from fsl_sweep.orchestrator.statistics.sign_flips import LEAST_ROWS
from fsl_sweep.orchestrator.text.printed import counted


@dataclass(frozen=True, repr=False)
class WorldsReport:
    """Everything that a format may show of several worlds.

    Attributes:
        name: of all of them.
        reports: by world, each as if it stood by itself.
        lead: the strategy that methods are compared under; None where no world has any.
        over: what they say together; None where they have no strategy in common.
    """

    name: str
    reports: Mapping[str, Report]
    lead: Strategy | None
    over: OverBenchmarks | None

    @property
    def complete(self) -> bool:
        """Whether nothing that is planned is missing from any world."""
        return all(one.completeness.complete for one in self.reports.values())

    @property
    def absent(self) -> Mapping[str, Sequence[str]]:
        """As of ``OverBenchmarks``; empty where nothing is compared."""
        return {} if self.over is None else self.over.absent

    @property
    def cautions(self) -> tuple[str, ...]:
        """Of worlds without a method, and those of the worlds; one that all have stands once."""
        lacks = [
            f"{world} lacks {some(own)} under {self.lead}: nothing is decided over worlds, and its "
            "regret and right of two are over other methods."
            for world, own in self.absent.items()
        ]
        found = {world: one.cautions for world, one in self.reports.items()}
        common = [c for c in next(iter(found.values())) if all(c in own for own in found.values())]
        others = [f"{world}: {c}" for world, own in found.items() for c in own if c not in common]
        return (*lacks, *common, *others)

    @property
    def base_weight(self) -> float | None:
        """As of ``Report``; the same in all worlds."""
        return next(iter(self.reports.values())).base_weight

    @cached_property
    def sentences(self) -> tuple[str, ...]:
        """The answer: which method, which strategy, and what these worlds cannot tell."""
        if self.over is None or self.lead is None:
            return ("Nothing can be said over worlds: no strategy chose in all of them.",)
        methods = _methods(self.over, self.lead, self.complete)
        strategies = _strategies(self.over, self.lead, self.base_weight is not None)
        return tuple(filter(None, [methods, *strategies]))


def build_worlds(
    name: str, reports: Mapping[str, Report], histories: Mapping[str, Sequence[TrialHistory]]
) -> WorldsReport:
    """The report of several worlds.

    Args:
        name: of all of them.
        reports: of each world, by its name.
        histories: what each was built from.

    Raises:
        RunFolderError: two worlds hold the same numbers.
    """
    _check_distinct(histories)
    every = [one.lead for one in reports.values()]
    common = [lead for lead in every if lead is not None and _everywhere(lead, reports)]
    lead = next(iter(sorted(common, key=lambda one: str(one) != USUAL)), None)
    worlds = {
        world: BenchmarkEvidence(
            complete_replicates(histories[world]),
            one.selected,
            one.summaries,
            one.completeness.complete,
        )
        for world, one in reports.items()
    }
    over = None if lead is None else compare_over_benchmarks(worlds, lead)
    return WorldsReport(name, reports, lead, over)


def _check_distinct(histories: Mapping[str, Sequence[TrialHistory]]) -> None:
    """A copy under another name would count twice, and every interval would be too short."""
    seen: dict[object, str] = {}
    for world, trials in histories.items():
        numbers = frozenset(
            (t.method, t.seed, t.fold, *(t.scores[key].means.tobytes() for key in sorted(t.scores)))
            for t in trials
            if len(t.epochs)
        )
        if numbers and (other := seen.setdefault(numbers, world)) != world:
            raise RunFolderError(
                f"The worlds '{other}' and '{world}' hold the same numbers, which would count "
                "twice. Leave one of them out."
            )


def _everywhere(strategy: Strategy, reports: Mapping[str, Report]) -> bool:
    return all(
        any(summary.strategy == strategy for summary in one.summaries) for one in reports.values()
    )


def _methods(over: OverBenchmarks, lead: Strategy, complete: bool) -> str:
    """Which method is best on average, and whether the worlds decide it."""
    absent = [*dict.fromkeys(method for own in over.absent.values() for method in own)]
    if len(over.methods) < 2:
        lacking = f"not every world has {some(absent)} under {lead}"
        return f"No two methods can be compared over these worlds: {lacking}." if absent else ""
    worlds = counted(len(over.benchmarks), "world")
    best, second, *_ = order = sorted(over.methods, key=lambda one: -one.mean.mean)
    tied = [one.method for one in order if round(best.mean.mean - one.mean.mean, 9) == 0]
    so_far = "" if complete else "So far, "
    if len(tied) > 1:
        return f"{so_far}{some(tied)} have the same mean under {lead}, over {worlds}."
    own = {_other(one, best.method): one for one in over.differences if _of(one, best.method)}
    closest = own[second.method]
    gap = f"{wording.points(abs(closest.result.effect.mean))} points"
    ahead, scale = f"{gap} under {lead}", _scale(closest.result.effect)
    leads = f"{best.method} leads {second.method} by {ahead} on average over {worlds}{scale}"
    if not complete:
        return f"{so_far}{leads}; incomplete worlds decide nothing."
    if lead.oracle:
        return f"{leads}, where novel scores choose: a reference, not a result."
    if absent:
        return f"{leads}; not every world has {some(absent)}: nothing is decided."
    if all(one.result.verdict in ("better", "worse") for one in own.values()):
        if len(over.methods) == 2:
            return f"{best.method} is better than {second.method} by {ahead}, over {worlds}{scale}."
        who = (
            f"{best.method} is the best of {len(over.methods)} methods under {lead}, over {worlds}"
        )
        return f"{who}: {gap} above {second.method}, the next{scale}."
    return f"{leads}, which does not decide which method is best."


def _scale(effect: Interval) -> str:
    """The interval of the better minus the worse method; empty of two worlds, which have none."""
    if effect.caution == ALL_EQUAL:
        return f" ({ALL_EQUAL})"
    mean, half = abs(effect.mean), (effect.high - effect.low) / 2
    ends = f"{100 * (mean - half):.1f} to {100 * (mean + half):.1f}"
    return "" if isnan(half) else f" (95 % over worlds: {ends})"


def _strategies(over: OverBenchmarks, lead: Strategy, mixture: bool) -> list[str]:
    usual = [one for one in over.strategies if not one.strategy.oracle]
    own = next((one for one in usual if one.strategy == lead), None)
    if own is None:
        return []
    regrets = {one.strategy: round(one.regret.mean, 12) + 0.0 for one in usual}
    text = f"{cost(lead, regrets, mixture)}."
    return [text + _accuracy(over, own), "" if over.caution else _verdict(over, usual)]


def _accuracy(over: OverBenchmarks, own: StrategyOverBenchmarks) -> str:
    if own.accuracy is None:
        return ""
    worlds = f"{len(own.accuracies)} of {counted(len(over.benchmarks), 'world')}"
    ends = [min(1.0, max(0.0, end)) for end in (own.accuracy.low, own.accuracy.high)]
    known = not isnan(own.accuracy.low) and ends[0] < ends[1]
    scale = f"; 95 %: {100 * ends[0]:.0f} to {100 * ends[1]:.0f}" if known else ""
    return (
        f" Of two methods it picks the better one in {100 * own.accuracy.mean:.0f} % of cases "
        f"(mean of the {worlds} with a difference{scale}); chance is 50 %."
    )


def _verdict(over: OverBenchmarks, usual: Sequence[StrategyOverBenchmarks]) -> str:
    """Whether some strategy is worse than the one of least regret."""
    tested = [one for one in usual if one.against_least is not None]
    worse = [one for one in tested if one.against_least and one.against_least.verdict == "worse"]
    if worse:
        names = some([str(one.strategy) for one in worse])
        return f"Do not choose by {names}: more regret than the least, by more than chance."
    if len(usual) < 2:
        return ""
    worlds = counted(len(over.benchmarks), "world")
    if not tested:
        return f"{worlds} cannot tell which strategy is better ({LEAST_ROWS} are needed)."
    return "These worlds do not show that one strategy is better than another."


def _of(one: MethodComparison, method: str) -> bool:
    return method in (one.a, one.b)


def _other(one: MethodComparison, method: str) -> str:
    return one.b if one.a == method else one.a
