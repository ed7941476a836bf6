import numpy as np
import pytest
from scipy import stats
from trials import tabled, trial

from fsl_sweep.orchestrator.errors import ConfigError, UnknownName
from fsl_sweep.orchestrator.records.measures import TrialHistory
from fsl_sweep.orchestrator.selection.comparing.comparison import compare_methods, rank_methods
from fsl_sweep.orchestrator.selection.comparing.stability import stability_of
from fsl_sweep.orchestrator.selection.methods import summarise
from fsl_sweep.orchestrator.selection.resample import resample
from fsl_sweep.orchestrator.selection.select import select
from fsl_sweep.orchestrator.selectors.mixture import base_weight
from fsl_sweep.orchestrator.statistics import (
    compare,
    compare_mixtures,
    holm,
    mean_interval,
    mixture_interval,
)
from fsl_sweep.orchestrator.statistics.resampling import Resampling


def test_names() -> None:
    assert base_weight("novel") is None
    assert base_weight("mixture(0.25)") == 0.25
    assert base_weight("mixture(1)") == 1.0
    for wrong in ("mixture", "mixture(2)", "mixture(0.1, 0.9)", "novel(1)", "mixture(half)"):
        with pytest.raises(ConfigError, match="cannot be used"):
            base_weight(wrong)
    with pytest.raises(UnknownName, match="did you mean 'mixture'"):
        base_weight("mixtur(0.5)")


def test_interval_of_many_tasks_is_normal_and_weights_count() -> None:
    generator = np.random.default_rng(0)
    first, second = generator.random((2, 400))
    got = mixture_interval(first, second, 0.3)
    error = np.hypot(0.3 * stats.sem(first), 0.7 * stats.sem(second))
    assert got.high - got.mean == pytest.approx(stats.norm.ppf(0.975) * error)
    assert (got.n, got.kind) == (800, "mixture")
    for weight, alone in ((1.0, first), (0.0, second)):
        end, plain = mixture_interval(first, second, weight), mean_interval(alone)
        assert (end.mean, end.low, end.high) == pytest.approx((plain.mean, plain.low, plain.high))


def pair(seed: int, tasks: int, effect: float) -> tuple[np.ndarray, np.ndarray]:
    """Accuracies of a and b on tasks of one difficulty each; a is better by ``effect``."""
    generator = np.random.default_rng(seed)
    difficulty = generator.normal(0.6, 0.2, tasks)
    return tuple(difficulty + effect * i + generator.normal(0, 0.02, tasks) for i in (1, 0))


@pytest.mark.parametrize(("n", "m"), [(12, 30), (5, 5), (60, 99)])
@pytest.mark.parametrize("weight", [0.2, 0.5])
def test_comparison_is_welchs_test_of_paired_differences(n: int, m: int, weight: float) -> None:
    base, novel = pair(n, n, 0.01), pair(m + 1, m, 0.005)
    got = compare_mixtures(base, novel, weight)
    first, second = weight * (base[0] - base[1]), (1 - weight) * (novel[0] - novel[1])
    oracle = stats.ttest_ind(first, -second, equal_var=False)
    interval = oracle.confidence_interval(0.95)
    assert got.effect.mean == pytest.approx(first.mean() + second.mean())
    assert (got.effect.low, got.effect.high) == pytest.approx((interval.low, interval.high))
    assert got.p_value == pytest.approx(oracle.pvalue)
    assert (got.effect.n, got.effect.kind) == (n + m, "paired")
    assert (got.p_value < 0.05) == (got.verdict in ("better", "worse"))
    turned = compare_mixtures(base[::-1], novel[::-1], weight)
    assert turned.effect.mean == pytest.approx(-got.effect.mean)
    assert turned.p_value == pytest.approx(got.p_value)


