"""Strategies over all methods, and overtuning: by hand, against SciPy, and as reports show them."""

import json
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from trials import replicates, trial

from fsl_sweep.orchestrator.records.measures import TrialHistory
from fsl_sweep.orchestrator.report import RunInfo, build, to_json, to_text
from fsl_sweep.orchestrator.selection.comparing.overtuning import overtuning_of
from fsl_sweep.orchestrator.selection.comparing.strategies import (
    StrategyComparison,
    against_least,
    compare_strategies,
)
from fsl_sweep.orchestrator.selection.methods import summarise
from fsl_sweep.orchestrator.selection.results import Strategy
from fsl_sweep.orchestrator.selection.select import select
from fsl_sweep.orchestrator.statistics.sign_flips import pairwise_p_values

INFO = RunInfo("made", "a" * 16, "f00d", ("last", "base", "val", "oracle"), ("val",))


def method(name: str, last: Sequence[float], base: Sequence[float]) -> list[TrialHistory]:
    """A trial a seed: NovelGen .70 at the best ValGen, and what ``last`` and ``base`` choose."""
    novel = [(0.70, second, third) for second, third in zip(base, last, strict=True)]
    return replicates(name, novel, base=[0.6, 0.7, 0.5], val=[0.6, 0.5, 0.4])


A = method("A", last=[0.60, 0.62], base=[0.69, 0.66])
B = method("B", last=[0.55, 0.59], base=[0.70, 0.67])

NOVEL = np.random.default_rng(3).normal([[[0.6]], [[0.65]]], 0.01, (2, 6, 3))
SIX = [t for i in range(6) for t in method(f"M{i}", *NOVEL[:, i].tolist())]


def compared(
    trials: Sequence[TrialHistory],
    snapshot: Sequence[str],
    hyperparameter: Sequence[str] = ("val",),
) -> StrategyComparison:
    selected = select(trials, snapshot, hyperparameter)
    return compare_strategies(trials, selected, summarise(selected))


def names(comparison: StrategyComparison) -> list[str]:
    return [str(result.strategy) for result in comparison.results]


def test_by_hand() -> None:
    comparison = compared([*A, *B], ["last", "base", "oracle"])
    assert comparison.methods == ("A", "B")
    assert comparison.lacking == comparison.without_regret == ()
    last, base, oracle = comparison.results
    # Regrets of last: .10, .08, .15, .11; of base: .01, .04, 0, .03. The oracle has none to lose.
    assert [r.regret.mean for r in (last, base, oracle)] == pytest.approx([0.11, 0.02, 0.0])
    assert [r.worst for r in (last, base, oracle)] == pytest.approx([0.15, 0.04, 0.0])
    # By method .09 and .13, and .025 and .015: two methods, however many seeds.
    assert last.regrets == pytest.approx([0.09, 0.13])
    assert base.regrets == pytest.approx([0.025, 0.015])
    # The standard error is half of their difference; t of one degree is 12.706.
    assert last.regret.high - last.regret.mean == pytest.approx(12.7062047 * 0.02)
    assert [r.regret.n for r in comparison.results] == [2, 2, 2]
    # An oracle does not count, and two methods decide nothing.
    assert [r.least for r in comparison.results] == [False, True, False]
    assert [r.against_least for r in comparison.results] == [None] * 3
    # 3 snapshots in each of 4 trials, all of which the oracle looked at.
    assert [r.novel_evaluations for r in comparison.results] == [0, 0, 12]
    assert [r.training for r in comparison.results] == [1.0] * 3
    assert last.caution == "only 2 methods"


def test_verdicts_are_those_of_sign_flips_over_methods() -> None:
    """The least number of methods, with three seeds each: what counts once is a method."""
    results = compared(SIX, ["last", "base", "val", "oracle"]).results
    last, base = NOVEL.mean(axis=2)
    regrets = 0.70 - np.stack([last, base, np.full(6, 0.70)], axis=1)
    alone, adjusted = pairwise_p_values(regrets)
    for number, result in enumerate(results[:2]):
        regret, verdict = regrets[:, number], result.against_least
        assert (result.regrets, result.caution) == (pytest.approx(regret), None)
        law = stats.t.interval(0.95, 5, regret.mean(), stats.sem(regret))
        assert (result.regret.low, result.regret.high) == pytest.approx(law)
        assert verdict is not None
        assert (verdict.verdict, verdict.caution, verdict.effect.caution) == ("worse", None, None)
        assert (verdict.p_value, verdict.p_adjusted) == (alone[number, 2], adjusted[number, 2])
        assert verdict.effect.mean == pytest.approx(-regret.mean())
    assert results[2].least
    assert results[2].against_least is results[3].against_least is None


