"""Variance components against brute force, and what they predict against simulation."""

import itertools
import math

import numpy as np
import pytest

from fsl_sweep.orchestrator.statistics.components import (
    moments,
    pair_components,
    variance_of_selection,
)
from fsl_sweep.orchestrator.statistics.over_seeds import difference_over_seeds
from fsl_sweep.orchestrator.statistics.power import (
    predicted_half_width,
    predicted_power,
    required_classes,
    required_seeds,
    required_tasks,
)


def made(rng, seeds, tasks, sd=(0.02, 0.1, 0.05)):
    """Accuracies [S, T] with these standard deviations of seeds, tasks and rest."""
    own, over = rng.normal(0, sd[0], (seeds, 1)), rng.normal(0, sd[1], tasks)
    return 0.6 + own + over + rng.normal(0, sd[2], (seeds, tasks))


def half_squares(values):
    """The variance from all pairs."""
    return np.mean([(x - y) ** 2 / 2 for x, y in itertools.combinations(values, 2)])


def rest_by_brute_force(table):
    contrasts = [
        (table[s, t] - table[s, u] - table[r, t] + table[r, u]) ** 2 / 4
        for s, r in itertools.combinations(range(len(table)), 2)
        for t, u in itertools.combinations(range(len(table.T)), 2)
    ]
    return np.mean(contrasts)


def test_components_by_brute_force() -> None:
    """Mean squares from sums over all pairs, and the equations solved."""
    a, b = pair_of(np.random.default_rng(0), (4, 3), 9, (0.05, 0.04, 0.1, 0.02))
    got, rest = pair_components([(1.0, a, b)]), [rest_by_brute_force(x) for x in (a, b)]
    between = [half_squares(x.mean(1)) - r / 9 for x, r in zip((a, b), rest, strict=True)]
    assert got.seeds == pytest.approx(between)
    assert got.rest == pytest.approx(rest)
    over = half_squares(a.mean(0) - b.mean(0))
    assert got.tasks == pytest.approx(over - rest[0] / 4 - rest[1] / 3)
    assert (got.shape, got.classes, got.caution) == ((4, 3, 9), None, "only 3 seeds and 9 tasks")


def test_negative_estimates_are_said() -> None:
    rng = np.random.default_rng(1)
    pairs = [pair_of(rng, (6, 6), 40, (0.0, 0.02, 0.1, 0.05)) for _ in range(20)]
    negative = [one for one in (pair_components([(1.0, *p)]) for p in pairs) if 0 in one.seeds]
    assert 3 < len(negative) < 17
    assert {one.caution for one in negative} == {"a negative estimate is set to 0"}


def test_one_seed_has_no_components() -> None:
    pair = pair_components([(1.0, np.full((1, 40), 0.5), np.full((2, 40), 0.4))])
    assert math.isnan(pair.seeds[0])
    one = pair_components([(1.0, np.full((1, 40), 0.5), np.full((2, 40), [[0.4], [0.5]]))])
    assert one.caution == "one seed: nothing is known of others"
    assert required_seeds(pair, 0.01) is required_tasks(pair, 0.01) is None


def pair_of(rng, seeds, tasks, sd=(0.01, 0.02, 0.03, 0.05)):
    """a and b, with sd of seeds of a, of b, of what a task does to a - b, and of the rest."""
    hard = rng.normal(0, 0.1, tasks)
    a = made(rng, seeds[0], tasks, (sd[0], sd[2], sd[3])) + hard
    return a, made(rng, seeds[1], tasks, (sd[1], 0.0, sd[3])) + hard


def test_components_of_a_pair_are_right_on_average() -> None:
    rng = np.random.default_rng(2)
    found = [pair_components([(1.0, *pair_of(rng, (4, 6), 50))]) for _ in range(300)]
    assert np.mean([one.seeds for one in found], axis=0) == pytest.approx(
        np.array([0.01, 0.02]) ** 2, rel=0.2
    )
    assert np.mean([one.tasks for one in found]) == pytest.approx(0.03**2, rel=0.1)
    assert np.mean([one.rest for one in found], axis=0) == pytest.approx([0.05**2] * 2, rel=0.05)


