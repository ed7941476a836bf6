import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pools import assert_uniform, blank_pool

from fsl_sweep.datasets.pool import ImagePool
from fsl_sweep.datasets.tasks.classes import ClassTasks
from fsl_sweep.datasets.tasks.episodes import EpisodeShape, VaryingShape
from fsl_sweep.datasets.tasks.writers import WriterTasks
from fsl_sweep.orchestrator.errors import BadData

# Examples that each of four writers has of each of five characters.
TABLE = np.array([[4, 3, 0, 2, 5], [2, 2, 2, 2, 2], [1, 1, 1, 6, 1], [0, 3, 7, 0, 0]])
EVERYTHING = VaryingShape(None, 1, None)


def made_pool(table: np.ndarray) -> ImagePool:
    """Examples scattered over the pool; writers have ids with gaps."""
    rows = np.repeat(np.argwhere(table >= 0), table.ravel(), axis=0)
    rows = np.random.default_rng(5).permutation(rows)
    return blank_pool(rows[:, 1], table.shape[1], writers=10 * rows[:, 0])


def made(table=TABLE) -> WriterTasks:
    return WriterTasks(made_pool(table), 10 * np.arange(len(table)))


def padding_is_last(indices) -> bool:
    return not np.any(np.diff((indices >= 0).astype(int)) > 0)


def tasks_of(tasks, drawn):
    """Each episode without its padding: the writer, and support and query by class."""
    for support, query, classes in zip(drawn.support, drawn.query, drawn.classes, strict=True):
        there = classes >= 0
        assert padding_is_last(classes)
        assert (support[~there] == -1).all()
        assert (query[~there] == -1).all()
        assert (support[there] >= 0).all()
        by_class, writers = {}, set()
        for label, s, q in zip(classes[there], support[there], query[there], strict=True):
            assert padding_is_last(q)
            both = np.concatenate([s, q[q >= 0]])
            assert len(set(both)) == len(both)
            assert (tasks.pool.labels[both] == label).all()
            writers |= set(tasks.pool.writers[both].tolist())
            by_class[int(label)] = (s, q[q >= 0])
        (writer,) = writers
        yield writer // 10, by_class


@given(
    table=st.lists(st.lists(st.integers(0, 5), min_size=4, max_size=4), min_size=1, max_size=5),
    way=st.sampled_from([None, 1, 2, 3]),
    shot=st.integers(1, 2),
    query=st.sampled_from([None, 1, 2]),
    seed=st.integers(0, 2**32),
)
def test_episodes_are_a_writers_own_with_what_the_shape_asks_for(table, way, shot, query, seed):
    table = np.array([[*row, 1] for row in table])  # a last character, so that each wrote something
    tasks, rng = made(table), np.random.default_rng(seed)
    shape = (EpisodeShape if way and query else VaryingShape)(way, shot, query)
    enough = table >= shot + (query or 1)
    able = set(np.flatnonzero(enough.sum(axis=1) >= (way or 2)))
    if not able:
        with pytest.raises(BadData, match="Tasks of writers with"):
            tasks.sample(3, shape, rng)
        return
    drawn, whole = tasks.sample(30, shape, rng), tasks.take(rng.permutation(len(able)), shape, rng)
    assert tasks.count(shape) == len(able)
    assert {writer for writer, _ in tasks_of(tasks, drawn)} <= able
    assert sorted(writer for writer, _ in tasks_of(tasks, whole)) == sorted(able)
    for episodes in (drawn, whole):
        for writer, by_class in tasks_of(tasks, episodes):
            wanted = set(np.flatnonzero(enough[writer]))
            assert set(by_class) <= wanted
            assert len(by_class) == (way or len(wanted))
            for label, (support, queries) in by_class.items():
                assert len(support) == shot
                assert len(queries) == (query or table[writer, label] - shot)
        if isinstance(shape, EpisodeShape):
            parts = (episodes.support, episodes.query, episodes.classes)
            assert min(part.min() for part in parts) >= 0


def test_writers_classes_and_examples_are_uniform():
    """Writers whatever they wrote; where the number of ways is given, of a writer's classes."""
    tasks, rng = made(), np.random.default_rng(0)
    drawn = tasks.sample(20_000, EVERYTHING, rng)
    # Writer 2 has a single character twice.
    assert_uniform(tasks.pool.writers[drawn.support[:, 0, 0]], [0, 10, 30])
    tasks = made(TABLE[:1])
    drawn = tasks.sample(20_000, EpisodeShape(2, 1, 1), rng)
    assert_uniform(drawn.classes, 12)  # ordered pairs of characters 0, 1, 3 and 4
    drawn = tasks.sample(20_000, VaryingShape(None, 1, 1), rng)
    for part in (drawn.support, drawn.query):
        for label in (0, 1, 3, 4):
            chosen = part[(part >= 0) & (tasks.pool.labels[part] == label)]
            assert_uniform(chosen, int(TABLE[0, label]))


def test_tasks_are_of_the_chosen_writers_and_examples():
    pool = made_pool(TABLE)
    some = np.flatnonzero(pool.writers == 0)[::2]
    tasks = WriterTasks(pool, np.array([0]), some)
    drawn = tasks.sample(100, EVERYTHING, np.random.default_rng(0))
    used = np.concatenate([drawn.support.ravel(), drawn.query.ravel()])
    assert set(used[used >= 0]) <= set(some)
    tasks = WriterTasks(pool, np.array([30, 0]))
    assert tasks.writers.tolist() == [0, 30]
    assert (tasks.size, tasks.unit) == (2, "writers")
    assert tasks.classes.tolist() == [0, 1, 2, 3, 4]
    assert len(tasks.examples) == TABLE[[0, 3]].sum()


def test_small_chunks_are_padded_alike_and_the_digest_follows_what_is_drawn(monkeypatch):
    monkeypatch.setattr("fsl_sweep.datasets.tasks.distribution.INDICES_AT_ONCE", 1)
    drawn = made().sample(50, EVERYTHING, np.random.default_rng(0))
    assert (drawn.support.shape, drawn.query.shape) == ((50, 5, 1), (50, 5, 6))
    assert len(list(tasks_of(made(), drawn))) == 50
    pool, both = made_pool(TABLE), np.array([0, 10])
    first = WriterTasks(pool, both)
    others = [
        WriterTasks(pool, np.array([0, 30])),
        WriterTasks(pool, both, first.examples[1:]),
        WriterTasks(made_pool(TABLE + 1), both),
        WriterTasks(made_pool(TABLE), both[::-1]),  # the same
    ]
    assert len({first.digest(), *(other.digest() for other in others)}) == 4
    assert others[3].digest() == first.digest()


def test_what_cannot_be_drawn_is_refused_with_the_numbers(pool, refused, snapshot):
    tasks, rng = made(), np.random.default_rng(0)
    classes = ClassTasks(pool, np.arange(6))
    tasks.check(EpisodeShape(5, 1, 1))
    assert [
        refused(tasks.check, EpisodeShape(3, 2, 2)),
        refused(tasks.sample, 1, VaryingShape(None, 7, None), rng),
        refused(tasks.sample, 0, EVERYTHING, rng),
        refused(WriterTasks, made_pool(TABLE), np.array([0]), np.arange(20)),
        refused(WriterTasks, pool, np.array([0])),
        refused(classes.sample, 2, VaryingShape(None, 1, 2), rng),
        refused(classes.sample, 2, VaryingShape(2, 1, None), rng),
    ] == snapshot
