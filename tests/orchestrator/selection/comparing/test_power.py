"""Methods over seeds, and what would decide them, from made trials."""

from dataclasses import replace
from math import isnan

import numpy as np
import pytest
from trials import tabled, trial

from fsl_sweep.orchestrator.records.measures import ScoreTable, TrialHistory
from fsl_sweep.orchestrator.selection.comparing import comparison
from fsl_sweep.orchestrator.selection.comparing.base_and_novel import compare_base_and_novel
from fsl_sweep.orchestrator.selection.comparing.comparison import compare_over_seeds, parts_of
from fsl_sweep.orchestrator.selection.comparing.power import PowerAnalysis, cheapest, plan_next
from fsl_sweep.orchestrator.selection.methods import summarise
from fsl_sweep.orchestrator.selection.resample import resample
from fsl_sweep.orchestrator.selection.select import select
from fsl_sweep.orchestrator.statistics import family, pair_components, power
from fsl_sweep.orchestrator.statistics.moderation import SeedVariance, moderated
from fsl_sweep.orchestrator.statistics.over_seeds import SeedPair

TASKS = 60


def method(
    name: str, mean: float, seeds: int, spread: float = 0.02, rest: float = 0.05
) -> list[TrialHistory]:
    """Two configurations a seed and three epochs, on common tasks, with noise of all kinds."""
    rng, trials = np.random.default_rng(list(name.encode())), []
    hard = np.random.default_rng(0).normal(0, 0.1, TASKS) + rng.normal(0, 0.03, TASKS)
    seconds = {"train_seconds": np.full(3, 2.0), "evaluation_seconds": np.full(3, 1.0)}
    for seed in range(seeds):
        level = mean + rng.normal(0, spread) + hard
        for configuration in "xy":
            plain = trial(name, configuration, seed, base=[0.5] * 3, val=[0.5] * 3, novel=[0.5] * 3)
            noise = rng.normal(0, rest, (6, 3, TASKS))
            tables = iter(np.clip(level + noise, 0, 1))
            history = tabled(plain, lambda _, tables=tables: next(tables))
            trials.append(replace(history, curves={**history.curves, **seconds}))
    return trials


ABC = [*method("A", 0.60, 3), *method("B", 0.61, 3), *method("C", 0.75, 4)]
APART = [replace(t, among_all=t.method == "C") for t in ABC]


def drawn(trials, selected):
    return resample(trials, selected, resamples=200)


def compared(trials, snapshot=("val",), **options):
    selected = select(trials, snapshot, ["val"])
    return compare_over_seeds(summarise(selected), drawn(trials, selected), **options)


def planned(trials, effect=None, base_weight=None, **options) -> tuple[PowerAnalysis, ...]:
    selected = select(trials, ["val"], ["val"], base_weight)
    return plan_next(trials, selected, effect, resampled=drawn(trials, selected), **options)


def named(pairs) -> list[str]:
    return [pair.a + pair.b for pair in pairs]


def lent_to(tables):
    """Variances of three methods or more, by their tables [S, T]."""
    own = [SeedVariance(t.mean(1).var(ddof=1), len(t) - 1) for t in tables.values()]
    return dict(zip(tables, moderated(own), strict=True))


@pytest.mark.parametrize("rope", [0.0, 0.03])
def test_methods_are_compared_by_what_was_selected_for_each_seed(rope) -> None:
    selected = select(ABC, ["val", "oracle"], ["val"])
    again = {cell.method: cell.values for cell in drawn(ABC, selected)[::2]}
    cells = summarise(selected)[::2]
    tables = {cell.method: np.array([c.novel_tasks for c in cell.choices]) for cell in cells}
    pairs = compared(ABC, ("val", "oracle"), rope=rope)[:3]
    assert named(pairs) == ["AB", "AC", "BC"]
    assert {str(pair.strategy) for pair in pairs} == {"val / val"}
    lent = lent_to(tables)
    tests = [
        SeedPair([(1.0, tables[a], tables[b])], (again[a], again[b]), (lent[a], lent[b]))
        for a, b in named(pairs)
    ]
    expected = family([t.comparison(rope=rope) for t in tests], [t.interval for t in tests])
    for pair, test in zip(pairs, expected, strict=True):
        got, known = (result.as_dict() | {"seeds": None} for result in (pair.result, test))
        assert got == pytest.approx(known)
    ends = [(pair.result.effect.low, pair.result.effect.high) for pair in pairs]
    decided = [low > rope or high < -rope for low, high in ends]
    assert decided == [pair.result.p_adjusted < 0.05 for pair in pairs] == [False, True, True]


