import io
import json
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from places import ROOT
from syrupy.assertion import SnapshotAssertion
from trials import TASKS, rising, trial

from fsl_sweep.orchestrator.records.measures import TrialEnd, TrialHistory
from fsl_sweep.orchestrator.report import (
    Report,
    RunInfo,
    build,
    show,
    to_json,
    to_text,
    wording,
)
from fsl_sweep.orchestrator.report.document.blocks import (
    Group,
    Row,
    Table,
    in_parts,
    numbers,
    words,
)
from fsl_sweep.orchestrator.selection import evidence, resample
from fsl_sweep.orchestrator.selection.comparing.comparison import Ranking, conflicting
from fsl_sweep.orchestrator.selection.results import Strategy
from fsl_sweep.orchestrator.statistics import mean_interval
from fsl_sweep.orchestrator.text.console import SafeConsole
from fsl_sweep.orchestrator.text.durations import duration

INFO = RunInfo(
    name="omniglot-quick",
    sweep_hash="abcdef0123456789",
    fingerprint="f00d",
    snapshot=("last", "train_loss", "base", "val", "oracle"),
    hyperparameter=("base", "val", "oracle"),
    versions={"torch": "2.13.0"},
)


def runs(methods: tuple[str, ...] = ("PN", "FIX-PN", "MetaOptNet-RR")) -> list[TrialHistory]:
    return rising(methods, seeds=3, epochs=40)


@pytest.fixture(scope="module")
def usual() -> Report:
    return build(INFO, runs(), last=20, bootstrap=30)


def test_json_is_a_function_of_the_records_without_nan() -> None:
    one_seed = [t for t in runs() if t.seed == 0]
    first = to_json(build(INFO, one_seed))
    plain = json.loads(first, parse_constant=lambda name: pytest.fail(name))
    assert plain["summary"][0]["novel"]["low"] is None
    assert plain["summary"][0]["novel"]["n"] == 1
    slower = [replace(t, curves={c: v * 9 for c, v in t.curves.items()}) for t in one_seed]
    assert to_json(build(INFO, slower)) == first


def failing() -> list[TrialHistory]:
    """One seed of the first method is left."""
    trials = runs()
    trials[1] = replace(trials[1], end=TrialEnd("failed", "loss is NaN at epoch 7"))
    trials[2] = replace(trials[2], end=None)
    return trials


def two_claims() -> list[TrialHistory]:
    """The snapshots of RR score higher for sure; whether RR is better is open."""
    novel = {("PN", 0): 0.50, ("PN", 1): 0.60, ("RR", 0): 0.58, ("RR", 1): 0.59}
    return [
        trial(m, "1", s, base=[0.6], val=[0.6], novel=[x], spread=0.01)
        for (m, s), x in novel.items()
    ]


def chosen_alike() -> list[TrialHistory]:
    """Every snapshot selector takes the same epoch, and only the cost tells strategies apart."""
    trials = [
        trial("PN", "1", seed, base=[0.6, 0.7], val=[0.5, 0.6], novel=[0.4, 0.5 + seed / 100])
        for seed in (0, 1)
    ]
    return [*trials, *(replace(one, method="RR") for one in trials)]


