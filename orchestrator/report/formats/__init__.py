"""A report, or any document, as text, JSON, Markdown, LaTeX and HTML."""

from collections.abc import Mapping, Sequence

from fsl_sweep.orchestrator.report.document.blocks import Document
from fsl_sweep.orchestrator.report.figures.panel import Figure
from fsl_sweep.orchestrator.report.formats import html, latex, markdown, terminal


def written(form: str, content: Document, figures: Mapping[str, Sequence[Figure]]) -> str:
    """Return a document in a format for people: terminal, markdown, latex or html.

    Figures are by the key of their section, and only a page has them.
    """
    if form == "html":
        return html.page(content, figures)
    plain = {"terminal": terminal.text, "markdown": markdown.markdown, "latex": latex.latex}
    return plain[form](content)
