import numpy as np
import pytest
from pools import blank_pool

from fsl_sweep.datasets.tasks.attributes import AttributeTasks, FixedTasks, feasible_pairs
from fsl_sweep.datasets.tasks.episodes import EpisodeShape
from fsl_sweep.orchestrator.errors import BadData

SHAPE = EpisodeShape(2, 2, 3)


@pytest.fixture
def tasks():
    rng = np.random.default_rng(0)
    labels, known = rng.integers(0, 20, 300), rng.random((20, 6)) < 0.5
    pool = blank_pool(labels, attributes=known, attribute_names="abcdef")
    return AttributeTasks(pool, feasible_pairs(pool, np.arange(6), [np.arange(300)], 10))


def rows(episodes):
    parts = (episodes.support, episodes.query, episodes.classes)
    return {
        tuple(np.concatenate([part[t].ravel() for part in parts])) for t in range(len(episodes))
    }


def test_every_epoch_takes_the_same_tasks(tasks):
    fixed = FixedTasks(tasks, 7, seed=3)
    kept = rows(fixed.episodes(SHAPE))
    assert len(kept) == 7
    for seed in range(3):
        drawn = fixed.sample(100, SHAPE, np.random.default_rng(seed))
        assert rows(drawn) == kept
        assert rows(fixed.take(np.arange(7), SHAPE, np.random.default_rng(seed))) == kept
    assert fixed.count(SHAPE) == 7


def test_the_tasks_depend_on_the_seed_and_not_on_the_caller(tasks):
    first = FixedTasks(tasks, 20, seed=0)
    assert rows(first.episodes(SHAPE)) == rows(FixedTasks(tasks, 20, 0).episodes(SHAPE))
    assert rows(first.episodes(SHAPE)) != rows(FixedTasks(tasks, 20, 1).episodes(SHAPE))
    wider = first.episodes(EpisodeShape(2, 1, 4))
    np.testing.assert_array_equal(wider.classes, first.episodes(SHAPE).classes)


def test_more_tasks_see_more_pairs(tasks):
    counts = [len(FixedTasks(tasks, count, 0).pairs) for count in (1, 5, 400)]
    assert counts[0] == 1
    assert counts == sorted(counts)
    assert counts[2] == len(tasks.pairs)
    assert FixedTasks(tasks, 1, 0).size == 2


def test_the_digest_tells_number_and_seed(tasks):
    digests = {FixedTasks(tasks, *given).digest() for given in ((5, 0), (6, 0), (5, 1))}
    assert len(digests) == 3


def test_what_cannot_be_drawn_is_refused(tasks):
    fixed = FixedTasks(tasks, 5, 0)
    with pytest.raises(BadData, match="write `way: 2`"):
        fixed.check(EpisodeShape(3, 1, 1))
    with pytest.raises(BadData, match="examples a class"):
        fixed.sample(4, EpisodeShape(2, 200, 50), np.random.default_rng(0))
