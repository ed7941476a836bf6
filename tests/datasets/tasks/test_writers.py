import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pools import blank_pool
from scipy.stats import chisquare

from fsl_sweep.datasets.pool import ImagePool
from fsl_sweep.datasets.tasks.classes import ClassTasks
from fsl_sweep.datasets.tasks.episodes import EpisodeShape, VaryingShape
from fsl_sweep.datasets.tasks.writers import WriterTasks
from fsl_sweep.orchestrator.errors import BadData

# Examples that each of four writers has of each of five characters.
TABLE = np.array([[4, 3, 0, 2, 5], [2, 2, 2, 2, 2], [1, 1, 1, 6, 1], [0, 3, 7, 0, 0]])


def made_pool(table: np.ndarray) -> ImagePool:
    """Examples scattered over the pool; writers have ids with gaps."""
    writer, label = np.indices(table.shape)
    rows = np.repeat(np.stack([writer.ravel(), label.ravel()], axis=1), table.ravel(), axis=0)
    rows = np.random.default_rng(5).permutation(rows)
    return blank_pool(rows[:, 1], table.shape[1], writers=10 * rows[:, 0])


def made(table=TABLE) -> WriterTasks:
    return WriterTasks(made_pool(np.array(table)), 10 * np.arange(len(table)))


def tasks_of(tasks, drawn):
    """Each episode without its padding: the writer, and support and query by class."""
    for support, query, classes in zip(drawn.support, drawn.query, drawn.classes, strict=True):
        there = classes >= 0
        assert not np.any(np.diff(there.astype(int)) > 0)  # classes first, then padding
        assert (support[~there] == -1).all()
        assert (query[~there] == -1).all()
        assert (support[there] >= 0).all()
        by_class = {}
        for label, s, q in zip(classes[there], support[there], query[there], strict=True):
            assert not np.any(np.diff((q >= 0).astype(int)) > 0)
            q = q[q >= 0]
            assert len(set(s) | set(q)) == len(s) + len(q)
            both = np.concatenate([s, q])
            assert (tasks.pool.labels[both] == label).all()
            by_class[int(label)] = (s, q)
        used = np.concatenate([np.concatenate(pair) for pair in by_class.values()])
        (writer,) = set(tasks.pool.writers[used])
        yield int(writer) // 10, by_class


@given(
    table=st.lists(st.lists(st.integers(0, 5), min_size=4, max_size=4), min_size=1, max_size=5),
    way=st.sampled_from([None, 1, 2, 3]),
    shot=st.integers(1, 2),
    query=st.sampled_from([None, 1, 2]),
    seed=st.integers(0, 2**32),
)
def test_episodes_are_a_writers_own_with_what_the_shape_asks_for(table, way, shot, query, seed):
    table = np.array([[*row, 1] for row in table])  # a last character, so that each wrote something
    tasks = made(table)
    shape = (
        VaryingShape(way, shot, query)
        if way is None or query is None
        else EpisodeShape(way, shot, query)
    )
    enough = table >= shot + (query or 1)
    able = set(np.flatnonzero(enough.sum(axis=1) >= (way or 2)))
    rng = np.random.default_rng(seed)
    if not able:
        with pytest.raises(BadData, match="Tasks of writers with"):
            tasks.sample(3, shape, rng)
        return
    for drawn, once in (
        (tasks.sample(30, shape, rng), False),
        (tasks.take(rng.permutation(tasks.count(shape)), shape, rng), True),
    ):
        seen = []
        for writer, by_class in tasks_of(tasks, drawn):
            seen.append(writer)
            wanted = set(np.flatnonzero(enough[writer]))
            assert set(by_class) <= wanted
            assert len(by_class) == (way or len(wanted))
            for label, (support, queries) in by_class.items():
                assert len(support) == shot
                assert len(queries) == (query or table[writer, label] - shot)
        if isinstance(shape, EpisodeShape):
            assert min(drawn.support.min(), drawn.query.min(), drawn.classes.min()) >= 0
        if once:
            assert sorted(seen) == sorted(able)
        else:
            assert set(seen) <= able


def test_writers_are_uniform_whatever_they_wrote():
    drawn = made().sample(20_000, VaryingShape(None, 1, None), np.random.default_rng(0))
    writers = made().pool.writers[drawn.support[:, 0, 0]] // 10
    assert set(writers) == {0, 1, 3}  # writer 2 has a single character twice
    assert chisquare(np.bincount(writers)[[0, 1, 3]]).pvalue > 1e-4


