"""The protocols of a report in words, and the table of the chosen snapshots under all of them."""

from collections.abc import Iterable, Sequence

from fsl_sweep.orchestrator.report import wording
from fsl_sweep.orchestrator.report.content import RunContent
from fsl_sweep.orchestrator.report.document import blocks
from fsl_sweep.orchestrator.report.document.by_strategy import over
from fsl_sweep.orchestrator.report.over_protocols import UnderProtocol
from fsl_sweep.orchestrator.selection.methods import Summary
from fsl_sweep.orchestrator.selection.results import Strategy
from fsl_sweep.orchestrator.text.printed import counted


def named(report: RunContent) -> Iterable[blocks.Block]:
    """Say under which protocol the numbers are, and by which was chosen."""
    reported, by = report.info.protocol, report.info.chosen_by
    if reported is None or by is None:
        return
    text = f"Measured under {wording.protocol(reported)}."
    if reported.id != by.id:
        text = f"Reported under {wording.protocol(reported)}. Chosen by {wording.protocol(by)}."
    yield blocks.Paragraph(text)


def over_protocols(report: RunContent) -> Iterable[blocks.Block]:
    """Return protocols below each other and methods side by side, a block for equal strategies."""
    protocols = report.over_protocols
    if len(protocols) < 2:
        return
    yield blocks.Bullets(tuple(_described(report, under) for under in protocols))
    summaries = [summary for under in protocols for summary in under.summaries]
    there = {summary.method for summary in summaries}
    methods = [method for method in report.selected.methods if method in there]
    if not methods:
        return
    counts = [len(summary.choices) for summary in summaries]
    each = ("", f": {over('seed', counts)}", ": +- tasks")
    columns = blocks.numbers(
        [f"{report.named(method)}{head}" for method in methods for head in each]
    )
    shown = {summary.strategy for summary in summaries}
    rows = [(s, _rows(protocols, s, methods)) for s in report.selected.strategies if s in shown]
    groups = [
        blocks.Group(wording.on_one_line([strategy for strategy, _ in alike]), alike[0][1])
        for alike in blocks.grouped(rows, lambda row: (row[0].oracle, row[1]))
    ]
    yield blocks.Table(blocks.words("NovelGen under protocol") + columns, tuple(groups))


def _described(report: RunContent, under: UnderProtocol) -> str:
    planned = under.planned
    text = f"{planned.name}: {planned.protocol.described}"
    uses = {"chosen by it": report.info.chosen_by, "reported above": report.info.protocol}
    used = ", ".join(use for use, by in uses.items() if by and by.id == planned.id)
    if under.unmeasured and not used:
        command = wording.measuring(planned, not report.info.as_planned)
        used = f"{counted(under.unmeasured, 'chosen snapshot')} not measured: {command}"
    return f"{text}; {used}" if used else text


def _rows(
    protocols: Sequence[UnderProtocol], strategy: Strategy, methods: Sequence[str]
) -> tuple[blocks.Row, ...]:
    rows: list[blocks.Row] = []
    for under in protocols:
        cells = {s.method: s for s in under.summaries if s.strategy == strategy}
        texts = [text for method in methods for text in _cells(cells.get(method))]
        rows.append(blocks.Row((under.planned.name, *texts)))
    return tuple(rows)


def _cells(cell: Summary | None) -> tuple[str, str, str]:
    if cell is None:
        return "-", "-", "-"
    return (
        wording.percent(cell.novel.mean),
        wording.spread(cell.novel, [choice.means["novel"] for choice in cell.choices]),
        wording.half_width(cell.novel_tasks),
    )