@pytest.mark.parametrize(
    ("trials", "options", "reasons"),
    [
        (ABC, {"complete": False}, {"AB": "UNFINISHED", "AC": "UNFINISHED", "BC": "UNFINISHED"}),
        (APART, {}, {"AC": "AMONG_ALL", "BC": "AMONG_ALL"}),
    ],
)
def test_what_keeps_pairs_undecided(trials, options, reasons) -> None:
    for pair in compared(trials, **options):
        reason = reasons.get(pair.a + pair.b)
        why = "only 3 seeds" + (f"; {getattr(comparison, reason)}" if reason else "")
        assert (pair.result.verdict, pair.result.caution) == ("undecided", why)
    # Nor is anything planned for an image classifier beside others, or said of both measures.
    known = [pair for pair in ("AB", "AC", "BC") if reasons.get(pair) != "AMONG_ALL"]
    assert sorted(named(planned(trials))) == known
    both = compare_base_and_novel(trials, select(trials, ["val"], ["val"]))
    assert named(pair for pair in both if not isnan(pair.methods.p_value)) == known


def test_without_resamples_there_is_no_claim() -> None:
    many = [*method("A", 0.6, 5), *method("B", 0.8, 5)]
    summaries = summarise(select(many, ["val"], ["val"]))
    (pair,) = compare_over_seeds(summaries, ())
    assert (pair.result.verdict, pair.result.caution) == ("undecided", comparison.NOT_REPEATED)
    assert compare_over_seeds(summaries[:1], ()) == ()


def test_a_mixture_has_two_parts_and_means_without_tasks_have_one() -> None:
    a, b, _ = summarise(select(ABC, ["val"], ["val"], 0.25))
    parts, effect = parts_of(a, b), a.reported.mean - b.reported.mean
    assert [part[0] for part in parts] == [0.25, 0.75]
    assert SeedPair(parts).comparison().effect.mean == pytest.approx(effect)
    # Other tasks cannot be paired.
    longer = [replace(c, scores=lambda _: (b.novel, np.zeros(7))) for c in b.choices]
    assert parts_of(a, replace(b, choices=tuple(longer))) == []
    means = {key: ScoreTable.from_means(np.full(3, 0.5)) for key in ABC[0].scores}
    only = [replace(t, scores=means) for t in ABC if t.seed < 2]
    a, b, _ = summarise(select(only, ["val"], ["val"]))
    assert [np.shape(table) for table in parts_of(a, b)[0][1:]] == [(2, 1), (2, 1)]
    assert [pair.result.verdict for pair in compare_over_seeds([a, b], ())] == ["undecided"]


def test_what_a_pair_needs_and_what_it_costs() -> None:
    plans = planned(ABC, 0.05)
    assert named(plans) == ["BC", "AB", "AC"]
    assert [plan.leading for plan in plans] == [True, False, False]
    selected = select(ABC, ["val"], ["val"])
    cells = summarise(selected)
    a, b, _ = cells
    again = [cell.values for cell in drawn(ABC, selected)]
    tables = {cell.method: np.array([c.novel_tasks for c in cell.choices]) for cell in cells}
    lent = lent_to(tables)
    pair = pair_components(parts_of(a, b), (again[0], again[1]), pilot=(lent["A"], lent["B"]))
    assert plans[1].components.seeds == pytest.approx(pair.seeds)
    assert (plans[1].components.selection, plans[1].caution) == (pair.selection, "only 3 seeds")
    pair = plans[1].components
    seeds, tasks = plans[1].ways
    # Three pairs: the level of Holm's first step.
    assert seeds.required == power.required_seeds(pair, 0.05, confidence=1 - 0.05 / 3)
    assert power.required_tasks(pair, 0.05, confidence=1 - 0.05 / 3) is None
    assert (tasks.what, tasks.required, tasks.more, tasks.seconds) == ("tasks", None, None, None)
    assert seeds.required is not None
    extra = seeds.required - 3
    # A seed is two configurations of three epochs of 3 s.
    assert (seeds.what, seeds.more, seeds.seconds) == ("seeds", (extra, extra), 36.0 * extra)
    costs = [way.seconds for _, way in cheapest(plans) if way.seconds is not None]
    assert costs == sorted(costs)


