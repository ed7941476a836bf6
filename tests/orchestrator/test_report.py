import io
import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from trials import TASKS, trial

from fsl_sweep.orchestrator.console import SafeConsole
from fsl_sweep.orchestrator.records import TrialEnd, TrialHistory
from fsl_sweep.orchestrator.report import (
    Report,
    RunInfo,
    build,
    content,
    show,
    sparkline,
    to_json,
    to_text,
    wording,
)
from fsl_sweep.orchestrator.report.figures import letters
from fsl_sweep.orchestrator.report.groups import same_results
from fsl_sweep.orchestrator.statistics import mean_interval

INFO = RunInfo(
    name="omniglot-quick",
    sweep_hash="abcdef0123456789",
    fingerprint="f00d",
    snapshot=("last", "train_loss", "base", "val", "oracle"),
    hyperparameter=("base", "val", "oracle"),
    versions={"torch": "2.13.0"},
)


@pytest.fixture(autouse=True)
def few_resamples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(content, "RESAMPLES", 30)


def runs(methods: tuple[str, ...] = ("PN", "FIX-PN", "MetaOptNet-RR")) -> list[TrialHistory]:
    generator = np.random.default_rng(0)
    time = np.arange(40) / 40
    given = []
    for rank, method in enumerate(methods):
        for rate in ("0.1", "0.01"):
            for seed in (0, 1, 2):
                base, val, novel = (
                    start + 0.2 * (1 - np.exp(-5 * time)) + generator.normal(0, 0.005, 40)
                    for start in (0.6, 0.5, 0.4 + 0.02 * rank)
                )
                given.append(trial(method, rate, seed, base=base, val=val, novel=novel))
    return given


def test_json_follows_the_schema() -> None:
    plain = json.loads(to_json(build(INFO, runs(), last=20)))
    assert set(plain) >= {
        "run",
        "selections",
        "summary",
        "rank_correlation",
        "comparisons",
        "cautions",
    }
    assert {k: plain["run"][k] for k in ("name", "complete", "planned", "done", "failed")} == {
        "name": "omniglot-quick",
        "complete": True,
        "planned": 18,
        "done": 18,
        "failed": 0,
    }
    assert len(plain["selections"]) == 3 * 3 * 15
    assert set(plain["selections"][0]) == {
        "method",
        "seed",
        "snapshot_selector",
        "hyperparameter_selector",
        "trial",
        "configuration",
        "hyperparameters",
        "epoch",
        "base",
        "val",
        "novel",
        "regret",
        "novel_evaluations",
    }
    for measure in ("base", "val", "novel"):
        assert set(plain["selections"][0][measure]) == {"mean", "low", "high", "n"}
    assert len(plain["summary"]) == 3 * 15
    assert {"method", "snapshot_selector", "hyperparameter_selector", "novel", "regret"} <= set(
        plain["summary"][0]
    )
    assert len(plain["rank_correlation"]) == 18 * 2 * 2
    assert {"method", "trial", "measure", "tau", "last"} <= set(plain["rank_correlation"][0])
    assert len(plain["comparisons"]) == 3 * 15
    assert plain["comparisons"][0]["verdict"] in ("better", "worse", "equivalent", "undecided")
    assert plain["run"]["selectors"]["snapshot"][0]["name"] == "last"
    assert all(isinstance(caution, str) for caution in plain["cautions"])


def test_json_is_a_function_of_the_records_without_nan() -> None:
    one_seed = [t for t in runs() if t.seed == 0]
    first, second = (to_json(build(INFO, list(one_seed))) for _ in range(2))
    assert first == second
    plain = json.loads(first, parse_constant=lambda name: pytest.fail(name))
    assert plain["summary"][0]["novel"]["low"] is None
    assert plain["summary"][0]["novel"]["n"] == 1
    slower = [replace(t, curves={c: v * 9 for c, v in t.curves.items()}) for t in one_seed]
    assert to_json(build(INFO, slower)) == first


