"""A report, or any document, as text, JSON, Markdown, LaTeX and HTML."""

from collections.abc import Mapping, Sequence

from fsl_sweep.orchestrator.report.document.blocks import Document
from fsl_sweep.orchestrator.report.figures.panel import Figure
from fsl_sweep.orchestrator.report.formats.html import page
from fsl_sweep.orchestrator.report.formats.latex import latex
from fsl_sweep.orchestrator.report.formats.markdown import markdown
from fsl_sweep.orchestrator.report.formats.terminal import text


def written(form: str, content: Document, figures: Mapping[str, Sequence[Figure]]) -> str:
    """Return a document in a format for people: terminal, markdown, latex or html.

    Figures are by the key of their section, and only a page has them.
    """
    if form == "html":
        return page(content, figures)
    return {"terminal": text, "markdown": markdown, "latex": latex}[form](content)