def test_worse_is_what_the_p_value_of_all_pairs_says() -> None:
    """One by one, the second of these four would be worse too."""
    strategies = [Strategy(f"s{number}", "val", oracle=False) for number in range(4)]
    table = np.random.default_rng(2).normal([0.01, 0.02, 0.025, 0.05], 0.01, (8, 4))
    alone, together = pairwise_p_values(table)
    assert alone[0, 1] < 0.05 < together[0, 1] < 0.25
    verdicts = against_least(dict(zip(strategies, table.T, strict=True)), strategies[0], units=8)
    expected = ["worse" if p < 0.05 else "undecided" for p in together[0, 1:]]
    assert [verdict.verdict for verdict in verdicts.values()] == expected


def test_a_strategy_that_some_method_lacks_is_named_and_not_averaged_over_the_rest() -> None:
    blind = [
        replace(t, curves={**t.curves, "train_loss": np.full(3, np.nan)})
        for t in method("C", last=[0.5, 0.5], base=[0.6, 0.6])
    ]
    comparison = compared([*A, *B, *blind], ["last", "train_loss"])
    assert (comparison.methods, names(comparison)) == (("A", "B", "C"), ["last / val"])
    assert [(str(s), without) for s, without in comparison.lacking] == [
        ("train_loss / val", ("C",))
    ]
    # A method that has nothing at all leaves the others be, as in the table of methods.
    unfinished = [replace(t, end=None) for t in blind]
    comparison = compared([*A, *B, *unfinished], ["last", "train_loss"])
    assert (comparison.methods, comparison.lacking) == (("A", "B"), ())
    assert names(comparison) == ["last / val", "train_loss / val"]


def test_one_seed_of_one_method_has_no_interval_and_no_verdict() -> None:
    last, base = compared(A[:1], ["last", "base"]).results
    assert last.against_least is None
    assert np.isnan(last.regret.low)
    assert (base.least, base.worst) == (True, pytest.approx(0.01))
    assert base.caution == "one seed alone has no interval"
    assert [r.regret.n for r in compared(B, ["last", "base"]).results] == [2, 2]


def test_equal_strategies() -> None:
    """Means of .02 that differ as floats only by the order of summation: the earlier is least."""
    trials = method("A", last=[0.69, 0.68, 0.67], base=[0.67, 0.69, 0.68])
    for snapshot in (["last", "base"], ["base", "last"]):
        assert [r.least for r in compared(trials, snapshot).results] == [True, False]
    # That seven methods do not tell them apart does not make them the same for others.
    seven = [t for n in range(7) for t in method(f"M{n}", last=[0.69, 0.6], base=[0.69, 0.6])]
    verdict = compared(seven, ["last", "base"]).results[1].against_least
    assert verdict is not None
    assert (verdict.verdict, verdict.p_value) == ("undecided", 1.0)


def folded(name: str, epochs: int, every: int = 10) -> list[TrialHistory]:
    """Two configurations and seeds with class folds; every tenth epoch is measured."""
    at = range(every, epochs + 1, every)
    scores = np.linspace(0.4, 0.6, len(at)).tolist()
    return [
        trial(name, rate, seed, base=scores, val=scores, novel=scores, epochs=at, fold=fold)
        for rate in ("0.1", "0.01")
        for seed in (0, 1)
        for fold in (None, 0, 1)
    ]


