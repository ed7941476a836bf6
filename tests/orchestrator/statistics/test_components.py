"""Variance components against brute force, and what they predict against simulation."""

import math
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from fsl_sweep.orchestrator.statistics import difference_over_seeds, pair_components, power
from fsl_sweep.orchestrator.statistics.components import moments, variance_of_selection
from fsl_sweep.orchestrator.statistics.moderation import DRAWS_NOTHING, SeedVariance, moderated


def made(rng, seeds, tasks, sd):
    """Accuracies [S, T] with these standard deviations of seeds, tasks and rest."""
    means, over = rng.normal(0, sd[0], (seeds, 1)), rng.normal(0, sd[1], tasks)
    return 0.6 + means + over + rng.normal(0, sd[2], (seeds, tasks))


def pair_of(rng, seeds, tasks, sd=(0.01, 0.02, 0.03, 0.05)):
    """a and b, with sd of seeds of a, of b, of what a task does to a - b, and of the rest."""
    hard = rng.normal(0, 0.1, tasks)
    a = made(rng, seeds[0], tasks, (sd[0], sd[2], sd[3])) + hard
    return a, made(rng, seeds[1], tasks, (sd[1], 0.0, sd[3])) + hard


def half_squares(values):
    """The variance from all pairs."""
    return np.mean([(x - y) ** 2 / 2 for x, y in combinations(values, 2)])


def covariances(pairs):
    return np.mean([np.cov(x, y)[0, 1] for x, y in pairs])


def test_components_by_brute_force() -> None:
    """Mean squares from sums over all pairs, and the equations solved."""
    a, b = pair_of(np.random.default_rng(0), (4, 3), 9, (0.05, 0.04, 0.1, 0.02))
    rest = []
    for table in (a, b):
        rows = [x - y for x, y in combinations(table, 2)]
        rest.append(np.mean([half_squares(row) / 2 for row in rows]))
    got = pair_components([(1.0, a, b)])
    between = [half_squares(x.mean(1)) - r / 9 for x, r in zip((a, b), rest, strict=True)]
    assert (got.seeds, got.rest) == (pytest.approx(between), pytest.approx(rest))
    over = half_squares(a.mean(0) - b.mean(0))
    assert got.tasks == pytest.approx(over - rest[0] / 4 - rest[1] / 3)
    assert (got.shape, got.classes, got.caution) == ((4, 3, 9), None, "only 3 seeds and 9 tasks")


def test_components_are_right_on_average_and_negative_ones_are_said() -> None:
    rng = np.random.default_rng(2)
    pairs = [pair_components([(1.0, *pair_of(rng, (4, 6), 50))]) for _ in range(300)]
    seeds = np.mean([pair.seeds for pair in pairs], axis=0)
    assert seeds == pytest.approx(np.array([0.01, 0.02]) ** 2, rel=0.2)
    assert np.mean([pair.tasks for pair in pairs]) == pytest.approx(0.03**2, rel=0.1)
    rest = np.mean([pair.rest for pair in pairs], axis=0)
    assert rest == pytest.approx([0.05**2] * 2, rel=0.05)
    none = [pair_of(rng, (6, 6), 40, (0.0, 0.02, 0.1, 0.05)) for _ in range(20)]
    negative = [pair for pair in (pair_components([(1.0, *p)]) for p in none) if 0 in pair.seeds]
    assert 3 < len(negative) < 17
    assert {pair.caution for pair in negative} == {"a negative estimate is set to 0"}


def test_one_seed_has_no_components() -> None:
    a, b = np.full((1, 40), 0.5), np.full((2, 40), [[0.4], [0.5]])
    pair = pair_components([(1.0, a, b)])
    assert math.isnan(pair.seeds[0])
    assert pair.caution == "one seed: nothing is known of others"
    assert power.required_seeds(pair, 0.01) is power.required_tasks(pair, 0.01) is None


