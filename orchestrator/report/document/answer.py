"""The answer in sentences, and methods by strategies as a forest plot."""

from collections.abc import Iterable, Sequence
from math import isfinite

from fsl_sweep.orchestrator.report import wording
from fsl_sweep.orchestrator.report.answer.forest import TWO_SEEDS, Bar, forest_of
from fsl_sweep.orchestrator.report.content import Report
from fsl_sweep.orchestrator.report.document.blocks import Block, Forest, Mark, Paragraph


def answer(report: Report) -> Iterable[Block]:
    """What a reader wants to know first."""
    for sentence in report.answer.sentences:
        yield Paragraph(sentence)
    if bars := forest_of(report):
        title = f"{wording.metric(report.base_weight)}, %"
        marks = tuple(_mark(report, bar) for bar in bars)
        yield Forest(title, marks, " ".join(_note(report, bars)))


def _mark(report: Report, bar: Bar) -> Mark:
    percents = (100 * value for value in (bar.mean, bar.low, bar.high))
    both = tuple(100 * value for value in bar.seeds) if len(bar.seeds) == 2 else ()
    name = str(bar.strategies[0])
    return Mark(report.named(bar.method), name, *percents, reference=bar.oracle, seeds=both)


def _note(report: Report, bars: Sequence[Bar]) -> Iterable[str]:
    usual = [bar for bar in bars if not bar.oracle] or bars
    if any(isfinite(bar.low) and len(bar.seeds) > 2 for bar in usual):
        yield (
            "Intervals: 95 %, with seeds, tasks and selection; as methods share tasks, those that "
            "differ may overlap."
        )
    if any(len(bar.seeds) == 2 for bar in usual):
        yield TWO_SEEDS
    if any(isfinite(bar.low) and len(bar.seeds) == 1 for bar in usual):
        yield "Of one seed: 95 %, of these snapshots, over tasks and selection."
    if any(not isfinite(bar.low) and len(bar.seeds) != 2 for bar in usual):
        possible = any(one.novel_tasks is not None for one in report.summaries)
        yield "No intervals: " + (
            "`--bootstrap 1000` adds them." if possible else "scores by task are not known."
        )
    if any(len(bar.strategies) > 1 for bar in bars):
        yield "Strategies that chose alike share a line."
