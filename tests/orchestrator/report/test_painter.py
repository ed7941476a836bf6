"""Panels are painted with what they hold, whatever the user's settings of matplotlib are."""

import io
import re
from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from matplotlib import rc_context
from matplotlib.colors import to_rgb
from PIL import Image

from fsl_sweep.orchestrator.report.figures import painter, panel
from fsl_sweep.orchestrator.report.figures.painter import drawing, picture
from fsl_sweep.orchestrator.report.figures.panel import Figure, Panel
from fsl_sweep.orchestrator.report.figures.sheet import Sheet, pages, sheet
from fsl_sweep.orchestrator.report.figures.style import INK, LIGHT, colour

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def line(number: int = 0, name: str = "a") -> Callable[["Axes"], None]:
    return lambda axes: panel.line(axes, [0, 5, 10], [0.2, 0.4, 0.5], number, name)


def pixels(draw: Callable[["Axes"], None], title: str = "title") -> np.ndarray:
    """The picture of a panel, uint8 ``[height, width, 3]``."""
    with Image.open(io.BytesIO(picture(Panel(title, draw)))) as opened:
        return np.asarray(opened.convert("RGB"))


def has(image: np.ndarray, one: str) -> bool:
    return bool((np.abs(image - 255 * np.array(to_rgb(one))) < 3).all(axis=2).sum() > 20)


def test_a_picture_has_the_colours_of_its_lines_and_a_legend() -> None:
    empty = pixels(lambda axes: None)
    assert empty.shape[1:] == (640, 3)
    assert not any(has(empty, one) for one in LIGHT)
    for number in (1, 2 + len(LIGHT)):
        image = pixels(line(number))
        assert [has(image, one) for one in LIGHT] == [colour(number) == one for one in LIGHT]
        assert image.shape[0] > empty.shape[0]  # a row of the legend
    # A single point is a dot, and a leading underscore hides no name.
    assert has(pixels(lambda axes: panel.line(axes, [3], [0.5], 0, "a")), LIGHT[0])
    assert (pixels(line(name="_private"))[-20:] != pixels(line(name=""))[-20:]).any()


def test_a_users_settings_and_hostile_names_change_nothing() -> None:
    one = Panel("$\\undefined$ 学 \x1b" + "long " * 60, line(name="$\\undefined{x}$ 100 % 学習 😀"))
    forms = {"svg": b"<?xml", "png": b"\x89PNG", "pdf": b"%PDF"}
    page, whole = drawing(one), sheet(Figure("", "", (), [one]))
    saved = {form: whole.saved(form) for form in forms}
    assert all(saved[form].startswith(magic) for form, magic in forms.items())
    with rc_context({"text.usetex": True, "font.size": 30, "lines.linewidth": 9}):
        assert drawing(one) == page
        again = sheet(Figure("", "", (), [one]))
        assert {form: again.saved(form) for form in forms} == saved


def test_a_drawing_is_in_the_colours_of_the_page_and_has_tooltips() -> None:
    def draw(axes: "Axes") -> None:
        line(1)(axes)
        axes.set_xlabel("selected as text")
        marks = axes.scatter([1, 2], [0.1, 0.2], color=LIGHT[3], edgecolors=INK)
        marks.set_urls([escape('<a> & "b"'), "c"])

    svg = drawing(Panel("<title>", draw))
    assert svg.startswith('<svg role="img" aria-label="&lt;title&gt;"')
    assert re.findall("#[0-9a-f]{6}", svg) == []
    for name in ("--c1", "--c3", "--ink", "--soft", "--line"):
        assert f"var({name})" in svg
    assert svg.count("<title>&lt;a&gt; &amp; &quot;b&quot;</title>") == 1
    assert ">selected as text</text>" in svg
    assert "<a " not in svg
    assert "<style" not in svg
    assert painter._IN_THE_PAGE.keys() >= {*LIGHT}
    assert len(painter._IN_THE_PAGE) == len(LIGHT) + 4


@pytest.mark.parametrize("width", [8.5, 17.8])
def test_a_sheet_is_as_wide_as_a_column_and_embeds_its_fonts(width: float) -> None:
    figure = Figure("", "", (), [Panel(f"panel {i}", line(0, "shared")) for i in range(5)])
    one = sheet(figure, width)
    pdf = one.saved("pdf")
    box = re.search(rb"/MediaBox \[ 0 0 ([0-9.]+) ([0-9.]+) \]", pdf)
    assert box is not None
    assert float(box[1]) / 72 * 2.54 == pytest.approx(width, abs=0.01)
    assert b"/FontFile2" in pdf
    assert b"/Type3" not in pdf
    # One legend entry for all panels, scales at the left and at the bottom only, text of 8 points.
    assert [text.get_text() for text in one.legends[0].get_texts()] == [" shared"]
    columns = {8.5: 2, 17.8: 4}[width]
    ticks = [axes.get_yticklabels() for axes in one.axes]
    assert [bool(own) for own in ticks] == [i % columns == 0 for i in range(5)]
    assert {text.get_fontsize() for own in ticks for text in own} == {8}


def test_a_notebook_shows_a_sheet_and_saves_it_as_drawn(tmp_path: Path) -> None:
    one = sheet(Figure("", "", (), [Panel("title", line())]), dpi=50)
    assert isinstance(one, Sheet)
    assert one._repr_png_().startswith(b"\x89PNG")
    with rc_context({"pdf.fonttype": 3}):
        one.savefig(tmp_path / "own.pdf")
    assert b"/Type3" not in (tmp_path / "own.pdf").read_bytes()


def test_a_page_holds_what_can_be_read() -> None:
    figure = Figure("", "", (), [Panel("title", line(), lines=5) for _ in range(12)])
    parts = pages(figure, 8.5)
    assert [one for part in parts for one in part.panels] == list(figure.panels)
    assert len(parts) > 1
    assert all(sheet(part, 8.5).get_figheight() * 2.54 < 24 for part in parts)
    assert len(pages(figure, 17.8)) == 1
