"""CIFAR-100's forms, on made files in each of them, and the class splits of its benchmarks."""

import hashlib
import importlib.util
import json
import pickle
import tarfile
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from places import REAL_DATA
from pools import classes_of, counts_of, encoded, write_files
from pydantic import ValidationError

from fsl_sweep.datasets.benchmark import MEASURED
from fsl_sweep.datasets.benchmarks import cifar100
from fsl_sweep.datasets.benchmarks.cifar100 import (
    ARCHIVE,
    CHECKSUMS,
    FOLDER,
    SUPERCLASS_OF,
    Fc100,
)
from fsl_sweep.datasets.catalogue import BENCHMARKS
from fsl_sweep.datasets.preparing.opening import open_benchmark
from fsl_sweep.datasets.testing import BenchmarkContract
from fsl_sweep.orchestrator.errors import BadData

COUNTS = {"cifar-fs": (64, 16, 20), "fc100": (60, 20, 20), "cifar100-metadl": (65, 15, 20)}
NAMES = list(SUPERCLASS_OF)


def made_images(count):
    """By class and file name: pixels [3, 32, 32]; so many images a class."""
    rng = np.random.default_rng(0)
    keys = [
        (label, f"{name}_s_{rng.integers(10**6):06}.png")
        for label, name in enumerate(NAMES)
        for _ in range(count)
    ]
    return {key: rng.integers(0, 256, (3, 32, 32), dtype=np.uint8) for key in keys}


def class_files(images, spell=str, around=""):
    return {
        f"{around}{spell(NAMES[label])}/{name}": encoded(pixels.transpose(1, 2, 0))
        for (label, name), pixels in images.items()
    }


IMAGES = made_images(4)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Where ``cifar-100-python`` lies; among its files are some that are not needed, as there."""
    files = {f"{FOLDER}/meta": b"not read", f"{FOLDER}/file.txt~": b""}
    order = np.random.default_rng(1).permutation(400)  # classes are mixed, as there
    for part, places in (("train", order[:300]), ("test", order[300:])):
        keys = [[*IMAGES][place] for place in places]
        row = {
            b"filenames": [name.encode() for _, name in keys],
            b"fine_labels": [label for label, _ in keys],
            b"data": np.stack([IMAGES[key].reshape(-1) for key in keys]),
        }
        files[f"{FOLDER}/{part}"] = pickle.dumps(row, 2)
    root = write_files(tmp_path_factory.mktemp("official"), files)
    (root / "packed").mkdir()
    with tarfile.open(root / "packed" / ARCHIVE, "w:gz") as file:
        file.add(root / FOLDER, FOLDER)
    return root


def test_every_form_has_every_image_by_class_and_file_name(
    folder, opened, write_tree, tmp_path, monkeypatch
):
    for part in ("train", "test"):  # the made files pass for the official ones
        digest = hashlib.md5((folder / FOLDER / part).read_bytes()).hexdigest()
        monkeypatch.setitem(cifar100.CHECKSUMS, part, digest)
    flat = class_files(IMAGES)
    upper = class_files(IMAGES, lambda name: name.replace("_", "-").upper(), "cifar100/train/")
    titles = class_files(IMAGES, lambda name: name.replace("_", " ").title())
    grouped = {f"{SUPERCLASS_OF[name.split('/')[0]]}/{name}": flat[name] for name in flat}
    roots = [folder, folder / FOLDER, folder / "packed", folder / "packed" / ARCHIVE]
    roots += [write_tree(files, f"tree{n}") for n, files in enumerate((flat, titles, grouped))]
    roots += [write_tree(upper, "upper", zipped=True), tmp_path / "classes.tar.gz"]
    with tarfile.open(roots[-1], "w:gz") as file:
        file.add(tmp_path / "tree0", ".")
    pools = [opened("fc100", root).train.pool for root in roots]
    assert len({pool.fingerprint for pool in pools}) == 1
    expected = np.stack([IMAGES[key] for key in sorted(IMAGES)])
    np.testing.assert_array_equal(pools[0].images, expected)
    np.testing.assert_array_equal(pools[0].labels, np.repeat(np.arange(100), 4))
    assert pools[0].class_names == tuple(NAMES) == tuple(sorted(NAMES))  # as the official labels
    assert pools[0].superclasses == tuple(SUPERCLASS_OF.values())


def test_what_is_not_cifar_100_is_refused(folder, opened, refusals, snapshot):
    spec = importlib.util.find_spec("torchvision")  # importing it takes seconds
    official = (Path(spec.origin).parent / "datasets" / "cifar.py").read_text()
    assert all(f'"{checksum}"' in official for checksum in CHECKSUMS.values())
    for root, name in ((folder, FOLDER), (folder / "packed", f"{ARCHIVE}/{FOLDER}")):
        message = rf"{name}/train is not the official file: its MD5 is .* {CHECKSUMS['train']}"
        with pytest.raises(BadData, match=message):
            opened("cifar-fs", root)
    classes = {f"{name}/1.png": b"" for name in NAMES}
    cases = {
        "half": {**dict.fromkeys(classes), f"{FOLDER}/test": b""},
        "plural": {"apples/1.png": b""},
        "notes": {"notes.txt": b""},
        "few": {f"{name}/1.png": None for name in NAMES[:3]},
    }
    assert refusals("cifar-fs", cases, classes) == snapshot


class TestFc100(BenchmarkContract):
    benchmark = Fc100
    options: ClassVar = {"image_size": 8}

    def root(self, tmp_path):
        return write_files(tmp_path, class_files(made_images(10)))


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Opens a benchmark of ten made images a class, which are prepared once."""
    root, home = (tmp_path_factory.mktemp(name) for name in ("source", "home"))
    write_files(root, class_files(made_images(10)))
    return lambda name, **options: open_benchmark(name, {"image_size": 8, **options}, root, home)