def test_incomplete_runs_say_so_first_and_loudly() -> None:
    given = runs()
    given[1] = replace(given[1], end=TrialEnd("failed", "loss is NaN at epoch 7"))
    given[2] = replace(given[2], end=None)
    report = build(INFO, given)
    plain = json.loads(to_json(report))
    assert not plain["run"]["complete"]
    assert (plain["run"]["done"], plain["run"]["failed"], plain["run"]["missing"]) == (16, 1, 1)
    assert [one["reason"] for one in plain["run"]["left_out"]] == [
        "failed: loss is NaN at epoch 7",
        "unfinished: 40 snapshots recorded",
    ]
    assert {one["method"] for one in plain["summary"]} == {"FIX-PN", "MetaOptNet-RR"}
    lines = to_text(report).splitlines()
    assert lines[0] == "omniglot-quick: INCOMPLETE"
    assert "18 trials planned, 16 done, 1 failed, 1 missing" in lines[1]
    assert lines[2].endswith("failed: loss is NaN at epoch 7")
    assert any(line.startswith("PN is left out") for line in lines)
    assert any("PN is left out of the table" in caution for caution in report.cautions)


def test_nothing_recorded_yet_still_reports() -> None:
    given = [trial("PN", "1", end=None), trial("RR", "1", end=None)]
    report = build(INFO, given)
    text = to_text(report)
    assert "INCOMPLETE" in text
    assert "nothing to compare" in text
    assert json.loads(to_json(report))["selections"] == []


def test_a_trial_of_two_methods_is_counted_once() -> None:
    given = runs(("PN",))
    shared = [replace(one, method="PN-2") for one in given]
    assert build(INFO, [*given, *shared]).completeness.planned == 6


@pytest.mark.parametrize("width", [80, 100, 140])
def test_text_keeps_to_its_width_and_is_plain(width: int) -> None:
    text = to_text(build(INFO, runs(), last=20), width)
    assert "\x1b" not in text
    assert max(map(len, text.splitlines())) <= width
    assert "…" not in text
    # What was chosen is always there: beside the numbers, or in a table of its own.
    assert "lr=0.1 @" in text or "lr=0.01 @" in text


def test_columns_are_aligned() -> None:
    lines = to_text(build(INFO, runs()), 100).splitlines()
    start = lines.index("PN")
    header, rows = lines[start + 1], lines[start + 2 : lines.index("", start)]
    first = [row for row in rows if len(row) > 40]  # others are further names of a row
    assert len(rows) > len(first) > 5
    for title in ("NovelGen", "tasks", "select", "BaseGen", "ValGen", "regret"):
        end = header.index(title) + len(title)
        assert all(row[end - 1].isdigit() for row in first), title
    assert sum(row.count("*") for row in rows) == 7


def test_colours_on_a_terminal_alone() -> None:
    report = build(INFO, runs())
    terminal, pipe = io.StringIO(), io.StringIO()
    show(
        report, SafeConsole(file=terminal, force_terminal=True, color_system="truecolor", width=100)
    )
    show(report, SafeConsole(file=pipe, width=100))
    assert "\x1b[" in terminal.getvalue()
    assert "\x1b" not in pipe.getvalue()


def test_piped_text_has_no_width_and_drops_nothing() -> None:
    names = ("base", "budgeted-oracle(3, per-configuration)")
    lost = [trial(f"lost {n}", "0.1", end=None) for n in range(12)]
    methods = tuple(f"{letter}-method-with-a-long-name" for letter in "ABCDEFG")
    report = build(replace(INFO, hyperparameter=names), [*runs(methods), *lost])
    pipe = io.StringIO()
    show(report, SafeConsole(file=pipe, width=80))
    text = pipe.getvalue()
    assert text == to_text(report)
    assert "room for" not in text
    assert "…" not in text
    head = next(line for line in text.splitlines() if line.startswith("snapshot "))
    for title in ("NovelGen", "seeds", "tasks", "select", "BaseGen", "ValGen", "regret", "evals"):
        assert title in head.split()
    assert head.endswith("chosen (epoch of each seed)")
    assert all(one.reason in text and one.method in text for one in report.completeness.problems)
    assert "more; see" not in text
    pairs = {(one.a, one.b) for one in report.comparisons}
    assert len(pairs) == 21
    assert all(f"{a} vs {b}" in text for a, b in pairs)
    prose = [line for line in text.splitlines() if not re.search(r"  \S|^[a-z_]+ ", line)]
    assert max(map(len, prose)) <= 100


