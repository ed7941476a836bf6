import numpy as np
import pytest
from pools import blank_pool
from scipy import stats

from fsl_sweep.datasets.tasks.classes import ClassTasks
from fsl_sweep.datasets.tasks.episodes import EpisodeShape
from fsl_sweep.datasets.tasks.fixed_support import FixedSupportTasks
from fsl_sweep.orchestrator.errors import BadData

PER_CLASS = 6


@pytest.fixture
def tasks():
    """Classes 1, 3, 4 of a pool of five, whose examples lie scattered."""
    labels = np.random.default_rng(0).permutation(np.repeat(np.arange(5), PER_CLASS))
    return ClassTasks(blank_pool(labels, "abcde"), np.array([1, 3, 4]))


def fixed(tasks, shot=2, seed=0, queries_from="others"):
    return FixedSupportTasks(tasks, shot, np.random.default_rng(seed), queries_from)


@pytest.mark.parametrize("query", [1, 4])
def test_episodes_use_the_fixed_support_and_other_queries(tasks, query):
    distribution = fixed(tasks)
    drawn = distribution.sample(200, EpisodeShape(2, 2, query), np.random.default_rng(1))
    labels = tasks.pool.labels
    assert drawn.query.shape == (200, 2, query)
    for part in (drawn.support, drawn.query):
        assert (labels[part] == drawn.classes[:, :, None]).all()
    support = {c: {tuple(s) for s in drawn.support[drawn.classes == c]} for c in (1, 3, 4)}
    assert all(len(tuples) == 1 for tuples in support.values())
    assert not set(drawn.support.ravel()) & set(drawn.query.ravel())
    assert all(len(set(task)) == 2 for task in drawn.classes)
    assert all(len(set(row)) == query for row in drawn.query.reshape(-1, query))


def test_queries_are_uniform_over_the_other_examples(tasks):
    drawn = fixed(tasks).sample(3000, EpisodeShape(2, 2, 1), np.random.default_rng(1))
    counts = np.bincount(drawn.query.ravel(), minlength=30)
    used = counts[counts > 0]
    assert len(used) == 3 * (PER_CLASS - 2)
    assert stats.chisquare(used).pvalue > 1e-4


def test_queries_from_all_examples_are_uniform_and_may_be_in_the_support(tasks):
    whole = fixed(tasks, queries_from="all")
    np.testing.assert_array_equal(whole.support, fixed(tasks).support)
    assert whole.digest() != fixed(tasks).digest()
    drawn = whole.sample(3000, EpisodeShape(2, 2, PER_CLASS - 1), np.random.default_rng(1))
    counts = np.bincount(drawn.query.ravel(), minlength=30)[tasks.examples]
    assert stats.chisquare(counts).pvalue > 1e-4
    assert (np.diff(np.sort(drawn.query), axis=2) > 0).all()
    with pytest.raises(BadData, match=r"7 queries .*, but class 'b' has 6 examples\."):
        whole.check(EpisodeShape(2, 2, 7))


def test_which_examples_are_fixed_is_uniform_and_follows_the_generator(tasks):
    assert (fixed(tasks, seed=1).support == fixed(tasks, seed=1).support).all()
    assert fixed(tasks, seed=1).digest() != fixed(tasks, seed=2).digest()
    drawn = np.concatenate([fixed(tasks, seed=s).support.ravel() for s in range(600)])
    counts = np.bincount(drawn, minlength=30)[tasks.examples]
    assert stats.chisquare(counts).pvalue > 1e-4


def test_too_few_examples_or_classes_are_refused_with_the_numbers(tasks):
    with pytest.raises(BadData, match="Class 'b' has 6 examples: with 6 fixed"):
        fixed(tasks, shot=6)
    rng = np.random.default_rng(0)
    with pytest.raises(BadData, match="5 queries a class are asked for, but class 'b' has 4"):
        fixed(tasks).sample(1, EpisodeShape(2, 2, 5), rng)
    with pytest.raises(BadData, match="4-way tasks need 4 classes, but only 3"):
        fixed(tasks).sample(1, EpisodeShape(4, 2, 1), rng)
    with pytest.raises(BadData, match="2 support examples a class are fixed, not 1"):
        fixed(tasks).sample(1, EpisodeShape(2, 1, 1), rng)
    with pytest.raises(BadData, match="0 tasks"):
        fixed(tasks).sample(0, EpisodeShape(2, 2, 1), rng)