def test_the_selection_that_seeds_share_is_told_from_their_own() -> None:
    rng = np.random.default_rng(3)
    noise, shared = rng.normal(0, 0.05, (7, 4000)), rng.normal(0, 0.02, (2, 4000))
    resampled = noise[:3] + shared[0], noise[3:] + shared[1]
    pair = moments([(1.0, np.full((3, 40), 0.5), np.full((4, 40), 0.5))])
    got = variance_of_selection(pair, resampled)
    assert got == pytest.approx(2 * 2 * 0.02**2, rel=0.15)
    # Tasks that move both methods alike are no difference.
    alike = noise[:3] + shared[0], noise[3:] + shared[0]
    assert variance_of_selection(pair, alike) < 0.2 * got
    assert variance_of_selection(pair, (resampled[0][:1], resampled[1])) == 0.0
    # What seeds share beyond the report tasks: a's and b's, less what both share.
    a, b = pair_of(rng, (3, 4), 400, (0.01, 0.01, 0.2, 0.02))
    rows = [table[:, 1:] for table in resampled]
    drawn = sum(covariances(combinations(table, 2)) for table in rows)
    drawn -= 2 * covariances((x, y) for x in rows[0] for y in rows[1])
    drawn *= 1 - math.sqrt(2 / 3998)
    noisy = pair_components([(1.0, a, b)], resampled)
    assert drawn == pytest.approx(2 * 0.02**2, rel=0.2)
    assert noisy.selection == pytest.approx(2 * (drawn - noisy.tasks / 400))
    assert pair_components([(1.0, a, b)]).selection == 0
    resampled[0][0, 5] = np.nan
    assert variance_of_selection(pair, resampled) == pytest.approx(got, rel=0.01)


ZEROS = pair_components([(1.0, np.zeros((3, 100)), np.zeros((3, 100)))])


def exact(seeds=(0.02, 0.02), tasks=0.0, rest=0.0, selection=0.0, classes=None, lent=()):
    """Components as if known, by standard deviations."""
    return replace(
        ZEROS,
        pilot=(SeedVariance(0.0, 1e9, *lent),) * 2,
        seeds=(seeds[0] ** 2, seeds[1] ** 2),
        rest=(rest**2, rest**2),
        tasks=tasks**2,
        selection=selection**2,
        classes=None if classes is None else classes**2,
    )


def test_against_closed_forms() -> None:
    # Tasks only: the normal interval, and its power.
    only = exact(seeds=(0.0, 0.0), tasks=0.1)
    expected = ((1.959964 + 0.8416212) * 0.1 / 0.01) ** 2
    assert power.required_tasks(only, 0.01) == math.ceil(expected)
    # One seed's variance only, very many seeds: the same.
    assert power.required_seeds(exact(seeds=(0.1, 0.0)), 0.01) == pytest.approx(expected, rel=0.02)
    # What more seeds or more tasks cannot change.
    assert power.required_seeds(exact(tasks=0.1), 0.02) is None
    assert power.required_seeds(exact(tasks=0.1), 0.02, tasks=1000) is not None
    assert power.required_tasks(exact(tasks=0.1), 0.02) is None
    assert power.required_seeds(exact(selection=0.01), 0.02) is None
    assert power.required_seeds(exact(), -0.02) == power.required_seeds(exact(), 0.02)
    # Classes: that of the mean, over their number.
    no_seeds = exact(seeds=(0.0, 0.0), classes=0.1)
    assert power.required_classes(no_seeds, 0.01) == pytest.approx(math.ceil(expected), abs=1)
    assert power.required_classes(exact(seeds=(0.0, 0.0)), 0.01) is None


@pytest.mark.parametrize(("sd", "seeds"), [(0.02, 3), (0.02, 6), (0.005, 2)])
def test_the_predicted_power_is_what_simulation_finds(sd, seeds) -> None:
    rng, effect, simulations = np.random.default_rng(5), 0.03, 500
    pair, decided = exact(seeds=(sd, sd / 2), tasks=0.05, rest=0.05), 0
    for _ in range(simulations):
        a, b = pair_of(rng, (seeds, seeds), 100, (sd, sd / 2, 0.05, 0.05))
        decided += difference_over_seeds(a + effect, b).verdict == "better"
    expected = power.predicted_power(pair, effect, (seeds, seeds), 100)
    assert 0.1 < expected < 0.99
    assert decided / simulations == pytest.approx(expected, abs=0.06)