def test_comparison_of_many_tasks_is_normal() -> None:
    base, novel = pair(1, 150, 0.001), pair(2, 400, 0.001)
    got = compare_mixtures(base, novel, 0.3)
    error = np.hypot(0.3 * stats.sem(base[0] - base[1]), 0.7 * stats.sem(novel[0] - novel[1]))
    assert got.p_value == pytest.approx(2 * stats.norm.sf(abs(got.effect.mean) / error))


def test_at_its_ends_a_mixture_is_compared_as_one_distribution() -> None:
    base, novel = pair(3, 20, 0.01), pair(4, 25, -0.02)
    for weight, alone in ((1.0, base), (0.0, novel)):
        got, plain = compare_mixtures(base, novel, weight, 0.002), compare(*alone, 0.002)
        assert (got.verdict, got.effect.n) == (plain.verdict, plain.effect.n)
        assert (got.effect.mean, got.effect.low, got.p_value) == pytest.approx(
            (plain.effect.mean, plain.effect.low, plain.p_value)
        )


def test_comparison_without_spread_or_without_common_tasks() -> None:
    same = (np.full(5, 0.5), np.full(5, 0.5))
    assert compare_mixtures(same, same, 0.5).verdict == "equivalent"
    assert compare_mixtures((same[0] + 0.1, same[1]), same, 0.5).p_value == 0.0
    lonely = (np.array([0.9]), np.array([0.1]))
    assert np.isnan(compare_mixtures(lonely, same, 0.5).p_value)
    assert compare_mixtures(lonely, same, 0.5).verdict == "undecided"
    with pytest.raises(ValueError, match="common tasks"):
        compare_mixtures((same[0], same[0][1:]), same, 0.5)
    with pytest.raises(ValueError, match="between 0 and 1"):
        compare_mixtures(same, same, 1.5)


@pytest.mark.parametrize(("n", "m", "weight"), [(4, 40, 0.5), (6, 6, 0.3), (8, 200, 0.8)])
def test_interval_holds_the_true_difference_as_often_as_it_claims(
    n: int, m: int, weight: float
) -> None:
    """Base and novel tasks differ in number and in spread; the true difference is known."""
    generator, inside, worlds = np.random.default_rng(n), 0, 2000
    truth = weight * 0.03 + (1 - weight) * -0.01
    for _ in range(worlds):
        tasks = generator.normal(0.6, 0.2, n), generator.normal(0.5, 0.3, m)
        base = tasks[0] + 0.03 + generator.normal(0, 0.08, n), tasks[0]
        novel = tasks[1] - 0.01 + generator.normal(0, 0.02, m), tasks[1]
        effect = compare_mixtures(base, novel, weight, confidence=0.9).effect
        inside += effect.low <= truth <= effect.high
    # The binomial's standard deviation is 0.0067; Welch's approximation adds a little.
    assert inside / worlds == pytest.approx(0.9, abs=0.025)


def noisy(method: str, seed: int, base: float, novel: float) -> TrialHistory:
    """One snapshot with its own accuracies on tasks; 30 base and 20 novel ones."""
    plain = trial(method, "x", seed, base=[0.5], val=[0.5], novel=[0.5])
    generator = np.random.default_rng([seed, *map(ord, method)])
    level, count = {"base": base, "val": 0.5, "novel": novel}, {"base": 30, "val": 10, "novel": 20}
    return tabled(plain, lambda m: level[m] + generator.normal(0, 0.05, (1, count[m])))


# By NovelGen C leads, by BaseGen A; the worst seed of A is the third on base tasks.
LEVELS = {"A": (0.8, 0.40), "B": (0.6, 0.45), "C": (0.5, 0.50)}
GIVEN = [noisy(name, seed, *LEVELS[name]) for name in LEVELS for seed in (0, 1, 2)]


def on_tasks(method: str, measure: str) -> np.ndarray:
    """``[seeds, T]``, straight from the records."""
    return np.concatenate([t.scores[measure, "report"].load() for t in GIVEN if t.method == method])


