from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pools import classes_of

from fsl_sweep.datasets.benchmark import Benchmark
from fsl_sweep.datasets.pool import ImagePool
from fsl_sweep.datasets.splits.class_folds import deal, fold_benchmark
from fsl_sweep.datasets.splits.drawn import class_benchmark
from fsl_sweep.datasets.tasks.classes import ClassTasks
from fsl_sweep.datasets.tasks.fixed_support import FixedSupportTasks
from fsl_sweep.orchestrator.errors import BadData

EXAMPLES = 10


def benchmark(superclasses: bool = True, order: int = 1) -> Benchmark:
    """24 classes of 10 images in superclasses of 4: 12 base, 8 val and 4 novel.

    With ``order`` -1 the pool holds the classes the other way round.
    """
    names = [f"class {i:02d}" for i in range(24)][::order]
    labels = np.repeat(np.arange(24), EXAMPLES)
    pool = ImagePool.in_memory(
        np.random.default_rng(0).integers(0, 256, (240, 1, 2, 2), dtype=np.uint8),
        labels,
        names,
        superclasses=[f"family {int(n[-2:]) // 4}" for n in names] if superclasses else None,
    )
    numbers = np.array([int(n[-2:]) for n in names])
    split = {"base": (0, 12), "val": (12, 20), "novel": (20, 24)}
    partition = {k: np.flatnonzero((numbers >= a) & (numbers < b)) for k, (a, b) in split.items()}
    return class_benchmark("made", pool, partition, 0.3, 7)


@pytest.mark.parametrize("by", ["class", "superclass"])
@pytest.mark.parametrize(("over", "classes", "known"), [("base", 12, 120), ("base+val", 20, 200)])
def test_every_known_class_is_held_out_in_one_fold(over, by, classes, known):
    whole = benchmark()
    folds = [fold_benchmark(whole, index=i, folds=3, over=over, by=by) for i in range(3)]
    held = [classes_of(fold, "val") for fold in folds]
    assert sum(map(len, held)) == len(set().union(*held)) == classes
    assert sum(len(fold.val.examples) for fold in folds) == known
    for fold in folds:
        assert not classes_of(fold, "train") & classes_of(fold, "val")
        assert classes_of(fold, "train") == classes_of(fold, "base")
        assert len(classes_of(fold, "train") | classes_of(fold, "val")) == classes
        splits = [fold.train.examples, fold.base.examples, fold.val.examples]
        assert len(np.unique(np.concatenate(splits))) == sum(map(len, splits)) == known
        assert fold.novel is whole.novel
    assert len({fold.fingerprint for fold in folds}) == 3


def test_base_classes_keep_their_held_out_examples_and_val_classes_get_some():
    whole = benchmark()
    fold = fold_benchmark(whole, index=0, folds=3, over="base+val")
    for label in fold.train.classes:
        own = [
            e[whole.train.pool.labels[e] == label]
            for e in (fold.train.examples, fold.base.examples)
        ]
        assert [len(part) for part in own] == [7, 3]
        if label in whole.base.classes:
            assert set(own[0]) <= set(whole.train.examples)
            assert set(own[1]) <= set(whole.base.examples)
    # A val class is divided alike in whichever folds it is trained on.
    other = fold_benchmark(whole, index=1, folds=3, over="base+val")
    shared = np.intersect1d(fold.train.classes, other.train.classes)
    labels = whole.train.pool.labels
    assert np.intersect1d(shared, whole.val.classes).size
    np.testing.assert_array_equal(
        fold.base.examples[np.isin(labels[fold.base.examples], shared)],
        other.base.examples[np.isin(labels[other.base.examples], shared)],
    )


