"""The table as papers print it: methods by benchmarks under the leading strategy."""

from collections.abc import Mapping

from fsl_sweep.orchestrator.report import wording
from fsl_sweep.orchestrator.report.answer.answer import answer_of
from fsl_sweep.orchestrator.report.answer.leader import Leader
from fsl_sweep.orchestrator.report.cautions import cautions_of, grave_cautions
from fsl_sweep.orchestrator.report.content import Content, RunContent
from fsl_sweep.orchestrator.report.document import blocks
from fsl_sweep.orchestrator.report.document.by_strategy import seeds_lost
from fsl_sweep.orchestrator.report.document.document import document
from fsl_sweep.orchestrator.selection.methods import Summary
from fsl_sweep.orchestrator.selection.results import Strategy

FEWEST = 3
"""Seeds of a method that an interval is shown of."""


def methods_by_benchmarks(report: Content) -> blocks.Document:
    """Return one table of methods by benchmarks, or of the methods of a run, and what it shows.

    A cell is a mean over seeds with half of its 95 % interval. The best of a column is in bold
    only where it is decided, as the answer decides: over seeds, against every other method.
    """
    whole, columns, sections = document(report, full=False), _columns(report), ()
    said = answer_of(report).sentences
    if report.lead is not None:
        said = (_caption(columns, report.lead),)
        title = (
            f"{wording.metric(report.base_weight)}, %: mean over seeds +- half of the 95 % interval"
        )
        sections = (blocks.Section("main", title, (_table(columns, report.lead),)),)
    run = isinstance(report, RunContent)
    return blocks.Document(
        headline=whole.headline,
        answer=tuple(map(blocks.Paragraph, said)),
        sections=sections,
        banner=whole.banner,
        warnings=grave_cautions(report) if run else cautions_of(report),
        complete=whole.complete,
        opened=True,
    )


def _columns(report: Content) -> Mapping[str, RunContent]:
    """Return the report of each column by its head."""
    if isinstance(report, RunContent):
        return {f"{wording.metric(report.base_weight)}, %": report}
    return report.reports


def _caption(columns: Mapping[str, RunContent], lead: Strategy) -> str:
    cells = [cell for content in columns.values() for cell in content.summaries_of(lead)]
    metric = wording.metric(cells[0].base_weight)
    text = (
        f"{metric} in percent under {wording.starred(lead)}: mean over seeds +- half of the 95 % "
        "interval over seeds (Student's t), which leaves out what other tasks and selections would "
        "add; verdicts include it."
    )
    if any(cell.draws_nothing for cell in cells):
        text += " Of a method that draws nothing the interval is over tasks."
    if any(len(cell.choices) < FEWEST and not cell.draws_nothing for cell in cells):
        text += f" A mean of fewer than {FEWEST} seeds stands without an interval."
    best = [
        method if len(columns) == 1 else f"{method} ({name})"
        for name, content in columns.items()
        if (method := _decided(content, lead)) is not None
    ]
    if not best:
        return f"{text} Nothing is in bold: no best method is decided over seeds."
    return (
        f"{text} Bold: decided over seeds to be better than every other method of the column "
        f"(Holm): {', '.join(best)}."
    )


def _decided(report: RunContent, lead: Strategy) -> str | None:
    """Return the best method where that is decided."""
    leader = Leader(report, lead)
    return leader.methods[0] if leader.decided else None


def _table(columns: Mapping[str, RunContent], lead: Strategy) -> blocks.Table:
    cells = {
        name: {cell.method: cell for cell in content.summaries_of(lead)}
        for name, content in columns.items()
    }
    best = [_decided(content, lead) for content in columns.values()]
    shown = {m: m for of_column in cells.values() for m in of_column}
    if len(columns) == 1:
        (content,) = columns.values()
        shown = {method: content.named(method) for method in shown}
    rows = [
        blocks.Row(
            (name, *(_cell(of_column.get(method)) for of_column in cells.values())),
            bold=frozenset(at for at, leading in enumerate(best, 1) if leading == method),
        )
        for method, name in shown.items()
    ]
    return blocks.table(blocks.words("method") + blocks.numbers([*columns]), rows)


def _cell(cell: Summary | None) -> str:
    """Write ``48.93 +- 1.20``; a dash where the column lacks the method."""
    if cell is None:
        return "-"
    known = len(cell.choices) >= FEWEST or cell.draws_nothing
    half = wording.half_width(cell.reported) if known else "-"
    return wording.percent(cell.reported.mean) + f" +- {half}" * (half != "-") + seeds_lost(cell)
