import os
import pickle
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from pools import counts_of, encoded

from fsl_sweep.datasets.benchmark import SPLITS
from fsl_sweep.datasets.benchmarks.imagenet import mini as mini_imagenet
from fsl_sweep.datasets.benchmarks.imagenet.folders import mini_classes
from fsl_sweep.datasets.benchmarks.imagenet.mini import MiniImagenet
from fsl_sweep.datasets.preparing.opening import open_benchmark
from fsl_sweep.datasets.testing import BenchmarkContract
from fsl_sweep.orchestrator.errors import BadData, MissingData, UserError
from fsl_sweep.orchestrator.measuring.class_sets import class_set

CLASSES = mini_classes()
LABEL = {c.name: label for label, c in enumerate(CLASSES)}
FILES = {"base": "train", "val": "val", "novel": "test"}
OPTIONS = {"image_size": 8, "held_out": 0.5}


def grey(label: int, number: int) -> np.ndarray:
    """An image that says whose it is: two of its pixels are its label and its number."""
    image = np.full((8, 8, 3), 100, np.uint8)
    image[0, 0], image[0, 1] = label, number
    return image


def write_folders(root: Path, base: int, others: int) -> Path:
    """ImageNet's training folders, with so many images a class."""
    for label, listed in enumerate(CLASSES):
        folder = root / "train" / listed.name
        folder.mkdir(parents=True)
        for number in range(base if listed.split == "base" else others):
            # ImageNet's numbers have gaps and different lengths.
            name = f"{listed.name}_{7 * number + 5}.JPEG"
            (folder / name).write_bytes(encoded(grey(label, number)))
    return root


def cached(split: str, images: int) -> dict:
    names = [c.name for c in CLASSES if c.split == split]
    pixels = [grey(LABEL[name], n) for n in range(images) for name in names]
    rows = {name: list(range(i, len(pixels), len(names))) for i, name in enumerate(names)}
    return {"image_data": np.stack(pixels), "class_dict": rows}


def write_caches(root: Path, images: int = 4) -> Path:
    for split, name in FILES.items():
        path = root / f"mini-imagenet-cache-{name}.pkl"
        path.write_bytes(pickle.dumps(cached(split, images), 5))
    return root


def categories(split: str, numbers: range, text=str) -> dict:
    names = [c.name for c in CLASSES if c.split == split]
    content = {
        "data": np.stack([grey(LABEL[name], n) for name in names for n in numbers]),
        "labels": [i for i in range(len(names)) for _ in numbers],
        "catname2label": {text(name): i for i, name in enumerate(names)},
        "label2catname": dict(enumerate(names)),
    }
    return {text(key): value for key, value in content.items()}


def write_categories(root: Path, text=str) -> Path:
    parts = {"train_phase_train": "base", "val": "val", "test": "novel"}
    for part, split in parts.items():
        path = root / f"miniImageNet_category_split_{part}.pickle"
        path.write_bytes(pickle.dumps(categories(split, range(3), text), 2))
    return root


def seen(benchmark, split: str) -> set[tuple[int, int]]:
    """(label, number) of each image that a split may draw, after checking its label."""
    distribution = benchmark.distribution(split)
    images = distribution.pool.images[distribution.examples]
    labels = distribution.pool.labels[distribution.examples]
    np.testing.assert_array_equal(images[:, 0, 0, 0], labels)
    return set(zip(labels.tolist(), images[:, 0, 0, 1].tolist(), strict=True))


def every(split: str, numbers) -> set[tuple[int, int]]:
    return {(LABEL[c.name], n) for c in CLASSES if c.split == split for n in numbers}


class TestClassFolders(BenchmarkContract):
    benchmark = MiniImagenet
    options: ClassVar = OPTIONS

    def root(self, tmp_path):
        return write_folders(tmp_path, 4, 2)

    def test_a_share_of_every_base_class_is_held_out(self, tmp_path_factory):
        found = self._prepared(tmp_path_factory).benchmark
        counts = {"train": (64, 128), "base": (64, 128), "val": (16, 32), "novel": (20, 40)}
        assert counts_of(found) == counts
        assert seen(found, "train") | seen(found, "base") == every("base", range(4))
        assert seen(found, "val") == every("val", range(2))
        assert found.train.pool.class_names == tuple(c.name for c in CLASSES)


