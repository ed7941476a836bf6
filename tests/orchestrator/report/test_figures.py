"""What the figures of a report show, read from the artists that they draw."""

from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from matplotlib.collections import PathCollection
from matplotlib.figure import Figure as Canvas
from trials import trial

from fsl_sweep.orchestrator.cli import invoke
from fsl_sweep.orchestrator.errors import RunFolderError
from fsl_sweep.orchestrator.records.measures import TrialHistory
from fsl_sweep.orchestrator.report import Report, RunInfo, build
from fsl_sweep.orchestrator.report.document.forest import bars_of
from fsl_sweep.orchestrator.report.figures.figures import figures
from fsl_sweep.orchestrator.report.figures.panel import Figure, Panel
from fsl_sweep.orchestrator.report.figures.response import responses_of
from fsl_sweep.orchestrator.report.figures.sheet import sheet
from fsl_sweep.orchestrator.run import load_run

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INFO = RunInfo("made", "a" * 16, "f00d", ("last", "val", "oracle"), ("val", "oracle"))
GRID = {"optimizer.lr": [0.1, 0.001, 0.01], "augment": ["none", "crop"]}


def runs(methods: int = 2, seeds: int = 3, grid: dict[str, list[Any]] = GRID) -> list[TrialHistory]:
    """Curves that rise and fall; augmentation adds 4 points, and each method 1."""
    rng, time, given = np.random.default_rng(0), np.arange(10) / 10, []
    for rank, (number, levels) in product(range(methods), enumerate(product(*grid.values()))):
        for seed in range(seeds):
            gain = 0.01 * rank + 0.04 * ("crop" in levels) + rng.normal(0, 0.005)
            scores = {
                name: start + gain + 0.2 * time - fall * time**2 + rng.normal(0, 0.004, 10)
                for name, start, fall in (("base", 0.6, 0), ("val", 0.5, 0.1), ("novel", 0.4, 0.1))
            }
            one = trial(f"M{rank}", str(number), seed, **scores)
            given.append(replace(one, hyperparameters=dict(zip(grid, levels, strict=True))))
    return given


@pytest.fixture(scope="module")
def report() -> Report:
    return build(INFO, runs(), bootstrap=40)


def figure(report: Report, key: str) -> Figure:
    (one,) = figures(report)[key]
    return one


def drawn(panel: Panel) -> "Axes":
    axes = Canvas().add_subplot()
    panel.draw(axes)
    return axes


def rows(axes: "Axes") -> dict[str, int]:
    """Their places by their names."""
    ticks = zip(axes.get_yticklabels(), axes.get_yticks(), strict=True)
    return {text.get_text(): int(at) for text, at in ticks}


def horizontal(axes: "Axes", at: float) -> list[list[float]]:
    """Lines along a row: their ends."""
    lines = [np.asarray(line.get_xydata()) for line in axes.lines]
    return [xy[:, 0].tolist() for xy in lines if len(xy) == 2 and (xy[:, 1] == at).all()]


def texts(axes: "Axes") -> str:
    return "\n".join(text.get_text() for text in axes.texts)


def test_sections_have_their_figures(report: Report) -> None:
    names = {key: [one.name for one in own] for key, own in figures(report).items()}
    assert names == {
        "answer": ["forest"],
        "strategies": ["trade-off"],
        "differences": ["differences"],
        "curves": ["curves"],
        "response": ["response"],
    }
    empty = build(INFO, [trial("PN", "a", end=None)], bootstrap=0)
    assert figures(empty) == {}


def test_the_forest_has_the_intervals_and_the_seeds_of_its_bars(report: Report) -> None:
    (panel,) = figure(report, "answer").panels
    axes = drawn(panel)
    bars = [bar for bar in bars_of(report) if bar.group == "M1"]
    lead, reference = bars[0], next(bar for bar in bars if "oracle / oracle" in bar.names)
    assert texts(axes).index("M1") < texts(axes).index("M0")  # the better one first
    assert [lead.low, lead.high] in horizontal(axes, 1)
    marks = [one for one in axes.collections if isinstance(one, PathCollection)]
    offsets = [np.asarray(one.get_offsets()) for one in marks]
    dots = next(xy for xy in offsets if len(xy) == 3 and (xy[:, 1] == 1.3).all())
    assert dots[:, 0] == pytest.approx(lead.values)
    # Of the oracles only the one that regret is measured against, as an open diamond.
    assert [name for name in rows(axes) if name.startswith("oracle")] == ["oracle / oracle"] * 1
    opened = [m for m in marks if np.allclose(m.get_facecolor(), 1)]
    assert any(m.get_offsets()[0, 0] == pytest.approx(reference.mean) for m in opened)
    assert len(opened) == 2


