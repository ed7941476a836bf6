"""Which writers train, which are for validation and novel, and what BaseGen is measured on."""

from typing import Literal

import numpy as np

from fsl_sweep.datasets.benchmark import Benchmark
from fsl_sweep.datasets.pool import ImagePool
from fsl_sweep.datasets.randomness import named_generator
from fsl_sweep.datasets.tasks.episodes import VaryingShape
from fsl_sweep.datasets.tasks.writers import WriterTasks
from fsl_sweep.orchestrator.errors import BadData

FEMNIST = (2509, 538, 538)
"""Training, validation and test writers of "Two Sides of Meta-Learning Evaluation", section 4."""

BaseTasks = Literal["held-out", "redrawn"]
_EVERYTHING = VaryingShape(None, 1, None)
_LEAST_EXAMPLES = 2  # of a class, for a support and a query


def writer_sizes(writers: int) -> tuple[int, int, int]:
    """Return how many writers train, validate and are novel: 2509, 538 and 538, or these shares.

    The numbers are FEMNIST's. With fewer than 3,585 writers validation and novel get 15 % each,
    rounded to the nearest number and at least 1, and training the rest. Of more than 3,585 those
    beyond are not used.
    """
    if writers >= sum(FEMNIST):
        return FEMNIST
    few = max(1, round(writers * FEMNIST[1] / sum(FEMNIST)))
    return writers - 2 * few, few, few


def writer_benchmark(
    name: str, pool: ImagePool, held_out: float, seed: int, base: BaseTasks = "held-out"
) -> Benchmark:
    """Make a benchmark whose tasks are writers, all of one distribution of people.

    Only people with two examples of each of two classes are used. All training writers train, each
    with a support that is drawn once. BaseGen is measured on the same people:

    * ``held-out``: on examples that no training task has. Of the n examples that a person has of a
      class, ``max(2, round(held_out n))`` are held out if that leaves two, so for n of 4 or
      more; people with fewer than two such classes are not measured.
    * ``redrawn``: on all that they wrote, which training sees too, with other supports.

    ``held_out`` is a share in (0, 1); ``seed`` is of all draws.

    Raises:
        BadData: the pool does not say who wrote what, or there are too few writers or examples.
    """
    everybody = WriterTasks(pool, np.unique(np.asarray(pool.writers)))
    able = everybody.writers[everybody.able(_EVERYTHING)]
    people = named_generator(seed, "writers").permutation(able)
    train, val, novel = writer_sizes(len(people))
    if train < 2:
        raise BadData(
            f"'{name}' needs at least 4 writers, 2 of them to train on, and has {len(people)} with "
            "two examples of two classes."
        )
    parts = np.split(people[: train + val + novel], np.cumsum([train, val]))
    trained, valid, fresh = (WriterTasks(pool, part) for part in parts)
    based = trained if base == "redrawn" else _held_out(name, trained, held_out, seed)
    learned = np.setdiff1d(trained.examples, based.examples) if base == "held-out" else None
    return Benchmark.of(
        name,
        train=WriterTasks(pool, trained.writers, learned, kept_support=seed),
        base=based,
        val=valid,
        novel=fresh,
        fresh_base=base == "held-out",
        cautions=_cautions(base, based, fresh),
    )


def _held_out(name: str, trained: WriterTasks, held_out: float, seed: int) -> WriterTasks:
    """Make tasks of examples that training never sees; see ``writer_benchmark``."""
    pool, examples = trained.pool, trained.examples
    writers = np.asarray(pool.writers)
    # In a random order that does not depend on the other writers, cell by cell.
    order = named_generator(seed, "held-out examples").permutation(len(pool))[examples]
    rows = examples[np.lexsort((order, pool.labels[examples], writers[examples]))]
    cells = np.stack([writers[rows], pool.labels[rows]])
    (owners, _), starts, counts = np.unique(cells, axis=1, return_index=True, return_counts=True)
    sizes = np.clip(np.rint(held_out * counts), _LEAST_EXAMPLES, counts - _LEAST_EXAMPLES)
    sizes[counts < 2 * _LEAST_EXAMPLES] = 0
    people, enough = np.unique(owners[sizes > 0], return_counts=True)
    people = people[enough >= 2]
    if len(people) == 0:
        raise BadData(
            f"BaseGen cannot be measured on held-out examples: no training writer of '{name}' has "
            f"{2 * _LEAST_EXAMPLES} examples of each of two classes. Give more examples; "
            "`base: redrawn`, where the benchmark has that option, holds none out."
        )
    sizes[~np.isin(owners, people)] = 0
    rank = np.arange(len(rows)) - np.repeat(starts, counts)
    return WriterTasks(pool, people, rows[rank < np.repeat(sizes, counts)])


def _cautions(base: BaseTasks, based: WriterTasks, fresh: WriterTasks) -> tuple[str, ...]:
    """Say where BaseGen is no measure of fresh images, or has tasks of another size."""
    if base == "redrawn":
        return (
            f"BaseGen is measured on the {based.size} training writers and the images that they "
            "are trained on, with other supports: it tells how well a learner knows these people, "
            "not how it does on fresh images",
        )
    ours, theirs = (
        f"{tasks.ways(_EVERYTHING)[tasks.able(_EVERYTHING)].mean():.2f}" for tasks in (based, fresh)
    )
    if ours == theirs:
        return ()
    return (
        f"BaseGen is measured on held-out images of {based.size} training writers, of characters "
        f"of which they have at least {2 * _LEAST_EXAMPLES}: {ours} classes a task on average, "
        f"where NovelGen has {theirs}; their accuracies cannot be compared directly",
    )
