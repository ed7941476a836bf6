from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from trials import TASKS, trial

from fsl_sweep.orchestrator.records.measures import TrialEnd, TrialHistory
from fsl_sweep.orchestrator.records.spec import Selectors
from fsl_sweep.orchestrator.selection.chosen import choosable_epochs, chosen_snapshots
from fsl_sweep.orchestrator.selection.comparing.comparison import (
    compare_methods,
    rank_methods,
    same_order,
)
from fsl_sweep.orchestrator.selection.methods import by_method, rank_correlations, summarise
from fsl_sweep.orchestrator.selection.resample import resample
from fsl_sweep.orchestrator.selection.select import Selected, Strategy, select, why_unusable


def chosen(selected: Selected, snapshot: str, hyperparameter: str, seed: int = 0):
    (one,) = [
        s
        for s in selected.selections
        if (s.strategy.snapshot, s.strategy.hyperparameter, s.seed)
        == (snapshot, hyperparameter, seed)
    ]
    return one


# Appendix F.1 of "Two Sides of Meta-Learning Evaluation": one method, two learning rates.
FAST = trial(
    "PN",
    "1e-3",
    base=[0.70, 0.80, 0.90],
    val=[0.60, 0.50, 0.40],
    novel=[0.55, 0.45, 0.35],
    report=[0.54, 0.46, 0.34],
)
SLOW = trial(
    "PN",
    "1e-4",
    base=[0.60, 0.70, 0.80],
    val=[0.50, 0.58, 0.57],
    novel=[0.40, 0.50, 0.52],
    report=[0.41, 0.51, 0.55],
)


def test_intervals_are_over_the_report_tasks() -> None:
    one = chosen(select([FAST, SLOW], ["val"], ["val"]), "val", "val")
    tasks = FAST.scores["novel", "report"].load()[0]
    law = stats.t.interval(0.95, TASKS - 1, tasks.mean(), stats.sem(tasks))
    assert (one.novel.low, one.novel.high, one.novel.n) == pytest.approx((*law, TASKS))
    assert (one.base.mean, one.val.mean) == pytest.approx((0.70, 0.60))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"end": None}, "unfinished: 3 snapshots recorded"),
        ({"end": TrialEnd("failed", "loss is NaN")}, "failed: loss is NaN"),
        ({"end": None, "damaged": ("/here/epochs/0002.record",)}, "damaged records: 0002.record"),
        ({"end": None, "epochs": np.array([], np.int64)}, "not run"),
        ({"epochs": np.array([], np.int64)}, "ended before its first snapshot was measured"),
        (
            {"epochs": np.array([], np.int64), "end": TrialEnd("budget")},
            "stopped by its budget before its first snapshot",
        ),
    ],
)
def test_gaps_are_named_and_the_cell_is_left_out(change: dict, reason: str) -> None:
    broken = replace(SLOW, **change)
    whole = [replace(t, seed=1, trial=t.trial + "b") for t in (FAST, SLOW)]
    other = trial("RR", "1", base=[0.5], val=[0.5], novel=[0.5])
    selected = select([FAST, broken, *whole, other], ["val"], ["val"])
    assert why_unusable(broken) == reason
    assert [(gap.trial, gap.reason) for gap in selected.left_out] == [(broken.trial, reason)]
    # The whole replicate is still selected for; the mean over seeds is not made without the other.
    assert [(s.method, s.seed) for s in selected.selections] == [("PN", 1), ("RR", 0)]
    assert [summary.method for summary in summarise(selected)] == ["RR"]


def test_looks_are_spent_over_all_snapshots() -> None:
    names = [f"budgeted-oracle({b}, top, snapshots)" for b in (1, 2, 6)]
    found = select([SLOW], ["last"], names)
    # ValGen ranks the epochs 2, 3, 1; NovelGen 3, 2, 1.
    assert [chosen(found, "last", name).epoch for name in names] == [2, 3, 3]
    assert [chosen(found, "last", name).novel_evaluations for name in names] == [1, 2, 3]
    both = select([SLOW, FAST], ["last", "oracle"], [*names[1:], "oracle"])
    best, taken = chosen(both, "oracle", "oracle"), chosen(both, "last", names[2])
    assert (taken.trial, taken.epoch, taken.regret) == (best.trial, best.epoch, 0)
    cells = resample([SLOW, FAST], both, resamples=10)
    assert {one.strategy.hyperparameter for one in cells} == {"oracle"}


def test_budget_counts_as_complete_and_folds_are_passed_over() -> None:
    stopped = replace(SLOW, end=TrialEnd("budget", "out of time"))
    fold = trial("PN", "1e-3", fold=0, base=[1.0], val=[1.0], novel=[1.0], end=None)
    selected = select([FAST, stopped, fold], ["val"], ["val"])
    assert selected.left_out == ()
    assert len(selected.selections) == 1