def test_many_methods_are_shown_by_the_leading_strategy_only() -> None:
    report = build(INFO, runs(methods=12, grid={"optimizer.lr": [0.1, 0.01]}), bootstrap=20)
    (panel,) = figure(report, "answer").panels
    order = next(one.methods for one in report.rankings if one.strategy == report.lead)
    assert [*rows(drawn(panel))] == list(order)
    assert "By val / val" in figure(report, "answer").caption
    (pairs,) = figure(report, "differences").panels
    assert [*rows(drawn(pairs))] == list(order[1:])  # each against the best
    assert f"{order[0]} minus" in texts(drawn(pairs))


def test_differences_are_of_methods_and_apart_of_snapshots(report: Report) -> None:
    axes = drawn(figure(report, "differences").panels[0])
    # No mark hides a bar, however short.
    marks = [one for one in axes.collections if isinstance(one, PathCollection)]
    highest = max(line.get_linewidth() for line in axes.lines)
    assert all(m.get_sizes()[0] ** 0.5 + m.get_linewidth()[0] < highest - 2 for m in marks)
    lead = next(one for one in report.differences if one.strategy == report.lead)
    effect = lead.result.effect
    assert (lead.a, lead.b) == ("M0", "M1")
    assert "M1 minus M0" in texts(axes)
    again = [-100 * effect.high, -100 * effect.low]  # turned: the better one first
    snapshots = next(one for one in report.comparisons if one.strategy == report.lead).result.effect
    tasks = [-100 * snapshots.high, -100 * snapshots.low]
    found = horizontal(axes, 1)
    assert any(line == pytest.approx(again) for line in found)
    assert any(line == pytest.approx(tasks) for line in found)
    assert f"{-100 * effect.mean:+.1f}" in texts(axes)


def test_every_figure_marks_a_method_that_is_not_complete() -> None:
    given = runs(grid={"optimizer.lr": [0.1, 0.01]})
    given = [
        replace(one, end=None) if (one.method, one.seed) == ("M0", 2) else one for one in given
    ]
    report = build(INFO, given, bootstrap=20)
    for key, own in figures(report).items():
        axes = [drawn(panel) for panel in own[0].panels]
        labels = [text for one in axes for text in one.get_legend_handles_labels()[1]]
        shown = [*(panel.title for panel in own[0].panels), *labels, *map(texts, axes)]
        assert "M0 (2 of 3 seeds)" in " ".join(shown), key


def test_one_seed_claims_nothing_about_methods() -> None:
    one = figure(build(INFO, runs(seeds=1), bootstrap=20), "differences")
    assert list(one.names) == []
    assert "nothing is known of training again" in one.caption


def test_trade_offs_have_bars_over_seeds_and_name_configurations(report: Report) -> None:
    one = figure(build(INFO, runs(grid={"optimizer.lr": [0.1, 0.01]}), bootstrap=0), "strategies")
    panel = drawn(one.panels[0])
    assert {text.get_text() for text in panel.texts} <= {"lr=0.1", "lr=0.01"}
    assert panel.texts
    assert len({drawn(p).get_xlim() for p in one.panels}) == 1
    point = next(one.points[0] for one in report.tradeoffs if one.snapshots == ("val",))
    assert (point.base, point.novel) == pytest.approx(np.mean(point.seeds, axis=0))
    axes = drawn(figure(report, "strategies").panels[0])
    least, most = (100 * f(value for _, value in point.seeds) for f in (min, max))
    ends = [xy[:, 1] for bars in axes.collections for xy in _segments(bars)]
    assert any(sorted(own) == pytest.approx([least, most]) for own in ends)


def _segments(bars: Any) -> list[np.ndarray]:
    return bars.get_segments() if hasattr(bars, "get_segments") else []


def test_curves_are_means_over_seeds_on_one_scale_with_every_pick(report: Report) -> None:
    one = figure(report, "curves")
    assert len(one.panels) == 12  # of as many configurations
    planes = [drawn(panel) for panel in one.panels]
    assert len({axes.get_ylim() for axes in planes}) == 1
    own = [c for c in report.curves if (c[0].method, c[0].configuration) == ("M0", "0")]
    mean = 100 * np.mean([t.scores["novel", "selection"].means for t, _ in own], axis=0)
    lines = [np.asarray(line.get_ydata()) for line in planes[0].lines]
    assert any(len(y) == 10 and np.allclose(y, mean) for y in lines)
    ticks = zip(planes[0].get_yticklabels(), planes[0].get_yticks(), strict=True)
    places = {text.get_text(): at for text, at in ticks}
    for name in report.info.snapshot:
        at = places[name]
        marks = [np.asarray(m.get_offsets()) for m in planes[0].collections]
        epochs = {int(x) for xy in marks for x, y in xy if y == at}
        assert epochs == {picks[name] for _, picks in own}