def test_imagenet_gives_further_images_to_measure_base_on(tmp_path, monkeypatch):
    monkeypatch.setattr(mini_imagenet, "OFFICIAL_IMAGES", 3)
    root = write_folders(tmp_path / "source", 5, 4)
    benchmark = open_benchmark("mini-imagenet", OPTIONS, root, tmp_path)
    found = {"train": (64, 192), "base": (64, 128), "val": (16, 48), "novel": (20, 60)}
    assert counts_of(benchmark) == found
    trained, fresh = seen(benchmark, "train"), seen(benchmark, "base")
    assert trained | fresh == every("base", range(5))
    assert not trained & fresh
    # They are drawn for each class: not always the first ones.
    assert len({tuple(n for c, n in sorted(trained) if c == label) for label, _ in trained}) > 1
    again = open_benchmark("mini-imagenet", OPTIONS, root, tmp_path / "again")
    assert seen(again, "train") == trained
    seed = open_benchmark("mini-imagenet", {**OPTIONS, "seed": 1, "held_out": 0.1}, root, tmp_path)
    assert seen(seed, "train") == trained
    # The classifier of "Two Sides", figure 3(b), trains on the 600 and is tested on the others.
    options = {**OPTIONS, "fresh": True}
    classified = open_benchmark("in-distribution:mini-imagenet", options, root, tmp_path)
    assert seen(classified, "train") == trained
    halves = [seen(classified, split) for split in ("val", "novel")]
    assert set.union(*halves) == fresh
    assert list(map(len, halves)) == [64, 64]


def test_further_classes_are_in_the_pool_and_in_no_split(tmp_path):
    root, unused = write_folders(tmp_path / "source", 4, 2), {**OPTIONS, "unused_classes": 2}
    with pytest.raises(MissingData, match="has images of 0 further classes; unused_classes is 2"):
        open_benchmark("mini-imagenet", unused, root, tmp_path)
    further = ["n00000001", "n00000002", "n99999999"]
    for label, name in enumerate(further, 200):
        (root / "train" / name).mkdir()
        for number in range(3):
            (root / "train" / name / f"{name}_{number}.JPEG").write_bytes(
                encoded(grey(label, number))
            )
    plain, more = (open_benchmark("mini-imagenet", o, root, tmp_path) for o in (OPTIONS, unused))
    assert plain.fingerprint != more.fingerprint
    assert [seen(plain, split) for split in SPLITS] == [seen(more, split) for split in SPLITS]
    names = more.train.pool.class_names
    assert names[:100] == plain.train.pool.class_names
    drawn = names[100:]
    assert len(drawn) == 2
    left = class_set(more, ("unused",))
    pixels = left.pool.images[left.examples][:, 0, 0, :2]
    expected = [[200 + further.index(name), n] for name in drawn for n in range(3)]
    assert pixels.tolist() == expected
    assert class_set(more, ("novel", "unused")).size == 22


def test_further_classes_are_not_in_pickles(tmp_path):
    (root := tmp_path / "source").mkdir()
    write_caches(root)
    with pytest.raises(MissingData, match=r"pickle, which hold no unused classes"):
        open_benchmark("mini-imagenet", {"unused_classes": 1}, root, tmp_path)


def test_options_that_came_later_are_not_in_the_ids_of_trials_without_them():
    assert [*MiniImagenet.Options().model_dump()] == ["image_size", "held_out", "seed"]
    assert MiniImagenet().pool_options(MiniImagenet.Options()) == {"image_size": 84}


def write_lists(root: Path, positions) -> None:
    for split, name in FILES.items():
        rows = [
            f"{c.name}{p:08d}.jpg,{c.name}" for c in CLASSES if c.split == split for p in positions
        ]
        (root / f"{name}.csv").write_text("\n".join(["filename,label", *rows]) + "\n")


def test_the_lists_of_images_say_which_are_trained_on(tmp_path, monkeypatch):
    monkeypatch.setattr(mini_imagenet, "OFFICIAL_IMAGES", 3)
    root = write_folders(tmp_path / "source", 5, 5)
    write_lists(root, (5, 1, 3))  # from 1, by ImageNet's numbers: 5 comes before 12 and 19
    benchmark = open_benchmark("mini-imagenet", OPTIONS, root, tmp_path)
    assert seen(benchmark, "train") == every("base", (0, 2, 4))
    assert seen(benchmark, "base") == every("base", (1, 3))
    assert seen(benchmark, "novel") == every("novel", (0, 2, 4))
    write_lists(root, (6,))
    with pytest.raises(BadData, match=r"name image 6 of class n\d+, but .* has 5\. Is the"):
        open_benchmark("mini-imagenet", OPTIONS, root, tmp_path)
    (root / "val.csv").write_text("filename,label\nn0185567200000003.jpg\n")
    with pytest.raises(BadData, match=r"val\.csv must have the columns filename and label"):
        open_benchmark("mini-imagenet", OPTIONS, root, tmp_path)


