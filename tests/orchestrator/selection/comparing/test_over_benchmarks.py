"""Strategies and methods over benchmarks: by hand, and against SciPy."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from trials import replicates

from fsl_sweep.orchestrator.records.measures import TrialHistory
from fsl_sweep.orchestrator.selection.comparing.comparison import AMONG_ALL
from fsl_sweep.orchestrator.selection.comparing.over_benchmarks import (
    ALL_EQUAL,
    BenchmarkEvidence,
    OverBenchmarks,
    compare_over_benchmarks,
    decisions,
)
from fsl_sweep.orchestrator.selection.methods import summarise
from fsl_sweep.orchestrator.selection.select import select
from fsl_sweep.orchestrator.statistics.sign_flips import pairwise_p_values


def method(
    name: str, novel: Sequence[float], val=(0.6, 0.5), base=(0.6, 0.7), among_all=False
) -> list[TrialHistory]:
    """Three seeds of two snapshots each; seeds differ a little in NovelGen."""
    seeds = [np.add(novel, 0.002 * seed).tolist() for seed in range(3)]
    trials = replicates(name, seeds, val=val, base=base, spread=0.01)
    return [replace(trial, among_all=among_all) for trial in trials]


def benchmark(*methods: list[TrialHistory], complete: bool = True) -> BenchmarkEvidence:
    histories = [trial for trials in methods for trial in trials]
    selected = select(histories, ("last", "val", "oracle"), ("val", "base", "oracle"))
    return BenchmarkEvidence(histories, selected, summarise(selected), complete)


def benchmarks(count: int) -> dict[str, BenchmarkEvidence]:
    """ValGen takes the first snapshot, the last epoch the second; which is better varies."""
    rng = np.random.default_rng(count)
    return {
        f"benchmark {i}": benchmark(*(method(name, rng.uniform(0.5, 0.7, 2)) for name in "AB"))
        for i in range(count)
    }


def compared(evidence: Mapping[str, BenchmarkEvidence]) -> OverBenchmarks:
    strategies = next(iter(evidence.values())).selected.strategies
    lead = next(strategy for strategy in strategies if str(strategy) == "val / val")
    return compare_over_benchmarks(evidence, lead)


def means(over: OverBenchmarks) -> np.ndarray:
    """Of A and of B, ``[2, benchmarks]``."""
    return np.array([list(method.means.values()) for method in over.methods])


def test_means_and_intervals_are_over_benchmarks() -> None:
    evidence = benchmarks(4)
    result = next(s for s in compared(evidence).strategies if str(s.strategy) == "last / val")
    by_hand = []
    for one_benchmark in evidence.values():
        cells = [s for s in one_benchmark.summaries if str(s.strategy) == "last / val"]
        by_hand.append(np.mean([c.regret for s in cells for c in s.choices]))
    assert list(result.regrets.values()) == pytest.approx(by_hand)
    law = stats.t.interval(0.95, 3, np.mean(by_hand), stats.sem(by_hand))
    assert (result.regret.low, result.regret.high) == pytest.approx(law)
    assert result.regret.caution == "only 4 benchmarks"
    two = compared(benchmarks(2))
    assert np.isnan([two.methods[0].mean.low, two.differences[0].result.effect.low]).all()
    with pytest.raises(ValueError, match="two benchmarks or more"):
        compared({"single": evidence["benchmark 0"]})


def test_methods_are_paired_and_pairs_that_some_benchmark_lacks_count_in_the_family() -> None:
    """A p of 1 in their place is the most that any of them can be."""
    evidence = benchmarks(5)
    over = compared(evidence)
    a, b = means(over)
    (pair,) = over.differences
    assert (str(pair.strategy), pair.a, pair.b) == ("val / val", "A", "B")
    assert pair.result.effect.mean == pytest.approx((a - b).mean())
    assert pair.result.p_value == pytest.approx(stats.ttest_rel(a, b).pvalue)
    assert pair.result.p_adjusted == pair.result.p_value
    every = {"A": (0.7, 0.6), "B": (0.6, 0.6), "C": (0.7, 0.6), "D": (0.7, 0.6)}
    evidence["more"] = benchmark(*(method(name, novel) for name, novel in every.items()))
    over = compared(evidence)
    a, b = means(over)
    (pair,) = over.differences
    assert pair.result.p_adjusted == pytest.approx(min(1, 6 * stats.ttest_rel(a, b).pvalue))
    law = stats.t.interval(1 - 0.05 / 6, 5, np.mean(a - b), stats.sem(a - b))
    assert (pair.result.effect.low, pair.result.effect.high) == pytest.approx(law)


@pytest.mark.parametrize(
    ("among_all", "step", "complete", "count", "verdict", "caution"),
    [
        ("", 0.001, True, 5, "better", None),
        ("A", 0.001, True, 5, "undecided", AMONG_ALL),
        ("AB", 0.001, True, 5, "better", None),
        ("", 0.0, True, 5, "undecided", ALL_EQUAL),
        ("", 0.001, False, 5, "undecided", "benchmark 4 is incomplete"),
        ("", 0.001, True, 2, "undecided", "only 2 benchmarks"),
    ],
)
def test_what_keeps_a_difference_undecided(
    among_all, step, complete, count, verdict, caution
) -> None:
    evidence = {
        f"benchmark {i}": benchmark(
            method("A", (0.9 + step * i, 0.5), among_all="A" in among_all),
            method("B", (0.5, 0.5), among_all="B" in among_all),
            complete=complete or i < 4,
        )
        for i in range(count)
    }
    (pair,) = compared(evidence).differences
    assert (pair.result.verdict, pair.result.caution) == (verdict, caution)


def test_verdicts_of_strategies_are_sign_flips_with_benchmarks_as_rows() -> None:
    few, over = compared(benchmarks(5)), compared(benchmarks(8))
    assert all(result.against_least is None for result in few.strategies)
    usual = [result for result in over.strategies if not result.strategy.oracle]
    table = np.round([list(result.regrets.values()) for result in usual], 12).T
    least = int(np.argmin(table.mean(axis=0)))
    _, adjusted = pairwise_p_values(table)
    assert [r.against_least and r.against_least.p_adjusted for r in usual] == [
        None if i == least else adjusted[least, i] for i in range(len(usual))
    ]


def test_a_strategy_is_right_where_what_it_reads_orders_two_methods_as_the_oracle_does() -> None:
    evidence = benchmark(
        method("A", (0.70, 0.60), val=(0.60, 0.50), base=(0.5, 0.5)),
        method("B", (0.60, 0.65), val=(0.55, 0.50), base=(0.8, 0.9)),
    )
    right = {str(strategy): shares for strategy, shares in decisions(evidence).items()}
    # A is better: 0.70 against 0.65 by oracle / oracle.
    assert {name: np.mean(shares) for name, shares in right.items()} == {
        "val / val": 1,
        "val / base": 0,
        "val / oracle": 1,
        "last / val": 0.5,  # equal ValGen: a coin's toss
        "last / base": 0,
        "last / oracle": 0,  # 0.60 against 0.65 at the last epoch
        "oracle / val": 1,
        "oracle / base": 0,
        "oracle / oracle": 1,
    }
    assert {len(shares) for shares in right.values()} == {3}
    # Methods that are equally good leave nothing to decide.
    same = benchmark(method("A", (0.7, 0.6)), method("B", (0.7, 0.6), val=(0.5, 0.6)))
    over = compared({"first": same, "second": same})
    assert all(result.accuracy is None for result in over.strategies)
