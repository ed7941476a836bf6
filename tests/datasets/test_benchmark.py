import numpy as np
import pytest

from fsl_sweep.datasets.benchmark import Benchmark
from fsl_sweep.datasets.pool import ImagePool
from fsl_sweep.datasets.splits.drawn import class_benchmark
from fsl_sweep.datasets.tasks.classes import ClassTasks
from fsl_sweep.orchestrator.errors import BadData


@pytest.fixture
def parts() -> dict[str, np.ndarray]:
    return {"base": np.array([0, 1]), "val": np.array([2, 3]), "novel": np.array([4, 5])}


def test_pixel_statistics_are_of_only_the_training_images(pool, parts):
    benchmark = class_benchmark("made", pool, parts, 0.3, 0)
    train = pool.images[benchmark.train.examples] / 255
    assert benchmark.pixel_mean == pytest.approx([train.mean()])
    assert benchmark.pixel_std == pytest.approx([train.std()])
    other = pool.images.copy()
    unseen = np.setdiff1d(np.arange(len(pool)), benchmark.train.examples)
    other[unseen] = 255
    changed = ImagePool.in_memory(other, pool.labels, pool.class_names)
    again = class_benchmark("made", changed, parts, 0.3, 0)
    assert again.pixel_mean == benchmark.pixel_mean
    assert again.pixel_std == benchmark.pixel_std


def test_pixel_statistics_are_per_channel_and_never_zero(parts):
    images = np.zeros((60, 3, 2, 2), np.uint8)
    images[:, 1] = 51
    images[::2, 2] = 255
    pool = ImagePool.in_memory(images, np.repeat(np.arange(6), 10), list("abcdef"))
    benchmark = class_benchmark("made", pool, parts, 0.2, 0)
    assert benchmark.pixel_mean[:2] == pytest.approx([0, 0.2])
    assert benchmark.pixel_std[:2] == (1.0, 1.0)
    assert 0.4 < benchmark.pixel_std[2] <= 0.5


def test_counts_and_shape(pool, parts):
    benchmark = class_benchmark("made", pool, parts, 0.25, 0)
    assert benchmark.image_shape == (1, 4, 4)
    counts = benchmark.counts
    assert (counts["base"].classes, counts["base"].images) == (2, 3 + 3)
    assert (counts["train"].classes, counts["train"].images) == (2, 9 + 10)
    assert (counts["novel"].classes, counts["novel"].images) == (2, 16 + 17)


def test_fingerprint_follows_the_split_and_not_the_name(pool, parts):
    first = class_benchmark("made", pool, parts, 0.25, 0)
    assert class_benchmark("other", pool, parts, 0.25, 0).fingerprint == first.fingerprint
    assert class_benchmark("made", pool, parts, 0.25, 1).fingerprint != first.fingerprint
    assert class_benchmark("made", pool, parts, 0.5, 0).fingerprint != first.fingerprint
    swapped = {**parts, "val": parts["novel"], "novel": parts["val"]}
    assert class_benchmark("made", pool, swapped, 0.25, 0).fingerprint != first.fingerprint


def test_measuring_base_on_training_examples_is_refused(pool):
    tasks = ClassTasks(pool, np.array([0, 1]))
    with pytest.raises(BadData, match="that it trains on"):
        Benchmark.of("made", tasks, tasks, tasks, tasks)


def test_images_of_several_shapes_are_refused(pool, parts):
    benchmark = class_benchmark("made", pool, parts, 0.25, 0)
    wide = ImagePool.in_memory(np.zeros((4, 1, 2, 8), np.uint8), np.array([0, 0, 1, 1]), ["a", "b"])
    novel = ClassTasks(wide, np.array([0, 1]))
    with pytest.raises(BadData, match="several shapes"):
        Benchmark.of("made", benchmark.train, benchmark.base, benchmark.val, novel)
