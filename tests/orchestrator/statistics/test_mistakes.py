"""What the functions of statistics refuse, and warn of: calls, with messages in the snapshot."""

import pkgutil
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from fsl_sweep.orchestrator import statistics

CALLS = """
mean_interval([])
mean_interval([0.1, nan])
mean_interval([[0.1, 0.2]])
mean_interval([inf, 1.0])
mean_interval(FINE, 0.0)
mean_interval(FINE, 1.0)
mean_interval(FINE, 95)
paired_interval(FINE, [0.1])
mixture_interval(FINE, FINE, 1.2)
compare(FINE, FINE, -0.1)
compare_mixtures((FINE, FINE), (FINE, FINE), 0.5, -0.1)
holm([0.5, nan])
holm_levels([1.1], 0.05)
kendall_tau([1, 2], [1, 2, 3])
kendall_tau([1, 2], [1, 2], last=1)
difference_over_seeds(np.zeros((2, 3)), np.zeros((2, 4)))
difference_over_seeds(np.zeros(3), np.zeros(3))
difference_over_seeds(np.full((2, 3), nan), np.zeros((2, 3)))
difference_over_seeds(TABLE, TABLE, rope=-0.1)
difference_over_seeds(TABLE, TABLE, 1.0)
moments([])
predicted_power(PAIR, 0.1, (1, 3), 100)
predicted_power(PAIR, 0.1, (3, 3), 1)
required_seeds(PAIR, 0.0)
required_tasks(PAIR, 0.1, 1.0)
joint_family([(single(0.1, 1.1), single(0.5, 0.0))])
main_effect([0.1, 0.2], "a")
pairwise_p_values(np.zeros(3))
pairwise_p_values(np.zeros((0, 2)))
pairwise_p_values([[0.1, nan]])
selection_bootstrap(len, [{}], [TABLE], resamples=1)
selection_bootstrap(first, [{"val": TABLE}], [TABLE], confidence=1.0)
selection_bootstrap(first, [{"val": TABLE}], [TABLE], classes={("val", "selection"): np.zeros(4)})
weighted_means(np.zeros((2, 3)), np.ones((4, 5)))
ClassDraw.of(class_tuples("", [np.arange(20)] * 30), 9, np.random.default_rng(0))
three_intervals(None, None)
three_intervals((FINE, [0.1]), None)
three_intervals(None, ([0.1, nan], FINE))
three_intervals((FINE, FINE), None, 1.2)
mixture_gap([0.5, nan], FINE, FINE, 0.5)
mixture_gap([], FINE, FINE, 0.5)
mixture_gap(FINE, FINE, FINE, 0.5, 1.2)
frequency(3, 2)
frequency(-1, 2)
frequency(0, 0)
frequency(1, 2, 1.2)
conclusion_stability(mean_alone(0.1), TABLE[:1], TABLE[:1])
conclusion_stability(mean_alone(0.1), TABLE[:, :1], TABLE[:, :1])
conclusion_stability(mean_alone(0.1), TABLE, TABLE[:2])
conclusion_stability(mean_alone(0.1), TABLE, np.where(np.eye(3, 4), nan, TABLE))
conclusion_stability(mean_alone(0.0), TABLE, TABLE)
conclusion_stability(mean_alone(0.1), TABLE, TABLE, delta=-0.1)
novel_set_variance([[0.1, 0.2]])
novel_set_variance([[0.1], [0.2]])
novel_set_variance([[0.1, nan], FINE])
example_set_variance([FINE, FINE], 1.2)
variance_of_tasks([0.5], 5, 15)
variance_of_tasks([0.5, 0.5], 5, 15)
variance_of_tasks([0.5, nan], 5, 15)
variance_of_tasks([50.0, 60.0], 5, 15)
variance_of_tasks(FINE, 1, 1)
variance_over_queries([(5, FINE), (5, FINE)])
variance_over_queries([(0, FINE), (5, FINE)])
optimal_queries(-0.1, 0.1, 1)
optimal_queries(0.0, 0.0, 1)
optimal_queries(0.1, 0.1, 0)
expected_classes_lower_bound(4, 5, 10, 0.5)
expected_classes_lower_bound(10, 5, 0, 0.5)
expected_classes_lower_bound(10, 0, 1, 0.5)
disjoint_probability_bound(10, 5, 1, 1, 1.2)
disjoint_probability_bound(10, 5, 1, -1, 0.5)
"""

