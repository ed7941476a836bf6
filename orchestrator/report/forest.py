"""Methods by strategies with their intervals: what the first figure of a report shows."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import nan
from typing import TYPE_CHECKING

from fsl_sweep.orchestrator.selection.methods import Summary, same_choices
from fsl_sweep.orchestrator.selection.results import Strategy

if TYPE_CHECKING:
    from fsl_sweep.orchestrator.report.content import Report


@dataclass(frozen=True)
class Bar:
    """A method under the strategies that chose alike for it.

    Attributes:
        method, strategies: which ones.
        mean: what methods are compared by, mean over seeds, in [0, 1].
        low, high: its interval with seeds, tasks and selection; NaN where the selection was not
            repeated.
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
    """Methods as the leading strategy ranks them, and of each its strategies, that one first."""
    order = next((one.methods for one in report.rankings if one.strategy == report.lead), ())
    methods = dict.fromkeys((*order, *(one.method for one in report.summaries)))
    bars: list[Bar] = []
    for method in methods:
        own = [one for one in report.summaries if one.method == method]
        groups = same_choices(own)
        groups.sort(key=lambda group: (group[0].strategy.oracle, not _leads(report, group)))
        bars += [_bar(report, group) for group in groups]
    return tuple(bars)


def _leads(report: "Report", group: Sequence[Summary]) -> bool:
    return report.lead in [one.strategy for one in group]


def _bar(report: "Report", group: Sequence[Summary]) -> Bar:
    """Those that chose alike have one interval: the widest of what repeating each one gave."""
    strategies = sorted((one.strategy for one in group), key=lambda one: one != report.lead)
    own = {(one.method, one.strategy) for one in group}
    cells = [one for one in report.resampled if (one.method, one.strategy) in own]
    found = [one.result if report.base_weight is None else one.mixed for one in cells]
    known = [one for one in found if one is not None]
    first = group[0]
    return Bar(
        method=first.method,
        strategies=tuple(strategies),
        mean=first.reported.mean,
        low=min((one.low for one in known), default=nan),
        high=max((one.high for one in known), default=nan),
        seeds=tuple(choice.reported.mean for choice in first.choices),
        oracle=first.strategy.oracle,
    )