def test_a_number_of_ways_draws_that_many_of_a_writers_classes_uniformly():
    tasks = made(TABLE[:1])
    drawn = tasks.sample(20_000, EpisodeShape(2, 1, 1), np.random.default_rng(0))
    pairs, counts = np.unique(drawn.classes, axis=0, return_counts=True)
    assert len(pairs) == 12  # ordered pairs of characters 0, 1, 3 and 4
    assert chisquare(counts).pvalue > 1e-4


def test_examples_are_uniform_in_support_and_queries():
    tasks = made(TABLE[:1])
    drawn = tasks.sample(20_000, VaryingShape(None, 1, 1), np.random.default_rng(0))
    for part in (drawn.support, drawn.query):
        for label in (0, 1, 3, 4):
            chosen = part[(part >= 0) & (tasks.pool.labels[part] == label)]
            _, counts = np.unique(chosen, return_counts=True)
            assert len(counts) == TABLE[0, label]
            assert chisquare(counts).pvalue > 1e-4


def test_tasks_are_of_the_given_writers_and_examples():
    pool = made_pool(TABLE)
    some = np.flatnonzero(pool.writers == 0)[::2]
    tasks = WriterTasks(pool, np.array([0]), some)
    drawn = tasks.sample(100, VaryingShape(None, 1, None), np.random.default_rng(0))
    used = np.concatenate([drawn.support.ravel(), drawn.query.ravel()])
    assert set(used[used >= 0]) <= set(some)
    tasks = WriterTasks(pool, np.array([30, 0]))
    assert tasks.writers.tolist() == [0, 30]
    assert (tasks.size, tasks.unit) == (2, "writers")
    assert tasks.classes.tolist() == [0, 1, 2, 3, 4]
    assert len(tasks.examples) == TABLE[[0, 3]].sum()


def test_small_chunks_are_padded_alike(monkeypatch):
    shape, rng = VaryingShape(None, 1, None), np.random.default_rng(0)
    monkeypatch.setattr("fsl_sweep.datasets.tasks.distribution.INDICES_AT_ONCE", 1)
    drawn = made().sample(50, shape, rng)
    assert drawn.support.shape == (50, 5, 1)
    assert drawn.query.shape == (50, 5, 6)
    assert len(list(tasks_of(made(), drawn))) == 50


def test_a_shape_that_nobody_fills_is_refused_with_the_numbers():
    tasks, rng = made(), np.random.default_rng(0)
    tasks.check(EpisodeShape(5, 1, 1))
    with pytest.raises(BadData) as caught:
        tasks.check(EpisodeShape(3, 2, 2))
    assert str(caught.value) == (
        "Tasks of writers with 2 support examples and 2 queries a class need 3 classes of 4 "
        "examples by one person, but the best of 4 writers has 2."
    )
    with pytest.raises(BadData, match=r"need 2 classes of 8 examples .* has 0"):
        tasks.sample(1, VaryingShape(None, 7, None), rng)
    with pytest.raises(BadData, match="0 tasks"):
        tasks.sample(0, VaryingShape(None, 1, None), rng)


def test_pools_without_writers_and_examples_of_others_are_refused(pool):
    with pytest.raises(BadData, match="by a writer that"):
        WriterTasks(made_pool(TABLE), np.array([0]), np.arange(20))
    with pytest.raises(BadData, match="who wrote each image"):
        WriterTasks(pool, np.array([0]))


def test_the_digest_follows_pool_writers_and_examples():
    pool = made_pool(TABLE)
    first = WriterTasks(pool, np.array([0, 10]))
    assert WriterTasks(made_pool(TABLE), np.array([10, 0])).digest() == first.digest()
    others = [
        WriterTasks(pool, np.array([0, 30])),
        WriterTasks(pool, np.array([0, 10]), first.examples[1:]),
        WriterTasks(made_pool(TABLE + 1), np.array([0, 10])),
    ]
    assert len({first.digest(), *(other.digest() for other in others)}) == 4


def test_class_tuples_do_not_vary(pool):
    tasks, rng = ClassTasks(pool, np.arange(6)), np.random.default_rng(0)
    for shape, asked in (
        (VaryingShape(None, 1, 2), "way: all"),
        (VaryingShape(2, 1, None), "query: rest"),
    ):
        with pytest.raises(BadData, match=f"'{asked}' takes all that a task has"):
            tasks.sample(2, shape, rng)