FEW = {"snapshot": ("last", "val"), "hyperparameter": ("val",)}
REPORTS: dict[str, tuple[list[TrialHistory], dict[str, Any]]] = {
    "three seeds": (runs(), FEW),
    "two seeds of one method and three of the others": (
        [replace(runs()[0], end=None), *runs()[1:]],
        FEW,
    ),
    "two seeds": ([one for one in runs() if one.seed < 2], FEW),
    "one seed": ([one for one in runs() if one.seed == 0], FEW),
    "no resamples": (runs(), {**FEW, "bootstrap": 0}),
    "a mixture": (runs(), {**FEW, "metric": "mixture(0.4)"}),
    "what was asked for": (
        runs(("PN", "RR")),
        {"snapshot": ("last", "oracle"), "hyperparameter": ("val", "budgeted-oracle(1)", "pareto")},
    ),
    "only fronts": (runs(), {**FEW, "hyperparameter": ("pareto",)}),
    "failed and missing trials": (failing(), FEW),
    "a method without a whole seed": (
        [replace(one, end=None) if one.method == "PN" else one for one in runs()],
        FEW,
    ),
    "nothing that can choose": (runs(), {"snapshot": ("cv-epoch",)}),
    "nothing recorded": (
        [trial("PN", "1", end=None), trial("RR", "1", end=None)],
        {"hyperparameter": ("val", "budgeted-oracle(1)")},
    ),
    "two claims": (two_claims(), FEW),
    "strategies that chose alike": (
        chosen_alike(),
        {"snapshot": ("last", "val", "oracle"), "hyperparameter": ("base", "val", "oracle")},
    ),
}


@pytest.mark.parametrize("name", REPORTS)
def test_the_report_word_for_word(name: str, snapshot: SnapshotAssertion) -> None:
    trials, parts = REPORTS[name]
    parts = dict(parts)
    bootstrap = parts.pop("bootstrap", 30)
    report = build(replace(INFO, **parts), trials, curves=2, bootstrap=bootstrap)
    assert to_text(report) == snapshot


def test_incomplete_runs_say_so_in_json() -> None:
    report = build(INFO, failing())
    plain = json.loads(to_json(report))
    assert not plain["run"]["complete"]
    assert (plain["run"]["done"], plain["run"]["failed"], plain["run"]["missing"]) == (16, 1, 1)
    assert [one["reason"] for one in plain["run"]["left_out"]] == [
        "failed: loss is NaN at epoch 7",
        "unfinished: 40 snapshots recorded",
    ]
    seeds = {method: whole for method, (whole, _) in report.completeness.seeds.items()}
    assert seeds == {"PN": 1, "FIX-PN": 3, "MetaOptNet-RR": 3}
    assert {one["method"]: one["novel"]["n"] for one in plain["summary"]} == seeds


def test_what_was_not_asked_for_is_null_or_empty_in_json() -> None:
    plain = json.loads(to_json(build(INFO, runs(), bootstrap=0)))
    assert plain["summary"][0]["novel_selection"] is None
    assert plain["stability"][0]["tasks"] is None
    assert (plain["fronts"], plain["budget_curve"], plain["mixture"]) == ([], [], None)
    fronts = build(replace(INFO, hyperparameter=("pareto",)), runs(), bootstrap=0)
    assert json.loads(to_json(fronts))["run"]["ranking_survives"] is None


def test_a_trial_of_two_methods_is_counted_once() -> None:
    given = runs(("PN",))
    shared = [replace(one, method="PN-2") for one in given]
    assert build(INFO, [*given, *shared]).completeness.planned == 6


@pytest.mark.parametrize("width", [80, 140])
def test_text_keeps_to_its_width_and_loses_nothing(everything: Report, width: int) -> None:
    text = to_text(everything, width)
    assert "\x1b" not in text
    assert max(map(len, text.splitlines())) <= width
    assert "…" not in text
    # What has no room in a table is in a further part of it.
    whole, narrow = (
        set(t.partition("Methods and str")[2].split()) for t in (to_text(everything), text)
    )
    assert whole - narrow <= {"─" * n for n in range(200)}


def test_a_table_that_is_too_wide_comes_in_parts() -> None:
    columns = words("name") + numbers(["a", "b", "a long name of a column"])
    table = Table(columns, (Group("", (Row(("x" * 40, "1" * 9, "22", "3" * 20)),)),))
    assert in_parts(table, 200) == ([40, 9, 2, 23], [[0, 1, 2, 3]])
    assert in_parts(table, 45)[1] == [[0, 1, 2], [0, 3]]
    assert in_parts(table, 10)[1] == [[0, 1], [0, 2], [0, 3]]


