"""Methods by strategies with their intervals: what the first figure of a report shows."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import nan
from typing import TYPE_CHECKING

from fsl_sweep.orchestrator.selection.methods import Summary, same_choices
from fsl_sweep.orchestrator.selection.results import Strategy

if TYPE_CHECKING:
    from fsl_sweep.orchestrator.report.content import Report

TWO_SEEDS = (
    "Two seeds are shown as they are: a method's interval needs three, a difference's two of each."
)
"""Why the sentence of the answer may have an interval where the figure has none."""


@dataclass(frozen=True)
class Bar:
    """A method under the strategies that chose alike for it.

    Attributes:
        method, strategies: which ones; the strategy to name the bar by is the first.
        mean: what methods are compared by, mean over seeds, in [0, 1].
        low, high: its interval with seeds, tasks and selection. NaN where the selection was not
            repeated, and of two seeds, which say themselves what one degree of freedom says. With
            one seed it is of these snapshots, over tasks and selection.
        seeds: the value of each seed.
        oracle: whether the strategies read novel scores.
    """

    method: str
    strategies: tuple[Strategy, ...]
    mean: float
    low: float
    high: float
    seeds: tuple[float, ...]
    oracle: bool


def forest_of(report: "Report") -> tuple[Bar, ...]:
    """Methods as the leading strategy ranks them, and of each its strategies.

    That one is first, then those under which another method leads, then the others; the oracles
    are last, the one that regret is measured against before others.
    """
    first = {one.strategy: one.methods for one in report.rankings}
    order = first.get(report.lead, ()) if report.lead else ()

    def place(strategy: Strategy) -> tuple[bool, bool, bool]:
        if strategy.oracle:
            return True, (strategy.snapshot, strategy.hyperparameter) != ("oracle", "oracle"), False
        return False, strategy != report.lead, first[strategy][:1] == order[:1]

    bars: list[Bar] = []
    for method in dict.fromkeys((*order, *(one.method for one in report.summaries))):
        own = [one for one in report.summaries if one.method == method]
        own.sort(key=lambda one: place(one.strategy))
        bars += [_bar(report, group) for group in same_choices(own)]
    return tuple(bars)


def _bar(report: "Report", group: Sequence[Summary]) -> Bar:
    """The interval is that of the first strategy, which names the bar."""
    own = (group[0].method, group[0].strategy)
    cells = [one for one in report.resampled if (one.method, one.strategy) == own]
    found = [one.result if report.base_weight is None else one.mixed for one in cells]
    known = [one for one in found if one is not None and one.n != 2]
    first = group[0]
    return Bar(
        method=first.method,
        strategies=tuple(one.strategy for one in group),
        mean=first.reported.mean,
        low=known[0].low if known else nan,
        high=known[0].high if known else nan,
        seeds=tuple(choice.reported_mean for choice in first.choices),
        oracle=first.strategy.oracle,
    )
