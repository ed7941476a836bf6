"""The protocols of a report in words, and the table of the chosen snapshots under all of them."""

from collections.abc import Iterable, Sequence

from fsl_sweep.orchestrator.report import wording
from fsl_sweep.orchestrator.report.content import Report
from fsl_sweep.orchestrator.report.document.blocks import (
    Block,
    Bullets,
    Group,
    Paragraph,
    Row,
    Table,
    grouped,
    numbers,
    words,
)
from fsl_sweep.orchestrator.report.document.by_strategy import over
from fsl_sweep.orchestrator.report.over_protocols import UnderProtocol
from fsl_sweep.orchestrator.selection.methods import Summary
from fsl_sweep.orchestrator.selection.results import Strategy
from fsl_sweep.orchestrator.text.printed import counted


def named(report: Report) -> Iterable[Block]:
    """Under which protocol the numbers are, and by which was chosen."""
    reported, by = report.info.protocol, report.info.chosen_by
    if reported is None or by is None:
        return
    text = f"Measured under {wording.protocol(reported)}."
    if reported.id != by.id:
        text = f"Reported under {wording.protocol(reported)}. Chosen by {wording.protocol(by)}."
    yield Paragraph(text)


def over_protocols(report: Report) -> Iterable[Block]:
    """Protocols below each other and methods side by side, a block for what strategies share."""
    found = report.over_protocols
    if len(found) < 2:
        return
    yield Bullets(tuple(_described(report, one) for one in found))
    summaries = [summary for one in found for summary in one.summaries]
    methods = [m for m in report.selected.methods if m in {one.method for one in summaries}]
    if not methods:
        return
    counts = [len(one.choices) for one in summaries]
    each = ("", f": {over('seed', counts)}", ": +- tasks")
    columns = numbers([f"{report.named(one)}{head}" for one in methods for head in each])
    there = {one.strategy for one in summaries}
    rows = [(s, _rows(found, s, methods)) for s in report.selected.strategies if s in there]
    groups = [
        Group(wording.on_one_line([strategy for strategy, _ in alike]), alike[0][1])
        for alike in grouped(rows, lambda one: (one[0].oracle, one[1]))
    ]
    yield Table(words("NovelGen under protocol") + columns, tuple(groups))


def _described(report: Report, one: UnderProtocol) -> str:
    text = f"{one.planned.name}: {one.planned.protocol.described}"
    uses = {"chosen by it": report.info.chosen_by, "reported above": report.info.protocol}
    used = ", ".join(use for use, by in uses.items() if by and by.id == one.planned.id)
    if one.unmeasured and not used:
        command = wording.measuring(one.planned, not report.info.as_planned)
        used = f"{counted(one.unmeasured, 'chosen snapshot')} not measured: {command}"
    return f"{text}; {used}" if used else text


def _rows(
    found: Sequence[UnderProtocol], strategy: Strategy, methods: Sequence[str]
) -> tuple[Row, ...]:
    rows: list[Row] = []
    for one in found:
        own = {s.method: s for s in one.summaries if s.strategy == strategy}
        cells = [cell for method in methods for cell in _cells(own.get(method))]
        rows.append(Row((one.planned.name, *cells)))
    return tuple(rows)


def _cells(one: Summary | None) -> tuple[str, str, str]:
    if one is None:
        return "-", "-", "-"
    return (
        wording.percent(one.novel.mean),
        wording.spread(one.novel, [choice.means["novel"] for choice in one.choices]),
        wording.half_width(one.novel_tasks),
    )
