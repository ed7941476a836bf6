"""The answer in sentences, and methods by strategies as a forest plot."""

from collections.abc import Iterable

from fsl_sweep.orchestrator.report import wording
from fsl_sweep.orchestrator.report.content import Report
from fsl_sweep.orchestrator.report.document.blocks import Block, Forest, Mark, Paragraph
from fsl_sweep.orchestrator.report.forest import Bar, forest_of


def answer(report: Report) -> Iterable[Block]:
    """What a reader wants to know first."""
    for sentence in report.answer.sentences:
        yield Paragraph(sentence)
    if bars := forest_of(report):
        title = f"{wording.metric(report.base_weight)}, %"
        yield Forest(title, tuple(_mark(report, bar) for bar in bars), _note(report, bars))


def _mark(report: Report, bar: Bar) -> Mark:
    done, planned = report.completeness.seeds[bar.method]
    seeds = "" if done == planned else f" ({done} of {planned} seeds)"
    more = f" + {len(bar.strategies) - 1}" if len(bar.strategies) > 1 else ""
    name = str(bar.strategies[0]) + more
    percents = (100 * value for value in (bar.mean, bar.low, bar.high))
    return Mark(bar.method + seeds, name, *percents, reference=bar.oracle)


def _note(report: Report, bars: tuple[Bar, ...]) -> str:
    seeds = max(len(bar.seeds) for bar in bars)
    what = "with seeds, tasks and selection" if seeds > 1 else "with tasks and selection; one seed"
    alike = ""
    if any(len(bar.strategies) > 1 for bar in bars):
        alike = ' "+ 2": two more strategies chose the same snapshots.'
    oracle = " <>: read novel scores." if any(bar.oracle for bar in bars) else ""
    if not report.resampled:
        return f"Mean over seeds, without intervals (--bootstrap 1000 adds them).{alike}{oracle}"
    return f"o: mean over seeds, |--|: 95 %, {what}.{alike}{oracle}"
