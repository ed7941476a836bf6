from itertools import chain

import numpy as np
import pytest
from pools import blank_pool

from fsl_sweep.datasets.tasks.attributes import AttributeTasks, FixedTasks
from fsl_sweep.datasets.tasks.classes import ClassTasks
from fsl_sweep.datasets.tasks.episodes import EpisodeShape, VaryingShape
from fsl_sweep.datasets.tasks.training_steps import training_steps
from fsl_sweep.datasets.tasks.writers import WriterTasks
from fsl_sweep.orchestrator.errors import BadData

EVERYTHING = VaryingShape(None, 1, None)


def writer_tasks(count):
    """Writers with three examples of each of two characters, and one with a single character."""
    who = np.append(np.repeat(np.arange(count), 6), [count] * 6)
    labels = np.append(np.tile([0, 0, 0, 1, 1, 1], count), [0] * 6)
    pool = blank_pool(labels, writers=who)
    return WriterTasks(pool, np.arange(count + 1), kept_support=0)


def attribute_tasks(count):
    """Fixed tasks of two pairs, each known by its support."""
    carried = np.array([[1, 1, 0], [0, 1, 1], [0, 0, 0]], bool)
    pool = blank_pool(np.arange(3000) % 3, attributes=carried, attribute_names="abc")
    return FixedTasks(AttributeTasks(pool, np.array([[0, 1], [1, 2]])), count, 0)


def numbers(episodes):
    """What tells the tasks of a step apart: the support, whose classes may come in any order."""
    return [tuple(sorted(support.ravel().tolist())) for support in episodes.support]


def steps_of(tasks, *arguments):
    return [*map(numbers, training_steps(tasks, *arguments, np.random.default_rng(0)))]


@pytest.mark.parametrize(
    ("make", "shape", "count", "size"),
    [
        *((writer_tasks, EVERYTHING, *case) for case in ((253, 5), (7, 7))),
        *((attribute_tasks, EpisodeShape(2, 2, 1), *c) for c in ((1000, 4), (62, 4), (3, 8))),
    ],
)
def test_so_many_steps_are_one_pass_and_the_next_is_another(make, shape, count, size):
    steps = -(-count // size)
    drawn = steps_of(make(count), 2 * steps, size, shape)
    assert [*map(len, drawn)] == 2 * [*[size] * (steps - 1), count - size * (steps - 1)]
    first, second = ([*chain(*part)] for part in (drawn[:steps], drawn[steps:]))
    assert len(set(first)) == count
    assert sorted(first) == sorted(second)
    assert first != second or count < 3


def test_class_tuples_are_drawn_without_end_and_a_number_of_queries_draws_supports_anew(pool):
    """Only where all other examples are queries is there one (S, Q) a writer."""
    tasks = ClassTasks(pool, np.arange(6))
    assert [*map(len, steps_of(tasks, 250, 3, EpisodeShape(2, 1, 1)))] == [3] * 250
    with pytest.raises(BadData, match="takes all that a task has"):
        steps_of(tasks, 1, 1, EVERYTHING)
    tasks, rng = writer_tasks(20), np.random.default_rng(0)
    for shape, same in (
        (EVERYTHING, True),
        (VaryingShape(2, 1, None), True),
        (VaryingShape(None, 1, 1), False),
        (EpisodeShape(2, 1, 2), False),
    ):
        first, second = (numbers(tasks.take(np.arange(20), shape, rng)) for _ in range(2))
        assert (first == second) is same
