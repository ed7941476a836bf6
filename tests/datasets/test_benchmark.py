import numpy as np
import pytest
from pools import counts_of, pool_of

from fsl_sweep.datasets.benchmark import Benchmark
from fsl_sweep.datasets.splits.drawn import class_benchmark
from fsl_sweep.datasets.tasks.classes import ClassTasks

PARTS = {"base": np.array([0, 1]), "val": np.array([2, 3]), "novel": np.array([4, 5])}


def made(pool, held_out=0.25, seed=0, name="made", parts=PARTS):
    return class_benchmark(name, pool, parts, held_out, seed)


def test_pixel_statistics_are_of_only_the_training_images(pool):
    benchmark = made(pool)
    train = pool.images[benchmark.train.examples] / 255
    assert benchmark.pixel_mean == pytest.approx([train.mean()])
    assert benchmark.pixel_std == pytest.approx([train.std()])
    other = np.full_like(pool.images, 255)
    other[benchmark.train.examples] = pool.images[benchmark.train.examples]
    again = made(pool_of(other, pool.labels, pool.class_names))
    assert again.pixel_mean == benchmark.pixel_mean
    assert again.pixel_std == benchmark.pixel_std


def test_pixel_statistics_are_per_channel_and_never_zero():
    images = np.zeros((60, 3, 2, 2), np.uint8)
    images[:, 1] = 51
    images[::2, 2] = 255
    benchmark = made(pool_of(images, np.repeat(np.arange(6), 10), list("abcdef")))
    assert benchmark.pixel_mean[:2] == pytest.approx([0, 0.2])
    assert benchmark.pixel_std[:2] == (1.0, 1.0)
    assert 0.4 < benchmark.pixel_std[2] <= 0.5


def test_counts_shape_and_the_fingerprint_follow_the_split_and_not_the_name(pool):
    first = made(pool)
    assert first.image_shape == (1, 4, 4)
    counts = {"train": (2, 9 + 10), "base": (2, 3 + 3), "val": (2, 14 + 15), "novel": (2, 16 + 17)}
    assert counts_of(first) == counts
    assert first.n_base_classes == 2
    assert made(pool, name="other").fingerprint == first.fingerprint
    swapped = {**PARTS, "val": PARTS["novel"], "novel": PARTS["val"]}
    others = [made(pool, seed=1), made(pool, 0.5), made(pool, parts=swapped)]
    assert first.fingerprint not in {other.fingerprint for other in others}


def test_splits_that_share_examples_are_refused(pool, refused, snapshot):
    tasks = ClassTasks(pool, np.array([0, 1]))
    assert refused(Benchmark.of, "made", tasks, tasks, tasks, tasks) == snapshot
