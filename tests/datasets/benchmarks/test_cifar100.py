"""CIFAR-100's forms, on made files in each of them, and the class splits of its benchmarks."""

import hashlib
import importlib.util
import json
import pickle
import tarfile
import zipfile
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from PIL import Image
from places import REAL_DATA
from pools import classes_of, counts_of, encoded
from pydantic import ValidationError

from fsl_sweep.datasets.benchmarks import cifar100
from fsl_sweep.datasets.benchmarks.cifar100 import (
    ARCHIVE,
    CHECKSUMS,
    FOLDER,
    SUPERCLASS_OF,
    Fc100,
    find_source,
)
from fsl_sweep.datasets.catalogue import BENCHMARKS
from fsl_sweep.datasets.preparing.opening import open_benchmark
from fsl_sweep.datasets.testing import BenchmarkContract
from fsl_sweep.orchestrator.errors import BadData, MissingData

SPLITS = ("base", "val", "novel")
COUNTS = {"cifar-fs": (64, 16, 20), "fc100": (60, 20, 20), "cifar100-metadl": (65, 15, 20)}
NAMES = list(SUPERCLASS_OF)


def made_images(parts):
    """By part and (class, file name): pixels [3, 32, 32]; so many images a class in each part."""
    rng = np.random.default_rng(0)
    return {
        part: {
            (label, f"{name}_s_{rng.integers(10**6):06}.png"): rng.integers(
                0, 256, (3, 32, 32), dtype=np.uint8
            )
            for label, name in enumerate(NAMES)
            for _ in range(count)
        }
        for part, count in parts.items()
    }


def class_files(images, spell=str, around=""):
    return {
        f"{around}{spell(NAMES[label])}/{name}": encoded(pixels.transpose(1, 2, 0))
        for content in images.values()
        for (label, name), pixels in content.items()
    }


@pytest.fixture(scope="module")
def images():
    return made_images({"train": 3, "test": 1})


@pytest.fixture(scope="module")
def folder(images, tmp_path_factory) -> Path:
    """Where ``cifar-100-python`` lies; among its files are some that are not needed, as there."""
    root = tmp_path_factory.mktemp("official")
    files = {"meta": b"not read", "file.txt~": b""}
    for part, content in images.items():
        order = np.random.default_rng(1).permutation(len(content))  # classes are mixed, as there
        keys = [list(content)[i] for i in order]
        row = {
            b"filenames": [name.encode() for _, name in keys],
            b"fine_labels": [label for label, _ in keys],
            b"data": np.stack([content[key].reshape(-1) for key in keys]),
        }
        files[part] = pickle.dumps(row, 2)
    (root / FOLDER).mkdir()
    for name, content in files.items():
        (root / FOLDER / name).write_bytes(content)
    (root / "packed").mkdir()
    with tarfile.open(root / "packed" / ARCHIVE, "w:gz") as file:
        file.add(root / FOLDER, FOLDER)
    return root


def test_every_form_has_every_image_by_class_and_file_name(
    folder, images, write_tree, tmp_path, monkeypatch
):
    for part in ("train", "test"):  # the made files pass for the official ones
        found = hashlib.md5((folder / FOLDER / part).read_bytes()).hexdigest()
        monkeypatch.setitem(cifar100.CHECKSUMS, part, found)
    roots = [folder, folder / FOLDER, folder / "packed", folder / "packed" / ARCHIVE]
    flat = class_files(images)
    roots.append(write_tree(flat, "flat"))
    spelled = class_files(images, lambda name: name.replace("_", "-").upper(), "cifar100/train/")
    roots.append(write_tree(spelled, "zipped", zipped=True))
    spelled = class_files(images, lambda name: name.replace("_", " ").title())
    roots.append(write_tree(spelled, "spelled"))
    grouped = {f"{SUPERCLASS_OF[name.split('/')[0]]}/{name}": flat[name] for name in flat}
    roots.append(write_tree(grouped, "grouped"))
    roots.append(tmp_path / "classes.tar.gz")
    with tarfile.open(roots[-1], "w:gz") as file:
        file.add(tmp_path / "flat", ".")
    opened = [open_benchmark("fc100", {}, root, tmp_path) for root in roots]
    assert len({benchmark.fingerprint for benchmark in opened}) == 1
    pool = opened[0].train.pool
    rows = sorted((*key, part) for part, content in images.items() for key in content)
    expected = np.stack([images[part][label, name] for label, name, part in rows])
    np.testing.assert_array_equal(pool.images, expected)
    np.testing.assert_array_equal(pool.labels, np.repeat(np.arange(100), 4))
    assert pool.class_names == tuple(NAMES) == tuple(sorted(NAMES))  # as the official labels
    assert pool.superclasses == tuple(SUPERCLASS_OF.values())


def test_the_checksums_are_those_that_torchvision_knows():
    spec = importlib.util.find_spec("torchvision")  # importing it takes seconds
    official = (Path(spec.origin).parent / "datasets" / "cifar.py").read_text()
    assert all(f'"{checksum}"' in official for checksum in CHECKSUMS.values())


