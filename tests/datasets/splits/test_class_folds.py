from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pools import blank_pool, classes_of, pool_of

from fsl_sweep.datasets.benchmark import Benchmark
from fsl_sweep.datasets.splits.class_folds import deal, fold_benchmark
from fsl_sweep.datasets.splits.drawn import class_benchmark
from fsl_sweep.datasets.tasks.classes import ClassTasks
from fsl_sweep.datasets.tasks.fixed_support import FixedSupportTasks


def benchmark(superclasses: bool = True, order: int = 1) -> Benchmark:
    """24 classes of 10 images in superclasses of 4: 12 base, 8 val and 4 novel.

    With ``order`` -1 the pool holds the classes the other way round.
    """
    numbers = np.arange(24)[::order]
    families = [f"family {n // 4}" for n in numbers] if superclasses else None
    names = [f"class {n:02d}" for n in numbers]
    pool = blank_pool(np.repeat(np.arange(24), 10), names, superclasses=families)
    split = {"base": (0, 12), "val": (12, 20), "novel": (20, 24)}
    partition = {k: np.flatnonzero((numbers >= a) & (numbers < b)) for k, (a, b) in split.items()}
    return class_benchmark("made", pool, partition, 0.3, 7)


def folds_of(whole, **options):
    return [fold_benchmark(whole, index=index, folds=3, **options) for index in range(3)]


@pytest.mark.parametrize("by", ["class", "superclass"])
@pytest.mark.parametrize(("over", "classes", "known"), [("base", 12, 120), ("base+val", 20, 200)])
def test_every_known_class_is_held_out_in_one_fold(over, by, classes, known):
    whole = benchmark()
    folds = folds_of(whole, over=over, by=by)
    held = [classes_of(fold, "val") for fold in folds]
    assert sum(map(len, held)) == len(set().union(*held)) == classes
    assert sum(len(fold.val.examples) for fold in folds) == known
    assert len({fold.fingerprint for fold in folds}) == 3
    for fold in folds:
        train, base, val = (classes_of(fold, split) for split in ("train", "base", "val"))
        assert train == base
        assert not train & val
        assert len(train | val) == classes
        splits = [fold.train.examples, fold.base.examples, fold.val.examples]
        assert len(np.unique(np.concatenate(splits))) == sum(map(len, splits)) == known
        assert fold.novel is whole.novel


def test_base_classes_keep_their_held_out_examples_and_val_classes_get_some():
    whole = benchmark()
    labels = whole.train.pool.labels
    fold, other, _ = folds_of(whole, over="base+val")
    for label in fold.train.classes:
        parts = [
            split.examples[labels[split.examples] == label] for split in (fold.train, fold.base)
        ]
        assert [*map(len, parts)] == [7, 3]
        if label in whole.base.classes:
            assert set(parts[0]) <= set(whole.train.examples)
            assert set(parts[1]) <= set(whole.base.examples)
    # A val class is divided alike in whichever folds it is trained on.
    shared = np.intersect1d(fold.train.classes, other.train.classes)
    assert np.intersect1d(shared, whole.val.classes).size
    held, again = (f.base.examples[np.isin(labels[f.base.examples], shared)] for f in (fold, other))
    np.testing.assert_array_equal(held, again)


@pytest.mark.parametrize("by", ["class", "superclass"])
def test_folds_depend_only_on_names_and_seed(by):
    seeds = [folds_of(benchmark(), by=by, seed=seed)[1] for seed in range(20)]
    held = [frozenset(classes_of(fold, "val")) for fold in seeds]
    assert held[3] == classes_of(folds_of(benchmark(order=-1), by=by, seed=3)[1], "val")
    assert len(set(held)) > 1


@given(st.integers(8, 60), st.integers(2, 8), st.integers(0, 2**32 - 1))
@settings(max_examples=40)
def test_folds_of_classes_are_balanced_and_do_not_depend_on_the_order(classes, folds, seed):
    groups = np.array([f"c{i}" for i in range(classes)])
    dealt = deal(groups, folds, seed)
    sizes = np.bincount(dealt, minlength=folds)
    assert sizes.sum() == classes
    assert sizes.max() - sizes.min() <= 1
    order = np.random.default_rng(seed).permutation(classes)
    np.testing.assert_array_equal(deal(groups[order], folds, seed), dealt[order])


@given(st.lists(st.integers(1, 9), min_size=2, max_size=7), st.integers(2, 3), st.integers(0, 99))
@settings(max_examples=60)
def test_folds_of_superclasses_are_near_the_best_balance(sizes, folds, seed):
    if len(sizes) < folds:
        return
    groups = np.repeat([f"g{g}" for g in range(len(sizes))], sizes)
    dealt = deal(groups, folds, seed)
    assert all(len(set(dealt[groups == group])) == 1 for group in set(groups))
    filled = np.bincount(dealt, minlength=folds)
    assert filled.min() > 0
    assert filled.max() - filled.min() <= max(sizes)
    # Graham's bound on filling the emptiest first with the largest first, against every deal.
    ways = np.array([*product(range(folds), repeat=len(sizes))])
    best = np.max([(ways == fold) @ sizes for fold in range(folds)], axis=0).min()
    assert 3 * folds * filled.max() <= (4 * folds - 1) * best  # in integers: the bound is reached


def test_what_cannot_be_folded_is_refused(refused, snapshot):
    whole, plain = benchmark(), benchmark(superclasses=False)
    pool = whole.val.pool
    other = pool_of(255 - pool.images, pool.labels, pool.class_names)
    own_images = replace(whole, val=ClassTasks(other, whole.val.classes))
    rng = np.random.default_rng(0)
    train, val = (FixedSupportTasks(tasks, 1, rng) for tasks in (whole.train, whole.val))
    train.unit = val.unit = "pieces"  # not made of classes
    pieces = replace(whole, val=val)
    for unused in (pieces, own_images):  # folds of base do not look at val
        assert fold_benchmark(unused, index=0, folds=2).val.pool is pool
        assert fold_benchmark(unused, index=0, folds=2).val.size == 6
    cases = [
        (whole, {"folds": 13}),
        (whole, {"folds": 6, "over": "base+val", "by": "superclass"}),
        (plain, {"folds": 2, "by": "superclass"}),
        (replace(whole, train=train), {"folds": 2}),
        (pieces, {"folds": 2, "over": "base+val"}),
        (own_images, {"folds": 2, "over": "base+val"}),
    ]
    assert [refused(fold_benchmark, data, index=0, **fold) for data, fold in cases] == snapshot
