"""What several worlds say of strategies and of methods: means with their intervals over worlds."""

from collections.abc import Iterable, Mapping

from fsl_sweep.orchestrator.report import wording
from fsl_sweep.orchestrator.report.figures.intervals import Row, panel_of
from fsl_sweep.orchestrator.report.figures.panel import Figure
from fsl_sweep.orchestrator.report.over_worlds import WorldsReport
from fsl_sweep.orchestrator.statistics import Interval


def _marks(report: WorldsReport) -> str:
    lines = "Two worlds have no" if len(report.reports) == 2 else "Lines: 95 %"
    return f"{lines} interval over worlds; small dots: worlds."


def regrets(report: WorldsReport) -> Iterable[Figure]:
    """What choosing by each strategy costs."""
    if report.over is None or not report.over.strategies:
        return
    shown = [
        o for o in report.over.strategies if not o.strategy.oracle or o.strategy == report.lead
    ]
    shown.sort(key=lambda one: one.strategy != report.lead)
    rows = [_row(str(one.strategy), one.regret, one.regrets, 0, 2) for one in shown]
    caption = f"Regret against oracle / oracle, mean over methods. {_marks(report)} Less is better."
    yield Figure("regret", caption, (), [panel_of(rows, "regret, points", zero=True)])


def methods(report: WorldsReport) -> Iterable[Figure]:
    """Each method under the leading strategy, the best first."""
    if report.over is None or not report.over.methods:
        return
    numbers = {one.method: i for i, one in enumerate(report.over.methods)}
    shown = sorted(report.over.methods, key=lambda one: -one.mean.mean)
    rows = [_row(one.method, one.mean, one.means, numbers[one.method], 1) for one in shown]
    metric = wording.metric(report.base_weight)
    caption = (
        f"{metric} under {report.lead}. {_marks(report)} Methods share the worlds, so that those "
        "that differ may overlap: the differences below are paired."
    )
    yield Figure("methods", caption, (), [panel_of(rows, f"{metric}, %")])


def _row(name: str, one: Interval, values: Mapping[str, float], number: int, digits: int) -> Row:
    mean, low, high = (100 * value for value in (one.mean, one.low, one.high))
    told = ", ".join(f"{world} {100 * value:.2f}" for world, value in values.items())
    return Row(
        name=name,
        mean=mean,
        low=low,
        high=high,
        text=f"{mean:.{digits}f}",
        about=f"{name}: {mean:.2f}; {told}",
        number=number,
        dots=[100 * value for value in values.values()],
    )