def test_nan_scores_do_not_win_and_all_nan_leaves_out_only_the_strategy() -> None:
    nan = float("nan")
    lost = trial("PN", "1e-2", base=[0.99, 0.98], val=[nan, nan], novel=[0.5, 0.6])
    selected = select([FAST, lost], ["last", "val"], ["base", "val"])
    assert [str(s.strategy) for s in selected.selections] == ["last / base", "last / val"]
    assert chosen(selected, "last", "base").snapshot.configuration == "1e-2"
    assert chosen(selected, "last", "val").snapshot.configuration == "1e-3"
    (gap,) = selected.left_out
    assert (gap.snapshot_selector, gap.hyperparameter_selector) == ("val", None)
    assert [str(s.strategy) for s in summarise(selected)] == ["last / base", "last / val"]


@pytest.mark.parametrize("name", ["base", "mixture(0)"])
def test_a_measure_that_one_trial_lacks_is_not_chosen_by(name: str) -> None:
    """As where a table without BaseGen is reported together with one that has it."""
    up = {"base": [0.5, 0.6], "val": [0.4, 0.5], "novel": [0.4, 0.5]}
    whole, lacking = trial("a", "x", **up), trial("a", "y", **up)
    kept = {key: table for key, table in lacking.scores.items() if key[0] != "base"}
    selected = select([whole, replace(lacking, scores=kept)], ["val", name], ["val", name])
    strategies = {str(one.strategy) for one in selected.selections}
    assert strategies == {"val / val"}
    reasons = [one.reason for one in selected.left_out]
    assert (
        reasons.count(f"Selector '{name.partition('(')[0]}' needs base, which was not recorded.")
        == 2
    )


def test_report_scores_that_are_not_numbers_leave_out_the_choice() -> None:
    lost = trial("PN", "x", base=[0.5], val=[0.5], novel=[0.5], report=[float("nan")])
    selected = select([lost], ["last"], ["val"])
    assert selected.selections == ()
    (gap,) = selected.left_out
    assert "(epoch 1) is not measured on the report tasks" in gap.reason
    assert gap.epoch == 1
    assert (gap.snapshot_selector, gap.hyperparameter_selector) == ("last", "val")


def two_methods() -> list[TrialHistory]:
    """PN is better at its end, RR at its best ValGen; three seeds."""
    both = {"base": [0.6, 0.7], "val": [0.6, 0.5]}
    return [
        one
        for seed, extra in enumerate([0.0, 0.01, 0.03])
        for one in (
            trial("PN", "p", seed, novel=[0.50 + extra, 0.60 + extra], **both),
            trial("RR", "r", seed, novel=[0.60 + extra, 0.55 + extra], spread=0.06, **both),
        )
    ]


def test_summary_over_seeds_and_over_tasks() -> None:
    selected = select(two_methods(), ["last"], ["val"])
    summary = summarise(selected)[0]
    means = np.array([0.60, 0.61, 0.63])
    low, high = stats.t.interval(0.95, 2, means.mean(), stats.sem(means))
    assert (summary.novel.mean, summary.novel.low, summary.novel.high) == pytest.approx(
        (means.mean(), low, high)
    )
    assert (summary.novel.n, summary.novel.kind) == (3, "seeds")
    tasks = means.mean() + np.linspace(-0.05, 0.05, TASKS)
    assert summary.novel_tasks is not None
    assert summary.novel_tasks.n == TASKS
    assert summary.novel_tasks.high - summary.novel_tasks.mean == pytest.approx(
        stats.t.ppf(0.975, TASKS - 1) * stats.sem(tasks)
    )
    assert summary.regret is not None
    assert summary.regret.mean == pytest.approx(0.0)


def test_comparisons_are_paired_and_rankings_may_flip() -> None:
    summaries = summarise(select(two_methods(), ["last", "val"], ["val"]))
    comparisons = compare_methods(summaries)
    assert [(str(c.strategy), c.a, c.b, c.result.verdict) for c in comparisons] == [
        ("last / val", "PN", "RR", "better"),
        ("val / val", "PN", "RR", "worse"),
    ]
    assert same_order(comparisons) == set()
    assert same_order(comparisons[:1]) == {("PN", "RR")}
    difference = 0.05 + np.linspace(-0.05, 0.05, TASKS) - np.linspace(-0.06, 0.06, TASKS)
    assert comparisons[0].result.p_value == pytest.approx(
        stats.ttest_1samp(difference, 0).pvalue, rel=1e-6
    )
    assert [ranking.methods for ranking in rank_methods(summaries)] == [("PN", "RR"), ("RR", "PN")]


