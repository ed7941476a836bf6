"""Panels are painted with what they hold, whatever the user's settings of matplotlib are."""

import io
import re
import subprocess
import sys
from collections.abc import Callable
from html import escape
from typing import TYPE_CHECKING

import numpy as np
import pytest
from matplotlib import rc_context
from matplotlib.colors import to_rgb
from PIL import Image

from fsl_sweep.orchestrator.report.figures import figures, painter
from fsl_sweep.orchestrator.report.figures.figures import Panel
from fsl_sweep.orchestrator.report.figures.painter import drawing, painted
from fsl_sweep.orchestrator.report.figures.style import LIGHT, colour

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def line(number: int = 0, name: str = "a") -> Callable[["Axes"], None]:
    return lambda axes: figures._line(axes, [0, 5, 10], [0.2, 0.4, 0.5], number, name)


def pixels(draw: Callable[["Axes"], None], title: str = "title") -> np.ndarray:
    """The picture of a panel, uint8 ``[height, width, 3]``."""
    with Image.open(io.BytesIO(painted(Panel(title, draw), "png"))) as opened:
        return np.asarray(opened.convert("RGB"))


def has(image: np.ndarray, one: str) -> bool:
    return bool((np.abs(image - 255 * np.array(to_rgb(one))) < 3).all(axis=2).sum() > 20)


def test_a_picture_has_the_colours_of_its_lines_and_a_legend() -> None:
    empty = pixels(lambda axes: None)
    assert empty.shape == (440, 640, 3)
    assert not any(has(empty, one) for one in LIGHT)
    for number in (1, 2 + len(LIGHT)):
        image = pixels(line(number))
        assert [has(image, one) for one in LIGHT] == [colour(number) == one for one in LIGHT]
        assert image.shape == (459, 640, 3)  # a row of the legend
    # A single point is a dot, and a leading underscore hides no name.
    assert has(pixels(lambda axes: figures._line(axes, [3], [0.5], 0, "a")), LIGHT[0])
    assert (pixels(line(name="_private"))[440:] != pixels(line(name=""))[440:]).any()


@pytest.mark.parametrize("form", ["svg", "png", "pdf"])
def test_a_users_settings_and_hostile_names_change_nothing(form: str) -> None:
    panel = Panel(
        "$\\undefined$ 学 \x1b" + "long " * 60, line(name="$\\undefined{x}$ 100 % 学習 😀")
    )
    plain = painted(panel, form)
    assert plain.startswith({"svg": b"<?xml", "png": b"\x89PNG", "pdf": b"%PDF"}[form])
    with rc_context({"text.usetex": True, "font.size": 30, "lines.linewidth": 9}):
        assert painted(panel, form) == plain


def test_a_drawing_is_in_the_colours_of_the_page_and_has_tooltips() -> None:
    def draw(axes: "Axes") -> None:
        line(1)(axes)
        axes.set_xlabel("selected as text")
        marks = axes.scatter([1, 2], [0.1, 0.2], color=LIGHT[3], edgecolors=figures.INK)
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


def test_only_a_picture_loads_matplotlib() -> None:
    program = (
        "import sys\n"
        "import fsl_sweep.orchestrator.report.figures.painter\n"
        "import fsl_sweep.orchestrator.tensorboard\n"
        "assert 'matplotlib' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