def test_training_counts_the_class_folds_that_a_strategy_reads() -> None:
    comparison = compared(
        [*folded("A", 20), *folded("B", 40)], ["last", "val", "cv-epoch"], ["val", "cv"]
    )
    assert [r.training for r in comparison.results] == [1.0, 3.0, 1.0, 3.0, 3.0, 3.0]
    # All that was measured is the last epoch; half of the folds' epochs were trained.
    sparse = folded("A", 40, every=40)
    short = [t if t.fold is None else replace(t, epochs=t.epochs // 2) for t in sparse]
    # Trials that two methods share are trained once: (20 + 2 x 20 + 20) / (20 + 20).
    twice = [*folded("A", 20), *[replace(t, method="B") for t in folded("A", 20)]]
    for trials, training in ((sparse, 3.0), (short, 2.0), (twice, 3.0)):
        assert [r.training for r in compared(trials, ["last"], ["cv"]).results] == [training]
    # A method without folds lacks what reads them.
    comparison = compared([*folded("A", 20), *B], ["last"], ["val", "cv"])
    assert [(str(s), methods) for s, methods in comparison.lacking] == [("last / cv", ("B",))]


UNKNOWN = [
    trial("C", "x", seed, base=[0.6], val=[0.5], novel=[np.nan], report=[0.5]) for seed in (0, 1)
]
SHORT = [trial("A", "x", seed, base=[0.6], val=[0.6], novel=[0.7]) for seed in (0, 1)]


def test_the_section_of_the_report(snapshot) -> None:
    """Oracles are told by name; what chose alike everywhere shares a row."""
    folds = replace(INFO, hyperparameter=("val", "cv"))
    shown = {
        "two methods": build(INFO, [*A, *B]),
        "six methods": build(INFO, SIX),
        "one seed": build(INFO, A[:1]),
        # After one epoch nothing is left to choose, and both seeds are identical.
        "one epoch": build(INFO, SHORT),
        # Alike in one method of two is not alike.
        "one epoch of one method": build(INFO, [*SHORT, *B]),
        "folds of one method": build(folds, [*folded("A", 20), *B], bootstrap=0),
        "folds": build(folds, folded("A", 20), bootstrap=0),
        "no reference": build(INFO, [*A, *UNKNOWN]),
    }
    sections = {
        name: to_text(report, 200).split("Strategies over all methods ")[1].split("\n\nLearning")[0]
        for name, report in shown.items()
    }
    assert "\n\n".join(f"{name}: {text}" for name, text in sections.items()) == snapshot
    plain = json.loads(to_json(shown["no reference"]))["strategies"]
    assert (plain["table"], plain["without_regret"]) == ([], ["C"])


def grid(seed: int, first: float, other: float):
    """The second configuration looks better by ValGen, with these NovelGen on the report tasks."""
    return [
        trial("A", name, seed, base=base, val=val, novel=[0.1, 0.1], report=report)
        for name, base, val, report in (
            ("1", [0.5, 0.5], [0.4, 0.5], [0.2, first]),
            ("2", [0.7, 0.6], [0.6, 0.5], [other, 0.3]),
        )
    ]


GRIDS = [*grid(0, 0.70, 0.66), *grid(1, 0.71, 0.70), *grid(2, 0.72, 0.73)]


def test_overtuning_by_hand() -> None:
    (cell,) = overtuning_of(GRIDS, select(GRIDS, ["val"], ["val"]))
    assert (cell.method, str(cell.strategy), cell.seeds) == ("A", "val / val", (0, 1, 2))
    assert cell.values == pytest.approx((0.04, 0.01, -0.01))
    law = stats.t.interval(0.95, 2, np.mean(cell.values), stats.sem(cell.values))
    assert (cell.below.low, cell.below.high) == pytest.approx(law)
    assert cell.caution == "only 3 seeds"
    # By a mixture, where BaseGen is .5 of the first and .7 of the other.
    (mixed,) = overtuning_of(GRIDS, select(GRIDS, ["val"], ["val"], 0.5))
    assert mixed.values == pytest.approx((0.02 - 0.1, 0.005 - 0.1, -0.005 - 0.1))
    # By the last epoch, ValGen ties, and the first configuration stays.
    (last,) = overtuning_of(GRIDS, select(GRIDS, ["last"], ["val"]))
    assert last.values == (0.0, 0.0, 0.0)


@pytest.mark.parametrize(
    "trials",
    [
        [trial for trial in GRIDS if trial.configuration == "1"],
        [*GRIDS[:5], trial("A", "2", 2, end=None)],
        [*GRIDS[:4], *grid(2, np.nan, 0.72)],
    ],
)
def test_what_has_nothing_to_choose_among_or_is_not_complete_is_left_out(trials) -> None:
    assert overtuning_of(trials, select(trials, ["val"], ["val"])) == ()