@pytest.mark.parametrize("by", ["class", "superclass"])
def test_folds_depend_only_on_names_and_seed(by):
    def held(seed, order=1):
        fold = fold_benchmark(benchmark(order=order), index=1, folds=3, by=by, seed=seed)
        return classes_of(fold, "val")

    seeds = [held(seed) for seed in range(20)]
    assert seeds[3] == held(3, order=-1)
    assert len({frozenset(one) for one in seeds}) > 1


@given(st.integers(8, 60), st.integers(2, 8), st.integers(0, 2**32 - 1), st.randoms())
@settings(max_examples=40)
def test_folds_of_classes_are_balanced_and_do_not_depend_on_the_order(classes, folds, seed, random):
    groups = [f"c{i}" for i in range(classes)]
    dealt = deal(groups, folds, seed)
    sizes = np.bincount(dealt, minlength=folds)
    assert sizes.sum() == classes
    assert sizes.max() - sizes.min() <= 1
    shuffled = random.sample(groups, classes)
    again = dict(zip(shuffled, deal(shuffled, folds, seed), strict=True))
    assert [again[g] for g in groups] == dealt.tolist()


@given(st.lists(st.integers(1, 9), min_size=2, max_size=7), st.integers(2, 3), st.integers(0, 99))
@settings(max_examples=60)
def test_folds_of_superclasses_are_near_the_best_balance(sizes, folds, seed):
    if len(sizes) < folds:
        return
    groups = [f"g{g}" for g, size in enumerate(sizes) for _ in range(size)]
    dealt = deal(groups, folds, seed)
    assert all(len(set(dealt[np.array(groups) == g])) == 1 for g in set(groups))
    filled = np.bincount(dealt, minlength=folds)
    assert filled.min() > 0
    assert filled.max() - filled.min() <= max(sizes)
    # Graham's bound on filling the emptiest first with the largest first, against every deal.
    best = min(
        np.bincount(way, weights=sizes, minlength=folds).max()
        for way in product(range(folds), repeat=len(sizes))
    )
    assert filled.max() <= (4 / 3 - 1 / (3 * folds)) * best


@pytest.mark.parametrize(
    ("fold", "superclasses", "message"),
    [
        ({"folds": 13}, True, "need at least 13 classes, but base of 'made' has 12"),
        (
            {"folds": 6, "over": "base+val", "by": "superclass"},
            True,
            r"need at least 6 superclasses, but base\+val of 'made' has 5",
        ),
        ({"folds": 2, "by": "superclass"}, False, "'made' has no superclasses. Use `by: class`"),
    ],
)
def test_too_few_classes_or_no_superclasses_are_refused(fold, superclasses, message):
    with pytest.raises(BadData, match=message):
        fold_benchmark(benchmark(superclasses), index=0, **fold)


def other_tasks(tasks) -> FixedSupportTasks:
    """Tasks that are not made of classes."""
    other = FixedSupportTasks(tasks, 1, np.random.default_rng(0))
    other.unit = "pieces"
    return other


def test_tasks_of_other_kinds_are_refused():
    whole = benchmark()
    other = replace(whole, train=other_tasks(whole.train))
    with pytest.raises(BadData, match="the train tasks of 'made' are made of pieces: leave"):
        fold_benchmark(other, index=0, folds=2)
    other = replace(whole, val=other_tasks(whole.val))
    with pytest.raises(BadData, match="the val tasks of 'made' are made of pieces"):
        fold_benchmark(other, index=0, folds=2, over="base+val")
    assert fold_benchmark(other, index=0, folds=2).counts["val"].classes == 6


def test_val_images_of_their_own_cannot_be_trained_on():
    whole = benchmark()
    pool = whole.val.pool
    apart = ImagePool.in_memory(255 - pool.images, pool.labels, pool.class_names)
    other = replace(whole, val=ClassTasks(apart, whole.val.classes))
    with pytest.raises(BadData, match=r"over base\+val need the images of train and val in one"):
        fold_benchmark(other, index=0, folds=2, over="base+val")
    assert fold_benchmark(other, index=0, folds=2).val.pool is pool
