"""Methods over seeds, and what would decide them, from made trials."""

import math
from dataclasses import replace

import numpy as np
import pytest
from trials import tabled, trial

from fsl_sweep.orchestrator.records.measures import ScoreTable, TrialHistory
from fsl_sweep.orchestrator.selection.comparing.base_and_novel import compare_base_and_novel
from fsl_sweep.orchestrator.selection.comparing.over_seeds import (
    AMONG_ALL,
    NOT_REPEATED,
    compare_over_seeds,
    parts_of,
)
from fsl_sweep.orchestrator.selection.comparing.power import PowerAnalysis, cheapest, plan_next
from fsl_sweep.orchestrator.selection.methods import summarise
from fsl_sweep.orchestrator.selection.resample import resample
from fsl_sweep.orchestrator.selection.select import select
from fsl_sweep.orchestrator.statistics.components import (
    Accuracies,
    moments,
    pair_components,
)
from fsl_sweep.orchestrator.statistics.over_seeds import SeedPair, difference_over_seeds
from fsl_sweep.orchestrator.statistics.power import required_seeds, required_tasks

TASKS = 60


def method(
    name: str, mean: float, seeds: int, spread: float = 0.02, rest: float = 0.05
) -> list[TrialHistory]:
    """Two configurations a seed and three epochs, on common tasks, with noise of all kinds."""
    rng = np.random.default_rng(list(name.encode()))
    hard = np.random.default_rng(0).normal(0, 0.1, TASKS) + rng.normal(0, 0.03, TASKS)
    found = []
    for seed in range(seeds):
        own = mean + rng.normal(0, spread)
        for configuration in "xy":
            plain = trial(name, configuration, seed, base=[0.5] * 3, val=[0.5] * 3, novel=[0.5] * 3)
            one = tabled(
                plain,
                lambda _, own=own: np.clip(own + hard + rng.normal(0, rest, (3, TASKS)), 0, 1),
            )
            seconds = {"train_seconds": np.full(3, 2.0), "evaluation_seconds": np.full(3, 1.0)}
            found.append(replace(one, curves={**one.curves, **seconds}))
    return found


GIVEN = [*method("A", 0.60, 3), *method("B", 0.61, 3), *method("C", 0.75, 4)]


def planned(given, effect=None, base_weight=None, **options) -> tuple[PowerAnalysis, ...]:
    selected = select(given, ["val"], ["val"], base_weight)
    return plan_next(
        given, selected, effect, resampled=resample(given, selected, resamples=200), **options
    )


def test_methods_are_compared_by_what_was_selected_for_each_seed() -> None:
    selected = select(GIVEN, ["val", "oracle"], ["val"])
    summaries, drawn = summarise(selected), resample(GIVEN, selected, resamples=200)
    found = compare_over_seeds(summaries, drawn)
    assert [(str(d.strategy), d.a, d.b) for d in found[:3]] == [
        ("val / val", *pair) for pair in ("AB", "AC", "BC")
    ]
    cells = {one.method: one for one in summaries[::2]}
    again = {one.method: one.values for one in drawn[::2]}
    tables = {name: np.array([c.novel_tasks for c in cell.choices]) for name, cell in cells.items()}
    for one in found[:3]:
        expected = difference_over_seeds(
            tables[one.a], tables[one.b], resampled=(again[one.a], again[one.b])
        )
        assert one.result.p_adjusted >= one.result.p_value == expected.p_value
        # The interval agrees with the verdict after the correction.
        assert one.result.effect.low <= expected.effect.low
        assert expected.effect.high <= one.result.effect.high
        decided = one.result.effect.low > 0 or one.result.effect.high < 0
        assert decided == (one.result.p_adjusted < 0.05) == (one.result.verdict != "undecided")
        assert one.result.seeds == (len(tables[one.a]), len(tables[one.b]))
    assert [one.result.verdict for one in found[:3]] == ["undecided", "worse", "worse"]
    # Nor is there one about an image classifier beside others, and nothing is planned for it.
    among = [replace(one, among_all=one.method == "C") for one in GIVEN]
    apart = compare_over_seeds(summarise(select(among, ["val"], ["val"])), drawn)
    assert [one.result.verdict for one in apart] == ["undecided"] * 3
    assert [AMONG_ALL in str(one.result.caution) for one in apart] == [False, True, True]
    assert [(one.a, one.b) for one in planned(among)] == [("A", "B")]
    both = compare_base_and_novel(among, select(among, ["val"], ["val"]))
    known = {one.a + one.b: not math.isnan(one.methods.p_value) for one in both}
    assert known == {"AB": True, "AC": False, "BC": False}
    # Without resamples there is no claim.
    bare = compare_over_seeds(summaries, None)
    assert {one.result.verdict for one in bare} == {"undecided"}
    assert {one.result.caution for one in compare_over_seeds(summaries[:1], ())} == set()
    many = [*method("A", 0.6, 5), *method("B", 0.8, 5)]
    (one,) = compare_over_seeds(summarise(select(many, ["val"], ["val"])), None)
    assert (one.result.verdict, one.result.caution) == ("undecided", NOT_REPEATED)