def test_the_number_of_seeds_is_the_least() -> None:
    pair = exact(seeds=(0.02, 0.01), tasks=0.03, rest=0.05)
    least, stricter = (power.required_seeds(pair, 0.015, 0.9, confidence=c) for c in (0.95, 0.99))
    assert least is not None
    assert stricter is not None
    assert stricter > least
    assert power.predicted_power(pair, 0.015, (least, least), 100) >= 0.9
    assert power.predicted_power(pair, 0.015, (least - 1, least - 1), 100) < 0.9


@pytest.mark.parametrize(("methods", "seeds", "effect"), [(2, 2, 0.02), (2, 3, 0.02), (6, 2, 0.02)])
def test_a_plan_keeps_its_promise(methods, seeds, effect) -> None:
    """Of 400 pilots, plans for a power of 80 % realise 75 % or more, the effect being true."""
    rng, planned = np.random.default_rng(7), []
    for _ in range(400):
        sd = (0.0141, 0.05, 0.05)
        tables = [made(rng, seeds, 40, sd) for _ in range(methods)]
        variances = [SeedVariance(t.mean(1).var(ddof=1), seeds - 1) for t in tables]
        pair = pair_components([(1.0, *tables[:2])], pilot=tuple(moderated(variances)[:2]))
        # What tasks change is known well; take it as it is.
        pair = replace(pair, tasks=2 * 0.05**2)
        planned.append(power.required_seeds(pair, effect, tasks=4000))
    truth = exact((0.0141, 0.0141), math.sqrt(2) * 0.05, 0.05, lent=(math.inf, 6) * (methods > 2))
    realised = {n: power.predicted_power(truth, effect, (n, n), 4000) for n in set(planned)}
    assert 0.75 <= np.mean([realised[n] for n in planned]) <= 0.98


def test_what_no_seed_changes_is_decided_by_tasks_alone() -> None:
    """A method that draws nothing needs no seed; two of them have the power of a paired test."""
    rng = np.random.default_rng(8)
    a, b = rng.normal(0.6, 0.1, (2, 1, 300))
    pair = pair_components([(1.0, a, b)], pilot=(DRAWS_NOTHING, DRAWS_NOTHING))
    assert (pair.seeds, pair.caution) == ((0, 0), None)
    assert power.required_seeds(pair, 0.01) is None
    sd = float(np.std(a - b, ddof=1))
    expected = ((1.959964 + 0.8416212) * sd / 0.01) ** 2
    assert power.required_tasks(pair, 0.01) == math.ceil(expected)
    seeds = made(rng, 4, 300, (0.02, 0.0, 0.05))
    known = SeedVariance(float(seeds.mean(1).var(ddof=1)), 3)
    mixed = pair_components([(1.0, a, seeds)], pilot=(DRAWS_NOTHING, known))
    least = power.required_seeds(mixed, 0.03)
    assert least == power.required_seeds(replace(mixed, shape=(7, 4, 300)), 0.03)
    assert power.predicted_power(mixed, 0.03, (1, least), 300) >= 0.8


def test_classes_vary_as_additive_classes_do() -> None:
    rng, variances = np.random.default_rng(6), []
    for _ in range(40):
        tuples = np.stack([rng.permutation(20)[:5] for _ in range(400)])
        values = 0.6 + rng.normal(0, 0.1, 20)[tuples].mean(axis=1) + rng.normal(0, 0.05, 400)
        parts = [(1.0, np.stack([values, values]), np.full((2, 400), 0.5))]
        variances.append(pair_components(parts, tuples=tuples).classes)
    # A mean over tasks is the mean over classes; one standard error is left on: 1 + sqrt(2 / 19).
    assert np.mean(variances) == pytest.approx(0.1**2 * (1 + math.sqrt(2 / 19)), rel=0.15)
