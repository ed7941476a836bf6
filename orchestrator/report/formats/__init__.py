"""A report, or any document, as text, JSON, Markdown, LaTeX and HTML."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fsl_sweep.orchestrator.report.document.blocks import Document
    from fsl_sweep.orchestrator.report.figures.panel import Figure


def written(form: str, content: "Document", figures: "Mapping[str, Sequence[Figure]]") -> str:
    """Return a document in a format for people: terminal, markdown, latex or html.

    Figures are by the key of their section, and only a page has them.
    """
    # A format is not loaded before there is something to show.
    if form == "html":
        from fsl_sweep.orchestrator.report.formats.html import page

        return page(content, figures)
    if form == "latex":
        from fsl_sweep.orchestrator.report.formats.latex import latex

        return latex(content)
    if form == "markdown":
        from fsl_sweep.orchestrator.report.formats.markdown import markdown

        return markdown(content)
    from fsl_sweep.orchestrator.report.formats.terminal import text

    return text(content)