def test_the_selection_that_seeds_share_is_told_from_their_own() -> None:
    rng = np.random.default_rng(3)
    own, shared = rng.normal(0, 0.05, (7, 4000)), rng.normal(0, 0.02, (2, 4000))
    resampled = own[:3] + shared[0], own[3:] + shared[1]
    found = moments([(1.0, np.full((3, 40), 0.5), np.full((4, 40), 0.5))])
    got = variance_of_selection(found, resampled)
    assert got == pytest.approx(2 * 2 * 0.02**2, rel=0.15)
    # Tasks that move both methods alike are no difference.
    alike = own[:3] + shared[0], own[3:] + shared[0]
    assert variance_of_selection(found, alike) < 0.2 * got
    resampled[0][0, 5] = np.nan
    assert variance_of_selection(found, resampled) == pytest.approx(got, rel=0.01)
    assert variance_of_selection(found, (resampled[0][:1], resampled[1])) == 0.0
    # What seeds share beyond the report tasks: a's and b's, less what both share.
    a, b = pair_of(rng, (3, 4), 400, (0.01, 0.01, 0.2, 0.02))
    resampled[0][0, 5] = 0.0
    rows = [x[:, 1:] for x in resampled]
    drawn = sum(np.mean([np.cov(*xy)[0, 1] for xy in itertools.combinations(x, 2)]) for x in rows)
    drawn -= 2 * np.mean([np.cov(x, y)[0, 1] for x in rows[0] for y in rows[1]])
    drawn *= 1 - math.sqrt(2 / 3998)
    pair = pair_components([(1.0, a, b)], resampled)
    assert drawn == pytest.approx(2 * 0.02**2, rel=0.2)
    assert pair.selection == pytest.approx(2 * (drawn - pair.tasks / 400))
    assert pair_components([(1.0, a, b)]).selection == 0


QUARTERS = [
    ((0.02, 0.02, 0.0, 0.02), "seeds"),
    ((0.02, 0.005, 0.05, 0.1), "seeds"),
    ((0.001, 0.001, 0.1, 0.05), "seeds"),
    ((0.02, 0.02, 0.1, 0.1), "tasks"),
    ((0.002, 0.002, 0.1, 0.02), "tasks"),
]


@pytest.mark.parametrize(("sd", "of"), QUARTERS)
def test_half_widths_predicted_from_a_quarter_of_the_records(sd, of) -> None:
    rng, predicted, realised = np.random.default_rng(4), [], []
    for _ in range(120):
        a, b = pair_of(rng, (12, 12), 160, sd)
        few = (slice(0, 3), slice(None)) if of == "seeds" else (slice(None), slice(0, 40))
        quarter = pair_components([(1.0, a[few], b[few])])
        predicted.append(predicted_half_width(quarter, (12, 12), 160))
        whole = difference_over_seeds(a, b)
        realised.append((whole.effect.high - whole.effect.low) / 2)
    assert np.mean(predicted) == pytest.approx(np.mean(realised), rel=0.15)


def exact(seeds=(0.02, 0.02), tasks=0.0, rest=0.0, selection=0.0, shape=(3, 3, 100), classes=None):
    """Components as if known, by standard deviations."""
    found = pair_components([(1.0, np.zeros((3, 100)), np.zeros((3, 100)))])
    return type(found)(
        (seeds[0] ** 2, seeds[1] ** 2), (rest**2, rest**2), tasks**2, selection**2,
        None if classes is None else classes**2, shape, None,
    )  # fmt: skip