@pytest.mark.parametrize(
    ("system", "bold"), [("truecolor", True), ("standard", True), (None, False)]
)
def test_bold_is_explained_where_it_can_be_seen(system: str | None, bold: bool) -> None:
    report, terminal = build(INFO, runs(tuple("ABCDEF"))), io.StringIO()
    show(report, SafeConsole(file=terminal, force_terminal=True, color_system=system, width=200))
    text = " ".join(re.sub(r"\x1b\[[0-9;]*m", "", terminal.getvalue()).split())
    assert ("Bold: the highest of" in text) == bold
    assert ("\x1b[1m" in terminal.getvalue()) == bold
    assert "bold" not in to_text(report).lower()


def test_ascii_terminals() -> None:
    raw = io.BytesIO()
    console = SafeConsole(
        file=io.TextIOWrapper(raw, encoding="ascii", write_through=True), width=100
    )
    show(build(INFO, runs()), console)
    assert b"NovelGen" in raw.getvalue()


def test_curves_are_few_and_fairly_shared() -> None:
    report = build(INFO, runs(), curves=4)
    assert [curve.method for curve in report.curves] == ["PN", "PN", "FIX-PN", "MetaOptNet-RR"]
    assert "4 of 18 trials are shown" in to_text(report)
    # Every pick is marked under the point that it picked.
    curve = report.curves[0]
    assert curve.picks["last"] == 40
    assert curve.picks["oracle"] == 1 + int(np.argmax(curve.scores["novel"]))


def test_fronts_alone_leave_no_method_out() -> None:
    report = build(replace(INFO, hyperparameter=("pareto",)), runs(), bootstrap=0)
    assert not any("left out" in caution for caution in report.cautions)
    assert "left out" not in to_text(report)
    assert json.loads(to_json(report))["run"]["ranking_survives"] is None


def test_what_has_no_room_on_a_terminal_is_named() -> None:
    names = ("base", "budgeted-oracle(3, per-configuration)")
    report = build(replace(INFO, hyperparameter=names), runs())
    for width, hidden in ((80, True), (200, False)):
        text = " ".join(to_text(report, width).split())
        assert ("There was no room for" in text) == hidden
    shown = to_text(report, 80).split("There was no room for ")[1].split(":")[0].split(", ")
    head = next(line for line in to_text(report, 80).splitlines() if line.startswith("snapshot "))
    assert set(shown).isdisjoint(head.split())
    assert {*shown, *head.split()} >= {"seeds", "tasks", "select", "BaseGen", "regret", "evals"}


def test_a_method_without_a_row_is_left_out_for_the_right_reason() -> None:
    given = [one for one in runs() if one.method != "PN"]
    lost = [replace(one, end=None) for one in runs(("PN",))]
    text = to_text(build(INFO, [*lost, *given], bootstrap=0))
    assert "PN is left out of the table: some of its planned trials are not usable." in " ".join(
        text.split()
    )
    blind = replace(INFO, snapshot=("cv-epoch",))
    assert "no strategy could choose among its trials" in to_text(build(blind, runs(), bootstrap=0))


def test_sparkline_and_marks() -> None:
    assert sparkline.sparkline(np.array([0.0, 0.5, 1.0]), 10) == "▁▅█"
    assert sparkline.sparkline(np.array([0.3, 0.3]), 10) == "▅▅"
    assert sparkline.sparkline(np.array([0.0, np.nan, 1.0]), 10) == "▁ █"
    assert sparkline.sparkline(np.array([np.nan]), 10) == " "
    assert sparkline.sparkline(np.array([0.0, 0.0, 1.0, 1.0]), 2) == "▁█"
    epochs = np.array([5, 10, 15])
    signs = letters(["last", "val", "left", "lv", "last2"])
    assert signs == {"last": "l", "val": "v", "left": "e", "lv": "1", "last2": "a"}
    picks = {"last": 15, "val": 5, "left": 15}
    assert sparkline.marks(picks, epochs, 10, signs) == ["v le"]
    picks = {"last": 10, "val": 5, "left": 10, "lv": 5, "last2": 5}
    assert sparkline.marks(picks, epochs, 10, signs) == ["vl", "1e", "a"]
    assert sparkline.marks({"val": 10}, epochs, 1, signs) == ["v"]


