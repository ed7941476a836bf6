import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pools import blank_pool
from scipy.stats import chisquare

from fsl_sweep.datasets.benchmark import Benchmark, common_tasks
from fsl_sweep.datasets.files.digests import array_digest
from fsl_sweep.datasets.pool import ImagePool
from fsl_sweep.datasets.splits.drawn import class_benchmark
from fsl_sweep.datasets.tasks.classes import ClassTasks
from fsl_sweep.datasets.tasks.episodes import Episodes, EpisodeShape
from fsl_sweep.datasets.tasks.fixed_support import FixedSupportTasks
from fsl_sweep.orchestrator.errors import BadData


def made_pool(sizes: list[int]) -> ImagePool:
    return blank_pool(np.random.default_rng(3).permutation(np.repeat(np.arange(len(sizes)), sizes)))


def made_benchmark(seed: int = 0) -> Benchmark:
    pool = made_pool([20] * 15)
    classes = {"base": np.arange(5), "val": np.arange(5, 10), "novel": np.arange(10, 15)}
    return class_benchmark("made", pool, classes, 0.5, seed)


def assert_proper(episodes: Episodes, tasks: ClassTasks, shape: EpisodeShape) -> None:
    count = len(episodes)
    assert episodes.support.shape == (count, shape.way, shape.shot)
    assert episodes.query.shape == (count, shape.way, shape.query)
    for name in ("support", "query", "classes"):
        assert getattr(episodes, name).dtype == np.int64
    together = np.concatenate([episodes.support, episodes.query], axis=2)
    labels = tasks.pool.labels[together]
    assert (labels == episodes.classes[:, :, None]).all()
    assert np.isin(together, tasks.examples).all()
    flat = np.sort(together.reshape(count, -1), axis=1)
    assert (np.diff(flat, axis=1) > 0).all()  # support and query are disjoint, nothing repeats
    assert (np.diff(np.sort(episodes.classes, axis=1), axis=1) > 0).all()


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
    tasks = ClassTasks(made_pool(sizes), np.arange(len(sizes)))
    shape = EpisodeShape(way, shot, query)
    rng = np.random.default_rng(seed)
    assert_proper(tasks.sample(count, shape, rng), tasks, shape)
    disjoint = tasks.sample_without_replacement(shape, rng)
    assert_proper(disjoint, tasks, shape)
    used = np.concatenate([disjoint.support.ravel(), disjoint.query.ravel()])
    assert len(np.unique(used)) == len(used)
    left = np.array(sizes) - np.bincount(tasks.pool.labels[used], minlength=len(sizes))
    assert np.sum(left >= shape.per_class) < way  # it continued as long as it could


def test_class_tuples_are_uniform(pool):
    tasks = ClassTasks(pool, np.array([1, 2, 4, 5]))
    drawn = tasks.sample(40_000, EpisodeShape(2, 1, 1), np.random.default_rng(0))
    tuples, counts = np.unique(drawn.classes, axis=0, return_counts=True)
    assert len(tuples) == 12  # ordered pairs of four classes
    assert chisquare(counts).pvalue > 1e-4


def test_examples_are_uniform_in_support_and_query(pool):
    tasks = ClassTasks(pool, np.arange(6))
    drawn = tasks.sample(30_000, EpisodeShape(6, 2, 3), np.random.default_rng(0))
    for part in (drawn.support, drawn.query):
        for label in range(6):
            chosen = part[pool.labels[part] == label]
            _, counts = np.unique(chosen, return_counts=True)
            assert len(counts) == np.sum(pool.labels == label)
            assert chisquare(counts).pvalue > 1e-4


@pytest.mark.parametrize("fixed", [False, True])
def test_a_class_has_every_label_equally_often(pool, fixed):
    """The label of a class is its place in the task, drawn anew for each episode."""
    tasks = ClassTasks(pool, np.arange(6))
    rng = np.random.default_rng(0)
    drawn = FixedSupportTasks(tasks, 2, rng) if fixed else tasks
    classes = drawn.sample(30_000, EpisodeShape(3, 2, 1), rng).classes
    for label in range(3):
        assert chisquare(np.bincount(classes[:, label], minlength=6)).pvalue > 1e-4


