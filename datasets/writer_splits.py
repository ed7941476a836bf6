"""Which writers are for training, BaseGen, validation and NovelGen."""

import numpy as np

from fsl_sweep.datasets.benchmark import Benchmark
from fsl_sweep.datasets.pool import ImagePool
from fsl_sweep.datasets.splits import named_generator
from fsl_sweep.datasets.writer_tasks import WriterTasks
from fsl_sweep.orchestrator.errors import BadData

FEMNIST = (2509, 538, 538)
"""Training, validation and test writers of "Two Sides of Meta-Learning Evaluation", section 4."""


def writer_sizes(writers: int) -> tuple[int, int, int]:
    """Training, validation and novel writers: FEMNIST's 2509, 538 and 538 or the same shares.

    With fewer than 3,585 writers validation and novel get 15 % each, rounded to the nearest number
    and at least 1, and training the rest. Of more than 3,585 those beyond are not used.
    """
    if writers >= sum(FEMNIST):
        return FEMNIST
    few = max(1, round(writers * FEMNIST[1] / sum(FEMNIST)))
    return writers - 2 * few, few, few


def writer_benchmark(name: str, pool: ImagePool, held_out: float, seed: int) -> Benchmark:
    """A benchmark whose tasks are writers, all of one distribution of people.

    BaseGen is measured on fresh writers too: tasks of the distribution that the training tasks are
    drawn from, with examples that no training task has. These are ``round(held_out * n)`` of the n
    training writers, at least one, and at least one is left to train on.

    Args:
        name: as in the catalogue.
        pool: the images, with their writers; those who wrote nothing do not count.
        held_out: the share of the training writers that is held out for BaseGen, in (0, 1).
        seed: of both draws.

    Raises:
        BadData: the pool does not say who wrote what, or there are too few writers.
    """
    if pool.writers is None:
        raise BadData(f"The images of '{name}' do not say who wrote them.")
    people = named_generator(seed, "writers").permutation(np.unique(pool.writers))
    train, val, novel = writer_sizes(len(people))
    if train < 2:
        raise BadData(
            f"'{name}' needs 4 writers at least, 2 of them to train on, and has {len(people)}."
        )
    base = min(max(1, round(held_out * train)), train - 1)
    parts = np.split(people[: train + val + novel], np.cumsum([base, train - base, val]))
    held, trained, valid, fresh = (WriterTasks(pool, part) for part in parts)
    return Benchmark.of(name, train=trained, base=held, val=valid, novel=fresh)
