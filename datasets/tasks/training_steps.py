"""The episodes of each gradient step: passes over tasks that can be counted, else fresh draws."""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from fsl_sweep.datasets.tasks.distribution import CountedTasks, TaskDistribution
from fsl_sweep.datasets.tasks.episodes import Episodes, Shape

_STEPS_AT_ONCE = 100  # drawn together: vectorised, yet bounded in memory


def training_steps(
    tasks: TaskDistribution,
    steps: int,
    size: int,
    shape: Shape,
    rng: np.random.Generator,
) -> Iterator[Episodes]:
    """Draw the episodes of each of ``steps`` steps of ``size`` tasks.

    Tasks that can be counted are taken in passes: every one once, in random order, before any
    returns. The last step of a pass has what remains of it, so that ``ceil(count / size)`` steps
    are exactly one pass. Other tasks are drawn independently.

    Raises:
        BadData: episodes of ``shape`` cannot be drawn.
    """
    tasks.check(shape)
    if not isinstance(tasks, CountedTasks):
        for first in range(0, steps, _STEPS_AT_ONCE):
            sizes = [size] * min(_STEPS_AT_ONCE, steps - first)
            yield from _cut(tasks.sample(sum(sizes), shape, rng), sizes)
        return
    passing = _passes(tasks.count(shape), steps, size, rng)
    for first in range(0, steps, _STEPS_AT_ONCE):
        parts = passing[first : first + _STEPS_AT_ONCE]
        yield from _cut(tasks.take(np.concatenate(parts), shape, rng), [*map(len, parts)])


def _passes(count: int, steps: int, size: int, rng: np.random.Generator) -> list[np.ndarray]:
    """Choose which of ``count`` tasks each step takes, int64; no step is of two passes."""
    parts: list[np.ndarray] = []
    while len(parts) < steps:
        order = rng.permutation(count)
        parts += [order[start : start + size] for start in range(0, count, size)]
    return parts[:steps]


def _cut(episodes: Episodes, sizes: list[int]) -> Iterator[Episodes]:
    bounds = np.cumsum([0, *sizes]).tolist()
    return (episodes[start:stop] for start, stop in pairwise(bounds))