def test_too_few_classes_or_examples_are_refused_with_the_numbers(pool):
    tasks = ClassTasks(pool, np.arange(6))
    tasks.check(EpisodeShape(5, 2, 10))
    with pytest.raises(BadData, match=r"need 13 examples a class, but class 'class 0' has 12\."):
        tasks.sample(10, EpisodeShape(5, 3, 10), np.random.default_rng(0))
    with pytest.raises(BadData, match="and 2 more classes"):
        tasks.sample_without_replacement(EpisodeShape(5, 5, 10), np.random.default_rng(0))
    with pytest.raises(BadData, match="20-way tasks need 20 classes, but only 6 are there"):
        tasks.check(EpisodeShape(20, 1, 1))
    with pytest.raises(BadData, match="0 tasks"):
        tasks.check(EpisodeShape(5, 1, 1), 0)


@pytest.mark.parametrize(
    ("classes", "examples", "message"),
    [
        ([0], [0, 0], "distinct"),
        ([0], [10_000], "from 0 to"),
        ([0], "of class 1", "does not have"),
    ],
)
def test_classes_and_examples_are_checked(pool, classes, examples, message):
    chosen = np.flatnonzero(pool.labels == 1) if examples == "of class 1" else examples
    with pytest.raises(BadData, match=message):
        ClassTasks(pool, np.array(classes, dtype=np.int64), chosen)


def test_memory_of_a_large_draw_is_bounded():
    tasks, shape = ClassTasks(made_pool([40] * 10), np.arange(10)), EpisodeShape(5, 5, 15)
    tracemalloc.start()
    drawn = tasks.sample(60_000, shape, np.random.default_rng(0))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    result = drawn.support.nbytes + drawn.query.nbytes + drawn.classes.nbytes
    assert peak < 2 * result + 100 * 2**20


def test_a_distribution_does_not_depend_on_the_order_of_its_classes(pool):
    assert ClassTasks(pool, np.array([4, 1, 2])).digest() == ClassTasks(pool, [1, 2, 4]).digest()


def test_common_tasks_depend_only_on_their_arguments():
    benchmark, shape = made_benchmark(), EpisodeShape(5, 1, 5)
    first = common_tasks(benchmark, "novel", "selection", 50, shape, 0)
    np.random.default_rng(9).random(100)
    again = common_tasks(made_benchmark(), "novel", "selection", 50, shape, 0)
    np.testing.assert_array_equal(first.query, again.query)
    others = [
        common_tasks(benchmark, "novel", "report", 50, shape, 0),
        common_tasks(benchmark, "novel", "selection", 50, shape, 1),
        common_tasks(benchmark, "val", "selection", 50, shape, 0),
        common_tasks(made_benchmark(seed=1), "novel", "selection", 50, shape, 0),
    ]
    relative = [other.classes % 5 for other in others]
    assert not any(np.array_equal(first.classes % 5, other) for other in relative)


def test_selection_and_report_tasks_are_independent():
    benchmark, shape = made_benchmark(), EpisodeShape(1, 1, 1)
    first = common_tasks(benchmark, "novel", "selection", 20_000, shape, 0).classes[:, 0]
    second = common_tasks(benchmark, "novel", "report", 20_000, shape, 0).classes[:, 0]
    _, joint = np.unique(np.stack([first, second]), axis=1, return_counts=True)
    assert len(joint) == 25
    assert chisquare(joint).pvalue > 1e-4


def test_common_tasks_are_the_same_in_every_process_and_version():
    drawn = common_tasks(made_benchmark(), "base", "report", 100, EpisodeShape(5, 2, 3), 7)
    assert array_digest(drawn.support)[:16] == "448e3daa5a216e46"
    assert array_digest(drawn.query)[:16] == "de48af89ffd14dce"


def test_an_unknown_split_is_refused():
    with pytest.raises(ValueError, match="a split is one of"):
        common_tasks(made_benchmark(), "test", "report", 5, EpisodeShape(2, 1, 1), 0)
