import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsl_sweep.datasets.tasks.episodes import Episodes
from fsl_sweep.datasets.tasks.ragged import grouped
from fsl_sweep.orchestrator.errors import BadData


def made(counts: list[list[int]], shot: int = 2) -> Episodes:
    """Tasks with ``counts[task][slot]`` queries; 0 is a class that the task does not have."""
    queries = np.array(counts)
    tasks, way = queries.shape
    there = queries > 0
    fresh = iter(range(10_000))
    support = np.full((tasks, way, shot), -1)
    query = np.full((tasks, way, queries.max()), -1)
    for task, slot in zip(*np.nonzero(there), strict=True):
        support[task, slot] = [next(fresh) for _ in range(shot)]
        query[task, slot, : queries[task, slot]] = [next(fresh) for _ in range(queries[task, slot])]
    classes = np.where(there, np.arange(way) + 5, -1)
    return Episodes(support, query, classes)


@given(st.lists(st.lists(st.integers(0, 3), min_size=4, max_size=4), min_size=1, max_size=12))
def test_every_task_is_in_one_group_with_all_that_it_has(counts):
    counts = [[*row, 1] for row in counts]
    episodes = made(counts)
    seen = []
    shapes = []
    for group in grouped(episodes):
        shapes.append((group.support.shape[1], group.query.shape[1]))
        for task, support, query, target in zip(
            group.tasks, group.support, group.query, group.target, strict=True
        ):
            seen.append(task)
            slots = np.flatnonzero(episodes.classes[task] >= 0)
            np.testing.assert_array_equal(support, episodes.support[task][slots])
            for number, slot in enumerate(slots):
                asked = episodes.query[task, slot]
                np.testing.assert_array_equal(query[target == number], asked[asked >= 0])
    assert sorted(seen) == list(range(len(counts)))
    assert len(set(shapes)) == len(shapes)


def test_episodes_of_one_shape_are_one_group_in_their_order():
    episodes = made([[2, 2, 2]] * 5)
    (group,) = grouped(episodes)
    assert group.tasks.tolist() == list(range(5))
    np.testing.assert_array_equal(group.support, episodes.support)
    np.testing.assert_array_equal(group.query, episodes.query.reshape(5, 6))
    assert group.target.tolist() == [[0, 0, 1, 1, 2, 2]] * 5
    part = group[1:3]
    assert len(part) == 2
    np.testing.assert_array_equal(part.query, episodes.query.reshape(5, 6)[1:3])


@pytest.mark.parametrize(
    ("part", "message"),
    [
        ("support", "all of its support"),  # a class without its support
        ("classes", "all of its support"),  # a support that is of no class
        ("query", "needs queries"),  # a task without any
    ],
)
def test_padding_that_makes_no_sense_is_refused(part, message):
    episodes = made([[1, 0], [2, 1]])
    getattr(episodes, part)[0] = -1
    with pytest.raises(BadData, match=message):
        list(grouped(episodes))