def test_verdicts_of_methods_follow_the_metric() -> None:
    found = compare_methods(summarise(select(GIVEN, ["val"], ["val"], 0.4)))
    assert [(one.a, one.b) for one in found] == [("A", "B"), ("A", "C"), ("B", "C")]
    p_values = []
    for one in found:
        base, novel = (
            (on_tasks(one.a, m) - on_tasks(one.b, m)).mean(axis=0) for m in ("base", "novel")
        )
        oracle = stats.ttest_ind(0.4 * base, -0.6 * novel, equal_var=False)
        assert one.result.effect.mean == pytest.approx(0.4 * base.mean() + 0.6 * novel.mean())
        assert one.result.p_value == pytest.approx(oracle.pvalue)
        p_values.append(oracle.pvalue)
    assert [one.result.p_adjusted for one in found] == pytest.approx(holm(p_values).tolist())
    by_novel = compare_methods(summarise(select(GIVEN, ["val"], ["val"])))
    turned = {(one.a, one.b): one.result.verdict for one in by_novel}
    assert (turned["A", "C"], found[1].result.verdict) == ("worse", "better")


def test_rankings_and_stability_follow_the_metric() -> None:
    selected, plain = select(GIVEN, ["val"], ["val"], 0.5), select(GIVEN, ["val"], ["val"])
    summaries = summarise(selected)
    for cell in summaries:
        means = sum(on_tasks(cell.method, m).mean(axis=1) for m in ("base", "novel")) / 2
        expected = stats.t.interval(0.95, 2, np.mean(means), stats.sem(means))
        assert (cell.reported.low, cell.reported.high) == pytest.approx(expected)
        assert cell.reported_tasks is not None
        assert cell.reported_tasks.mean == pytest.approx(means.mean())
    (by_novel,), (by_half,) = rank_methods(summarise(plain)), rank_methods(summaries)
    assert (by_novel.methods, by_half.methods) == (("C", "B", "A"), ("A", "B", "C"))
    (one,) = stability_of(summaries, resample(GIVEN, selected, resamples=300))
    assert [m.method for m in one.methods] == ["A", "B", "C"]
    for method in one.methods:
        by_seed = sum(on_tasks(method.method, m).mean(axis=1) for m in ("base", "novel")) / 2
        assert method.mean == pytest.approx(by_seed.mean())
        assert (method.worst, method.worst_seed) == (pytest.approx(by_seed.min()), by_seed.argmin())
    assert one.seeds is not None
    assert (one.seeds.same, one.seeds.of) == (3, 3)
    chances = {m.method: m.probability_best for m in one.methods}
    assert chances["A"] is not None
    assert chances["A"] > 0.99
    (usual,) = stability_of(summarise(plain), resample(GIVEN, plain, resamples=300))
    assert usual.methods[0].method == "C"
    assert (usual.methods[0].probability_best or 0) > 0.9


def test_resampled_mixtures_draw_base_and_novel_tasks_apart() -> None:
    cells = resample(GIVEN, select(GIVEN, ["val"], ["val"], 0.4), resamples=50, seed=3)
    draws = Resampling(50, 3)
    for cell in cells:
        means = {
            m: np.stack(
                [
                    [np.average(row, weights=w) for w in draws.weights((m, "report"), len(row))]
                    for row in on_tasks(cell.method, m)
                ]
            )
            for m in ("base", "novel")
        }
        expected = 0.4 * means["base"] + 0.6 * means["novel"]
        assert cell.mixed_values is not None
        assert cell.mixed is not None
        assert cell.mixed_values == pytest.approx(expected, abs=1e-9)
        assert cell.values == pytest.approx(means["novel"], abs=1e-9)
        assert cell.mixed.mean == pytest.approx(expected[:, 0].mean())
    plain = resample(GIVEN, select(GIVEN, ["val"], ["val"]), resamples=50, seed=3)
    assert [one.result for one in plain] == [one.result for one in cells]
    assert all(one.mixed is None and one.reported is one.values for one in plain)
