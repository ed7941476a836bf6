"""How many queries a task should have: known variances, and two Gaussians as in the paper."""

import math

import numpy as np
import pytest
from scipy import optimize, stats

from fsl_sweep.orchestrator.statistics.sampling import task_sizing as sizing
from fsl_sweep.orchestrator.statistics.sampling.task_sizing import TaskVariance


@pytest.mark.parametrize(("between", "within"), [(0.01, 0.04), (0.002, 0.1), (0.05, 0.001)])
@pytest.mark.parametrize("shot", [1, 5, 10])
def test_optimal_queries_are_least_by_search(between: float, within: float, shot: int) -> None:
    least = optimize.minimize_scalar(
        lambda q: (between + within / q) * (shot + q), bounds=(1e-3, 1e3), method="bounded"
    )
    assert sizing.optimal_queries(between, within, shot) == pytest.approx(least.x, rel=1e-3)
    assert TaskVariance(between, within, None).optimal(shot) == pytest.approx(least.x, rel=1e-3)
    assert TaskVariance(-between, within, None).optimal(shot) == math.inf
    assert sizing.optimal_queries(0.0, within, shot) == math.inf


def accuracies(rng, tasks: int, way: int, queries: int, apart: float) -> np.ndarray:
    """Tasks of p ~ Beta(6, 2); ``apart`` is how far half of the classes are from the other half."""
    p = rng.beta(6, 2, (tasks, 1)) * (1 - apart)
    by_class = np.where(np.arange(way) % 2, p, p + apart)
    return rng.binomial(queries, by_class).sum(axis=1) / (way * queries)


LAW = stats.beta(6, 2)


def unbiased(estimates: list[TaskVariance], between: float, within: float) -> bool:
    """Whether their means are within four standard errors of the truth."""
    both = np.array([(variance.between, variance.within) for variance in estimates])
    return bool((abs(both.mean(axis=0) - (between, within)) < 4 * stats.sem(both)).all())


def test_estimates_are_unbiased() -> None:
    rng, way, apart = np.random.default_rng(0), 4, 0.4
    alike = [
        sizing.variance_of_tasks(accuracies(rng, 30, way, 3, 0.0), way, 3) for _ in range(3000)
    ]
    assert unbiased(alike, LAW.var(), (LAW.mean() - LAW.moment(2)) / way)
    # From several numbers of queries, classes need not be equal.
    sizes = ((1, 60), (3, 40), (10, 30))
    several = [
        sizing.variance_over_queries([(q, accuracies(rng, t, way, q, apart)) for q, t in sizes])
        for _ in range(3000)
    ]
    low = LAW.expect(lambda p: p * (1 - apart) * (1 - p * (1 - apart)))
    high = LAW.expect(lambda p: (p * (1 - apart) + apart) * (1 - apart) * (1 - p))
    within = (low + high) / 2 / way
    assert unbiased(several, LAW.var() * (1 - apart) ** 2, within)
    wrong = sizing.variance_of_tasks(accuracies(rng, 10**5, way, 3, apart), way, 3)
    assert wrong.within > 1.1 * within  # as the docstring says


def gaussians(rng, shot: int, queries: int, datasets: int = 1200) -> np.ndarray:
    """Accuracies ``[datasets, T]`` of nearest class means, as in section 4.1.

    A dataset is 500 examples each of N(-0.5, 1) and N(0.5, 1), in tasks until they are used up.
    """
    tasks = sizing.tasks_of_examples(1000, 2, shot, queries)
    x = rng.normal(size=(datasets, tasks, 2, shot + queries)) + np.array([[-0.5], [0.5]])
    means, query = x[..., :shot].mean(axis=-1), x[..., shot:]
    nearest = abs(query[..., None] - means[:, :, None, None, :]).argmin(axis=-1)
    return (nearest == np.arange(2)[:, None]).mean(axis=(-1, -2))


QUERIES = (1, 2, 3, 5, 8, 12, 20, 35)


@pytest.mark.parametrize("shot", [1, 3, 5])
def test_measured_and_predicted_minima_agree_on_two_gaussians(shot: int) -> None:
    rng = np.random.default_rng(shot)
    tables = {q: gaussians(rng, shot, q) for q in QUERIES}
    measured = np.array([table.mean(axis=1).std(ddof=1) for table in tables.values()])
    variance = sizing.variance_over_queries([(q, tables[q][:100].ravel()) for q in (1, 5, 12)])
    predicted = np.array(
        [math.sqrt((variance.between + variance.within / q) / tables[q].shape[1]) for q in QUERIES]
    )
    assert predicted == pytest.approx(measured, rel=0.1)
    best = int(np.argmin(predicted))
    assert measured[best] <= 1.04 * measured.min()
    assert measured[0] > 1.04 * measured.min() or shot == 1  # it is a U
    assert measured[-1] > 1.1 * measured.min()
    assert abs(np.searchsorted(QUERIES, variance.optimal(shot)) - best) <= 1


def test_predicted_half_widths_are_students() -> None:
    law = stats.t(9, scale=math.sqrt((0.01 + 0.05 / 5) / 10))
    assert sizing.open_half_width(TaskVariance(0.01, 0.05, None), 10, 5) == pytest.approx(
        law.ppf(0.975)
    )
    assert math.isnan(sizing.open_half_width(TaskVariance(0.01, 0.05, None), 1, 5))
    assert sizing.tasks_of_examples(840, 5, 5, 15) == 8
