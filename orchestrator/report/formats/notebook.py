"""What a notebook shows of a report and of a run: a part of a page, with its own style."""

from collections.abc import Iterable, Mapping, Sequence

from fsl_sweep.orchestrator.records.measures import TrialHistory
from fsl_sweep.orchestrator.records.protocol import PlannedProtocol
from fsl_sweep.orchestrator.report.content import Content
from fsl_sweep.orchestrator.report.document.blocks import Bullets, Document
from fsl_sweep.orchestrator.report.document.document import document, headline, progress
from fsl_sweep.orchestrator.report.figures.figures import Figure, figures
from fsl_sweep.orchestrator.report.formats.html import body
from fsl_sweep.orchestrator.report.formats.page_style import CSS
from fsl_sweep.orchestrator.selection.completeness import completeness_of

MORE = "Further figures: <code>run.plot</code>. A page to send: <code>to_html(report)</code>."
HOW = (
    "<code>run.report()</code>: the answer. <code>run.records()</code>, "
    "<code>run.selections()</code>: data frames."
)


def report_shown(report: Content) -> str:
    """Show the answer with its figure, and the tables collapsed; other figures take a call."""
    answer = {"answer": figures(report).get("answer", [])}
    return _part([*body(document(report), answer), f'<p class="note">{MORE}</p>'])


def document_shown(content: Document, figured: Mapping[str, Sequence[Figure]]) -> str:
    """Show a document with its figures, the sections collapsed."""
    return _part(body(content, figured))


def run_shown(
    name: str, histories: Sequence[TrialHistory], protocols: Sequence[PlannedProtocol]
) -> str:
    """Show a run: how much of it is done, its protocols, and how to go on."""
    completeness = completeness_of(histories, 0)
    texts = tuple(f"protocol {p.name}: {p.protocol.described}" for p in protocols)
    content = Document(
        headline=headline(name, completeness.complete),
        answer=(Bullets(texts),) if texts else (),
        banner=tuple(progress(completeness)),
        complete=completeness.complete,
    )
    return _part([*body(content), f'<p class="note">{HOW}</p>'])


def _part(parts: Iterable[str]) -> str:
    return "\n".join(
        [f'<div class="fsl-sweep"><style>{CSS}</style><main>', *parts, "</main></div>"]
    )
