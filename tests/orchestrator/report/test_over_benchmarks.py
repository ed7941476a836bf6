"""Reports of several benchmarks: the answer word for word, and every format."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure as Canvas
from syrupy.assertion import SnapshotAssertion
from trials import trial

from fsl_sweep.orchestrator.cli import invoke
from fsl_sweep.orchestrator.errors import RunFolderError
from fsl_sweep.orchestrator.records.measures import TrialEnd, TrialHistory
from fsl_sweep.orchestrator.report import (
    FORMATS,
    BenchmarksReport,
    RunInfo,
    build,
    to_json,
    to_text,
)
from fsl_sweep.orchestrator.report.building import build_over_benchmarks
from fsl_sweep.orchestrator.report.figures.figures import figures

INFO = RunInfo("made", "a" * 16, "f00d", ("last", "val"), ("val",))

DECIDED = (0.60, 0.55, 0.02), (0.70, 0.66, 0.04), (0.50, 0.44, 0.03)


def histories(a: float, b: float, lost: float, c: float = 0, lure: float = 0) -> list[TrialHistory]:
    """Methods with NovelGen a, b and c at the best ValGen, and ``lost`` less at the last epoch.

    On the selection tasks the last epoch has ``lure`` more than on the report tasks.
    """
    return [
        trial(
            name,
            "x",
            seed,
            base=[0.6, 0.7],
            val=[mean, mean - 0.1],
            novel=[mean, mean - lost + lure],
            report=[mean, mean - lost],
            spread=0.01,
        )
        for name, mean in (("A", a), ("B", b), ("C", c))
        for seed in range(2)
        if mean
    ]


def report(*benchmarks: tuple[float, float, float]) -> BenchmarksReport:
    given = {f"w{i}": histories(*one) for i, one in enumerate(benchmarks)}
    return made(given)


def made(given: Mapping[str, Sequence[TrialHistory]]) -> BenchmarksReport:
    reports = {
        name: build(replace(INFO, name=name), own, bootstrap=0) for name, own in given.items()
    }
    return build_over_benchmarks(" + ".join(given), reports, given)


def of_methods(**names: str) -> BenchmarksReport:
    """Benchmarks that agree, of which some have other methods than A and B."""
    given = {f"w{i}": histories(*one, c=0.3) for i, one in enumerate(DECIDED)}
    return made(
        {
            name: [trial for trial in trials if trial.method in names.get(name, "AB")]
            for name, trials in given.items()
        }
    )


def unfinished() -> BenchmarksReport:
    given = {"w0": histories(0.6, 0.5, 0.1), "w1": histories(0.7, 0.6, 0.1)}
    given["w1"][3] = replace(given["w1"][3], end=None)
    given["w0"][0] = replace(given["w0"][0], end=TrialEnd("budget"))
    return made(given)


def by_the_oracle() -> BenchmarksReport:
    given = {f"w{i}": histories(*one) for i, one in enumerate(DECIDED)}
    oracle = replace(INFO, snapshot=("oracle",), hyperparameter=("oracle",))
    reports = {name: build(oracle, own, bootstrap=0) for name, own in given.items()}
    return build_over_benchmarks("all", reports, given)


LOST = (0.02, 0.03, 0.04, 0.05, 0.06, 0.07)
SITUATIONS = {
    "better in every one": lambda: report(*DECIDED),
    "they disagree": lambda: report((0.60, 0.55, 0.02), (0.60, 0.62, 0.04)),
    "equal means": lambda: report((0.6, 0.6, 0.02), (0.7, 0.7, 0.03)),
    # The spread of equal differences is that of rounding: of two 12 % of such tables were decided.
    "two equal differences": lambda: report(*((0.6 + i / 50, 0.59 + i / 50, 0.02) for i in (0, 1))),
    "five equal differences": lambda: report(
        *((0.6 + i / 50, 0.59 + i / 50, 0.02) for i in range(5))
    ),
    "one has a further method": lambda: of_methods(w0="ABC"),
    "one lacks a method of two": lambda: of_methods(w1="A"),
    "novel scores choose": by_the_oracle,
    "the oracle chose worse": lambda: made(
        {f"w{i}": histories(0.6, 0.5, i / 100, lure=0.1) for i in (1, 2, 3)}
    ),
    "unfinished": unfinished,
    "six tell strategies apart": lambda: report(*((0.6, 0.55, lost) for lost in LOST)),
    "six do not tell strategies apart": lambda: report(
        *((0.6, 0.55, lost) for lost in (*LOST[:3], -0.02, -0.03, -0.04))
    ),
}


@pytest.mark.parametrize("name", SITUATIONS)
def test_the_answer_word_for_word(name: str, snapshot: SnapshotAssertion) -> None:
    assert to_text(SITUATIONS[name](), full=False) == snapshot


def test_the_report_word_for_word(snapshot: SnapshotAssertion) -> None:
    assert to_text(report(*DECIDED)) == snapshot
    assert to_text(report(*DECIDED[:2])) == snapshot  # two benchmarks have no interval


SPOILT = {
    "DIFFERENT METHODS: w1 lacks C under val / val": lambda own: own[:4],
    "INCOMPLETE: w1 is incomplete": lambda own: [*own[:-1], replace(own[-1], end=None)],
    "INCOMPLETE: w1 is incomplete; w1 lacks C under val / val": lambda own: [
        *own[:4],
        *(replace(one, end=TrialEnd("failed", "no memory")) for one in own[4:]),
    ],
}


@pytest.mark.parametrize(("expected", "spoil"), SPOILT.items(), ids=list(SPOILT))
def test_what_one_benchmark_lacks_decides_nothing_anywhere(
    expected: str, spoil: Callable[[Sequence[TrialHistory]], Sequence[TrialHistory]]
) -> None:
    given: dict[str, Sequence[TrialHistory]] = {
        f"w{i}": histories(0.6 + i / 50, 0.57 + i / 60, i / 50 + 0.02, c=0.5 + i / 70)
        for i in range(6)
    }
    whole = json.loads(to_json(made(given)))["over_benchmarks"]
    given["w1"] = spoil(given["w1"])
    found = made(given)
    spoilt = json.loads(to_json(found))["over_benchmarks"]
    state, caution = expected.split(": ")
    for over, verdicts, why in (
        (whole, {"better", "worse"}, None),
        (spoilt, {"undecided"}, caution),
    ):
        pairs = over["differences"]
        against = [one["against_least"] for one in over["strategies"] if one["against_least"]]
        assert {one["verdict"] for one in (*pairs, *against)} == verdicts
        assert {one["caution"] for one in (*pairs, *against)} == {why}
        assert over["caution"] == why
    for pair, before in zip(spoilt["differences"], whole["differences"], strict=False):
        assert pair["p_value"] <= pair["p_adjusted"] >= before["p_adjusted"]
    text = " ".join(to_text(found).split())
    assert f"6 benchmarks, {state}" in text
    assert not re.search(
        r"\b(better than|best of|Do not choose|worse)\b", text.split("Each benchmark")[0]
    )
    lacks = "w1 lacks C under val / val"
    assert any(lacks in one for one in found.cautions) == (lacks in caution)
    assert (f"{lacks}." in text) == (lacks in caution)


def test_every_format_shows_the_benchmarks() -> None:
    found = report((0.60, 0.55, 0.02), (0.70, 0.66, 0.04))
    for name, each in FORMATS.items():
        text = each(found)
        assert each(found) == text
        assert "w0" in text, name
        assert "INCOMPLETE" in each(unfinished()) or each is to_json
    plain = json.loads(to_json(found))
    assert plain["answer"]["sentences"] == list(found.answer.sentences)
    assert set(plain["benchmarks"]) == {"w0", "w1"}
    over = plain["over_benchmarks"]
    assert [one["regrets"] for one in over["strategies"]] == [
        pytest.approx({"w0": 0.02, "w1": 0.04}),
        {"w0": 0.0, "w1": 0.0},
    ]
    intervals = [one["mean"] for one in over["methods"]]
    intervals += [one["effect"] for one in over["differences"]]
    intervals += [one[key] for one in over["strategies"] for key in ("regret", "accuracy")]
    assert {(one["low"], one["high"], one["n"]) for one in intervals} == {(None, None, 2)}
    page = FORMATS["html"](found)
    assert page.count("<svg ") == 2
    assert "Small dots: benchmarks" in page


def test_figures_have_means_intervals_and_benchmarks() -> None:
    found = report(*DECIDED)
    assert found.over is not None
    drawn = {key: own[0] for key, own in figures(found).items()}
    assert set(drawn) == {"answer", "methods"}
    for figure, given in (
        (drawn["answer"], {str(o.strategy): (o.regret, o.regrets) for o in found.over.strategies}),
        (drawn["methods"], {o.method: (o.mean, o.means) for o in found.over.methods}),
    ):
        axes = Canvas().add_subplot()
        figure.panels[0].draw(axes)
        for at, name in zip(axes.get_yticks(), axes.get_yticklabels(), strict=True):
            interval, benchmarks = given[name.get_text()]
            ends = [line.get_xdata() for line in axes.lines if set(line.get_ydata()) == {at}]
            assert any(x == pytest.approx([100 * interval.low, 100 * interval.high]) for x in ends)
            dots = [np.asarray(one.get_offsets()) for one in axes.collections]
            own = [xy[:, 0] for xy in dots if len(xy) == len(benchmarks) and (xy[:, 1] > at).all()]
            expected = [100 * value for value in benchmarks.values()]
            assert any(x == pytest.approx(expected) for x in own)


def test_a_copy_of_a_benchmark_is_refused() -> None:
    with pytest.raises(RunFolderError, match="The benchmarks 'w0' and 'w2' hold the same numbers"):
        report(DECIDED[0], DECIDED[1], DECIDED[0])


def test_a_table_of_benchmarks_is_reported_together(tmp_path: Path, capsys) -> None:
    rows = ["world,method,configuration,seed,epoch,measure,accuracy"]
    rng = np.random.default_rng(0)
    for benchmark in ("one", "two", "three"):
        for name, mean in (("A", 0.7), ("B", 0.6)):
            for seed in (0, 1):
                for epoch in (1, 2):
                    for measure in ("base", "val", "novel"):
                        value = round(mean + rng.uniform(0, 0.02), 4)
                        rows.append(f"{benchmark},{name},x,{seed},{epoch},{measure},{value}")
    table = tmp_path / "logs.csv"
    table.write_text("\n".join(rows) + "\n")
    assert invoke(["report", str(table)]) == 0
    assert "one + two + three: 3 benchmarks, complete" in capsys.readouterr().out
    assert invoke(["report", str(table), "--protocol", "x"]) == 2
    assert "--protocol" in capsys.readouterr().err
    table.write_text("\n".join(line for line in rows if not line.startswith("t")) + "\n")
    for option in ("--benchmarks", "--worlds"):  # its former name
        assert invoke(["report", str(table), option]) == 2
        assert "'one', and" in capsys.readouterr().err