def test_against_closed_forms() -> None:
    # Tasks only: the normal interval, and its power.
    only = exact(seeds=(0.0, 0.0), tasks=0.1)
    assert predicted_half_width(only, (3, 3), 400) == pytest.approx(1.959964 * 0.005)
    needed = required_tasks(only, 0.01)
    assert needed == math.ceil(((1.959964 + 0.8416212) * 0.1 / 0.01) ** 2)
    # One seed's variance only, very many seeds: the same.
    many = required_seeds(exact(seeds=(0.1, 0.0)), 0.01)
    assert many == pytest.approx(((1.959964 + 0.8416212) * 0.1 / 0.01) ** 2, rel=0.02)
    # What more seeds or more tasks cannot change.
    assert required_seeds(exact(tasks=0.1), 0.02) is None
    assert required_seeds(exact(tasks=0.1), 0.02, tasks=1000) is not None
    assert required_tasks(exact(tasks=0.1), 0.02) is None
    assert required_seeds(exact(selection=0.01), 0.02) is None
    assert required_seeds(exact(), -0.02) == required_seeds(exact(), 0.02)
    # Classes: that of the mean, over their number.
    no_seeds = exact(seeds=(0.0, 0.0), classes=0.1)
    assert required_classes(no_seeds, 0.01) == pytest.approx(needed, abs=1)
    assert required_classes(exact(seeds=(0.0, 0.0)), 0.01) is None


@pytest.mark.parametrize(("sd", "seeds"), [(0.02, 3), (0.02, 6), (0.005, 2)])
def test_the_chance_to_decide_is_what_simulation_finds(sd, seeds) -> None:
    rng, effect, worlds = np.random.default_rng(5), 0.03, 500
    pair, found = exact(seeds=(sd, sd / 2), tasks=0.05, rest=0.05), 0
    for _ in range(worlds):
        a, b = pair_of(rng, (seeds, seeds), 100, (sd, sd / 2, 0.05, 0.05))
        found += difference_over_seeds(a + effect, b).verdict == "better"
    expected = predicted_power(pair, effect, (seeds, seeds), 100)
    assert 0.1 < expected < 0.99
    assert found / worlds == pytest.approx(expected, abs=0.06)


def test_the_number_of_seeds_found_is_the_least() -> None:
    pair = exact(seeds=(0.02, 0.01), tasks=0.03, rest=0.05)
    needed = required_seeds(pair, 0.015, 0.9)
    assert needed is not None
    assert predicted_power(pair, 0.015, (needed, needed), 100) >= 0.9
    assert predicted_power(pair, 0.015, (needed - 1, needed - 1), 100) < 0.9
    stricter = required_seeds(pair, 0.015, 0.9, confidence=0.99)
    assert stricter is not None
    assert stricter > needed


def test_classes_vary_as_additive_classes_do() -> None:
    rng, found = np.random.default_rng(6), []
    values, tuples = np.empty(0), np.empty((0, 5))
    for _ in range(40):
        tuples = np.stack([rng.permutation(20)[:5] for _ in range(400)])
        values = 0.6 + rng.normal(0, 0.1, 20)[tuples].mean(axis=1) + rng.normal(0, 0.05, 400)
        parts = [(1.0, np.stack([values, values]), np.full((2, 400), 0.5))]
        classes = pair_components(parts, tuples=tuples).classes
        assert classes is not None
        found.append(classes)
    # A mean over tasks is the mean over classes; one standard error is left on: 1 + sqrt(2 / 19).
    assert np.mean(found) == pytest.approx(0.1**2 * (1 + math.sqrt(2 / 19)), rel=0.15)


def classed(table, tuples):
    return pair_components([(1.0, table, table)], tuples=tuples)


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (lambda: classed(np.zeros(4), [[0]]), "seeds, tasks"),
        (lambda: classed(np.zeros((2, 4)), np.zeros((3, 2))), "classes do not tell"),
        (lambda: classed(np.zeros((2, 3)), [[0, 1], [1, 0], [0, 1]]), "classes do not tell"),
        (lambda: predicted_half_width(exact(), (1, 3), 100), "2 seeds and 2 tasks"),
        (lambda: required_seeds(exact(), 0.0), "effect other than 0"),
        (lambda: required_tasks(exact(), 0.1, 1.0), "power in"),
    ],
)
def test_wrong_input(action, message) -> None:
    with pytest.raises(ValueError, match=message):
        action()
