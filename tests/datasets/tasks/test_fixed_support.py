import numpy as np
import pytest
from pools import assert_proper, assert_uniform, scattered_pool

from fsl_sweep.datasets.tasks.classes import ClassTasks
from fsl_sweep.datasets.tasks.episodes import EpisodeShape
from fsl_sweep.datasets.tasks.fixed_support import FixedSupportTasks

PER_CLASS = 6


@pytest.fixture
def tasks():
    """Classes 1, 3, 4 of a pool of five, whose examples lie scattered."""
    return ClassTasks(scattered_pool([PER_CLASS] * 5, "abcde"), np.array([1, 3, 4]))


def fixed(tasks, shot=2, seed=0, queries_from="others"):
    return FixedSupportTasks(tasks, shot, np.random.default_rng(seed), queries_from)


def drawn(tasks, count, *shape):
    return tasks.sample(count, EpisodeShape(*shape), np.random.default_rng(1))


@pytest.mark.parametrize("query", [1, 4])
def test_episodes_use_the_fixed_support_and_other_queries(tasks, query):
    episodes = drawn(fixed(tasks), 3000, 2, 2, query)
    assert_proper(tasks, episodes, 3000, EpisodeShape(2, 2, query))
    for label in (1, 3, 4):
        assert len({tuple(s) for s in episodes.support[episodes.classes == label]}) == 1
    assert not set(episodes.support.ravel()) & set(episodes.query.ravel())
    assert_uniform(episodes.query[:, :, 0].ravel(), 3 * (PER_CLASS - 2))


def test_queries_from_all_examples_are_uniform_and_may_be_in_the_support(tasks):
    whole = fixed(tasks, queries_from="all")
    np.testing.assert_array_equal(whole.support, fixed(tasks).support)
    assert whole.digest() != fixed(tasks).digest()
    query = drawn(whole, 3000, 2, 2, PER_CLASS - 1).query
    assert_uniform(query.ravel(), tasks.examples)
    assert (np.diff(np.sort(query), axis=2) > 0).all()


def test_which_examples_are_fixed_is_uniform_and_follows_the_generator(tasks):
    assert (fixed(tasks, seed=1).support == fixed(tasks, seed=1).support).all()
    assert fixed(tasks, seed=1).digest() != fixed(tasks, seed=2).digest()
    support = np.concatenate([fixed(tasks, seed=s).support.ravel() for s in range(600)])
    assert_uniform(support, tasks.examples)


def test_too_few_examples_or_classes_are_refused_with_the_numbers(tasks, refused, snapshot):
    shapes = ((1, 2, 2, 5), (1, 4, 2, 1), (1, 2, 1, 1), (0, 2, 2, 1))
    assert [
        refused(fixed, tasks, shot=6),
        *(refused(drawn, fixed(tasks), *shape) for shape in shapes),
        refused(drawn, fixed(tasks, queries_from="all"), 1, 2, 2, 7),
    ] == snapshot