@pytest.mark.parametrize("system", ["truecolor", None])
def test_colours_on_a_terminal_only_and_no_row_stands_out(
    usual: Report, system: str | None
) -> None:
    terminal = io.StringIO()
    console = SafeConsole(file=terminal, force_terminal=True, color_system=system, width=200)
    show(usual, console, full=True)
    bold = [line for line in terminal.getvalue().splitlines() if "\x1b[1" in line]
    assert bool(bold) == (system is not None)
    # Only titles: nobody is to choose a strategy by its result on the report tasks.
    assert not any(re.search(r"\d\d\.\d\d", line) for line in bold)
    assert "bold" not in to_text(usual).lower()


def test_piped_text_has_no_width_and_drops_nothing(usual: Report) -> None:
    pipe = io.StringIO()
    show(usual, SafeConsole(file=pipe, width=80), full=True)
    text = pipe.getvalue()
    assert text == to_text(usual)
    prose = [line for line in text.splitlines() if not re.search(r"  \S|^[a-z_]+ ", line)]
    assert max(map(len, prose)) <= 100


def test_curves_are_few_and_fairly_shared() -> None:
    report = build(INFO, runs(), curves=4, bootstrap=0)
    methods = [trial.method for trial, _ in report.curves]
    # Two configurations of the first method, all three seeds of each.
    assert methods == ["PN"] * 6 + ["FIX-PN"] * 3 + ["MetaOptNet-RR"] * 3
    assert "12 of 18 trials are shown" in to_text(report)
    # Every pick is marked under the point that it picked.
    first, picks = report.curves[0]
    assert picks["last"] == 40
    assert picks["oracle"] == 1 + int(np.argmax(first.scores["novel", "selection"].means))


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
    # A bare name could be the learner's, the backbone's or the optimizer's.
    assert wording.values({"optimizer.name": "sgd", "optimizer.lr": 1}) == "optimizer.name=sgd lr=1"
    ps = (0.0004, 0.0123, 0.04996, 0.0499, 0.05, 0.05001, 0.0500000001, np.nextafter(0.05, 0))
    assert ", ".join(map(wording.p_value, ps)) == (
        "< 0.001, 0.012, 0.04996, 0.0499, 0.050, 0.05001, > 0.05, < 0.05"
    )
    durations = map(duration, (4.2, 42, 90, 18120))
    assert ", ".join(durations) == "4.2 s, 42 s, 1 min 30 s, 5 h 02 min"


def test_selectors_are_named_by_what_they_read() -> None:
    snapshots = {
        **{"last": "last epoch", "train_loss": "training loss", "base": "BaseGen"},
        **{"val": "ValGen", "cv-epoch": "class folds", "oracle": "NovelGen (oracle)"},
        "mixture(0.3)": "0.3 BaseGen + 0.7 ValGen",
    }
    configurations = {
        **{"cv": "class folds", "cv(aligned)": "class folds, aligned"},
        "budgeted-oracle(1)": "1 novel look (oracle)",
        "budgeted-oracle(3, halving)": "3 novel looks by halving (oracle)",
        "mixture": "0.5 BaseGen + 0.5 ValGen",
    }
    assert {name: wording.snapshot_by(name) for name in snapshots} == snapshots
    assert {name: wording.configuration_by(name) for name in configurations} == configurations


def test_strategies_that_share_a_row() -> None:
    pairs = [("last", "base"), ("last", "val"), ("base", "base"), ("base", "val"), ("val", "val")]
    own = [Strategy(first, second, oracle=False) for first, second in pairs]
    assert wording.strategies(own) == [
        ("last epoch, BaseGen", "BaseGen, ValGen"),
        ("ValGen", "ValGen"),
    ]
    assert wording.on_one_line(own) == (
        "snapshot by last epoch, BaseGen; configuration by BaseGen, ValGen; "
        "snapshot by ValGen; configuration by ValGen"
    )


def ranked(*orders: str) -> list[Ranking]:
    return [Ranking(Strategy(str(n), "val", False), tuple(o)) for n, o in enumerate(orders)]


