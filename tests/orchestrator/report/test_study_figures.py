"""The figures of ``analyze``: what their artists hold."""

from collections.abc import Sequence

import numpy as np
import pytest
from matplotlib.figure import Figure as Canvas

from fsl_sweep.orchestrator.report.figures.sheet import sheet
from fsl_sweep.orchestrator.report.figures.studies.flips import SetsOf, spread_figure
from fsl_sweep.orchestrator.report.figures.studies.queries import queries_figure
from fsl_sweep.orchestrator.statistics import (
    conclusion_stability,
    novel_set_variance,
    paired_interval,
)


def found(sign: int, sets: Sequence[int] = (40, 40)) -> list[SetsOf]:
    """Two kinds of sets; the truth is 2 points in favour of the one that ``sign`` says."""
    rng, kinds = np.random.default_rng(0), []
    truth = paired_interval(*(0.5 + half + rng.normal(0, 0.01, 500) for half in (sign * 0.02, 0)))
    for number, count in enumerate(sets):
        gaps = rng.normal(0.02 * sign, 0.02, (count, 1))
        a, b = rng.normal(0.5, 0.03, (2, count, 30))
        a += gaps
        spreads = (novel_set_variance(a), novel_set_variance(b))
        kinds.append((f"{number} classes", conclusion_stability(truth, a, b), spreads))
    return kinds


@pytest.mark.parametrize("sign", [1, -1])
def test_the_distribution_of_differences_is_that_of_the_sets(sign: int) -> None:
    given = found(sign)
    figure = spread_figure(given, ("PN", "RR"))
    better, worse = ("PN", "RR") if sign > 0 else ("RR", "PN")
    assert figure.panels[0].title == f"{better} minus {worse}"
    axes = Canvas().add_subplot()
    figure.panels[0].draw(axes)
    steps = [np.asarray(line.get_xydata()) for line in axes.lines if len(line.get_xdata()) > 2]
    for (name, stable, _), xy in zip(given, steps, strict=True):
        below = stable.cdf if sign > 0 else lambda x, s=stable: np.mean(-s.differences <= x)
        for x, share in xy:
            assert share == pytest.approx(100 * below(x / 100 + 1e-12), abs=100.1 / 40)
        assert stable.flips.count > 0
        dots = [one.get_offsets() for one in axes.collections]
        assert any(np.allclose(xy, [[0, 100 * stable.flips.share]]) for xy in dots)
        assert any(name in str(line.get_label()) for line in axes.lines)
    truth = 100 * abs(given[0][1].truth.mean)
    assert [line.get_xdata()[0] for line in axes.lines if len(line.get_xdata()) == 2] == (
        pytest.approx([0, truth])
    )


def test_histograms_hold_every_set_of_either_snapshot() -> None:
    given = found(1, (40, 25))
    figure = spread_figure(given, ("PN", "RR"))
    for panel, (_, _, spreads) in zip(figure.panels[1:], given, strict=True):
        axes = Canvas().add_subplot()
        panel.draw(axes)
        counts = [sum(bar.get_height() for bar in bars) for bars in axes.containers]
        assert counts == [len(one.means) for one in spreads]
        middle = [line.get_xdata()[0] for line in axes.lines]
        assert middle == pytest.approx([100 * one.mean for one in spreads])
    assert sheet(figure).saved("pdf") == sheet(figure).saved("pdf")


def test_queries_are_predicted_lines_and_measured_marks() -> None:
    figure = queries_figure([("PN", [(1, 0.02), (5, 0.01)], [(5, 0.012)]), ("RR", [(1, 0.03)], [])])
    axes = Canvas().add_subplot()
    figure.panels[0].draw(axes)
    assert np.asarray(axes.lines[0].get_xydata()).tolist() == [[1, 2], [5, 1]]
    assert [one.get_offsets().tolist() for one in axes.collections] == [[[5, 1.2]], []]
