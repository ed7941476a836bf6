"""Panels painted by matplotlib: SVG for the HTML page, PNG for TensorBoard, PDF for papers.

Equal panels give equal bytes with one version of matplotlib, whatever its user configured.
"""

import io
import math
import re
import warnings
from html import escape
from typing import TYPE_CHECKING, Any, Literal

from fsl_sweep.orchestrator.report.figures.figures import Panel
from fsl_sweep.orchestrator.report.figures.style import INK, LIGHT, RULES, SOFT
from fsl_sweep.orchestrator.text.printed import one_line, printable

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

DRAWING, PICTURE = (4.7, 3.5), (6.4, 4.4)
"""Width and height in inches, without a picture's legend."""

LONGEST = 60
"""Characters of a title and of a name in the legend of a picture; the page wraps them."""

_SETTINGS: dict[Any, Any] = {
    "text.parse_math": False,  # names are no formulas
    "text.color": INK,
    "axes.axisbelow": True,
    "axes.edgecolor": RULES,
    "axes.formatter.useoffset": False,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "axes.labelcolor": INK,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "grid.color": RULES,
    "legend.fontsize": 9,
    "legend.frameon": False,
    "svg.fonttype": "none",
    "svg.hashsalt": "fsl-sweep",
    "xtick.color": RULES,
    "xtick.labelcolor": SOFT,
    "ytick.color": RULES,
    "ytick.labelcolor": SOFT,
}
_METADATA = {
    "svg": dict.fromkeys(("Creator", "Date", "Format", "Type")),
    "png": {"Software": None},
    "pdf": dict.fromkeys(("Creator", "CreationDate", "Producer")),
}


def painted(panel: Panel, form: Literal["svg", "png", "pdf"]) -> bytes:
    """The panel as a file; PNG and PDF have its title and a legend, an SVG leaves both to the page.

    A PNG has 100 dots per inch.
    """
    # Loaded where something is painted: it takes longer than a whole report on the terminal.
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context(), warnings.catch_warnings():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_SETTINGS)
        # Letters that the font lacks are shown as boxes, as they are elsewhere.
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        if form == "svg":
            # matplotlib's own layout would take longer than the rest of the page.
            canvas = Figure(DRAWING)
            panel.draw(canvas.add_axes((0.15, 0.17, 0.82, 0.74)))
        else:
            canvas = Figure(PICTURE, dpi=100, layout="constrained")
            canvas.suptitle(_cut(panel.title), x=0.02, ha="left", size=11)
            panel.draw(canvas.subplots())
            _add_legend(canvas)
        file = io.BytesIO()
        canvas.savefig(file, format=form, metadata=_METADATA[form])
    return file.getvalue()


def drawing(panel: Panel) -> str:
    """The panel as an element of a page, in the page's colours and with tooltips."""
    svg = painted(panel, "svg").decode()
    svg = svg[svg.index("<svg ") :]
    svg = re.sub(r" <defs>\n  <style.*?</defs>\n", "", svg, count=1, flags=re.DOTALL)
    svg = re.sub(r'<g id="[^"]*">', "<g>", svg)
    svg = re.sub("#[0-9a-f]{6}", lambda found: _IN_THE_PAGE.get(found[0], found[0]), svg)
    svg = re.sub('<a xlink:href="([^"]*)"[^>]*>', _tooltip, svg).replace("</a>", "</g>")
    name = escape(printable(panel.title))
    return svg.replace("<svg", f'<svg role="img" aria-label="{name}"', 1)


def _tooltip(link: re.Match[str]) -> str:
    """What opens a group in a link's place, which holds HTML that was escaped a second time."""
    return f"<g><title>{link[1].replace('&amp;', '&')}</title>"


_IN_THE_PAGE = {
    INK: "var(--ink)",
    SOFT: "var(--soft)",
    RULES: "var(--line)",
    "#ffffff": "none",
    **{light: f"var(--c{number})" for number, light in enumerate(LIGHT)},
}
"""The page's variables by the colours that panels are painted in, all distinct."""


def _add_legend(canvas: "Canvas") -> None:
    """Below the plane, in a taller picture: what the panel's artists are labelled with."""
    handles, names = canvas.axes[0].get_legend_handles_labels()
    if not names:
        return
    longest = max(map(len, names))
    columns = 1 if longest > 30 else 2 if longest > 16 else 4
    rows = math.ceil(len(names) / columns)
    canvas.set_figheight(PICTURE[1] + 0.19 * rows)
    canvas.legend(handles, list(map(_cut, names)), loc="outside lower left", ncols=columns)


def _cut(text: str) -> str:
    text = one_line(text)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