def test_a_mixture_has_two_parts_and_means_without_tasks_have_one() -> None:
    a, b, _ = summarise(select(GIVEN, ["val"], ["val"], 0.25))
    parts = parts_of(a, b)
    assert [(weight, Accuracies.of(a).values.shape) for weight, a, _ in parts] == [
        (0.25, (3, 60)),
        (0.75, (3, 60)),
    ]
    effect = a.reported.mean - b.reported.mean
    assert SeedPair(parts).comparison().effect.mean == pytest.approx(effect)
    only = [
        trial(name, "x", seed, base=[0.5], val=[0.5], novel=[0.5 + seed / 100])
        for name in "AB"
        for seed in (0, 1)
    ]
    means = {key: ScoreTable.from_means(np.array([0.5])) for key in only[0].scores}
    a, b = summarise(select([replace(one, scores=means) for one in only], ["val"], ["val"]))
    assert [np.shape(Accuracies.of(table).values) for _, table, _ in parts_of(a, b)] == [(2, 1)]
    (one,) = compare_over_seeds([a, b], None)
    assert one.result.verdict == "undecided"
    # Other tasks cannot be paired.
    longer = [replace(c, scores=lambda _: (b.novel, np.zeros(7))) for c in b.choices]
    assert parts_of(a, replace(b, choices=tuple(longer))) == []


def test_what_a_pair_needs_and_what_it_costs() -> None:
    found = planned(GIVEN, 0.05)
    assert [(one.a, one.b, one.leading) for one in found] == [
        ("B", "C", True), ("A", "B", False), ("A", "C", False)
    ]  # fmt: skip
    one = found[1]
    a, b, _ = summarise(select(GIVEN, ["val"], ["val"]))
    drawn = [c.values for c in resample(GIVEN, select(GIVEN, ["val"], ["val"]), resamples=200)]
    pair = pair_components(parts_of(a, b), (drawn[0], drawn[1]))
    assert one.components == pair
    # Three pairs: the level of Holm's first step.
    ways = {way.what: way for way in one.ways}
    assert ways["seeds"].required == required_seeds(pair, 0.05, confidence=1 - 0.05 / 3)
    assert ways["tasks"].required == required_tasks(pair, 0.05, confidence=1 - 0.05 / 3)
    assert ways["seeds"].required is not None
    extra = ways["seeds"].required - 3
    assert ways["seeds"].more == (extra, extra)
    # A seed is two configurations of three epochs of 3 s.
    assert ways["seeds"].seconds == pytest.approx(2 * extra * 2 * 3 * 3.0)
    assert ways["tasks"].required is None
    assert ways["tasks"].more is ways["tasks"].seconds is None
    assert [way.what for way in one.ways] == ["seeds", "tasks"]
    assert one.caution == "only 3 seeds"
    costs = [way.seconds for _, way in cheapest(found) if way.seconds is not None]
    assert costs == sorted(costs)


def test_tasks_cost_measuring_all_snapshots_again() -> None:
    given = [*method("A", 0.60, 4, 0.0005, 0.001), *method("B", 0.605, 4, 0.0005, 0.001)]
    (one,) = planned(given, 0.01)
    way = next(way for way in one.ways if way.what == "tasks")
    assert way.required is not None
    assert way.required > TASKS
    # 2 methods x 4 seeds x 2 configurations x 3 epochs of one second, for 60 tasks.
    assert way.seconds == pytest.approx(48 * way.required / TASKS)
    unknown = [
        replace(t, curves={**t.curves, "evaluation_seconds": np.full(3, np.nan)}) for t in given
    ]
    without = [replace(t, curves={"train_loss": t.curves["train_loss"]}) for t in given]
    for trials in (unknown, without):
        (one,) = planned(trials, 0.01)
        assert {way.seconds for way in one.ways} == {None}
        assert {way.required for way in one.ways} != {None}


def test_the_observed_effect_and_a_decided_pair() -> None:
    found = {(one.a, one.b): one for one in planned(GIVEN)}
    pair = found["A", "B"]
    assert pair.effect == abs(pair.now.effect.mean)
    assert found["A", "C"].now.verdict == "worse"
    assert found["A", "C"].ways == ()
    same = [replace(one, method="D") for one in method("A", 0.6, 3)]
    (one,) = planned([*method("A", 0.6, 3), *same])
    assert one.effect == 0
    assert {way.required for way in one.ways} == {None}


def test_classes_where_they_are_known() -> None:
    rng = np.random.default_rng(0)
    tuples = np.stack([rng.permutation(12)[:3] for _ in range(TASKS)])
    given = [*method("A", 0.60, 4, 0.001), *method("B", 0.605, 4, 0.001)]
    (one,) = planned(given, 0.05, classes=tuples)
    way = next(way for way in one.ways if way.what == "classes")
    assert (way.have, way.seconds) == ((12, 12), None)
    assert way.required is not None
    # Not of other tasks, of all classes in each task, or by a mixture.
    for unusable in (tuples[:-1], np.tile(np.arange(3), (TASKS, 1))):
        (one,) = planned(given, 0.05, classes=unusable)
        assert {way.what for way in one.ways} == {"seeds", "tasks"}
    (one,) = planned(given, 0.05, 0.5, classes=tuples)
    assert {way.what for way in one.ways} == {"seeds", "tasks"}


def test_one_seed_and_wrong_input() -> None:
    (one,) = planned([*method("A", 0.6, 1), *method("B", 0.7, 2)], 0.01)
    assert one.now.verdict == "undecided"
    assert math.isnan(one.now.effect.low)
    assert [way.required for way in one.ways] == [None, None]
    assert one.caution == "one seed: nothing is known of others"
    assert planned(method("A", 0.6, 2), 0.01) == ()
    with pytest.raises(ValueError, match="above 0, not 0"):
        planned(GIVEN, 0.0)
    with pytest.raises(ValueError, match="power in"):
        planned(GIVEN, 0.01, power=1.0)
    with pytest.raises(ValueError, match="one or two distributions"):
        moments([(1.0, np.zeros((2, 3)), np.zeros((2, 4)))])