@pytest.mark.parametrize(
    ("orders", "found"),
    [
        (("ABC", "AC", "BC", "AB", "A"), []),
        (("AB", "BC", "CA"), []),
        (("ABC", "ACB", "BC", "AB", "ABC"), ["ABC", "ACB"]),
        (("AB", "BC", "CB"), ["BC", "CB"]),
    ],
)
def test_orders_conflict_only_in_methods_that_both_have(orders: Sequence[str], found) -> None:
    assert ["".join(one) for one in conflicting(ranked(*orders))] == found


def test_ranking_flips_are_told() -> None:
    given = [
        trial("A", "1", base=[0.6, 0.7], val=[0.6, 0.5], novel=[0.5, 0.6]),
        trial("B", "1", base=[0.6, 0.7], val=[0.6, 0.5], novel=[0.6, 0.5], spread=0.06),
    ]
    report = build(replace(INFO, snapshot=("last", "val"), hyperparameter=("val",)), given)
    assert not report.ranking_survives
    assert (
        "The ranking of methods depends on the strategy: 2 different orders under 2 strategies "
        "that read no novel score." in report.cautions
    )
    oracle = build(replace(INFO, snapshot=("val", "oracle"), hyperparameter=("val",)), given)
    assert [one.methods for one in oracle.rankings] == [("B", "A"), ("A", "B")]
    assert oracle.ranking_survives
    assert not any("ranking of methods" in c for c in oracle.cautions)
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
    plain = json.loads(to_json(everything))
    assert len(plain["summary"]) == 3 * 5 * 4
    assert len(plain["selections"]) == 3 * len(plain["summary"])
    for measure in ("base", "val", "novel"):
        assert set(plain["selections"][0][measure]) == {"mean", "low", "high", "n"}
    assert {(c["about"], c["over"]) for c in plain["comparisons"]} == {("these snapshots", "tasks")}
    interval = plain["summary"][0]["novel_selection"]
    assert interval["mean"] == pytest.approx(plain["summary"][0]["novel"]["mean"], abs=1e-9)
    assert interval["low"] < interval["mean"] < interval["high"]
    assert (interval["n"], interval["resamples"], interval["over"]) == (3, 20, "tasks")
    assert len(plain["stability"]) == 5 * 4
    one = plain["stability"][0]
    assert sum(m["probability_best"] for m in one["methods"]) == pytest.approx(1)
    assert all(m["worst"] <= m["mixture"] for m in one["methods"])
    assert (one["seeds"]["of"], one["tasks"]["of"]) == (3, 20)
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
    text = (ROOT / "docs" / "reports.md").read_text()
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
        assert one["metric"] == "mixture(0.25)"
    usual = json.loads(to_json(build(replace(ALL, metric="novel"), runs(), bootstrap=20)))
    assert '"metric"' not in json.dumps(usual)
    # What is not compared by stays what it was.
    for part in ("selections", "summary", "rank_correlation", "fronts", "budget_curve"):
        assert usual[part] == plain[part]


def strategy(one: dict[str, str]) -> tuple[str, str]:
    return one["snapshot_selector"], one["hyperparameter_selector"]


def test_of_a_large_run_only_the_leading_strategy_is_resampled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for module in (evidence, resample):
        monkeypatch.setattr(module, "QUICKLY_RESAMPLED", 100)
    monkeypatch.setattr(resample, "FEWER", 10)
    given = runs(("PN",))
    (cell,) = build(INFO, given).resampled
    assert (str(cell.strategy), cell.result.resamples) == ("val / val", 10)
    usual = replace(INFO, snapshot=("oracle", "last"), hyperparameter=("oracle", "base"))
    assert [str(one.strategy) for one in build(usual, given).resampled] == ["last / base"]
    every = build(INFO, given[:2]).resampled
    assert {one.result.resamples for one in every} == {30}
    assert len(every) == len(build(INFO, given, bootstrap=5).resampled) > 1