def test_files_that_are_not_the_official_ones_are_not_read(folder, tmp_path):
    for root, name in ((folder, FOLDER), (folder / "packed", f"{ARCHIVE}/{FOLDER}")):
        message = rf"{name}/train is not the official file: its MD5 is .* {CHECKSUMS['train']}"
        with pytest.raises(BadData, match=message):
            open_benchmark("cifar-fs", {}, root, tmp_path)
    (tmp_path / FOLDER).mkdir()
    (tmp_path / FOLDER / "test").touch()
    with pytest.raises(MissingData, match=rf"{FOLDER} has no file train\."):
        open_benchmark("cifar-fs", {}, tmp_path, tmp_path / "home")


@pytest.mark.parametrize(
    ("first", "more", "message"),
    [
        (0, "apples/1.png", r"apples/1\.png is not in a folder .*; did you mean 'apple'"),
        (0, "notes.txt", r"notes\.txt is not in a folder of a CIFAR-100 class"),
        (3, None, r"no images of 3 of .* 100 classes \(apple, aquarium_fish, baby\)"),
    ],
)
def test_class_folders_that_are_not_cifar_100(write_tree, tmp_path, first, more, message):
    files = {f"{name}/1.png": b"" for name in NAMES[first:]}
    root = write_tree({**files, more: b""} if more else files)
    with pytest.raises(BadData, match=message):
        open_benchmark("cifar-fs", {}, root, tmp_path / "home")


def test_where_the_files_are_looked_for(tmp_path):
    with pytest.raises(MissingData, match=r"in none of .*www\.cs\.toronto\.edu") as info:
        find_source(tmp_path)
    assert str(tmp_path / "cifar100") in str(info.value)
    (tmp_path / "cifar100").mkdir()
    zipped = tmp_path / "cifar100" / "cifar100_png.zip"
    zipped.write_bytes(b"")
    assert find_source(tmp_path) == zipped
    assert find_source(zipped) == zipped
    (tmp_path / "cifar100" / "CIFAR-100.tar").write_bytes(b"")
    with pytest.raises(BadData, match=r"several archives .*CIFAR-100\.tar, cifar100_png\.zip"):
        find_source(tmp_path)
    (tmp_path / ARCHIVE).write_bytes(b"")
    assert find_source(tmp_path) == tmp_path / ARCHIVE
    (tmp_path / FOLDER).mkdir()
    assert find_source(tmp_path) == tmp_path / FOLDER


def write_classes(root):
    for path, content in class_files(made_images({"train": 12})).items():
        (root / path).parent.mkdir(exist_ok=True)
        (root / path).write_bytes(content)
    return root


class TestFc100(BenchmarkContract):
    benchmark = Fc100
    options: ClassVar = {"image_size": 8}

    def root(self, tmp_path):
        return write_classes(tmp_path)


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    root, home = write_classes(tmp_path_factory.mktemp("a")), tmp_path_factory.mktemp("home")
    return lambda name, **options: open_benchmark(name, {"image_size": 8, **options}, root, home)


def groups(benchmark):
    return [{SUPERCLASS_OF[name] for name in classes_of(benchmark, split)} for split in SPLITS]


@pytest.mark.parametrize("name", COUNTS)
def test_the_published_counts(opened, name):
    benchmark = opened(name)
    assert tuple(benchmark.counts[split].classes for split in SPLITS) == COUNTS[name]
    assert len(set().union(*(classes_of(benchmark, split) for split in SPLITS))) == 100
    expected = BENCHMARKS.find(name).cls().expected(BENCHMARKS.find(name).cls.Options())
    assert tuple(expected[split] for split in SPLITS) == COUNTS[name]
    found = groups(benchmark)
    if name == "cifar-fs":
        assert found[2] <= found[0]  # every novel class has a relative among the base classes
    else:
        assert [len(part) for part in found] == ([12, 4, 4] if name == "fc100" else [13, 3, 4])
        assert len(set().union(*found)) == 20


def test_metadl_tests_on_fc100s_novel_classes_and_draws_val_by_superclass(opened):
    drawn = [opened("cifar100-metadl", seed=seed) for seed in (0, 1)]
    assert groups(drawn[0])[1] != groups(drawn[1])[1]
    for benchmark in drawn:
        assert classes_of(benchmark, "novel") == classes_of(opened("fc100"), "novel")
    more = opened("cifar100-metadl", val_superclasses=4)
    assert [more.counts[split].classes for split in SPLITS] == [60, 20, 20]
    with pytest.raises(ValidationError, match="val_superclasses"):
        opened("cifar100-metadl", val_superclasses=16)


def test_the_tables_are_the_official_lists(opened):
    folder = REAL_DATA / "splits"
    if not (folder / "fc100_test.json").exists():
        pytest.skip(f"the official class lists are not at {folder}: ours are NOT checked")
    for place, (split, file) in enumerate(zip(SPLITS, ("train", "val", "test"), strict=True)):
        pairs = json.loads((folder / f"cifar-fs_{file}.json").read_text())
        assert classes_of(opened("cifar-fs"), split) == {name for _, name in pairs}
        assert all(SUPERCLASS_OF[name] == group for group, name in pairs)
        official = json.loads((folder / f"fc100_{file}.json").read_text())
        assert groups(opened("fc100"))[place] == set(official)


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
