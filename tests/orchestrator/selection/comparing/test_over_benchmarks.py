"""Strategies and methods over benchmarks: by hand, and against SciPy."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from trials import trial

from fsl_sweep.orchestrator.records.measures import TrialHistory
from fsl_sweep.orchestrator.selection.comparing.over_benchmarks import (
    BenchmarkEvidence,
    OverBenchmarks,
    compare_over_benchmarks,
    decisions,
)
from fsl_sweep.orchestrator.selection.comparing.over_seeds import AMONG_ALL
from fsl_sweep.orchestrator.selection.methods import summarise
from fsl_sweep.orchestrator.selection.select import select
from fsl_sweep.orchestrator.statistics.sign_flips import pairwise_p_values

STRATEGIES = ("last", "val", "oracle"), ("val", "base", "oracle")


def method(
    name: str, novel: Sequence[float], val: Sequence[float], base: Sequence[float] = (0.6, 0.7)
) -> list[TrialHistory]:
    """Three seeds of two snapshots each; seeds differ a little in NovelGen."""
    return [
        trial(name, "x", seed, base=base, val=val, novel=np.add(novel, 0.002 * seed), spread=0.01)
        for seed in range(3)
    ]


def benchmark(*methods: list[TrialHistory]) -> BenchmarkEvidence:
    histories = [one for own in methods for one in own]
    selected = select(histories, *STRATEGIES)
    return BenchmarkEvidence(histories, selected, summarise(selected))


def benchmarks(count: int) -> dict[str, BenchmarkEvidence]:
    """ValGen takes the first snapshot, the last epoch the second; which is better varies."""
    rng = np.random.default_rng(count)
    return {
        f"benchmark {i}": benchmark(
            method("A", rng.uniform(0.5, 0.7, 2), (0.6, 0.5)),
            method("B", rng.uniform(0.5, 0.7, 2), (0.6, 0.5)),
        )
        for i in range(count)
    }


def compared(given: Mapping[str, BenchmarkEvidence]) -> OverBenchmarks:
    strategies = next(iter(given.values())).selected.strategies
    lead = next(strategy for strategy in strategies if str(strategy) == "val / val")
    return compare_over_benchmarks(given, lead)


def test_means_and_intervals_are_over_benchmarks() -> None:
    given = benchmarks(4)
    found = compared(given)
    own = next(one for one in found.strategies if str(one.strategy) == "last / val")
    by_hand = []
    for one in given.values():
        cells = [s for s in one.summaries if str(s.strategy) == "last / val"]
        by_hand.append(np.mean([c.regret for s in cells for c in s.choices]))
    assert list(own.regrets.values()) == pytest.approx(by_hand)
    expected = stats.t.interval(0.95, 3, np.mean(by_hand), stats.sem(by_hand))
    assert (own.regret.low, own.regret.high) == pytest.approx(expected)
    assert own.regret.caution == "only 4 benchmarks"


def test_methods_are_paired_over_benchmarks() -> None:
    found = compared(benchmarks(5))
    a, b = (np.array(list(one.means.values())) for one in found.methods)
    (difference,) = found.differences
    assert difference.result.effect.mean == pytest.approx((a - b).mean())
    assert difference.result.p_value == pytest.approx(stats.ttest_rel(a, b).pvalue)


def test_pairs_that_some_world_lacks_count_in_the_family() -> None:
    """A p of 1 in their place is the most that any of them can be."""
    given = benchmarks(5)
    extra = [method(name, (0.7, 0.6), (0.6, 0.5)) for name in "CD"]
    given["more"] = benchmark(
        method("A", (0.7, 0.6), (0.6, 0.5)), method("B", (0.6, 0.6), (0.6, 0.5)), *extra
    )
    (found,) = compared(given).differences
    p = found.result.p_value
    level = 1 - 0.05 / 6
    assert found.result.p_adjusted == pytest.approx(min(1, 6 * p))
    a, b = (np.array(list(one.means.values())) for one in compared(given).methods)
    expected = stats.t.interval(level, 5, np.mean(a - b), stats.sem(a - b))
    assert (found.result.effect.low, found.result.effect.high) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("among_all", "verdict"), [((), "better"), (("A",), "undecided"), (("A", "B"), "better")]
)
def test_an_image_classifier_is_not_compared_with_others(among_all, verdict) -> None:
    given = {
        f"benchmark {i}": benchmark(
            *(
                [
                    replace(one, among_all=name in among_all)
                    for one in method(name, novel, (0.6, 0.5))
                ]
                for name, novel in (("A", (0.9 + i / 1000, 0.5)), ("B", (0.5, 0.5)))
            )
        )
        for i in range(5)
    }
    (found,) = compared(given).differences
    assert found.result.verdict == verdict
    assert (found.result.caution == AMONG_ALL) == (verdict == "undecided")


def test_verdicts_of_strategies_are_sign_flips_with_worlds_as_rows() -> None:
    few, found = compared(benchmarks(5)), compared(benchmarks(8))
    assert all(one.against_least is None for one in few.strategies)
    usual = [one for one in found.strategies if not one.strategy.oracle]
    table = np.array([list(one.regrets.values()) for one in usual]).T
    least = int(np.argmin(np.round(table, 12).mean(axis=0)))
    _, adjusted = pairwise_p_values(np.round(table, 12))
    for i, one in enumerate(usual):
        if one.against_least is not None:
            assert one.against_least.p_adjusted == pytest.approx(adjusted[least, i])
    assert sum(one.against_least is not None for one in usual) == len(usual) - 1


def test_a_strategy_is_right_where_what_it_reads_orders_two_methods_as_the_oracle_does() -> None:
    given = benchmark(
        method("A", (0.70, 0.60), val=(0.60, 0.50), base=(0.5, 0.5)),
        method("B", (0.60, 0.65), val=(0.55, 0.50), base=(0.8, 0.9)),
    )
    share = {str(s): np.mean(found) for s, found in decisions(given).items()}
    # A is better: 0.70 against 0.65 by oracle / oracle.
    assert share == {
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
    assert {len(found) for found in decisions(given).values()} == {3}


def test_methods_that_are_equally_good_leave_nothing_to_decide() -> None:
    same = method("A", (0.7, 0.6), (0.6, 0.5)), method("B", (0.7, 0.6), (0.5, 0.6))
    found = compared({"one": benchmark(*same), "two": benchmark(*same)})
    assert all(one.accuracy is None for one in found.strategies)


def test_what_some_world_lacks_is_named() -> None:
    both = benchmarks(2)
    both["third"] = benchmark(method("A", (0.7, 0.6), (0.6, 0.5)))
    found = compared(both)
    assert [one.method for one in found.methods] == ["A"]
    assert found.lacking == ("B",)
    assert found.absent == {"third": ("B",)}
    assert found.caution == "third lacks B under val / val"
    # A strategy is averaged over the methods that a benchmark has.
    assert len(found.strategies) == 9