def groups(benchmark):
    return [{SUPERCLASS_OF[name] for name in classes_of(benchmark, split)} for split in MEASURED]


@pytest.mark.parametrize("name", COUNTS)
def test_the_published_counts(made, name):
    benchmark, source = made(name), BENCHMARKS.find(name).cls
    assert tuple(counts_of(benchmark)[split][0] for split in MEASURED) == COUNTS[name]
    assert len(set().union(*(classes_of(benchmark, split) for split in MEASURED))) == 100
    assert tuple(source().expected(source.Options()).values()) == COUNTS[name]
    parts = groups(benchmark)
    if name == "cifar-fs":
        assert parts[2] <= parts[0]  # every novel class has a relative among the base classes
    else:
        assert [*map(len, parts)] == ([12, 4, 4] if name == "fc100" else [13, 3, 4])
        assert len(set().union(*parts)) == 20


def test_metadl_tests_on_fc100s_novel_classes_and_draws_val_by_superclass(made):
    drawn = [made("cifar100-metadl", seed=seed) for seed in (0, 1)]
    assert groups(drawn[0])[1] != groups(drawn[1])[1]
    for benchmark in drawn:
        assert classes_of(benchmark, "novel") == classes_of(made("fc100"), "novel")
    more = made("cifar100-metadl", val_superclasses=4)
    assert [counts_of(more)[split][0] for split in MEASURED] == [60, 20, 20]
    with pytest.raises(ValidationError, match="val_superclasses"):
        made("cifar100-metadl", val_superclasses=16)


def test_the_tables_are_the_official_lists(made):
    folder = REAL_DATA / "splits"
    if not (folder / "fc100_test.json").exists():
        pytest.skip(f"the official class lists are not at {folder}: ours are NOT checked")
    for place, (split, file) in enumerate(zip(MEASURED, ("train", "val", "test"), strict=True)):
        pairs = json.loads((folder / f"cifar-fs_{file}.json").read_text())
        assert classes_of(made("cifar-fs"), split) == {name for _, name in pairs}
        assert all(SUPERCLASS_OF[name] == group for group, name in pairs)
        official = json.loads((folder / f"fc100_{file}.json").read_text())
        assert groups(made("fc100"))[place] == set(official)