def test_rank_correlation_against_scipy() -> None:
    generator = np.random.default_rng(1)
    base, val, novel = generator.random((3, 12))
    one = trial("PN", "x", base=base, val=val, novel=novel)
    unfinished = replace(one, end=None, trial="u")
    rows = rank_correlations([one, unfinished], last=5)
    assert [(r.measure, r.result.last, r.trial) for r in rows] == [
        ("val", None, one.trial),
        ("val", 5, one.trial),
        ("base", None, one.trial),
        ("base", 5, one.trial),
    ]
    expected = [
        stats.kendalltau(x[-k:], novel[-k:]).statistic for x in (val, base) for k in (12, 5)
    ]
    assert [r.result.tau for r in rows] == pytest.approx(expected)


def test_rank_correlation_by_method_is_over_seeds_not_over_trials() -> None:
    generator = np.random.default_rng(2)
    trials = [
        trial("PN", configuration, seed, base=base, val=val, novel=novel)
        for configuration in "xy"
        for seed in range(3)
        for base, val, novel in [generator.random((3, 12))]
    ]
    flat = {"base": np.full(5, 0.5), "val": [*range(5)], "novel": [1, 0, 2, 3, 4]}
    same = [trial("RR", *own, **flat) for own in (("x", 0), ("x", 1), ("y", 1), ("z", 1))]
    val, base, rest = by_method(rank_correlations([*trials, *same]))
    taus = {
        m: [stats.kendalltau(t.scores[m, "selection"].means, novel_of(t)).statistic for t in trials]
        for m in ("val", "base")
    }
    for found in (val, base):
        of = np.reshape(taus[found.measure], (2, 3))
        assert found.by_seed == pytest.approx(of.mean(axis=0))
        mean, half = of.mean(), stats.t.ppf(0.975, 2) * of.mean(axis=0).std(ddof=1) / 3**0.5
        ends = (found.tau.mean, found.tau.low, found.tau.high)
        assert ends == pytest.approx((mean, mean - half, mean + half))
        assert (found.least, found.most) == pytest.approx((of.min(), of.max()))
        assert found.trials == 6
        assert (found.tau.kind, found.caution) == ("seeds", "only 3 seeds")
    # The base scores of RR never change, and both of its seeds rank val alike, but for rounding.
    assert (rest.method, rest.measure, rest.trials) == ("RR", "val", 4)
    assert rest.by_seed[0] != rest.by_seed[1] == pytest.approx(0.8)
    assert np.isnan([rest.tau.low, rest.tau.high]).all()


def novel_of(one):
    return one.scores["novel", "selection"].means


def test_a_front_is_shown_apart() -> None:
    selected = select([FAST, SLOW], ["last", "val"], ["pareto"])
    assert selected.strategies == selected.selections == ()
    last, val = selected.fronts
    assert [point.configuration for point in last.kept] == ["1e-3", "1e-4"]
    assert [point.configuration for point in val.kept] == ["1e-3"]  # .70 and .55; .70 and .50
    assert [point.epoch for point in val.points] == [1, 2]
    assert [point.mean("novel") for point in val.points] == pytest.approx([0.54, 0.51])
    assert last.oracle


def test_a_trial_of_two_methods_counts_for_both() -> None:
    shared = replace(FAST, method="PN-2")
    selected = select([FAST, shared], ["val"], ["val"])
    assert [s.method for s in selected.selections] == ["PN", "PN-2"]
    assert selected.cell("PN", Strategy("val", "val", False))[0].trial == FAST.trial


KEPT = Selectors(
    snapshot=["last", "base", "val"], hyperparameter=["base", "val", "pareto", "oracle"]
)


@pytest.mark.parametrize("seed", range(5))
def test_what_a_trial_keeps_is_what_any_strategy_may_choose_of_it(seed) -> None:
    rng, histories = np.random.default_rng(seed), []
    for number in range(4):
        base, val, novel = rng.random((3, 8))
        histories.append(trial("PN", f"c{number}", base=base, val=val, novel=novel))
        best = {int(np.argmax(scores)) + 1 for scores in (base, val, novel)}
        assert choosable_epochs(histories[-1], KEPT) == best | {8}
    chosen = chosen_snapshots(histories, KEPT)
    assert chosen
    for history in histories:
        assert {e for t, e in chosen if t == history.trial} <= choosable_epochs(history, KEPT)
    # Nothing is said where folds decide, or the trial takes no part.
    folds = Selectors(snapshot=["val", "cv-epoch"], hyperparameter=["val"])
    assert choosable_epochs(history, folds) is None
    every = Selectors(snapshot=["val"], hyperparameter=["budgeted-oracle(2, top, snapshots)"])
    assert choosable_epochs(history, every) is None
    assert choosable_epochs(replace(history, end=TrialEnd("failed", "NaN")), KEPT) is None
