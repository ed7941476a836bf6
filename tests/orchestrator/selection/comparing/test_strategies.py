"""Strategies compared over all methods: by hand, against SciPy, and in every format."""

import json
import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from trials import trial

from fsl_sweep.orchestrator.records.measures import TrialHistory
from fsl_sweep.orchestrator.report import Report, RunInfo, build, to_json, to_text
from fsl_sweep.orchestrator.selection.comparing.strategies import (
    StrategyComparison,
    StrategyResult,
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
    return [
        trial(
            name,
            "x",
            seed,
            base=[0.6, 0.7, 0.5],
            val=[0.6, 0.5, 0.4],
            novel=[0.70, second, third],
            spread=0.0,
        )
        for seed, (third, second) in enumerate(zip(last, base, strict=True))
    ]


A = method("A", last=[0.60, 0.62], base=[0.69, 0.66])
B = method("B", last=[0.55, 0.59], base=[0.70, 0.67])


def compared(
    given: Sequence[TrialHistory], snapshot: Sequence[str], hyperparameter: Sequence[str] = ("val",)
) -> StrategyComparison:
    selected = select(given, snapshot, hyperparameter)
    return compare_strategies(given, selected, summarise(selected))


def named(found: StrategyComparison) -> dict[str, StrategyResult]:
    return {str(one.strategy): one for one in found.results}


def test_by_hand() -> None:
    found = compared([*A, *B], ["last", "base", "oracle"])
    assert found.methods == ("A", "B")
    assert (found.lacking, found.without_regret) == ((), ())
    last, base, oracle = found.results
    # Regrets of last: .10, .08, .15, .11; of base: .01, .04, 0, .03.
    assert (last.regret.mean, last.worst) == (pytest.approx(0.11), pytest.approx(0.15))
    assert (base.regret.mean, base.worst) == (pytest.approx(0.02), pytest.approx(0.04))
    assert (oracle.regret.mean, oracle.worst) == (0.0, 0.0)
    # By method .09 and .13, and .025 and .015: two methods, however many seeds.
    assert last.regrets == pytest.approx([0.09, 0.13])
    assert base.regrets == pytest.approx([0.025, 0.015])
    # The standard error is half of their difference; t of one degree is 12.706.
    assert last.regret.high - last.regret.mean == pytest.approx(12.7062047 * 0.02)
    assert [one.regret.n for one in found.results] == [2, 2, 2]
    # The oracle has none to lose, and does not count.
    assert [one.least for one in found.results] == [False, True, False]
    # Two methods decide nothing.
    assert [one.against_least for one in found.results] == [None, None, None]
    # 3 snapshots in each of 4 trials, all of which the oracle looked at.
    assert [one.novel_evaluations for one in found.results] == [0, 0, 12]
    assert [one.training for one in found.results] == [1.0, 1.0, 1.0]
    assert last.caution == "only 2 methods"


def test_verdicts_are_those_of_sign_flips_over_methods() -> None:
    """The least number of methods, with three seeds each: what counts once is a method."""
    generator = np.random.default_rng(3)
    last, base = generator.normal([[[0.6]], [[0.65]]], 0.01, (2, 6, 3))
    given = [
        one
        for number in range(6)
        for one in method(f"M{number}", last[number].tolist(), base[number].tolist())
    ]
    found = named(compared(given, ["last", "base", "val", "oracle"]))
    own = 0.70 - np.stack([last.mean(axis=1), base.mean(axis=1), np.full(6, 0.70)], axis=1)
    alone, adjusted = pairwise_p_values(own)
    for number, name in enumerate(("last / val", "base / val")):
        one = found[name]
        assert one.regrets == pytest.approx(own[:, number])
        expected = stats.t.interval(0.95, 5, own[:, number].mean(), stats.sem(own[:, number]))
        assert (one.regret.low, one.regret.high) == pytest.approx(expected)
        verdict = one.against_least
        assert verdict is not None
        assert verdict.verdict == "worse"
        assert (verdict.p_value, verdict.p_adjusted) == (alone[number, 2], adjusted[number, 2])
        assert verdict.effect.mean == pytest.approx(-own[:, number].mean())
    assert found["val / val"].least
    assert found["val / val"].against_least is found["oracle / val"].against_least is None
    assert found["last / val"].caution is None
    text = part(to_text(build(INFO, given)))
    assert "regret +- methods regret of the worst seed" in text
    assert "against the least regret p (all pairs) last epoch ValGen" in text
    assert " worse 0.031 " in text


def test_worse_is_what_the_p_value_of_all_pairs_says() -> None:
    """One by one, the second of these four would be worse too."""
    names = [Strategy(f"s{number}", "val", oracle=False) for number in range(4)]
    table = np.random.default_rng(2).normal([0.01, 0.02, 0.025, 0.05], 0.01, (8, 4))
    alone, together = pairwise_p_values(table)
    assert alone[0, 1] < 0.05 < together[0, 1] < 0.25
    found = against_least(dict(zip(names, table.T, strict=True)), names[0], units=8)
    assert [one.verdict for one in found.values()] == [
        "worse" if p < 0.05 else "undecided" for p in together[0, 1:]
    ]


def test_a_strategy_that_some_method_lacks_is_named_and_not_averaged_over_the_rest() -> None:
    blind = [
        replace(one, curves={**one.curves, "train_loss": np.full(3, np.nan)})
        for one in method("C", last=[0.5, 0.5], base=[0.6, 0.6])
    ]
    found = compared([*A, *B, *blind], ["last", "train_loss"])
    assert found.methods == ("A", "B", "C")
    assert list(named(found)) == ["last / val"]
    ((strategy, without),) = found.lacking
    assert (str(strategy), without) == ("train_loss / val", ("C",))
    # A method that has nothing at all leaves the others be, as in the table of methods.
    unfinished = [replace(one, end=None) for one in blind]
    found = compared([*A, *B, *unfinished], ["last", "train_loss"])
    assert found.methods == ("A", "B")
    assert found.lacking == ()
    assert list(named(found)) == ["last / val", "train_loss / val"]


def test_one_seed_of_one_method_has_no_interval_and_no_verdict() -> None:
    last, base = compared(A[:1], ["last", "base"]).results
    assert last.against_least is None
    assert np.isnan(last.regret.low)
    assert (base.least, base.worst) == (True, pytest.approx(0.01))
    assert base.caution == "one seed alone has no interval"
    assert [one.regret.n for one in compared(B, ["last", "base"]).results] == [2, 2]
    text = part(to_text(build(INFO, A[:1])))
    assert "regret +- seeds regret of the worst seed" in text
    assert "1 method cannot show whether one strategy is better: that takes 6." in text


def test_the_earlier_of_equals_is_the_least() -> None:
    """Means of .02 that differ as floats only by the order of summation."""
    given = method("A", last=[0.69, 0.68, 0.67], base=[0.67, 0.69, 0.68])
    for snapshot in (["last", "base"], ["base", "last"]):
        first, second = compared(given, snapshot).results
        assert (first.least, second.least) == (True, False)


def test_strategies_that_do_equally_well_are_undecided() -> None:
    """That seven methods do not tell them apart does not make them the same for others."""
    given = [one for n in range(7) for one in method(f"M{n}", last=[0.69, 0.6], base=[0.69, 0.6])]
    _, second = compared(given, ["last", "base"]).results
    assert second.against_least is not None
    assert (second.against_least.verdict, second.against_least.p_value) == ("undecided", 1.0)


def folded(name: str, epochs: int, folds: int = 2, every: int = 10) -> list[TrialHistory]:
    """Two configurations and seeds with class folds; every tenth epoch is measured."""
    at = range(every, epochs + 1, every)
    scores = np.linspace(0.4, 0.6, len(at)).tolist()
    return [
        trial(name, rate, seed, base=scores, val=scores, novel=scores, epochs=at, fold=fold)
        for rate in ("0.1", "0.01")
        for seed in (0, 1)
        for fold in (None, *range(folds))
    ]


def test_training_counts_the_class_folds_that_a_strategy_reads() -> None:
    given = [*folded("A", 20), *folded("B", 40)]
    found = compared(given, ["last", "val", "cv-epoch"], ["val", "cv"])
    assert [one.training for one in found.results] == [1.0, 3.0, 1.0, 3.0, 3.0, 3.0]
    # All that was measured is the last epoch; half of the folds' epochs were trained.
    sparse = folded("A", 40, every=40)
    short = [one if one.fold is None else replace(one, epochs=one.epochs // 2) for one in sparse]
    assert named(compared(sparse, ["last"], ["cv"]))["last / cv"].training == 3.0
    assert named(compared(short, ["last"], ["cv"]))["last / cv"].training == 2.0
    # Trials that two methods share are trained once: (20 + 2 x 20 + 20) / (20 + 20).
    twice = [replace(one, method="B") for one in folded("A", 20)]
    assert named(compared([*folded("A", 20), *twice], ["last"], ["cv"]))["last / cv"].training == 3
    # A method without folds lacks what reads them.
    given = [*folded("A", 20), *method("B", last=[0.6, 0.6], base=[0.6, 0.7])]
    found = compared(given, ["last"], ["val", "cv"])
    assert [(str(s), methods) for s, methods in found.lacking] == [("last / cv", ("B",))]
    info = replace(INFO, hyperparameter=("val", "cv"))
    text = part(to_text(build(info, given, bootstrap=0)))
    assert "because B lacks them: last / cv, base / cv, val / cv" in text
    assert "training, with class folds" not in text
    whole = part(to_text(build(info, folded("A", 20), bootstrap=0)))
    assert "training, with class folds" in whole
    assert ("1.0 x" in whole, "3.0 x" in whole) == (True, True)


def test_without_a_reference_the_report_says_so() -> None:
    unknown = [
        trial("C", "x", seed, base=[0.6], val=[0.5], novel=[np.nan], report=[0.5])
        for seed in (0, 1)
    ]
    report = build(INFO, [*A, *unknown])
    assert report.over_methods.results == ()
    text = part(to_text(report))
    assert "Strategies are not compared over all methods" in text
    assert text.split(".")[0].endswith("the regret is not known: C")
    plain = json.loads(to_json(report))["strategies"]
    assert (plain["table"], plain["without_regret"]) == ([], ["C"])


def part(text: str) -> str:
    """The section of the terminal report, on one line a paragraph."""
    return " ".join(
        text.split("Strategies over all methods ")[1].split("Learning curves")[0].split()
    )


def lines(report: Report, width: int) -> list[str]:
    text = to_text(report, width).split("Strategies over all methods ")[1]
    return text.split("\n\n")[0].splitlines()[1:]


def test_rows_of_the_terminal() -> None:
    """Oracles are told by name; what chose alike everywhere shares a row."""
    head, *rows = lines(build(INFO, [*A, *B]), 100)
    assert re.split("  +", head) == [
        *("snapshot by", "configuration by", "regret", "each method"),
        *("regret of the worst seed", "novel looks"),
    ]
    cells = [re.split("  +", row) for row in rows]
    assert [row[0] for row in cells] == ["last epoch", "BaseGen", "ValGen", "NovelGen (oracle)"]
    assert cells[2][1:] == ["ValGen", "0.00", "0.0, 0.0", "0.00", "0"]
    assert cells[3][1:] == ["ValGen", "0.00", "0.0, 0.0", "0.00", "12"]
    # After one epoch nothing is left to choose, and both seeds are identical.
    short = [trial("A", "x", seed, base=[0.6], val=[0.6], novel=[0.7]) for seed in (0, 1)]
    first, *_ = lines(build(INFO, short), 140)[1:]
    assert re.split("  +", first) == [
        *("last epoch, BaseGen, ValGen", "ValGen", "0.00", "-", "0.00", "0"),
    ]
    # Alike in one method of two is not alike.
    assert len(lines(build(INFO, [*short, *B]), 100)[1:]) == 4