def test_wording() -> None:
    assert wording.percent(0.12345) == "12.35"
    assert wording.percent(float("nan")) == "-"
    assert wording.half_width(None) == "-"
    assert wording.half_width(mean_interval([0.5])) == "-"
    interval = mean_interval([0.5, 0.6])
    assert wording.half_width(interval) == "> 50"  # t of one degree of freedom: 63.53
    interval = mean_interval([0.5, 0.6, 0.55])
    assert wording.half_width(interval) == f"{100 * (interval.high - interval.mean):.2f}"
    assert wording.spread(interval, [0.5, 0.6, 0.55]) == wording.half_width(interval)
    assert wording.spread(mean_interval([0.5, 0.6]), [0.5, 0.6]) == "50.0, 60.0"
    assert wording.spread(mean_interval([0.5]), [0.5]) == "-"
    assert wording.values({"optimizer.lr": 0.1, "train.way": 5}) == "lr=0.1 way=5"
    assert wording.values({"a.lr": 1, "b.lr": 2}) == "a.lr=1 b.lr=2"
    assert wording.values({"schedule": {0: 0.1}}) == "schedule={0: 0.1}"
    assert [wording.duration(s) for s in (4.2, 42, 200, 18120)] == [
        "4.2 s",
        "42 s",
        "3 min 20 s",
        "5 h 02 min",
    ]


def test_ranking_flips_are_told() -> None:
    given = [
        trial("A", "1", base=[0.6, 0.7], val=[0.6, 0.5], novel=[0.5, 0.6]),
        trial("B", "1", base=[0.6, 0.7], val=[0.6, 0.5], novel=[0.6, 0.5], spread=0.06),
    ]
    report = build(replace(INFO, snapshot=("last", "val"), hyperparameter=("val",)), given)
    assert not report.ranking_survives
    assert any("ranking of methods depends on the strategy" in c for c in report.cautions)
    text = to_text(report)
    assert "A > B: last / val" in text
    assert "B > A: val / val" in text
    plain = json.loads(to_json(report))
    assert [c["order_survives"] for c in plain["comparisons"]] == [False, False]


ALL = replace(
    INFO,
    hyperparameter=("base", "val", "oracle", "budgeted-oracle(1)", "pareto"),
    metric="mixture(0.25)",
)


@pytest.fixture(scope="module")
def everything() -> Report:
    return build(ALL, runs(), bootstrap=20)


def test_uncertainty_in_json(everything: Report) -> None:
    first, again = to_json(everything), to_json(build(ALL, runs(), bootstrap=20))
    assert first == again
    plain = json.loads(first)
    assert len(plain["summary"]) == 3 * 5 * 4
    interval = plain["summary"][0]["novel_selection"]
    assert {"mean", "low", "high", "n", "resamples", "changed", "over", "caution"} <= set(interval)
    assert interval["mean"] == pytest.approx(plain["summary"][0]["novel"]["mean"], abs=1e-9)
    assert interval["low"] < interval["mean"] < interval["high"]
    assert (interval["n"], interval["resamples"], interval["over"]) == (3, 20, "tasks")
    assert len(plain["stability"]) == 5 * 4
    one = plain["stability"][0]
    assert {m["method"] for m in one["methods"]} == {"PN", "FIX-PN", "MetaOptNet-RR"}
    assert sum(m["probability_best"] for m in one["methods"]) == pytest.approx(1)
    assert all(m["worst"] <= m["mixture"] for m in one["methods"])
    assert one["seeds"]["of"] == 3
    assert one["tasks"]["of"] == 20
    assert len(plain["fronts"]) == 3 * 3 * 5
    assert any(point["on_front"] for point in plain["fronts"][0]["points"])
    assert {p["budget"] for p in plain["budget_curve"]} == {1, 2}
    assert {p["snapshot_selector"] for p in plain["budget_curve"]} == set(INFO.snapshot) - {
        "oracle"
    }
    mixture = plain["mixture"]
    assert mixture["base_weight"] == 0.25
    cell, summary = mixture["summary"][0], plain["summary"][0]
    assert cell["seeds"]["mean"] == pytest.approx(
        0.25 * summary["base"]["mean"] + 0.75 * summary["novel"]["mean"]
    )
    assert cell["selection"]["mean"] == pytest.approx(cell["seeds"]["mean"], abs=1e-9)


