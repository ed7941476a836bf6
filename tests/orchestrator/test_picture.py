"""Pictures show what the description says, whatever the user's settings of matplotlib are."""

import io
import subprocess
import sys

import numpy as np
from matplotlib import rc_context
from matplotlib.colors import to_rgb
from PIL import Image

from fsl_sweep.orchestrator.report.drawing import Axis, Figure, Line, Mark, Panel, Part, Rule, Sign
from fsl_sweep.orchestrator.report.picture import HEIGHT, LEGEND_ROW, WIDTH, picture
from fsl_sweep.orchestrator.report.style import INK, LIGHT

X, Y = Axis(0, 10, "x"), Axis(0, 1, "y")


def pixels(*parts: Part, names: tuple[str, ...] = (), **more: object) -> np.ndarray:
    """The picture of one panel, uint8 ``[height, width, 3]``."""
    panel = Panel("title", X, Y, parts)
    png, width, height = picture(Figure("f", "c", names, [panel], **more), panel)
    with Image.open(io.BytesIO(png)) as opened:
        assert opened.size == (width, height)
        return np.asarray(opened.convert("RGB"))


def count(image: np.ndarray, colour: str) -> int:
    """Pixels of a colour."""
    return int((np.abs(image - 255 * np.array(to_rgb(colour))) < 3).all(axis=2).sum())


def test_an_empty_panel_has_its_axes_alone() -> None:
    image = pixels()
    assert image.shape == (HEIGHT, WIDTH, 3)
    assert [count(image, colour) for colour in LIGHT[:3]] == [0, 0, 0]
    assert count(image, INK) > 0  # the title
    assert count(image, "white") > 0.9 * WIDTH * HEIGHT


def test_each_part_adds_its_colour_and_only_that() -> None:
    parts = {
        0: Line([0, 10], [0.5, 0.5], 0),
        1: Line([0, 5, 10], [0.5, 0.6, 0.5], 1 + len(LIGHT)),
        2: Line([3], [0.5], 2),
        3: Mark(5, 0.5, 3),
    }
    for number, part in parts.items():
        image = pixels(part)
        found = [count(image, colour) > 20 for colour in LIGHT]
        assert found == [i == number for i in range(len(LIGHT))]
    plain, kept = (pixels(Mark(5, 0.5, 0, kept=k)) for k in (False, True))
    assert count(kept, INK) > count(plain, INK)
    front = pixels(Line([0, 10], [0.2, 0.9], None))
    assert count(front, INK) > count(plain, INK) + 100


def test_values_stand_where_they_belong() -> None:
    left, right = (np.argwhere(_of(pixels(Mark(x, y, 0)))) for x, y in ((2, 0.25), (8, 0.75)))
    assert left.mean(axis=0)[0] > right.mean(axis=0)[0] + 100  # rows count from above
    assert left.mean(axis=0)[1] < right.mean(axis=0)[1] - 200
    upright, level = (
        pixels(Rule(value, "zero", upright=u)) for value, u in ((5, True), (0.3, False))
    )
    empty = pixels()
    changed = [np.argwhere((image != empty).any(axis=2)) for image in (upright, level)]
    assert np.ptp(changed[0], axis=0)[0] > 300 > 10 > np.ptp(changed[0], axis=0)[1]
    assert np.ptp(changed[1], axis=0)[1] > 500 > 10 > np.ptp(changed[1], axis=0)[0]


def test_the_legend_names_what_the_panel_uses() -> None:
    line = Line([0, 10], [0.5, 0.5], 0)
    assert pixels(line, names=("a",)).shape[0] == HEIGHT + LEGEND_ROW
    assert pixels(line, names=("a", "unused " * 10)).shape[0] == HEIGHT + LEGEND_ROW
    other = Line([0, 10], [0.6, 0.6], 1)
    long = ("a name that takes the whole line " * 3, "b")
    assert pixels(line, other, names=long).shape[0] == HEIGHT + 2 * LEGEND_ROW
    sign = Sign(5, 0, "o")
    assert pixels(line, sign, names=("a",), signs={"oracle": "o"}).shape[0] == HEIGHT + LEGEND_ROW
    # A leading underscore hides no name.
    hidden, shown = (pixels(line, names=(name,)) for name in ("", "_private"))
    assert (hidden[HEIGHT:] != shown[HEIGHT:]).any()


def test_a_users_settings_change_nothing() -> None:
    parts = Line([0, 10], [0.5, 0.5], 0), Mark(5, 0.5, 0)
    plain = pixels(*parts, names=("$\\undefined$",))
    with rc_context({"text.usetex": True, "font.size": 30, "lines.linewidth": 9}):
        assert (pixels(*parts, names=("$\\undefined$",)) == plain).all()


def test_only_a_picture_loads_matplotlib() -> None:
    program = (
        "import sys\n"
        "import fsl_sweep.orchestrator.report.figures\n"
        "import fsl_sweep.orchestrator.report.picture\n"
        "import fsl_sweep.orchestrator.tensorboard\n"
        "assert 'matplotlib' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def _of(image: np.ndarray) -> np.ndarray:
    return (np.abs(image - 255 * np.array(to_rgb(LIGHT[0]))) < 3).all(axis=2)