def test_seeds_that_stopped_early_do_not_bend_the_mean() -> None:
    whole = runs(methods=1, seeds=2, grid={"optimizer.lr": [0.1]})
    scores = {m: whole[1].scores[m, "selection"].means[:4] for m in ("base", "val", "novel")}
    short = trial("M0", "0", 1, **scores)
    report = build(INFO, [whole[0], short], bootstrap=0)
    lines = [line.get_xydata() for line in drawn(figure(report, "curves").panels[0]).lines]
    ends = [int(xy[-1, 0]) for xy in map(np.asarray, lines) if len(xy) > 2]
    assert sorted(set(ends)) == [4, 10]  # the means end with the shorter, its own line goes on


def test_responses_are_over_levels_in_their_order(report: Report) -> None:
    found = responses_of(report)
    assert [(one.method, one.axis) for one in found] == [*product(("M0", "M1"), GRID)]
    rate, augment = found[:2]
    assert rate.levels == (0.001, 0.01, 0.1)
    assert rate.logarithmic
    assert augment.levels == ("none", "crop")
    assert not augment.numeric
    points = next(one.points for one in report.tradeoffs if "val" in one.snapshots)
    own = [p for p in points if p.method == "M0" and p.hyperparameters["augment"] == "crop"]
    assert sorted(augment.values[1]) == sorted(novel for p in own for _, novel in p.seeds)
    assert augment.effect is not None
    assert rate.effect is not None
    assert augment.effect.share > 0.8 > 0.2 > rate.effect.share
    axes = drawn(figure(report, "response").panels[0])
    assert axes.get_xscale() == "log"
    assert [text.get_text() for text in axes.get_xticklabels()] == ["0.001", "0.01", "0.1"]
    means = [100 * np.mean(values) for values in rate.values]
    assert axes.lines[0].get_ydata() == pytest.approx(means)


@pytest.mark.parametrize(
    ("levels", "numeric", "logarithmic"),
    [
        ([1, 10.0], True, True),
        ([5, 10], True, False),
        ([0, 10], True, False),
        ([True, False], False, False),
        ([1, "auto"], False, False),
        ([{"8": 0.1}, {"9": 0.1}], False, False),
        ([None, 3], False, False),
    ],
)
def test_scales_follow_the_values(levels: list[Any], numeric: bool, logarithmic: bool) -> None:
    report = build(INFO, runs(methods=1, grid={"a.b": levels}), bootstrap=0)
    (one,) = responses_of(report)
    assert (one.numeric, one.logarithmic) == (numeric, logarithmic)
    assert sheet(figure(report, "response")).saved("svg")


def test_a_grid_with_holes_has_no_importance() -> None:
    given = [one for one in runs(methods=1) if one.configuration != "0"]
    assert {one.effect for one in responses_of(build(INFO, given, bootstrap=0))} == {None}


def test_the_command_writes_each_figure(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "new/out"
    strategies = ["--snapshot=last", "--snapshot=val", "--hyperparameter=val"]
    command = ["figures", str(run), "-o", str(folder), *strategies, "--format"]
    for form in ("svg", "png", "pdf"):
        assert invoke([*command, form]) == 1  # a trial is not done
        told = capsys.readouterr().out
        names = {path.name: path.read_bytes() for path in folder.glob(f"*.{form}")}
        assert {f"forest.{form}", f"trade-off.{form}", f"differences.{form}", f"curves.{form}"} <= {
            *names
        }
        assert all(f"{name}: " in told for name in names)
        dates = (b"CreationDate", b"<dc:date>", b"tIME")  # the same bytes whenever it is drawn
        assert not [name for name, data in names.items() for date in dates if date in data]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["-o", "file"], "file is a file; give -o the name of a folder."),
        (["-o", "file/below"], "file/below cannot be made: Not a directory."),
        (["-o", "out", "--format", "gif"], "'gif' is not one of 'pdf', 'svg', 'png'"),
        (["-o", "out", "--width", "3"], "'--width': Input should be greater than or equal to 6"),
        (["-o", "out", "--metric", "mean"], "mean"),
        ([], "-o"),
    ],
)
def test_mistakes(
    arguments: list[str], told: str, run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("file").write_text("")
    assert invoke(["figures", str(run), *arguments]) == 2
    error = capsys.readouterr().err
    assert told in " ".join(error.replace("│", " ").split())
    assert "Traceback" not in error
    assert not Path("out").exists()


def test_a_notebook_plots(run: Path) -> None:
    opened = load_run(run)
    assert opened.plot is opened.plot
    one = opened.plot.forest()
    assert one.get_figwidth() * 2.54 == pytest.approx(17.8)
    assert one._repr_png_().startswith(b"\x89PNG")
    for draw in (opened.plot.tradeoff, opened.plot.curves, opened.plot.differences):
        assert draw(width=8.5).axes
    narrowed = opened.plot(snapshot=["last"], hyperparameter=["val"], bootstrap=0)
    assert [text.get_text() for text in narrowed.curves().axes[0].get_yticklabels()][-1] == "last"
    with pytest.raises(RunFolderError, match="no strategy has a budget"):
        opened.plot.budget()