def test_tasks_cost_measuring_all_snapshots_again() -> None:
    trials = [*method("A", 0.60, 4, 0.0005, 0.001), *method("B", 0.605, 4, 0.0005, 0.001)]
    (plan,) = planned(trials, 0.01)
    (required, seconds) = next((w.required, w.seconds) for w in plan.ways if w.what == "tasks")
    assert required is not None
    assert required > TASKS
    # 2 methods x 4 seeds x 2 configurations x 3 epochs of one second, for 60 tasks.
    assert seconds == pytest.approx(48 * required / TASKS)
    loss = {"train_loss": trials[0].curves["train_loss"]}
    for curves in (loss, loss | {"evaluation_seconds": np.full(3, np.nan)}):
        (plan,) = planned([replace(t, curves=curves) for t in trials], 0.01)
        assert {way.seconds for way in plan.ways} == {None}
        assert {way.required for way in plan.ways} != {None}


def test_the_observed_effect_and_what_cannot_be_planned() -> None:
    plans = dict(zip(named(observed := planned(ABC)), observed, strict=True))
    assert plans["AB"].effect == abs(plans["AB"].now.effect.mean)
    assert (plans["AC"].now.verdict, plans["AC"].ways) == ("worse", ())
    same = [replace(t, method="D") for t in method("A", 0.6, 3)]
    (equal,) = planned([*method("A", 0.6, 3), *same])
    (single,) = planned([*method("A", 0.6, 1), *method("B", 0.7, 2)], 0.01)
    assert {way.required for way in (*equal.ways, *single.ways)} == {None}
    assert (equal.effect, single.now.verdict) == (0, "undecided")
    assert single.caution == "one seed: nothing is known of others"
    assert planned(method("A", 0.6, 2), 0.01) == ()
    with pytest.raises(ValueError, match="above 0, not 0"):
        planned(ABC, 0.0)


def test_classes_where_they_are_known() -> None:
    rng = np.random.default_rng(0)
    tuples = np.stack([rng.permutation(12)[:3] for _ in range(TASKS)])
    trials = [*method("A", 0.60, 4, 0.001), *method("B", 0.605, 4, 0.001)]
    (plan,) = planned(trials, 0.05, classes=tuples)
    way = next(way for way in plan.ways if way.what == "classes")
    assert (way.have, way.seconds) == ((12, 12), None)
    assert way.required is not None
    # Not of other tasks, of all classes in each task, or by a mixture.
    every = np.tile(np.arange(3), (TASKS, 1))
    for weight, unusable in ((None, tuples[:-1]), (None, every), (0.5, tuples)):
        (plan,) = planned(trials, 0.05, weight, classes=unusable)
        assert {way.what for way in plan.ways} == {"seeds", "tasks"}


def copied(trials, of: int, to: int):
    """The trials, and again those of one seed under another number."""
    return [*trials, *(replace(t, seed=to, trial=f"{t.trial}'") for t in trials if t.seed == of)]


def test_copies_change_no_p_value_and_are_named() -> None:
    whole, again = compared(ABC), compared(copied(copied(ABC, 0, 7), 1, 8))
    assert [pair.result.p_adjusted for pair in again] == [p.result.p_adjusted for p in whole]
    assert [pair.result.seeds for pair in again] == [pair.result.seeds for pair in whole]
    selected = select(copied(copied(ABC, 0, 7), 1, 8), ["val"], ["val"])
    assert selected.copies("A", selected.strategies[0]) == {7: 0, 8: 1}
    assert select(ABC, ["val"], ["val"]).copies("A", selected.strategies[0]) == {}


def test_a_plan_takes_what_draws_nothing_as_it_is() -> None:
    """Seeds are asked only of the other; of two that draw nothing only tasks and classes are."""
    fixed = [replace(t, draws_nothing=True) for t in ABC if t.seed == 0 and t.method != "C"]
    (pair,) = planned([t for t in ABC if t.method == "B"] + [t for t in fixed if t.method == "A"])
    (seeds,) = (way for way in pair.ways if way.what == "seeds")
    assert seeds.more is None or seeds.more[(pair.a, pair.b).index("A")] == 0
    (both,) = planned(fixed, 0.001)
    assert [way.what for way in both.ways] == ["tasks"]


def test_without_tasks_only_whole_records_tell_a_copy() -> None:
    """Two seeds of a table may have one number, or the chosen snapshot's, in common by chance."""
    means = [
        replace(t, scores={k: ScoreTable.from_means(s.means) for k, s in t.scores.items()})
        for t in ABC
    ]
    again = copied(means, 0, 7)
    selected = select(again, ["val"], ["val"])
    assert selected.copies("A", selected.strategies[0]) == {7: 0}
    chance = []
    for t in again:  # other losses: the seed reached the training, and its scores are rounded
        loss = np.full(3, 1.0 + t.seed)
        chance.append(replace(t, curves={**t.curves, "train_loss": loss}))
    selected = select(chance, ["val"], ["val"])
    assert selected.copies("A", selected.strategies[0]) == {}
