import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fsl_sweep.datasets.tasks.episodes import Episodes
from fsl_sweep.datasets.tasks.ragged import grouped


def made(counts: list[list[int]], shot: int = 2) -> Episodes:
    """Tasks with ``counts[task][slot]`` queries; 0 is a class that the task does not have."""
    queries = np.array(counts)
    there = queries > 0
    support = np.where(there[:, :, None], np.arange(shot), -1)
    query = np.where(np.arange(queries.max()) < queries[:, :, None], np.arange(queries.max()), -1)
    for part, first in ((support, 0), (query, 5000)):  # every example is shown once
        part[part >= 0] = first + np.arange(np.sum(part >= 0))
    return Episodes(support, query, np.where(there, np.arange(queries.shape[1]) + 5, -1))


@given(st.lists(st.lists(st.integers(0, 3), min_size=4, max_size=4), min_size=1, max_size=12))
def test_every_task_is_in_one_group_with_all_that_it_has(counts):
    episodes = made([[*row, 1] for row in counts])
    groups = [*grouped(episodes)]
    shapes = {(group.support.shape[1], group.query.shape[1]) for group in groups}
    assert len(shapes) == len(groups)
    assert sorted(np.concatenate([group.tasks for group in groups])) == [*range(len(counts))]
    for group in groups:
        parts = (group.tasks, group.support, group.query, group.target)
        for task, support, query, target in zip(*parts, strict=True):
            slots = np.flatnonzero(episodes.classes[task] >= 0)
            np.testing.assert_array_equal(support, episodes.support[task][slots])
            for number, slot in enumerate(slots):
                row = episodes.query[task, slot]
                np.testing.assert_array_equal(query[target == number], row[row >= 0])


def test_episodes_of_one_shape_are_one_group_in_their_order():
    episodes = made([[2, 2, 2]] * 5)
    (group,) = grouped(episodes)
    assert group.tasks.tolist() == list(range(5))
    np.testing.assert_array_equal(group.support, episodes.support)
    np.testing.assert_array_equal(group.query, episodes.query.reshape(5, 6))
    assert group.target.tolist() == [[0, 0, 1, 1, 2, 2]] * 5
    assert group.answers == (5, 6, 3)
    assert len(group[1:3]) == 2
    np.testing.assert_array_equal(group[1:3].query, episodes.query.reshape(5, 6)[1:3])
