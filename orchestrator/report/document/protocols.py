"""The protocols of a report in words, and the table of the chosen snapshots under all of them."""

from collections.abc import Hashable, Iterable, Sequence

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
    there = {summary.method for one in found for summary in one.summaries}
    methods = [method for method in report.selected.methods if method in there]
    if not methods:
        return
    counts = [len(s.choices) for one in found for s in one.summaries]
    each = ("", f": {over('seed', counts)}", ": +- tasks")
    columns = numbers([f"{report.named(one)}{head}" for one in methods for head in each])
    groups = [_group(found, alike, methods) for alike in _alike(report)]
    yield Table(words("NovelGen under protocol") + columns, tuple(groups))


def _described(report: Report, one: UnderProtocol) -> str:
    text = f"{one.planned.name}: {one.planned.protocol.described}"
    uses = {"chosen by it": report.info.chosen_by, "reported above": report.info.protocol}
    used = ", ".join(use for use, by in uses.items() if by and by.id == one.planned.id)
    if one.unmeasured and not used:
        command = wording.measuring(one.planned, not report.info.as_planned)
        used = f"{counted(one.unmeasured, 'chosen snapshot')} not measured: {command}"
    return f"{text}; {used}" if used else text


def _alike(report: Report) -> list[tuple[Strategy, ...]]:
    """Strategies that chose the same snapshots of every method; an oracle with oracles only."""

    def key(strategy: Strategy) -> Hashable:
        chosen = [
            (pick.trial.method, pick.trial.trial, pick.epoch)
            for own in report.selected.picks
            for pick in own.picks
            if pick.strategy == strategy
        ]
        return strategy.oracle, tuple(chosen)

    there = {one.strategy for under in report.over_protocols for one in under.summaries}
    return grouped([one for one in report.selected.strategies if one in there], key)


def _group(
    found: Sequence[UnderProtocol], alike: Sequence[Strategy], methods: Sequence[str]
) -> Group:
    rows: list[Row] = []
    for one in found:
        own = {s.method: s for s in one.summaries if s.strategy == alike[0]}
        cells = [cell for method in methods for cell in _cells(own.get(method))]
        rows.append(Row((one.planned.name, *cells)))
    return Group(wording.on_one_line(alike), tuple(rows))


def _cells(one: Summary | None) -> tuple[str, str, str]:
    if one is None:
        return "-", "-", "-"
    return (
        wording.percent(one.novel.mean),
        wording.spread(one.novel, [choice.novel.mean for choice in one.choices]),
        wording.half_width(one.novel_tasks),
    )