def test_pickled_caches(tmp_path):
    (root := tmp_path / "source").mkdir()
    (inside := root / "miniImageNet").mkdir()  # the folder may be the one around it
    write_caches(inside)
    benchmark = open_benchmark("mini-imagenet", OPTIONS, root, tmp_path)
    assert seen(benchmark, "train") | seen(benchmark, "base") == every("base", range(4))
    assert seen(benchmark, "novel") == every("novel", range(4))


@pytest.mark.parametrize("text", [str, str.encode])
def test_the_category_split_with_and_without_further_images(tmp_path, monkeypatch, text):
    monkeypatch.setattr(mini_imagenet, "OFFICIAL_IMAGES", 3)
    (root := tmp_path / "source").mkdir()
    write_categories(root, text)
    benchmark = open_benchmark("mini-imagenet", OPTIONS, root, tmp_path / "a")
    assert seen(benchmark, "train") | seen(benchmark, "base") == every("base", range(3))
    for part, numbers in (("val", range(10, 12)), ("test", range(20, 22))):
        path = root / f"miniImageNet_category_split_train_phase_{part}.pickle"
        path.write_bytes(pickle.dumps(categories("base", numbers, text), 2))
    benchmark = open_benchmark("mini-imagenet", OPTIONS, root, tmp_path / "b")
    assert seen(benchmark, "train") == every("base", range(3))
    assert seen(benchmark, "base") == every("base", (10, 11, 20, 21))
    assert seen(benchmark, "val") == every("val", range(3))


def refused(tmp_path, kind: type[UserError] = BadData) -> str:
    with pytest.raises(kind) as caught:
        open_benchmark("mini-imagenet", OPTIONS, tmp_path / "source", tmp_path / "home")
    return str(caught.value)


def changed(**values) -> dict:
    return {**cached("val", 3), **values}


ROWS = cached("val", 3)["class_dict"]
NAME = next(iter(ROWS))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (os.system, "val.pkl is refused: it names 'posix.system'"),
        ([1], "val.pkl holds a list instead of a dict"),
        ({"images": 1}, "val.pkl has the keys images; expected are image_data and class_dict"),
        (changed(image_data=np.zeros((48, 8, 8), np.uint8)), "it has uint8 (48, 8, 8)."),
        (changed(image_data=np.zeros((48, 8, 8, 3), np.float32)), "it has float32 (48, 8, 8, 3)"),
        (changed(image_data=[1]), "it has list"),
        (changed(image_data=np.zeros((47, 8, 8, 3), np.uint8)), "different rows from 0 to 46"),
        (changed(class_dict=[1]), "its classes as a dict"),
        *(
            (changed(class_dict={**ROWS, NAME: rows}), f"class {NAME} must have different rows")
            for rows in ([], [0.5], [-1], [3, 3])
        ),
        (changed(class_dict={"cat": [1]}), "has 1 classes; the 16 of the published list"),
        (cached("novel", 3), "has 20 classes; the 16 of the published list"),
    ],
)
def test_caches_that_cannot_be_used(tmp_path, content, message):
    (tmp_path / "source").mkdir()
    write_caches(tmp_path / "source", 3)
    path = tmp_path / "source" / "mini-imagenet-cache-val.pkl"
    path.write_bytes(pickle.dumps(content, 2))
    told = refused(tmp_path)
    assert message in told
    assert str(path) in told


def test_labels_that_do_not_fit_their_images(tmp_path):
    (root := tmp_path / "source").mkdir()
    write_categories(root)
    content = categories("val", range(3))
    path = root / "miniImageNet_category_split_val.pickle"
    path.write_bytes(pickle.dumps({**content, "labels": content["labels"][:-1]}))
    assert "val.pickle must have a whole number as label for each of 48 images" in refused(tmp_path)
    path.write_bytes(path.read_bytes()[:-100])
    assert "is damaged" in refused(tmp_path)


def test_what_is_missing_is_named(tmp_path):
    (root := tmp_path / "source").mkdir()
    told = refused(tmp_path, MissingData)
    assert "nor class folders such as n01532829" in told
    assert "https://image-net.org" in told
    write_caches(root, 1)
    (root / "mini-imagenet-cache-test.pkl").unlink()
    assert "but not mini-imagenet-cache-test.pkl." in refused(tmp_path, MissingData)
