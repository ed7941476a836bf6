"""Panels and figures painted by matplotlib: SVG for the HTML page, PNG for TensorBoard, PDF.

Equal panels give equal bytes with one version of matplotlib, whatever its user configured.
"""

import io
import re
from html import escape

from fsl_sweep.orchestrator.report.figures.panel import Figure, Panel
from fsl_sweep.orchestrator.report.figures.style import INK, LIGHT, RULES, SOFT
from fsl_sweep.orchestrator.text.printed import printable

PLANE, ROWS = 4.7, 4.9
"""Inches of a drawing's width: of a plane, and of rows of intervals."""


def picture(panel: Panel) -> bytes:
    """Paint the panel with its title and a legend, as a PNG that is 640 wide."""
    # Loaded where something is painted: it takes longer than a whole report on the terminal.
    from fsl_sweep.orchestrator.report.figures.sheet import sheet

    return sheet(Figure("", "", (), [panel]), width=12.8, dpi=127).saved("png")


def drawing(panel: Panel, about: str = "", key: str = "") -> str:
    """Draw the panel as an element of a page, in the page's colours and with tooltips.

    The page has its title and its legend.

    Args:
        panel: what to draw.
        about: what a screen reader says of it, after its title.
        key: what the ids of its parts begin with, different for each drawing of a page.
    """
    svg = _plain(panel).decode()
    svg = svg[svg.index("<svg ") :]
    svg = re.sub(r" <defs>\n  <style.*?</defs>\n", "", svg, count=1, flags=re.DOTALL)
    svg = re.sub(r'<g id="[^"]*">', "<g>", svg)
    svg = re.sub("#[0-9a-f]{6}", lambda shade: _IN_THE_PAGE.get(shade[0], shade[0]), svg)
    svg = re.sub('<a xlink:href="([^"]*)"[^>]*>', _tooltip, svg).replace("</a>", "</g>")
    svg = re.sub("<[^>]+>", lambda tag: _ID.sub(rf"\1{key}", tag[0]), svg)
    name = escape(printable(": ".join(filter(None, (panel.title, about)))))
    return svg.replace("<svg", f'<svg role="img" aria-label="{name}"', 1)


def _plain(panel: Panel) -> bytes:
    """Paint as SVG, texts as text. matplotlib's own layout would take longer than the page."""
    from matplotlib.figure import Figure as Canvas

    from fsl_sweep.orchestrator.report.figures.sheet import METADATA, settings

    with settings(10, **{"svg.fonttype": "none"}):
        left, right = 0.25 + 0.085 * max(panel.longest, 5), 0.12 if panel.plane else 0.55
        above, below = 0.1, 0.55
        height = above + below + 0.21 * panel.lines + (2.7 if panel.plane else 0)
        width = PLANE if panel.plane else ROWS
        canvas = Canvas((width, height))
        inside = (width - left - right) / width, (height - above - below) / height
        panel.draw(canvas.add_axes((left / width, below / height, *inside)))
        file = io.BytesIO()
        canvas.savefig(file, format="svg", metadata=METADATA["svg"])
    return file.getvalue()


def _tooltip(link: re.Match[str]) -> str:
    """Open a group in a link's place, which holds HTML that was escaped a second time."""
    return f"<g><title>{link[1].replace('&amp;', '&')}</title>"


_ID = re.compile(r'( id="| xlink:href="#|="url\(#)')
"""Where a tag has an id, or the id of another one."""

_IN_THE_PAGE = {
    INK: "var(--ink)",
    SOFT: "var(--soft)",
    RULES: "var(--line)",
    "#ffffff": "none",
    **{light: f"var(--c{number})" for number, light in enumerate(LIGHT)},
}
"""The page's variables by the colours that panels are painted in, all distinct."""
