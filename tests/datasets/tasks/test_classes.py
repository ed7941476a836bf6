import tracemalloc

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from pools import assert_proper, assert_uniform, scattered_pool

from fsl_sweep.datasets.benchmark import Benchmark, common_tasks
from fsl_sweep.datasets.files.digests import array_digest
from fsl_sweep.datasets.splits.drawn import class_benchmark
from fsl_sweep.datasets.tasks.classes import ClassTasks
from fsl_sweep.datasets.tasks.episodes import EpisodeShape
from fsl_sweep.datasets.tasks.fixed_support import FixedSupportTasks


def made_benchmark(seed: int = 0) -> Benchmark:
    classes = {"base": np.arange(5), "val": np.arange(5, 10), "novel": np.arange(10, 15)}
    return class_benchmark("made", scattered_pool([20] * 15), classes, 0.5, seed)


@given(
    sizes=st.lists(st.integers(4, 12), min_size=2, max_size=9),
    shot=st.integers(1, 2),
    query=st.integers(1, 2),
    count=st.integers(1, 40),
    seed=st.integers(0, 2**32),
    data=st.data(),
)
def test_episodes_are_proper(sizes, shot, query, count, seed, data):
    way = data.draw(st.integers(1, len(sizes)))
    tasks = ClassTasks(scattered_pool(sizes), np.arange(len(sizes)))
    shape, rng = EpisodeShape(way, shot, query), np.random.default_rng(seed)
    assert_proper(tasks, tasks.sample(count, shape, rng), count, shape)
    disjoint = tasks.sample_without_replacement(shape, rng)
    used = assert_proper(tasks, disjoint, len(disjoint), shape).ravel()
    assert len(np.unique(used)) == len(used)
    left = np.array(sizes) - np.bincount(tasks.pool.labels[used], minlength=len(sizes))
    assert np.sum(left >= shape.per_class) < way  # it continued as long as it could


def test_class_tuples_and_examples_are_uniform(pool):
    some = ClassTasks(pool, np.array([4, 5, 1, 2]))
    assert some.digest() == ClassTasks(pool, [1, 2, 4, 5]).digest()
    drawn = some.sample(40_000, EpisodeShape(2, 1, 1), np.random.default_rng(0))
    assert_uniform(drawn.classes, 12)  # ordered pairs of four classes
    tasks = ClassTasks(pool, np.arange(6))
    drawn = tasks.sample(30_000, EpisodeShape(6, 2, 3), np.random.default_rng(0))
    for part in (drawn.support, drawn.query):
        for label in range(6):
            assert_uniform(part[pool.labels[part] == label], np.flatnonzero(pool.labels == label))
    # The label of a class is its place in the task, drawn anew for each episode.
    rng = np.random.default_rng(0)
    for kind in (tasks, FixedSupportTasks(tasks, 2, rng)):
        classes = kind.sample(30_000, EpisodeShape(3, 2, 1), rng).classes
        for label in range(3):
            assert_uniform(classes[:, label], 6)


def test_what_cannot_be_drawn_is_refused_with_the_numbers(pool, refused, snapshot):
    tasks, rng = ClassTasks(pool, np.arange(6)), np.random.default_rng(0)
    tasks.check(EpisodeShape(5, 2, 10))
    numbers = [(0, 1, 1), (5, 0, 1), (5, 1, -3), (5, 1, 1.0), (5, True, 1)]
    assert [
        *(refused(EpisodeShape, *wrong) for wrong in numbers),
        refused(tasks.sample, 10, EpisodeShape(5, 3, 10), rng),
        refused(tasks.sample_without_replacement, EpisodeShape(5, 5, 10), rng),
        refused(tasks.check, EpisodeShape(20, 1, 1)),
        refused(tasks.check, EpisodeShape(5, 1, 1), 0),
        refused(ClassTasks, pool, np.array([0]), [0, 0]),
        refused(ClassTasks, pool, np.array([0]), [10_000]),
        refused(ClassTasks, pool, np.array([0]), np.flatnonzero(pool.labels == 1)),
    ] == snapshot


def test_memory_of_a_large_draw_is_bounded():
    tasks, shape = ClassTasks(scattered_pool([40] * 10), np.arange(10)), EpisodeShape(5, 5, 15)
    tracemalloc.start()
    drawn = tasks.sample(60_000, shape, np.random.default_rng(0))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    result = drawn.support.nbytes + drawn.query.nbytes + drawn.classes.nbytes
    assert peak < 2 * result + 100 * 2**20


def test_common_tasks_are_independent_and_the_same_in_every_process_and_version():
    pairs = [
        common_tasks(made_benchmark(), "novel", task_set, 20_000, EpisodeShape(1, 1, 1), 0).classes
        for task_set in ("selection", "report")
    ]
    assert_uniform(np.concatenate(pairs, axis=1), 25)
    shape = EpisodeShape(5, 2, 3)
    drawn = common_tasks(made_benchmark(), "base", "report", 100, shape, 7)
    assert array_digest(drawn.support)[:16] == "448e3daa5a216e46"
    assert array_digest(drawn.query)[:16] == "de48af89ffd14dce"
    for held, split in ((0, "val"), (1, "base")):  # of other splits and data
        other = common_tasks(made_benchmark(held), split, "report", 100, shape, 7)
        assert not np.array_equal(drawn.classes % 5, other.classes % 5)
