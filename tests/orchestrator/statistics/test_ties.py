"""Accuracies that are equal stay equal, from the counts of a task to the verdict on methods."""

import json
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import ArrayLike
from trials import trial

from fsl_sweep.orchestrator.records.measures import ScoreTable, TaskScores, TrialHistory
from fsl_sweep.orchestrator.report import RunInfo, build, to_json, to_text
from fsl_sweep.orchestrator.report.document.by_strategy import cells_of, same_choices
from fsl_sweep.orchestrator.selection.comparing.comparison import compare_methods, rank_methods
from fsl_sweep.orchestrator.selection.comparing.stability import stability_of
from fsl_sweep.orchestrator.selection.methods import rank_correlations, summarise
from fsl_sweep.orchestrator.selection.select import select
from fsl_sweep.orchestrator.statistics.ties import comparable

UP, DOWN = (0.1, 0.2, 0.3), (0.3, 0.2, 0.1)
assert np.mean(UP) != np.mean(DOWN)  # what this file is about


@given(st.integers(1, 10**8), st.integers(0, 10**8))
def test_different_accuracies_stay_different(whole: int, part: int) -> None:
    accuracy = min(part, whole - 1) / whole
    assert comparable(accuracy) < comparable(accuracy + 1 / whole)


@given(st.lists(st.integers(0, 64), min_size=1, max_size=64), st.integers(64, 4096))
def test_noise_makes_no_difference(counts: list[int], whole: int) -> None:
    mean = sum(counts) / (len(counts) * whole)
    for noise in (-1e-14, 1e-14):
        assert comparable(mean + noise) == comparable(mean)


def test_what_is_no_number_stays_what_it_is() -> None:
    np.testing.assert_array_equal(comparable([np.nan, np.inf, -np.inf]), [np.nan, np.inf, -np.inf])
    assert not np.signbit(comparable(-1e-17))


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(9, 75)), min_size=1, max_size=40))
def test_the_mean_of_counts_is_rounded_once(tasks: list[tuple[int, int]]) -> None:
    correct, queries = np.array(tasks).T
    exact = sum(Fraction(c, q) for c, q in tasks) / len(tasks)
    assert TaskScores(correct, queries).mean == float(exact)


Tables = dict[str, list[tuple[float, ...]]]


def alike(*rows: tuple[float, ...]) -> Tables:
    """The same accuracies of tasks by every measure, one row a snapshot."""
    return {measure: list(rows) for measure in ("base", "val", "novel")}


def noisy(method: str, tables: Mapping[str, ArrayLike], seed: int = 0) -> TrialHistory:
    """A trial with these accuracies of tasks ``[E, T]`` by measure, in both sets of tasks."""
    epochs = np.shape(tables["novel"])[0]
    one = trial(method, "c", seed, base=[0.5] * epochs, val=[0.5] * epochs, novel=[0.5] * epochs)
    scores = {
        (m, s): ScoreTable(np.mean(tables[m], axis=1), lambda m=m: np.array(tables[m], dtype=float))
        for m, s in one.scores
    }
    return replace(one, scores=scores)


@pytest.mark.parametrize("selector", ["base", "val", "oracle", "mixture(0.3)"])
def test_the_earlier_of_equal_snapshots(selector: str) -> None:
    one = noisy("M", alike(UP, DOWN, UP))
    (selection,) = select([one], [selector], ["val"]).selections
    assert selection.epoch == 1
    assert selection.regret == 0.0


@pytest.mark.parametrize("selector", ["base", "val", "oracle", "mixture(0.3)"])
def test_the_earlier_of_equal_configurations(selector: str) -> None:
    trials = [
        replace(noisy("M", alike(table)), configuration=name)
        for name, table in (("a", UP), ("b", DOWN))
    ]
    (selection,) = select(trials, ["last"], [selector]).selections
    assert selection.configuration == "a"
    (front,) = select(trials, ["last"], ["pareto"]).fronts
    assert len(front.kept) == 2


def test_a_constant_measure_ranks_nothing() -> None:
    one = noisy("M", alike(UP, DOWN, UP))
    assert all(np.isnan(found.result.tau) for found in rank_correlations([one]))


def test_methods_that_do_equally_well_on_every_task() -> None:
    trials = [noisy("A", alike((v, v / 2)), s) for s, v in enumerate(UP)]
    trials += [noisy("B", alike((v, v / 2)), s) for s, v in enumerate(DOWN)]
    summaries = summarise(select(trials, ["last"], ["val"]))
    (comparison,) = compare_methods(summaries)
    assert (comparison.result.verdict, comparison.result.p_value) == ("equivalent", 1.0)
    for order in (summaries, summaries[::-1]):
        (ranking,) = rank_methods(order)
        assert ranking.methods == tuple(one.method for one in order)
        (found,) = stability_of(order, None)
        assert tuple(one.method for one in found.methods) == ranking.methods
        assert found.by_worst == ranking.methods
        assert [one.worst_seed for one in found.methods] in ([0, 2], [2, 0])


def test_a_row_of_strategies_that_chose_alike_shows_all_of_their_intervals() -> None:
    """Repeating the selection tells strategies apart that chose alike on the tasks as they are."""
    generator = np.random.default_rng(0)
    trials = []
    for seed in (0, 1, 2):
        for name in ("a", "b"):
            tables = {m: generator.random((4, 40)) for m in ("val", "novel")}
            tables["base"] = 0.9 * tables["val"] + 0.1 * generator.random((4, 40))
            one = noisy("M", tables, seed)
            trials.append(replace(one, configuration=name, trial=f"{name}{seed}"))
    info = RunInfo("run", "0", None, ("val", "base"), ("val", "base"))
    report = build(info, trials, bootstrap=200)
    widths = {
        (one["snapshot_selector"], one["hyperparameter_selector"]): 50
        * (one["novel_selection"]["high"] - one["novel_selection"]["low"])
        for one in json.loads(to_json(report))["summary"]
    }
    several = 0
    for group in same_choices(report.summaries):
        own = sorted(widths[s.strategy.snapshot, s.strategy.hyperparameter] for s in group)
        own = [f"{width:.2f}" for width in own]
        shown = cells_of(report, group)["+- with selection"]
        assert shown == (own[0] if own[0] == own[-1] else f"{own[0]} to {own[-1]}")
        assert shown in to_text(report)
        several += own[0] != own[-1]
    assert several
