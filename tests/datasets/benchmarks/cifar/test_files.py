"""CIFAR-100's forms, on made files in each of them."""

import hashlib
import importlib.util
import io
import pickle
import shutil
import tarfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from fsl_sweep.datasets.benchmarks.cifar import files as cifar100_files
from fsl_sweep.datasets.benchmarks.cifar.files import (
    ARCHIVE,
    CHECKSUMS,
    FOLDER,
    SUPERCLASS_OF,
    find_source,
    open_images,
)
from fsl_sweep.datasets.preparing.opening import open_benchmark
from fsl_sweep.orchestrator.errors import BadData, MissingData

EACH = {"train": 3, "test": 1}
NAMES = list(SUPERCLASS_OF)


def made_images():
    """By (class, file name): pixels [3, 32, 32]; three training images a class and a test image."""
    rng = np.random.default_rng(0)
    return {
        part: {
            (label, f"{name}_s_{rng.integers(10**6):06}.png"): rng.integers(
                0, 256, (3, 32, 32), dtype=np.uint8
            )
            for label, name in enumerate(NAMES)
            for _ in range(count)
        }
        for part, count in EACH.items()
    }


def official_files(images):
    files = {"meta": b"not read"}
    for part, content in images.items():
        order = np.random.default_rng(1).permutation(len(content))  # classes are mixed, as there
        keys = [list(content)[i] for i in order]
        row = {
            b"filenames": [name.encode() for _, name in keys],
            b"fine_labels": [label for label, _ in keys],
            b"data": np.stack([content[key].reshape(-1) for key in keys]),
        }
        files[part] = pickle.dumps(row, 2)
    return files


@pytest.fixture(scope="module")
def images():
    return made_images()


@pytest.fixture(scope="module")
def folder(images, tmp_path_factory) -> Path:
    """Where ``cifar-100-python`` lies; among its files is one that is not needed, as officially."""
    root = tmp_path_factory.mktemp("official")
    (root / FOLDER).mkdir()
    for name, content in {**official_files(images), "file.txt~": b""}.items():
        (root / FOLDER / name).write_bytes(content)
    return root


@pytest.fixture(scope="module")
def archive(folder, tmp_path_factory) -> Path:
    root = tmp_path_factory.mktemp("archive")
    with tarfile.open(root / ARCHIVE, "w:gz") as file:
        file.add(folder / FOLDER, FOLDER)
    return root


def class_files(images, spell=str, around="", parts=True):
    files = {}
    for part, content in images.items():
        for (label, name), pixels in content.items():
            stream = io.BytesIO()
            Image.fromarray(pixels.transpose(1, 2, 0)).save(stream, "PNG")
            within = f"{part}/" if parts else ""
            files[f"{around}{within}{spell(NAMES[label])}/{name}"] = stream.getvalue()
    return files


@pytest.fixture
def believed(folder, monkeypatch):
    """The made files pass for the official ones."""
    for file in (folder / FOLDER / part for part in ("train", "test")):
        found = hashlib.md5(file.read_bytes()).hexdigest()
        monkeypatch.setitem(cifar100_files.CHECKSUMS, file.name, found)


def expected_pixels(images):
    rows = sorted(
        (label, name, part) for part, content in images.items() for label, name in content
    )
    return np.stack([images[part][label, name] for label, name, part in rows])


@pytest.mark.parametrize("form", ["folder", "inner folder", "archive", "archive file"])
def test_the_official_forms_give_every_image_by_class_and_file_name(
    form, folder, archive, images, believed, tmp_path
):
    root = {
        "folder": folder,
        "inner folder": folder / FOLDER,
        "archive": archive,
        "archive file": archive / ARCHIVE,
    }[form]
    pool = open_benchmark("cifar-fs", {}, root, tmp_path).train.pool
    np.testing.assert_array_equal(pool.images, expected_pixels(images))
    np.testing.assert_array_equal(pool.labels, np.repeat(np.arange(100), 4))
    assert pool.class_names == tuple(NAMES)
    assert pool.superclasses == tuple(SUPERCLASS_OF.values())


def test_every_form_has_one_fingerprint(folder, archive, images, believed, write_tree, tmp_path):
    roots = [folder, archive]
    flat = class_files(images, parts=False)
    roots.append(write_tree(flat, "flat"))
    spelled = class_files(images, lambda name: name.replace("_", "-").upper(), "cifar100/")
    roots.append(write_tree(spelled, "zipped", zipped=True))
    spelled = class_files(images, lambda name: name.replace("_", " ").title())
    roots.append(write_tree(spelled, "spelled"))
    grouped = {f"{SUPERCLASS_OF[name.split('/')[0]]}/{name}": flat[name] for name in flat}
    roots.append(write_tree(grouped, "grouped"))
    roots.append(tmp_path / "classes.tar.gz")
    with tarfile.open(roots[-1], "w:gz") as file:
        file.add(tmp_path / "flat", ".")
    found = {open_benchmark("fc100", {}, root, tmp_path).fingerprint for root in roots}
    assert len(found) == 1


def test_the_checksums_are_those_that_torchvision_knows():
    spec = importlib.util.find_spec("torchvision")  # importing it takes seconds
    official = (Path(spec.origin).parent / "datasets" / "cifar.py").read_text()
    assert all(f'"{checksum}"' in official for checksum in CHECKSUMS.values())


def test_files_that_are_not_the_official_ones_are_not_read(folder, archive, tmp_path, monkeypatch):
    for root, name in ((folder, f"{FOLDER}/train"), (archive, f"{ARCHIVE}/{FOLDER}/train")):
        with pytest.raises(BadData, match=rf"{name} is not the official file: its MD5 is") as info:
            open_benchmark("cifar-fs", {}, root, tmp_path)
        assert CHECKSUMS["train"] in str(info.value)


def test_a_lacking_file_of_the_archive_is_named(folder, tmp_path):
    shutil.copytree(folder / FOLDER, tmp_path / FOLDER)
    (tmp_path / FOLDER / "train").unlink()
    with pytest.raises(MissingData, match=rf"{FOLDER} has no file train\."):
        open_benchmark("cifar-fs", {}, tmp_path, tmp_path / "home")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"apples/1.png": b""}, r"apples/1\.png is not in a folder .*; did you mean 'apple'"),
        ({"notes.txt": b""}, r"notes\.txt is not in a folder of a CIFAR-100 class"),
    ],
)
def test_class_folders_that_are_not_cifar_100(images, write_tree, change, message):
    good = class_files({"test": images["test"]}, parts=False)
    with pytest.raises(BadData, match=message), open_images(write_tree({**good, **change})):
        pass


def test_missing_classes_are_counted_and_named(images, write_tree):
    files = class_files({"test": images["test"]}, parts=False)
    root = write_tree({name: files[name] for name in list(files)[3:]})
    (root / "apple").mkdir()
    message = r"no images of 3 of CIFAR-100's 100 classes \(apple, aquarium_fish, baby\)"
    with pytest.raises(BadData, match=message), open_images(root):
        pass


def test_where_the_files_are_looked_for(tmp_path, png):
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
