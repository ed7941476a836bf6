from collections import Counter
from itertools import product
from math import comb

import numpy as np
import pytest
from pools import assert_uniform, scattered_pool
from scipy import stats

from fsl_sweep.datasets.tasks.classes import ClassTasks
from fsl_sweep.datasets.tasks.episodes import EpisodeShape
from fsl_sweep.datasets.tasks.fixed_support import FixedSupportTasks
from fsl_sweep.datasets.tasks.query_counts import MultinomialQueries

PER_CLASS = 9


@pytest.fixture
def tasks():
    """Five classes whose examples lie scattered."""
    return ClassTasks(scattered_pool([PER_CLASS] * 5, "abcde"), np.arange(5))


def drawn(tasks, count, *shape):
    return MultinomialQueries(tasks).sample(count, EpisodeShape(*shape), np.random.default_rng(1))


def test_counts_are_one_and_a_multinomial_share_of_the_others(tasks):
    """Against SciPy's probability of every way to share 3 x 2 queries among 3 classes."""
    assert MultinomialQueries(tasks).digest() != tasks.digest()
    counts = (drawn(tasks, 8000, 3, 1, 3).query >= 0).sum(axis=2)
    assert (counts >= 1).all()
    assert (counts.sum(axis=1) == 3 * 3).all()
    shares = [s for s in product(range(7), repeat=3) if sum(s) == 6]
    expected = stats.multinomial.pmf(np.array(shares), 6, [1 / 3] * 3) * len(counts)
    seen = Counter(map(tuple, (counts - 1).tolist()))
    assert set(seen) <= set(shares)
    assert stats.chisquare([seen[share] for share in shares], expected).pvalue > 1e-4


def test_support_and_queries_of_every_number_are_uniform(tasks):
    """Brute force: of a class with c queries, all sets of c of the other examples come alike."""
    two = ClassTasks(tasks.pool, np.array([0, 1]), tasks.examples[tasks.pool.labels < 2])
    episodes = drawn(two, 12_000, 2, 1, 2)
    queries = episodes.query[episodes.classes == 0]
    for number in (1, 2, 3):
        rows = queries[(queries >= 0).sum(axis=1) == number]
        assert_uniform([sorted(row[row >= 0]) for row in rows], comb(PER_CLASS, number))
    assert_uniform(episodes.support.ravel(), two.examples)


def test_every_class_must_have_what_may_fall_on_it_beside_a_fixed_support(tasks, refused, snapshot):
    """9 examples: 1 of support and up to 1 + 3 x 2 queries are there, 1 + 4 x 2 are not."""
    fixed = FixedSupportTasks(tasks, 1, np.random.default_rng(3))
    drawn(tasks, 1, 3, 1, 3)
    episodes = drawn(fixed, 400, 3, 1, 3)
    assert set(episodes.support.ravel()) == set(fixed.support.ravel())
    assert not set(episodes.query.ravel()) & set(fixed.support.ravel())
    counts = (episodes.query >= 0).sum(axis=2)
    assert (counts.sum(axis=1) == 9).all()
    assert len(np.unique(counts)) > 3
    assert [
        refused(drawn, tasks, 1, 4, 1, 3),
        refused(drawn, fixed, 1, 4, 1, 3),
        refused(drawn, tasks, 1, 6, 1, 1),
    ] == snapshot
