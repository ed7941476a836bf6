import itertools
import math
from collections.abc import Mapping

import numpy as np
import pytest

from fsl_sweep.orchestrator.statistics import SelectionBootstrap, selection_bootstrap
from fsl_sweep.orchestrator.statistics.class_draws import ClassDraw, class_tuples
from fsl_sweep.orchestrator.statistics.resampling import Resampling


def only(_: int, means: Mapping[str, np.ndarray]) -> np.ndarray:
    return np.zeros(len(means["val"]), dtype=int)


def drawn_tuples(generator: np.random.Generator, tasks: int, count: int, ways: int) -> np.ndarray:
    return np.argsort(generator.random((tasks, count)), axis=1)[:, :ways]


def by_class(table: np.ndarray, tuples: np.ndarray, **options) -> SelectionBootstrap:
    """One seed's one snapshot with accuracies ``table [1, T]``."""
    classes = {("val", "selection"): tuples, ("novel", "report"): tuples}
    return selection_bootstrap(only, [{"val": table}], [table], classes=classes, **options)


def test_a_class_moves_the_mean_by_its_own_effect() -> None:
    """All pairs of five classes, accuracy additive: contributions have a closed form.

    Drawing class c once in place of a mean class adds ``ways / (C - 1)`` of how far its effect
    lies from the mean effect, but for what is taken off as noise, which is counted here.
    """
    effects = np.array([0.0, 0.02, 0.05, -0.03, 0.11])
    tuples = np.array(list(itertools.combinations(range(5), 2)) * 30)
    table = 0.5 + effects[tuples].sum(axis=1)[None]
    got = ClassDraw(np.arange(5), np.eye(5, dtype=np.int64)).shifts(table, tuples)
    there = (tuples[:, :, None] == np.arange(5)).any(axis=1)
    terms = (there - there.mean(axis=0)) * (table.T - table.mean())  # [T, C]
    noise = terms.var(axis=0, ddof=1).sum() / len(tuples) / (terms.mean(axis=0) ** 2).sum()
    kept = math.sqrt(1 + math.sqrt(2 / 4) - noise)
    assert 0.01 < noise < 0.2
    assert got.shape == (6, 1)
    assert got[0, 0] == 0
    assert got[1:, 0] == pytest.approx(kept * 2 / 4 * (effects - effects.mean()), rel=1e-4)


def test_the_mean_moves_with_the_classes_that_were_drawn() -> None:
    generator = np.random.default_rng(1)
    tuples, table = drawn_tuples(generator, 80, 7, 3) + 100, generator.random((4, 80))
    draw = ClassDraw.of(class_tuples("novel", tuples), 30, generator)
    assert draw.classes.tolist() == list(range(100, 107))
    assert (draw.times.sum(axis=1) == 6).all()
    got = draw.shifts(table, tuples)
    each = ClassDraw(draw.classes, np.eye(7, dtype=np.int64)).shifts(table, tuples)[1:]
    assert got[1:] == pytest.approx(draw.times @ each, abs=1e-11)
    # Each class once is no draw at all.
    assert each.sum(axis=0) == pytest.approx(np.zeros(4), abs=1e-11)
    # Neither the order of adding nor a NaN of another row changes it.
    order = generator.permutation(80)
    assert (got == draw.shifts(table[:, order], tuples[order])).all()
    table[1, 7] = np.nan
    lost = draw.shifts(table, tuples)
    assert np.isnan(lost[1:, 1]).all()
    assert (lost[:, [0, 2, 3]] == got[:, [0, 2, 3]]).all()
    # A snapshot that is always right does not move.
    assert (draw.shifts(np.ones((1, 80)), tuples) == 0).all()


def test_tasks_of_a_group_share_the_draw() -> None:
    generator = np.random.default_rng(4)
    first, second = (drawn_tuples(generator, n, 8, 3) for n in (20, 50))
    table, draws = generator.random((2, 20)), Resampling(15)
    novel, again, val = (
        draws.shifts(table, class_tuples(name, first, second)) for name in ("novel", "novel", "val")
    )
    assert (novel == again).all()
    assert (novel != val)[1:].any()


def test_class_resampling_is_wider_where_classes_differ() -> None:
    generator = np.random.default_rng(6)
    tuples, level = drawn_tuples(generator, 3000, 12, 2), np.linspace(0.2, 0.8, 12)
    table = level[tuples].mean(axis=1)[None] + generator.normal(0, 0.01, (1, 3000))
    plain = selection_bootstrap(only, [{"val": table}], [table], resamples=400)
    got = by_class(table, tuples, resamples=400)
    # The standard error of a mean over 12 classes, with the one of its variance left on.
    expected = np.std(level, ddof=1) / math.sqrt(12) * math.sqrt(1 + math.sqrt(2 / 11))
    assert got.standard_error == pytest.approx(expected, rel=0.1)
    assert got.standard_error > 3 * plain.standard_error
    assert (plain.over, got.over) == ("tasks", "classes")


@pytest.mark.parametrize(
    ("count", "ways", "spread", "most"),
    [(6, 3, 0.1, 1.4), (20, 5, 0.03, 1.6), (64, 10, 0.0, 2.1), (100, 20, 0.0, 2.6)],
)
def test_against_new_classes_and_new_tasks(
    count: int, ways: int, spread: float, most: float
) -> None:
    """The standard error is near the spread of means over new classes and tasks."""
    generator, means, errors = np.random.default_rng(count), [], []
    for i in range(60):
        tuples = drawn_tuples(generator, 300, count, ways)
        effects = generator.normal(0, spread, count)
        table = 0.6 + effects[tuples].mean(axis=1)[None] + generator.normal(0, 0.1, (1, 300))
        got = by_class(table, tuples, resamples=60, seed=i)
        means.append(got.mean)
        errors.append(got.standard_error)
    ratio = float(np.median(errors)) / math.sqrt(np.mean((np.array(means) - 0.6) ** 2))
    assert 0.85 < ratio < most
