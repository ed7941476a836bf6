"""A report of several worlds: benchmarks on which the same methods were run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from fsl_sweep.orchestrator.records.measures import TrialHistory
from fsl_sweep.orchestrator.report import wording
from fsl_sweep.orchestrator.report.completeness import whole_replicates
from fsl_sweep.orchestrator.report.content import Report
from fsl_sweep.orchestrator.selection.lead import USUAL
from fsl_sweep.orchestrator.selection.over_worlds import (
    DifferenceOverWorlds,
    OverWorlds,
    StrategyOverWorlds,
    World,
    compare_over_worlds,
)
from fsl_sweep.orchestrator.selection.results import Strategy
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
    over: OverWorlds | None

    @property
    def complete(self) -> bool:
        """Whether nothing is missing from any world."""
        return all(one.completeness.complete for one in self.reports.values())

    @property
    def cautions(self) -> tuple[str, ...]:
        """Those of the worlds; one that all of them have stands once."""
        found = {world: one.cautions for world, one in self.reports.items()}
        common = [c for c in next(iter(found.values())) if all(c in own for own in found.values())]
        others = [f"{world}: {c}" for world, own in found.items() for c in own if c not in common]
        return (*common, *others)

    @property
    def base_weight(self) -> float | None:
        """As of ``Report``; the same in all worlds."""
        return next(iter(self.reports.values())).base_weight

    @cached_property
    def sentences(self) -> tuple[str, ...]:
        """The answer: which method, which strategy, and what would decide it."""
        if self.over is None:
            return ("Nothing can be said over worlds: no strategy chose in all of them.",)
        found = [_methods(self.over), *_strategies(self.over, self.lead)]
        found = [one for one in found if one]
        return tuple(found if self.complete else [f"So far: {found[0]}", *found[1:]])

    def __repr__(self) -> str:
        return f"<Report of {self.name!r}>"

    def _repr_html_(self) -> str:
        # A format is not loaded before there is something to show.
        from fsl_sweep.orchestrator.report.formats.notebook import report_shown

        return report_shown(self)  # pyright: ignore[reportArgumentType]


def build_worlds(
    name: str, reports: Mapping[str, Report], histories: Mapping[str, Sequence[TrialHistory]]
) -> WorldsReport:
    """The report of several worlds.

    Args:
        name: of all of them.
        reports: of each world, by its name.
        histories: what each was built from.
    """
    every = [one.lead for one in reports.values()]
    common = [lead for lead in every if lead is not None and _everywhere(lead, reports)]
    lead = next(iter(sorted(common, key=lambda one: str(one) != USUAL)), None)
    worlds = {
        world: World(whole_replicates(histories[world]), one.selected, one.summaries)
        for world, one in reports.items()
    }
    over = None if lead is None else compare_over_worlds(worlds, lead)
    return WorldsReport(name, reports, lead, over)


def _everywhere(strategy: Strategy, reports: Mapping[str, Report]) -> bool:
    return all(
        any(summary.strategy == strategy for summary in one.summaries) for one in reports.values()
    )


def _methods(over: OverWorlds) -> str:
    """Which method is best on average, and whether the worlds decide it."""
    if len(over.methods) < 2:
        return ""
    worlds = counted(len(over.worlds), "world")
    best, second = sorted(over.methods, key=lambda one: -one.mean.mean)[:2]
    own = {_other(one, best.method): one for one in over.differences if _of(one, best.method)}
    closest = own[second.method]
    ahead = f"{wording.points(abs(closest.result.effect.mean))} points"
    mean, half = abs(closest.result.effect.mean), _half(closest)
    scale = f"95 % over worlds: {100 * (mean - half):.1f} to {100 * (mean + half):.1f}"
    if all(one.result.verdict in ("better", "worse") for one in own.values()):
        return f"{best.method} is best over {worlds}: {ahead} above {second.method} ({scale})."
    return (
        f"{best.method} leads {second.method} by {ahead} on average, but {worlds} cannot decide "
        f"which method is best ({scale})."
    )


def _strategies(over: OverWorlds, lead: Strategy | None) -> list[str]:
    usual = [one for one in over.strategies if not one.strategy.oracle]
    own = next((one for one in usual if one.strategy == lead), None)
    if own is None:
        return []
    costs = [one.regret.mean for one in usual]
    low, high = (wording.points(f(costs)) for f in (min, max))
    span = "" if len(usual) == 1 else f"; {len(usual)} strategies cost {low} to {high}"
    text = f"{lead} costs {wording.points(own.regret.mean)} points against the oracle{span}."
    return [text + _accuracy(own), _verdict(over, usual)]


def _accuracy(own: StrategyOverWorlds) -> str:
    if own.accuracy is None:
        return ""
    return (
        f" Of two methods it picks the better one in {100 * own.accuracy.mean:.0f} % of decisions; "
        "chance is 50 %."
    )


def _verdict(over: OverWorlds, usual: Sequence[StrategyOverWorlds]) -> str:
    worse = [one.strategy for one in usual if one.against_least is not None]
    decided = [
        one.strategy
        for one in usual
        if one.against_least is not None and one.against_least.verdict == "worse"
    ]
    if decided:
        names = ", ".join(map(str, decided))
        return f"More regret than the least, beyond what these worlds leave to chance: {names}."
    if len(usual) < 2:
        return ""
    if not worse:
        return (
            f"{counted(len(over.worlds), 'world')} cannot tell which strategy is better "
            f"({LEAST_ROWS} are needed)."
        )
    return "These worlds do not tell which strategy is better."


def _of(one: DifferenceOverWorlds, method: str) -> bool:
    return method in (one.a, one.b)


def _other(one: DifferenceOverWorlds, method: str) -> str:
    return one.b if one.a == method else one.a


def _half(one: DifferenceOverWorlds) -> float:
    return (one.result.effect.high - one.result.effect.low) / 2
