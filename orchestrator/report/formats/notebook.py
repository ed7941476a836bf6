"""What a notebook shows of a report and of a run: a part of a page, with its own style."""

from collections.abc import Iterable, Sequence

from fsl_sweep.orchestrator.records.measures import TrialHistory
from fsl_sweep.orchestrator.records.protocol import PlannedProtocol
from fsl_sweep.orchestrator.report.completeness import completeness_of
from fsl_sweep.orchestrator.report.content import Report
from fsl_sweep.orchestrator.report.document.blocks import (
    Bullets,
    Group,
    Row,
    Table,
    numbers,
    words,
)
from fsl_sweep.orchestrator.report.document.document import document
from fsl_sweep.orchestrator.report.figures.figures import figures
from fsl_sweep.orchestrator.report.formats.html import escaped, first_screen, folded, shown
from fsl_sweep.orchestrator.report.formats.page_style import CSS
from fsl_sweep.orchestrator.report.over_worlds import WorldsReport
from fsl_sweep.orchestrator.selection.results import why_unusable
from fsl_sweep.orchestrator.text.printed import counted

MORE = "Further figures: <code>run.plot</code>. A page to send: <code>to_html(report)</code>."
HOW = (
    "<code>run.report()</code>: the answer. <code>run.records()</code>, "
    "<code>run.selections()</code>: data frames."
)


def report_shown(report: Report | WorldsReport) -> str:
    """The answer with its figure, and the tables folded; other figures take a call of their own."""
    content = document(report)
    drawings = figures(report).get("answer", ())
    parts = [*first_screen(content, drawings)]
    for section in content.sections:
        parts.append(folded(f"<h2>{escaped(section.title)}</h2>", map(shown, section.blocks)))
    return _part([*parts, f'<p class="note">{MORE}</p>'])


def run_shown(
    name: str, histories: Sequence[TrialHistory], protocols: Sequence[PlannedProtocol]
) -> str:
    """A run: how much of it is done by method and seed, its protocols, and how to go on."""
    found = completeness_of(histories, 0)
    state = "complete" if found.complete else "INCOMPLETE"
    look = "good" if found.complete else "alarm"
    done = f"{found.done} of {counted(found.planned, 'trial')} done, {found.failed} failed."
    parts = [
        f'<header class="{look}"><h1>{escaped(name)}: {state}</h1><p>{done}</p></header>',
        shown(_by_seed(histories)),
    ]
    if protocols:
        texts = (f"protocol {one.name}: {one.protocol.described}" for one in protocols)
        parts.append(shown(Bullets(tuple(texts))))
    return _part([*parts, f'<p class="note">{HOW}</p>'])


def _by_seed(histories: Sequence[TrialHistory]) -> Table:
    """Trials that are done, of how many, by method and seed."""
    seeds = sorted({trial.seed for trial in histories})
    rows: list[Row] = []
    for method in dict.fromkeys(trial.method for trial in histories):
        cells = [method]
        for seed in seeds:
            own = [trial for trial in histories if (trial.method, trial.seed) == (method, seed)]
            done = sum(why_unusable(trial) is None for trial in own)
            cells.append(f"{done} of {len(own)}" if own else "-")
        rows.append(Row(tuple(cells)))
    columns = words("trials done") + numbers([f"seed {seed}" for seed in seeds])
    return Table(columns, (Group("", tuple(rows)),))


def _part(parts: Iterable[str]) -> str:
    return "\n".join(
        [f'<div class="fsl-sweep"><style>{CSS}</style><main>', *parts, "</main></div>"]
    )
