"""How many queries a task should have: known variances, and two Gaussians as in the paper."""

import math

import numpy as np
import pytest
from scipy import optimize, stats

from fsl_sweep.orchestrator.statistics.sampling.task_sizing import (
    TaskVariance,
    open_half_width,
    optimal_queries,
    tasks_of_examples,
    variance_of_tasks,
    variance_over_queries,
)


@pytest.mark.parametrize(("between", "within"), [(0.01, 0.04), (0.002, 0.1), (0.05, 0.001)])
@pytest.mark.parametrize("shot", [1, 5, 10])
def test_optimal_queries_are_least_by_search(between: float, within: float, shot: int) -> None:
    found = optimize.minimize_scalar(
        lambda q: (between + within / q) * (shot + q), bounds=(1e-3, 1e3), method="bounded"
    )
    assert optimal_queries(between, within, shot) == pytest.approx(found.x, rel=1e-3)
    assert optimal_queries(0.0, within, shot) == math.inf


def accuracies(rng, tasks: int, way: int, queries: int, apart: float) -> np.ndarray:
    """Tasks of p ~ Beta(6, 2); ``apart`` is how far half of the classes are from the other half."""
    p = rng.beta(6, 2, (tasks, 1)) * (1 - apart)
    of_classes = np.where(np.arange(way) % 2, p, p + apart)
    return rng.binomial(queries, of_classes).sum(axis=1) / (way * queries)


LAW = stats.beta(6, 2)


def test_estimates_from_one_number_of_queries_are_unbiased() -> None:
    rng, way = np.random.default_rng(0), 4
    found = [variance_of_tasks(accuracies(rng, 30, way, 3, 0.0), way, 3) for _ in range(3000)]
    within = (LAW.mean() - LAW.moment(2)) / way
    for values, truth in (
        ([one.between for one in found], LAW.var()),
        ([one.within for one in found], within),
    ):
        assert abs(np.mean(values) - truth) < 4 * stats.sem(values)


def test_estimates_from_several_numbers_need_no_equal_classes() -> None:
    rng, way, apart = np.random.default_rng(1), 4, 0.4
    sizes = ((1, 60), (3, 40), (10, 30))
    found = [
        variance_over_queries([(q, accuracies(rng, t, way, q, apart)) for q, t in sizes])
        for _ in range(3000)
    ]
    between = LAW.var() * (1 - apart) ** 2
    low = LAW.expect(lambda p: p * (1 - apart) * (1 - p * (1 - apart)))
    high = LAW.expect(lambda p: (p * (1 - apart) + apart) * (1 - apart) * (1 - p))
    for values, truth in (
        ([one.between for one in found], between),
        ([one.within for one in found], (low + high) / 2 / way),
    ):
        assert abs(np.mean(values) - truth) < 4 * stats.sem(values)
    one = variance_of_tasks(accuracies(rng, 10**5, way, 3, apart), way, 3)
    assert one.within > 1.1 * (low + high) / 2 / way  # as the docstring says


def of_gaussians(rng, shot: int, queries: int, datasets: int = 1200) -> np.ndarray:
    """Accuracies ``[datasets, T]`` of nearest class means, as in section 4.1.

    A dataset is 500 examples each of N(-0.5, 1) and N(0.5, 1), in tasks until they are used up.
    """
    tasks = tasks_of_examples(1000, 2, shot, queries)
    x = rng.normal(size=(datasets, tasks, 2, shot + queries)) + np.array([[-0.5], [0.5]])
    means, query = x[..., :shot].mean(axis=-1), x[..., shot:]
    nearest = abs(query[..., None] - means[:, :, None, None, :]).argmin(axis=-1)
    return (nearest == np.arange(2)[:, None]).mean(axis=(-1, -2))


QUERIES = (1, 2, 3, 5, 8, 12, 20, 35)


@pytest.mark.parametrize("shot", [1, 3, 5])
def test_measured_and_predicted_minima_agree_on_two_gaussians(shot: int) -> None:
    rng = np.random.default_rng(shot)
    tables = {q: of_gaussians(rng, shot, q) for q in QUERIES}
    measured = np.array([table.mean(axis=1).std(ddof=1) for table in tables.values()])
    variance = variance_over_queries([(q, tables[q][:100].ravel()) for q in (1, 5, 12)])
    predicted = np.array(
        [math.sqrt((variance.between + variance.within / q) / tables[q].shape[1]) for q in QUERIES]
    )
    assert predicted == pytest.approx(measured, rel=0.1)
    best = QUERIES[int(np.argmin(predicted))]
    assert measured[QUERIES.index(best)] <= 1.04 * measured.min()
    assert measured[0] > 1.04 * measured.min() or shot == 1  # it is a U
    assert measured[-1] > 1.1 * measured.min()
    assert (
        QUERIES.index(best) - 1
        <= np.searchsorted(QUERIES, variance.optimal(shot))
        <= (QUERIES.index(best) + 1)
    )


def test_more_shots_want_more_queries() -> None:
    variance = TaskVariance(0.02, 0.08, None)
    assert [variance.optimal(shot) for shot in (1, 4, 9)] == pytest.approx([2, 4, 6])
    assert TaskVariance(-0.01, 0.08, None).optimal(1) == math.inf


def test_predicted_half_widths_are_students() -> None:
    law = stats.t(9, scale=math.sqrt((0.01 + 0.05 / 5) / 10))
    assert open_half_width(TaskVariance(0.01, 0.05, None), 10, 5) == pytest.approx(law.ppf(0.975))
    assert math.isnan(open_half_width(TaskVariance(0.01, 0.05, None), 1, 5))
    assert tasks_of_examples(840, 5, 5, 15) == 8


FINE = [0.2, 0.4]


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda: variance_of_tasks([0.5], 5, 15), "One task tells nothing"),
        (lambda: variance_of_tasks([0.5, 0.5], 5, 15), "All tasks have the same accuracy"),
        (lambda: variance_of_tasks([0.5, math.nan], 5, 15), "1 of the values are not finite"),
        (lambda: variance_of_tasks([50.0, 60.0], 5, 15), "between 0 and 1"),
        (lambda: variance_of_tasks(FINE, 1, 1), "2 queries or more"),
        (lambda: variance_over_queries([(5, FINE), (5, FINE)]), "two or more numbers of queries"),
        (lambda: variance_over_queries([(0, FINE), (5, FINE)]), "two or more numbers of queries"),
        (lambda: optimal_queries(-0.1, 0.1, 1), "A and B are 0 or more"),
        (lambda: optimal_queries(0.0, 0.0, 1), "not both 0"),
        (lambda: optimal_queries(0.1, 0.1, 0), "1 shot or more"),
        (lambda: open_half_width(TaskVariance(0.1, 0.1, None), 5, 5, 1.2), "confidence"),
        (lambda: tasks_of_examples(100, 5, 5, 0), "counted from 1"),
    ],
)
def test_what_is_refused(call, expected) -> None:
    with pytest.raises(ValueError, match=expected):
        call()


def test_cautions() -> None:
    assert variance_of_tasks(FINE, 5, 15).caution == "only 2 tasks"
    alternating = np.tile([0.49, 0.51], 50)  # varies less than queries do
    found = variance_of_tasks(alternating, 2, 5)
    assert found.between < 0
    assert found.caution == "a negative estimate counts as 0"
    found = variance_over_queries([(5, np.tile(FINE, 500)), (30, np.tile(FINE, 3))])
    assert found.caution == "only 6 of the 1,006 tasks have 30 queries of each class"
