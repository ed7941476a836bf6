"""Accuracies that are equal stay equal, from the counts of a task to the verdict on methods."""

import json
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from trials import trial

from fsl_sweep.orchestrator.records.measures import ScoreTable, TaskScores, TrialHistory
from fsl_sweep.orchestrator.report import RunInfo, build, to_json, to_text
from fsl_sweep.orchestrator.report.document.by_strategy import cells_of, same_choices
from fsl_sweep.orchestrator.selection.comparing.comparison import compare_methods, rank_methods
from fsl_sweep.orchestrator.selection.comparing.stability import stability_of
from fsl_sweep.orchestrator.selection.methods import rank_correlations, summarise
from fsl_sweep.orchestrator.selection.select import select
from fsl_sweep.orchestrator.statistics.ties import comparable

SELECTORS = ("snapshot", "hyperparameter")
UP, DOWN = (0.1, 0.2, 0.3), (0.3, 0.2, 0.1)
assert np.mean(UP) != np.mean(DOWN)  # what this file is about


@given(st.integers(1, 10**8), st.integers(0, 10**8))
def test_different_accuracies_stay_different(queries: int, part: int) -> None:
    accuracy = min(part, queries - 1) / queries
    assert comparable(accuracy) < comparable(accuracy + 1 / queries)


@given(st.lists(st.integers(0, 64), min_size=1, max_size=64), st.integers(64, 4096))
def test_noise_makes_no_difference(counts: list[int], queries: int) -> None:
    mean = sum(counts) / (len(counts) * queries)
    assert comparable(mean - 1e-14) == comparable(mean) == comparable(mean + 1e-14)


def test_what_is_no_number_stays_what_it_is() -> None:
    np.testing.assert_array_equal(comparable([np.nan, np.inf, -np.inf]), [np.nan, np.inf, -np.inf])
    assert not np.signbit(comparable(-1e-17))


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(9, 75)), min_size=1, max_size=40))
def test_the_mean_of_counts_is_rounded_once(tasks: list[tuple[int, int]]) -> None:
    correct, queries = np.array(tasks).T
    exact = sum(Fraction(c, q) for c, q in tasks) / len(tasks)
    assert TaskScores(correct, queries).mean == float(exact)


def noisy(
    method: str, *rows: Sequence[float], seed: int = 0, configuration: str = "c", **tables
) -> TrialHistory:
    """A trial whose snapshots have these accuracies of tasks, by all measures but ``tables``."""
    plain = trial(
        method, configuration, seed, **{m: [0.5] * len(rows) for m in ("base", "val", "novel")}
    )
    scores = {}
    for measure, task_set in plain.scores:
        table = np.array(tables.get(measure, rows), dtype=float)
        scores[measure, task_set] = ScoreTable(np.mean(table, axis=1), lambda table=table: table)
    return replace(plain, scores=scores)


@pytest.mark.parametrize("selector", ["base", "val", "oracle", "mixture(0.3)"])
def test_the_earlier_of_equals(selector: str) -> None:
    (snapshot,) = select([noisy("M", UP, DOWN, UP)], [selector], ["val"]).selections
    assert (snapshot.epoch, snapshot.regret) == (1, 0.0)
    trials = [noisy("M", UP, configuration="a"), noisy("M", DOWN, configuration="b")]
    (selection,) = select(trials, ["last"], [selector]).selections
    assert selection.snapshot.configuration == "a"
    (front,) = select(trials, ["last"], ["pareto"]).fronts
    assert len(front.kept) == 2


def test_a_constant_measure_ranks_nothing() -> None:
    rows = rank_correlations([noisy("M", UP, DOWN, UP)])
    assert np.isnan([row.result.tau for row in rows]).all()


def test_methods_that_do_equally_well_on_every_task() -> None:
    trials = [
        noisy(name, (accuracy, accuracy / 2), seed=seed)
        for name, accuracies in (("A", UP), ("B", DOWN))
        for seed, accuracy in enumerate(accuracies)
    ]
    summaries = summarise(select(trials, ["last"], ["val"]))
    (pair,) = compare_methods(summaries)
    assert (pair.result.verdict, pair.result.p_value) == ("equivalent", 1.0)
    for order in (summaries, summaries[::-1]):
        (ranking,), (stability,) = rank_methods(order), stability_of(order)
        expected = tuple(cell.method for cell in order)
        assert ranking.methods == stability.by_worst == expected
        assert tuple(row.method for row in stability.methods) == expected
        assert [row.worst_seed for row in stability.methods] in ([0, 2], [2, 0])


def test_a_row_of_strategies_that_chose_alike_shows_all_of_their_intervals() -> None:
    """Repeating the selection tells strategies apart that chose alike on the tasks as they are."""
    generator = np.random.default_rng(0)
    trials = []
    for seed, name in ((seed, name) for seed in range(3) for name in "ab"):
        val, novel, noise = generator.random((3, 4, 40))
        history = noisy(
            "M", *novel, seed=seed, configuration=name, val=val, base=0.9 * val + 0.1 * noise
        )
        trials.append(replace(history, trial=f"{name}{seed}"))
    info = RunInfo("run", "0", None, ("val", "base"), ("val", "base"))
    report = build(info, trials, bootstrap=200)
    widths = {}
    for row in json.loads(to_json(report))["summary"]:
        interval, strategy = row["novel_selection"], [row[f"{s}_selector"] for s in SELECTORS]
        widths[" / ".join(strategy)] = 50 * (interval["high"] - interval["low"])
    several = 0
    for group in same_choices(report.summaries):
        shares = [f"{width:.2f}" for width in sorted(widths[str(s.strategy)] for s in group)]
        least, most = shares[0], shares[-1]
        shown = cells_of(report, group)["+- with selection"]
        assert shown == (least if least == most else f"{least} to {most}")
        assert shown in to_text(report)
        several += least != most
    assert several
