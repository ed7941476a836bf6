import numpy as np
import pytest
from scipy import stats
from trials import trial

from fsl_sweep.orchestrator.errors import ConfigError, UnknownName
from fsl_sweep.orchestrator.reported_metric import base_weight, mix
from fsl_sweep.orchestrator.selection import select
from fsl_sweep.orchestrator.statistics import mean_interval, mixture_interval
from fsl_sweep.orchestrator.summary import summarise


def test_names() -> None:
    assert base_weight("novel") is None
    assert base_weight("mixture(0.25)") == 0.25
    assert base_weight("mixture(1)") == 1.0
    for wrong in ("mixture", "mixture(2)", "mixture(0.1, 0.9)", "novel(1)", "mixture(half)"):
        with pytest.raises(ConfigError, match="cannot be used"):
            base_weight(wrong)
    with pytest.raises(UnknownName, match="did you mean 'mixture'"):
        base_weight("mixtur(0.5)")


@pytest.mark.parametrize(("n", "m"), [(12, 30), (5, 5), (60, 20)])
def test_interval_is_welchs(n: int, m: int) -> None:
    generator = np.random.default_rng(n)
    first, second = generator.normal(0.5, 0.1, n), generator.normal(0.6, 0.2, m)
    # A sum is the difference from the negative.
    oracle = stats.ttest_ind(first, -second, equal_var=False).confidence_interval(0.9)
    got = mixture_interval(first, second, 0.5, 0.9)
    assert (got.low, got.high) == pytest.approx((oracle.low / 2, oracle.high / 2))
    assert got.mean == pytest.approx((first.mean() + second.mean()) / 2)
    assert (got.n, got.kind) == (n + m, "mixture")


def test_interval_of_many_tasks_is_normal_and_weights_count() -> None:
    generator = np.random.default_rng(0)
    first, second = generator.random((2, 400))
    got = mixture_interval(first, second, 0.3)
    error = np.hypot(0.3 * stats.sem(first), 0.7 * stats.sem(second))
    assert got.high - got.mean == pytest.approx(stats.norm.ppf(0.975) * error)
    for weight, alone in ((1.0, first), (0.0, second)):
        end, plain = mixture_interval(first, second, weight), mean_interval(alone)
        assert (end.mean, end.low, end.high) == pytest.approx((plain.mean, plain.low, plain.high))
    with pytest.raises(ValueError, match="between 0 and 1"):
        mixture_interval(first, second, 1.5)


def test_the_ranking_turns_with_the_weight() -> None:
    given = [
        t
        for seed, extra in enumerate((0.0, 0.02))
        for t in (
            trial("ID", "x", seed, base=[0.9 + extra], val=[0.5], novel=[0.4]),
            trial("OOD", "x", seed, base=[0.6], val=[0.5], novel=[0.5 + extra], spread=0.03),
        )
    ]
    summaries = summarise(select(given, ["val"], ["val"]))
    novel, half = mix(summaries, 0.1), mix(summaries, 0.5)
    assert [one.methods for one in (*novel.rankings, *half.rankings)] == [
        ("OOD", "ID"),
        ("ID", "OOD"),
    ]
    (cell,) = [one for one in half.cells if one.method == "ID"]
    means = [(0.9 + 0.4) / 2, (0.92 + 0.4) / 2]
    low, high = stats.t.interval(0.95, 1, np.mean(means), stats.sem(means))
    assert (cell.seeds.mean, cell.seeds.low, cell.seeds.high) == pytest.approx(
        (np.mean(means), low, high)
    )
    assert cell.tasks is not None
    assert cell.tasks.mean == pytest.approx(np.mean(means))
