"""The benchmarks made of CIFAR-100: their class splits, and the real images where they are."""

import json
import zipfile
from typing import ClassVar

import numpy as np
import pytest
from PIL import Image
from places import REAL_DATA
from pools import classes_of, counts_of
from pydantic import ValidationError

from fsl_sweep.datasets.benchmarks.cifar.cifar100 import Fc100
from fsl_sweep.datasets.benchmarks.cifar.files import SUPERCLASS_OF
from fsl_sweep.datasets.catalogue import BENCHMARKS
from fsl_sweep.datasets.preparing.opening import open_benchmark
from fsl_sweep.datasets.testing import BenchmarkContract

SPLITS = ("base", "val", "novel")
COUNTS = {"cifar-fs": (64, 16, 20), "fc100": (60, 20, 20), "cifar100-metadl": (65, 15, 20)}
EACH = 12


def write_classes(root):
    rng = np.random.default_rng(0)
    for name in SUPERCLASS_OF:
        (root / name).mkdir()
        for image in range(EACH):
            pixels = rng.integers(0, 256, (9, 10, 3), dtype=np.uint8)
            Image.fromarray(pixels).save(root / name / f"{image}.png")
    return root


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    return write_classes(tmp_path_factory.mktemp("classes"))


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return tmp_path_factory.mktemp("home")


@pytest.fixture
def opened(root, home):
    def opened(name, **options):
        return open_benchmark(name, {"image_size": 8, **options}, root, home)

    return opened


class TestFc100(BenchmarkContract):
    benchmark = Fc100
    options: ClassVar = {"image_size": 8}

    def root(self, tmp_path):
        return write_classes(tmp_path)


def groups(benchmark, split):
    return {SUPERCLASS_OF[name] for name in classes_of(benchmark, split)}


@pytest.mark.parametrize("name", COUNTS)
def test_the_published_counts(opened, name):
    benchmark = opened(name)
    assert tuple(benchmark.counts[split].classes for split in SPLITS) == COUNTS[name]
    assert len(set().union(*(classes_of(benchmark, split) for split in SPLITS))) == 100
    expected = BENCHMARKS.find(name).cls().expected(BENCHMARKS.find(name).cls.Options())
    assert tuple(expected[split] for split in SPLITS) == COUNTS[name]
    assert list(SUPERCLASS_OF) == sorted(SUPERCLASS_OF)  # the order of the official labels


def test_superclasses_are_whole_in_fc100_and_mixed_in_cifar_fs(opened):
    found = [groups(opened("fc100"), split) for split in SPLITS]
    assert [len(part) for part in found] == [12, 4, 4]
    assert len(set().union(*found)) == 20
    mixed = [groups(opened("cifar-fs"), split) for split in SPLITS]
    assert mixed[2] <= mixed[0]  # every novel class has a relative among the base classes


def test_metadl_tests_on_fc100s_novel_classes_and_draws_val_by_superclass(opened):
    drawn = []
    for seed in (0, 1):
        benchmark = opened("cifar100-metadl", seed=seed)
        assert classes_of(benchmark, "novel") == classes_of(opened("fc100"), "novel")
        found = [groups(benchmark, split) for split in SPLITS]
        assert [len(part) for part in found] == [13, 3, 4]
        assert len(set().union(*found)) == 20
        drawn.append(found[1])
    assert drawn[0] != drawn[1]
    more = opened("cifar100-metadl", val_superclasses=4)
    assert [more.counts[split].classes for split in SPLITS] == [60, 20, 20]
    with pytest.raises(ValidationError, match="val_superclasses"):
        opened("cifar100-metadl", val_superclasses=16)


def test_the_tables_are_the_official_lists(opened):
    folder = REAL_DATA / "splits"
    if not (folder / "fc100_test.json").exists():
        pytest.skip(f"the official class lists are not at {folder}: ours are NOT checked")
    for split, file in (("base", "train"), ("val", "val"), ("novel", "test")):
        pairs = json.loads((folder / f"cifar-fs_{file}.json").read_text())
        assert classes_of(opened("cifar-fs"), split) == {name for _, name in pairs}
        assert all(SUPERCLASS_OF[name] == group for group, name in pairs)
        official = json.loads((folder / f"fc100_{file}.json").read_text())
        assert groups(opened("fc100"), split) == set(official)


@pytest.mark.slow
def test_the_real_images(tmp_path):
    """Ten of each class, in the zip's own layout."""
    path = REAL_DATA / "cifar100" / "cifar100_200_per_class.zip"
    if not path.exists():
        pytest.skip(f"the real CIFAR-100 is not at {path}: its counts are NOT checked")
    with (
        zipfile.ZipFile(path) as whole,
        zipfile.ZipFile(tmp_path / "some.zip", "w") as some,
    ):
        names = sorted(name for name in whole.namelist() if name.endswith(".png"))
        assert len(names) == 20_000
        for name in (name for first in range(0, 20_000, 200) for name in names[first:][:10]):
            some.writestr(name, whole.read(name))
        rockets = [name for name in names if "/rocket/" in name]
        with whole.open(rockets[7]) as file:
            pixels = np.asarray(Image.open(file).convert("RGB")).transpose(2, 0, 1)
    benchmark = open_benchmark("fc100", {}, tmp_path / "some.zip", tmp_path)
    found = {"train": (60, 480), "base": (60, 120), "val": (20, 200), "novel": (20, 200)}
    assert counts_of(benchmark) == found
    pool = benchmark.train.pool
    np.testing.assert_array_equal(np.bincount(pool.labels), np.full(100, 10))
    assert pool.image_shape == (3, 32, 32)
    rocket = np.flatnonzero(pool.labels == pool.class_names.index("rocket"))
    np.testing.assert_array_equal(pool.images[rocket[7]], pixels)
    # The means of CIFAR-100's training images, which everyone normalises by, are near.
    np.testing.assert_allclose(benchmark.pixel_mean, (0.507, 0.487, 0.441), atol=0.03)