CAUTIOUS = """
mean_interval([0.7])
mean_interval(np.linspace(0.3, 0.5, 10))
mean_interval(np.linspace(0.3, 0.5, 200))
mean_interval([0.1, 0.2, 0.3], kind="seeds")
mean_interval(np.append(np.ones(300), 0.9))
mean_interval(np.full(200, 0.5))
mean_interval([0.1, 0.2], kind="benchmarks")
kendall_tau([0.5, 0.5, 0.5], [0.1, 0.2, 0.3])
kendall_tau([0.5], [0.5])
kendall_tau([1, 2, 3], [1, 2, 3], last=50)
variance_of_tasks(FINE, 5, 15)
variance_of_tasks(np.tile([0.49, 0.51], 50), 2, 5)
variance_over_queries([(5, np.tile(FINE, 500)), (30, np.tile(FINE, 3))])
novel_set_variance([[0.1, 0.2], [0.3, 0.5]])
novel_set_variance(np.tile([0.2, 0.8], (40, 50)))
conclusion_stability(known(0.01, 0.005), BETTER, HALF)
conclusion_stability(known(0.01, 0.02), BETTER, HALF)
conclusion_stability(known(0.01, 0.005), NOISY, HALF)
conclusion_stability(known(0.01, 0.02), NOISY[:10], HALF[:10])
selection_bootstrap(first, [{"val": TABLE}], [TABLE])
selection_bootstrap(first, [{"val": TABLE}] * 3, [TABLE] * 3)
selection_bootstrap(first, [{"val": TABLE}] * 5, [TABLE] * 5)
selection_bootstrap(first, [{"val": TABLE}] * 5, [np.full((3, 4), nan), *[TABLE] * 4])
"""


def modules(package: ModuleType) -> list[ModuleType]:
    found = pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    return [package, *(import_module(module.name) for module in found)]


@pytest.fixture
def names() -> dict[str, Any]:
    """All functions by name, and what they are called with."""
    names = {name: value for module in modules(statistics) for name, value in vars(module).items()}
    names |= {"np": np, "nan": np.nan, "inf": np.inf, "FINE": [0.2, 0.4]}
    names["TABLE"] = np.full((3, 4), 0.5)
    names["PAIR"] = statistics.pair_components([(1.0, np.eye(3), np.eye(3))])
    names["first"] = lambda _, means: np.zeros(len(means["val"]), int)

    def single(mean: float, p_value: float) -> statistics.Comparison:
        return statistics.Comparison(statistics.mean_alone(mean), p_value, p_value, "undecided")

    def known(mean: float, half: float) -> statistics.Interval:
        return statistics.Interval(mean, mean - half, mean + half, 100, 0.95, "paired", None)

    half = 0.5 + np.tile([0.1, -0.1], (40, 20))
    better = half + np.linspace(-0.1, 0.1, 40)[:, None]
    noisy = better + np.random.default_rng(0).normal(0, 1, half.shape)
    tables = {"HALF": half, "BETTER": better, "NOISY": noisy}
    return {**names, **tables, "single": single, "known": known}


def test_what_is_refused(names, snapshot) -> None:
    messages = []
    for call in CALLS.strip().splitlines():
        with pytest.raises(ValueError, match=r".") as refused:
            eval(call, names)
        messages.append(f"{call}\n    {refused.value}")
    assert "\n".join(messages) == snapshot


def test_what_is_not_to_be_trusted(names, snapshot) -> None:
    """An interval or a tau that is not known is NaN, and no number is without its caution."""
    results = {call: eval(call, names) for call in CAUTIOUS.strip().splitlines()}
    assert (
        "\n".join(f"{call}\n    {result.caution}" for call, result in results.items()) == snapshot
    )
    unknown = [call for call, result in results.items() if np.isnan(getattr(result, "low", 0.0))]
    assert unknown == ["mean_interval([0.7])", CAUTIOUS.strip().splitlines()[-1]]
    taus = [result.tau for call, result in results.items() if call.startswith("kendall_tau")]
    assert np.isnan(taus).tolist() == [True, True, False]