def keys(plain: object) -> set[str]:
    """All keys of the JSON report that are its own, and not names from a run."""
    if isinstance(plain, list):
        return set().union(*map(keys, plain))
    if not isinstance(plain, dict):
        return set()
    foreign = {"hyperparameters", "parts", "versions", "selectors"}
    own = [keys(value) for key, value in plain.items() if key not in foreign]
    return set(plain).union(*own)


def test_every_key_of_the_json_report_is_documented(everything: Report) -> None:
    text = (Path(__file__).resolve().parents[2] / "docs" / "reports.md").read_text()
    section = text.split("## JSON")[1].split("## TensorBoard")[0]
    named = set(re.findall(r"[a-z_]+", " ".join(re.findall(r"`([^`]+)`", section))))
    shared = {"reason", "fold", "metric", "mixture"}  # said of several at once
    assert keys(json.loads(to_json(everything))) - shared <= named


def test_verdicts_and_rankings_of_a_mixture_say_so_in_json(everything: Report) -> None:
    plain = json.loads(to_json(everything))
    cells = {(c["method"], *strategy(c)): c["seeds"]["mean"] for c in plain["mixture"]["summary"]}
    assert plain["run"]["metric"] == "mixture(0.25)"
    assert len(plain["comparisons"]) == 5 * 4 * 3
    for one in plain["comparisons"]:
        difference = cells[one["a"], *strategy(one)] - cells[one["b"], *strategy(one)]
        assert one["effect"]["mean"] == pytest.approx(difference)
        assert (one["metric"], one["effect"]["n"]) == ("mixture(0.25)", 2 * TASKS)
    for one in (*plain["run"]["rankings"], *plain["stability"]):
        names = [m if isinstance(m, str) else m["method"] for m in one["methods"]]
        assert names == sorted(names, key=lambda name: -cells[name, *strategy(one)])
        assert one["metric"] == "mixture(0.25)"
    usual = json.loads(to_json(build(replace(ALL, metric="novel"), runs(), bootstrap=20)))
    assert '"metric"' not in json.dumps(usual)
    assert [c["effect"] for c in usual["comparisons"]] != [
        c["effect"] for c in plain["comparisons"]
    ]
    # What is not compared by stays what it was.
    for part in ("selections", "summary", "rank_correlation", "fronts", "budget_curve"):
        assert usual[part] == plain[part]


def strategy(one: dict[str, str]) -> tuple[str, str]:
    return one["snapshot_selector"], one["hyperparameter_selector"]


@pytest.mark.parametrize("width", [80, 100, 140])
def test_uncertainty_in_text(everything: Report, width: int) -> None:
    text = to_text(everything, width)
    assert max(map(len, text.splitlines())) <= width
    for title in ("Stability of conclusions", "Regret against novel", "Fronts of BaseGen"):
        assert title in text
    assert "0.25 B + 0.75 N" in text
    assert "worst seed" in text
    assert "best, %" in text
    assert "…" not in text


def test_no_name_in_the_table_of_stability_is_cut(everything: Report) -> None:
    table = to_text(everything, 80).split("Stability of conclusions")[1].split("worst seed:")[0]
    words = set(table.split())
    assert {"budgeted-oracle(1)*", "MetaOptNet-RR", "FIX-PN", "PN", "strategies"} <= words
    row = next(line for line in table.splitlines() if line.startswith("last /"))
    best = everything.stability[0].methods[0]
    assert row.split()[2:4] == [best.method, wording.percent(best.worst)]


def test_what_was_not_asked_for_is_not_there() -> None:
    report = build(INFO, runs(), bootstrap=0)
    plain = json.loads(to_json(report))
    assert plain["summary"][0]["novel_selection"] is None
    assert plain["stability"][0]["tasks"] is None
    assert (plain["fronts"], plain["budget_curve"], plain["mixture"]) == ([], [], None)
    text = to_text(report)
    assert "--bootstrap 1000" in text
    assert "select:" not in text
    assert "Fronts of" not in text


def test_large_runs_are_resampled_when_asked_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(content, "QUICKLY_RESAMPLED", 100)
    monkeypatch.setattr(content, "RESAMPLES", 10)
    given = runs(("PN",))
    assert build(INFO, given).resampled == ()
    assert build(INFO, given[:2]).resampled != ()
    assert build(INFO, given, bootstrap=5).resampled[0].result.resamples == 5


