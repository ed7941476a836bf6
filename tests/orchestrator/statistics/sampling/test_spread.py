"""The spread over sets of classes and of examples, with a variance that is known."""

import math

import numpy as np
import pytest
from scipy import stats

from fsl_sweep.orchestrator.statistics import example_set_variance, novel_set_variance


def test_against_scipy_without_noise_of_tasks_and_with_noise_only() -> None:
    means = np.random.default_rng(0).random(50)
    got = novel_set_variance(np.repeat(means[:, None], 4, axis=1), 0.9)
    sums = 49 * means.var(ddof=1)
    ends = [math.sqrt(sums / stats.chi2(49).ppf(p)) for p in (0.95, 0.05)]
    assert (got.low, got.high) == pytest.approx(ends, rel=1e-12)
    assert got.observed == got.deviation == pytest.approx(np.std(means, ddof=1), rel=1e-12)
    assert (got.means.tolist(), got.caution) == (pytest.approx(means.tolist()), None)
    assert novel_set_variance([[0.1, 0.2], [0.3, 0.5]]).caution == "only 2 sets"
    noise = novel_set_variance(np.tile([0.2, 0.8], (40, 50)))
    assert noise.caution == "tasks explain all of it: draw more of them"


def drawn_sets(rng: np.random.Generator, sets: int, tasks: int) -> np.ndarray:
    """20 of 100 classes a set, of which a task's accuracy is the mean over 5."""
    classes = np.linspace(0.2, 0.8, 100)
    drawn = [rng.choice(100, 20, replace=False) for _ in range(sets)]
    tasks_of = [[rng.choice(novel, 5, replace=False) for _ in range(tasks)] for novel in drawn]
    return classes[np.array(tasks_of)].mean(axis=2)


def test_the_noise_of_tasks_is_taken_off() -> None:
    got = novel_set_variance(drawn_sets(np.random.default_rng(1), 400, 20))
    # Means of 20 of 100 classes, drawn without replacement.
    truth = np.linspace(0.2, 0.8, 100).std(ddof=1) * math.sqrt(1 / 20 - 1 / 100)
    assert got.low < truth < got.high
    assert got.deviation == pytest.approx(truth, rel=0.12)
    assert got.observed > 1.03 * truth


def test_coverage_by_simulation() -> None:
    rng, hits = np.random.default_rng(2), 0
    for _ in range(2000):
        table = rng.normal(0.6, 0.02, (40, 1)) + rng.normal(0, 0.1, (40, 400))
        got = example_set_variance(table)
        hits += got.low <= 0.02 <= got.high
    assert 0.93 <= hits / 2000 <= 0.97
