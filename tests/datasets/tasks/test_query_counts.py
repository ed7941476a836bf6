import itertools
from collections import Counter
from math import comb

import numpy as np
import pytest
from pools import blank_pool
from scipy import stats

from fsl_sweep.datasets.tasks.classes import ClassTasks
from fsl_sweep.datasets.tasks.episodes import EpisodeShape
from fsl_sweep.datasets.tasks.fixed_support import FixedSupportTasks
from fsl_sweep.datasets.tasks.query_counts import MultinomialQueries
from fsl_sweep.orchestrator.errors import BadData

PER_CLASS = 9


@pytest.fixture
def tasks():
    """Five classes whose examples lie scattered."""
    labels = np.random.default_rng(0).permutation(np.repeat(np.arange(5), PER_CLASS))
    return ClassTasks(blank_pool(labels, "abcde"), np.arange(5))


def drawn(tasks, shape, count, seed=1):
    return MultinomialQueries(tasks).sample(count, shape, np.random.default_rng(seed))


def test_counts_are_one_and_a_multinomial_share_of_the_others(tasks):
    """Against SciPy's probability of every way to share 3 x 2 queries among 3 classes."""
    assert MultinomialQueries(tasks).digest() != tasks.digest()
    counts = (drawn(tasks, EpisodeShape(3, 1, 3), 8000).query >= 0).sum(axis=2)
    shares = [s for s in itertools.product(range(7), repeat=3) if sum(s) == 6]
    expected = stats.multinomial.pmf(np.array(shares), 6, [1 / 3] * 3) * len(counts)
    seen = Counter(map(tuple, (counts - 1).tolist()))
    assert set(seen) <= set(shares)
    found = np.array([seen[share] for share in shares])
    assert stats.chisquare(found, expected).pvalue > 1e-4
    assert (counts >= 1).all()
    assert (counts.sum(axis=1) == 3 * 3).all()


def test_support_and_queries_of_every_number_are_uniform(tasks):
    """Brute force: of a class with c queries, all sets of c of the other examples come alike."""
    one = ClassTasks(tasks.pool, np.array([0, 1]), tasks.examples[tasks.pool.labels < 2])
    episodes = drawn(one, EpisodeShape(2, 1, 2), 12_000)
    its = episodes.query[episodes.classes == 0]
    for number in (1, 2, 3):
        rows = its[(its >= 0).sum(axis=1) == number]
        sets = Counter(tuple(sorted(row[row >= 0])) for row in rows)
        assert len(sets) == comb(PER_CLASS, number)
        assert stats.chisquare(list(sets.values())).pvalue > 1e-4
    supports = np.bincount(episodes.support.ravel())[one.examples]
    assert stats.chisquare(supports).pvalue > 1e-4


def test_a_fixed_support_stays_fixed_and_is_never_asked(tasks):
    fixed = FixedSupportTasks(tasks, 2, np.random.default_rng(3))
    episodes = drawn(fixed, EpisodeShape(3, 2, 3), 400)
    assert set(episodes.support.ravel()) == set(fixed.support.ravel())
    assert not set(episodes.query.ravel()) & set(fixed.support.ravel())
    counts = (episodes.query >= 0).sum(axis=2)
    assert (counts.sum(axis=1) == 9).all()
    assert len(np.unique(counts)) > 3


def test_every_class_must_have_what_may_fall_on_it(tasks):
    """9 examples: 1 of support and up to 1 + 3 x 2 queries are there, 1 + 4 x 2 are not."""
    drawn(tasks, EpisodeShape(3, 1, 3), 1)
    fixed = FixedSupportTasks(tasks, 1, np.random.default_rng(0))
    drawn(fixed, EpisodeShape(3, 1, 3), 1)
    with pytest.raises(BadData, match="need 10 examples a class, but class 'a' has 9"):
        drawn(tasks, EpisodeShape(4, 1, 3), 1)
    with pytest.raises(BadData, match="9 queries a class are asked for, but class 'a' has 8"):
        drawn(fixed, EpisodeShape(4, 1, 3), 1)
    with pytest.raises(BadData, match="6-way tasks need 6 classes"):
        drawn(tasks, EpisodeShape(6, 1, 1), 1)