def test_equal_rows_stand_once() -> None:
    """Where every snapshot selector takes the same epoch, only the cost tells strategies apart."""
    given = [
        trial("PN", "1", seed, base=[0.6, 0.7], val=[0.5, 0.6], novel=[0.4, 0.5 + seed / 100])
        for seed in (0, 1)
    ]
    text = to_text(build(INFO, given))
    rows = text.splitlines()[text.splitlines().index("PN") + 1 :]
    table = rows[: rows.index("")]
    numbers = [row for row in table[1:] if "50.50" in row]
    assert len(numbers) == 3
    assert [row.split()[0] for row in table[1:5]] == ["last", "train_loss", "base", "val"]
    assert all("base, val" in row for row in table[1:5])
    assert len(json.loads(to_json(build(INFO, given)))["summary"]) == 15


def test_equal_comparisons_stand_once() -> None:
    """Every snapshot selector takes the last epoch but ``base`` of one of three methods."""
    levels = {"A": [0.4, 0.5], "B": [0.45, 0.4], "C": [0.3, 0.3]}
    given = [
        trial(name, "1", seed, base=base, val=[0.5, 0.6], novel=[n + seed / 100 for n in novel])
        for name, novel in levels.items()
        for seed in (0, 1)
        for base in [[0.7, 0.6] if name == "C" else [0.6, 0.7]]
    ]
    info = replace(INFO, hyperparameter=("val", "oracle"))
    report = build(info, given)
    # C is at 0.3 whatever is chosen, so that all strategies that are no oracles agree; those that
    # choose the configuration by NovelGen have no choice, but do not share a row with the others.
    first, second, third = same_results(report.comparisons)
    assert [one.strategy.snapshot for one in first] == ["last", "train_loss", "base", "val"]
    assert [one.strategy.snapshot for one in second] == ["last", "train_loss", "base", "val"]
    assert [str(one.strategy) for one in third] == ["oracle / val", "oracle / oracle"]
    rows = [row.split() for row in section(to_text(report, 140), "Comparisons of these")[1:]]
    assert [row[:2] for row in rows[:4]] == [[one.strategy.snapshot, "val"] for one in first]
    assert [len(row) for row in rows] == [2 + 3 * 2, 2, 2, 2, 2 + 3 * 2, 2, 2, 2, 3 + 3 * 2]
    assert len(json.loads(to_json(report))["comparisons"]) == 10 * 3
    # With another NovelGen at the other epoch, C is compared differently under `base` alone.
    turned = [
        trial("C", "1", t.seed, base=[0.7, 0.6], val=[0.5, 0.6], novel=[0.35, 0.3])
        if t.method == "C"
        else t
        for t in given
    ]
    groups = same_results(build(replace(info, hyperparameter=("val",)), turned).comparisons)
    names = [[one.strategy.snapshot for one in group] for group in groups]
    assert names == [["last", "train_loss", "val"], ["base"], ["oracle"]]


def section(text: str, title: str) -> list[str]:
    """The lines of a part of the terminal report, up to its first empty one."""
    lines = text.splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith(title)) + 1
    return lines[first : lines.index("", first)]


def test_a_front_alone_needs_no_table() -> None:
    report = build(replace(INFO, snapshot=("val",), hyperparameter=("pareto",)), runs())
    text = to_text(report)
    assert "nothing to compare" not in text
    assert "Fronts of BaseGen and NovelGen" in text


def test_names_of_a_group_are_broken_to_fit() -> None:
    from fsl_sweep.orchestrator.report.groups import names, same_choices
    from fsl_sweep.orchestrator.selection import select
    from fsl_sweep.orchestrator.summary import summarise

    given = [trial("PN", "1", base=[0.6], val=[0.5], novel=[0.4])]
    cells = summarise(select(given, ["last", "val"], ["base", "val", "mixture(0.5)", "oracle"]))
    plain, oracle = same_choices(cells)
    assert names(plain, 12) == (
        ["last", "", "val", ""],
        ["base, val,", "mixture(0.5)"] * 2,
    )
    assert names(oracle, 12) == (["last", "val"], ["oracle*", "oracle*"])
