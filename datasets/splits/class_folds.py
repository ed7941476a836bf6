"""Cross-validated class splits: benchmarks that keep one fold of the classes from training."""

from collections.abc import Sequence
from functools import reduce
from typing import Literal

import numpy as np

from fsl_sweep.datasets.benchmark import Benchmark
from fsl_sweep.datasets.pool import ImagePool
from fsl_sweep.datasets.randomness import named_generator
from fsl_sweep.datasets.splits.drawn import held_out_split
from fsl_sweep.datasets.tasks.classes import ClassTasks
from fsl_sweep.orchestrator.errors import BadData


def fold_benchmark(
    benchmark: Benchmark,
    *,
    index: int,
    folds: int,
    over: Literal["base", "base+val"] = "base",
    by: Literal["class", "superclass"] = "class",
    seed: int = 0,
) -> Benchmark:
    """Make the benchmark of one class fold.

    ``val`` becomes the fold's classes, with every example that the benchmark has of them in
    train, base or val: no learner of this fold has seen any. ``train`` and ``base`` keep their
    examples of the other classes. Over base and val, the val classes outside of the fold are
    trained on as well; the share of their examples that goes to ``base`` is that of the
    benchmark's base classes, by the same rule. Over ``base``, val classes are not used.
    ``novel`` stays.

    Source: "Two Sides of Meta-Learning Evaluation", appendix F.5.

    Args:
        benchmark: whose classes are dealt into folds.
        index: the fold, from 0.
        folds: at least 2.
        over: the classes that are dealt.
        by: one by one (classes of a family together), or a superclass at a time.
        seed: of the deal, and of the held-out examples of val classes that are trained on.

    Raises:
        BadData: a split draws its tasks from something else than classes, the splits do not share
            their images, superclasses are asked for and not known, or there are fewer classes (or
            superclasses) than folds.
    """
    train, base = (_class_tasks(benchmark, split, over) for split in ("train", "base"))
    pool, classes = train.pool, np.union1d(train.classes, base.classes)
    trained, fresh, known = train.examples, base.examples, [train.examples, base.examples]
    if over == "base+val":
        val = _class_tasks(benchmark, "val", over)
        share = len(fresh) / (len(trained) + len(fresh))
        more = held_out_split(pool, val.classes, share, seed)
        more_trained, more_fresh = (np.intersect1d(part, val.examples) for part in more)
        trained, fresh = np.union1d(trained, more_trained), np.union1d(fresh, more_fresh)
        classes, known = np.union1d(classes, val.classes), [*known, val.examples]
    # Turns of a character go into one fold: val must show no drawing that is trained on.
    groups = pool.origins if by == "class" else pool.superclasses
    if groups is None:
        raise BadData(
            f"Folds by superclass: '{benchmark.name}' has no superclasses. Use `by: class`."
        )
    chosen = [groups[label] for label in classes]
    if (count := len(set(chosen))) < folds:
        kind = "classes" if by == "class" else "superclasses"
        raise BadData(
            f"{folds} folds by {by} need at least {folds} {kind}, but {over} "
            f"of '{benchmark.name}' has {count}. Use fewer folds."
        )
    held = classes[deal(chosen, folds, seed) == index]
    return Benchmark.of(
        benchmark.name,
        train=_of_classes(pool, np.setdiff1d(classes, held), trained),
        base=_of_classes(pool, np.setdiff1d(classes, held), fresh),
        val=_of_classes(pool, held, reduce(np.union1d, known)),
        novel=benchmark.novel,
    )


def deal(groups: Sequence[str], folds: int, seed: int) -> np.ndarray:
    """Deal classes into folds, whole groups at a time.

    Groups are put in a seeded order, the larger ones first, and each goes to the fold that has
    the fewest classes so far (the first of several): with groups of one class the folds' sizes
    differ by at most one class, with larger groups by at most the largest group.

    ``groups`` has the group of each class: its superclass, or its own name for a deal by class. The
    order does not depend on that of the classes.

    Returns:
        The fold of each class, int64 ``[len(groups)]``, from 0.
    """
    names, sizes = np.unique(np.asarray(groups), return_counts=True)
    order = named_generator(seed, "class folds").permutation(len(names))
    order = order[np.argsort(-sizes[order], kind="stable")]
    filled, fold_of = np.zeros(folds, np.int64), np.empty(len(names), np.int64)
    for group in order:
        fold_of[group] = np.argmin(filled)
        filled[fold_of[group]] += sizes[group]
    return fold_of[np.searchsorted(names, groups)]


def _class_tasks(benchmark: Benchmark, split: str, over: str) -> ClassTasks:
    tasks = benchmark.distribution(split)
    if not isinstance(tasks, ClassTasks):
        raise BadData(
            f"Class folds need tasks of classes, but the {split} tasks of '{benchmark.name}' are "
            f"made of {tasks.unit}: leave `cross_validation` out."
        )
    if tasks.pool.fingerprint != benchmark.train.pool.fingerprint:
        raise BadData(
            f"Class folds over {over} need the images of train and {split} in one pool, but "
            f"'{benchmark.name}' has two."
        )
    return tasks


def _of_classes(pool: ImagePool, classes: np.ndarray, examples: np.ndarray) -> ClassTasks:
    return ClassTasks(pool, classes, examples[np.isin(pool.labels[examples], classes)])
