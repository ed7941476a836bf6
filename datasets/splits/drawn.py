"""Which classes are base, val and novel, and which base examples are held out."""

import json
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

import numpy as np

from fsl_sweep.datasets.benchmark import MEASURED, Benchmark
from fsl_sweep.datasets.pool import ImagePool
from fsl_sweep.datasets.randomness import named_generator
from fsl_sweep.datasets.tasks.classes import ClassTasks
from fsl_sweep.orchestrator.errors import BadData
from fsl_sweep.orchestrator.text.printed import counted


def read_facts(name: str) -> Mapping[str, Any]:
    """A published table that comes with this package; each names its ``source``."""
    return json.loads(files("fsl_sweep.datasets").joinpath(name).read_text("utf-8"))


def marks(splits: Sequence[str]) -> dict[str, Any]:
    """Attributes of a pool's classes that say which of base, val and novel each is in."""
    attributes = np.array(splits)[:, None] == np.array(MEASURED)
    return {"attributes": attributes, "attribute_names": MEASURED}


def marked(pool: ImagePool) -> dict[str, np.ndarray]:
    """The class labels of each split of a pool that has `marks`."""
    columns = zip(MEASURED, np.asarray(pool.attributes).T, strict=True)
    return {split: np.flatnonzero(column) for split, column in columns}


def held_out_split(
    pool: ImagePool, classes: np.ndarray, held_out: float, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """A seeded, per-class split of examples into training and held-out ones (-Mod).

    Of the n examples of a class ``max(1, round(held_out * n))`` are held out, and at least one is
    left to train on. Which ones depends only on the seed, the class's name and its examples, so
    that a class is split in the same way in every fold and benchmark. Classes of a family are split
    alike: an original is held out with all of its turns, or with none.

    Returns:
        Training and held-out pool indices, int64, each sorted.

    Raises:
        BadData: a class has fewer than 2 examples.
    """
    order = np.argsort(pool.labels, kind="stable")
    bounds = np.searchsorted(pool.labels[order], np.stack([classes, np.asarray(classes) + 1]))
    train, held = [], []
    for label, start, stop in zip(classes, *bounds, strict=True):
        name, count = pool.class_names[label], int(stop - start)
        if count < 2:
            raise BadData(
                f"Class '{name}' has {count} example(s); 2 are needed to hold one out of training."
            )
        rng = named_generator(seed, "held-out", pool.origins[label])
        shuffled = rng.permutation(order[start:stop])
        size = min(max(1, round(held_out * count)), count - 1)
        held.append(shuffled[:size])
        train.append(shuffled[size:])
    return np.sort(np.concatenate(train)), np.sort(np.concatenate(held))


def class_benchmark(
    name: str,
    pool: ImagePool,
    partition: Mapping[str, np.ndarray],
    held_out: float,
    seed: int,
) -> Benchmark:
    """A benchmark of class tasks over one pool.

    ``partition`` has the class labels of ``base``, ``val`` and ``novel``; ``held_out`` and ``seed``
    are those of ``held_out_split``.

    Raises:
        BadData: a class is listed twice, a split has fewer than 2 classes, or a base class has
            fewer than 2 examples.
    """
    for split, classes in partition.items():
        if len(classes) < 2:
            found = counted(len(classes), "class", "classes")
            raise BadData(f"The {split} split of '{name}' has {found}; it needs at least 2.")
    together = np.concatenate([partition[split] for split in MEASURED])
    labels, uses = np.unique(together, return_counts=True)
    if np.any(uses > 1):
        twice = pool.class_names[labels[np.argmax(uses)]]
        raise BadData(f"Class '{twice}' is listed twice in base, val and novel.")
    train, held = held_out_split(pool, partition["base"], held_out, seed)
    return Benchmark.of(
        name,
        train=ClassTasks(pool, partition["base"], train),
        base=ClassTasks(pool, partition["base"], held),
        val=ClassTasks(pool, partition["val"]),
        novel=ClassTasks(pool, partition["novel"]),
    )


def draw_partition(
    groups: Sequence[str], fractions: tuple[float, float, float], seed: int
) -> dict[str, np.ndarray]:
    """Classes drawn into base, val and novel, whole groups at a time.

    ``groups`` has the group of each class: its superclass, or its own name for a draw by class.
    ``fractions`` are the shares of the groups, with a sum of at most 1. The draw does not depend on
    the order of the classes.

    Returns:
        Class labels of each split, int64, sorted. Every split gets at least one group; shares are
        rounded to the nearest number of groups (halves to the even one), and if they sum to 1 base
        gets what val and novel leave.

    Raises:
        BadData: fewer than three groups.
    """
    names = sorted(set(groups))
    if len(names) < 3:
        raise BadData(
            f"Base, val and novel need at least 3 groups of classes to be drawn; there are "
            f"{len(names)}. Draw by class instead of by superclass, or give the split as lists."
        )
    named_generator(seed, "partition").shuffle(names)
    base, val, novel = (max(1, round(share * len(names))) for share in fractions)
    if abs(sum(fractions) - 1) < 1e-9:
        base = len(names) - val - novel
    if base < 1 or base + val + novel > len(names):
        raise BadData(
            f"{len(names)} groups of classes are too few for the shares {fractions} of base, val "
            "and novel."
        )
    parts = np.split(names[: base + val + novel], [base, base + val])
    return {s: np.flatnonzero(np.isin(groups, p)) for s, p in zip(MEASURED, parts, strict=True)}
