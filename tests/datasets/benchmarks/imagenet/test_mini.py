import os
import pickle
from typing import ClassVar

import numpy as np
import pytest
from pools import counts_of, encoded, write_files

from fsl_sweep.datasets.benchmark import SPLITS
from fsl_sweep.datasets.benchmarks.imagenet import mini as mini_imagenet
from fsl_sweep.datasets.benchmarks.imagenet.folders import mini_classes
from fsl_sweep.datasets.benchmarks.imagenet.mini import MiniImagenet
from fsl_sweep.datasets.testing import BenchmarkContract
from fsl_sweep.orchestrator.measuring.class_sets import class_set

NAME = "mini-imagenet"
CLASSES = mini_classes()
LABEL = {c.name: label for label, c in enumerate(CLASSES)}
NAMES = {split: [c.name for c in CLASSES if c.split == split] for split in ("base", "val", "novel")}
FILES = {"base": "train", "val": "val", "novel": "test"}
OPTIONS = {"image_size": 8, "held_out": 0.5}


def grey(label: int, number: int) -> np.ndarray:
    """An image that says whose it is: two of its pixels are its label and its number."""
    image = np.full((8, 8, 3), 100, np.uint8)
    image[0, 0], image[0, 1] = label, number
    return image


def folders(base: int, others: int) -> dict[str, bytes]:
    """ImageNet's training folders, with so many images a class; numbers have gaps, as there."""
    return {
        f"train/{name}/{name}_{7 * number + 5}.JPEG": encoded(grey(LABEL[name], number))
        for split, names in NAMES.items()
        for name in names
        for number in range(base if split == "base" else others)
    }


def cached(split: str, images: int) -> dict:
    names = NAMES[split]
    pixels = [grey(LABEL[name], n) for n in range(images) for name in names]
    rows = {name: list(range(i, len(pixels), len(names))) for i, name in enumerate(names)}
    return {"image_data": np.stack(pixels), "class_dict": rows}


def caches(images: int) -> dict[str, bytes]:
    return {
        f"mini-imagenet-cache-{file}.pkl": pickle.dumps(cached(split, images), 5)
        for split, file in FILES.items()
    }


def categories(split: str, numbers: range, text=str, **changes) -> bytes:
    names = NAMES[split]
    content = {
        "data": np.stack([grey(LABEL[name], n) for name in names for n in numbers]),
        "labels": [i for i in range(len(names)) for _ in numbers],
        "catname2label": {text(name): i for i, name in enumerate(names)},
        "label2catname": dict(enumerate(names)),
        **changes,
    }
    return pickle.dumps({text(key): value for key, value in content.items()}, 2)


def category_files(text=str) -> dict[str, bytes]:
    parts = {"train_phase_train": "base", "val": "val", "test": "novel"}
    return {
        f"miniImageNet_category_split_{part}.pickle": categories(split, range(3), text)
        for part, split in parts.items()
    }


def seen(benchmark, *splits: str) -> set[tuple[int, int]]:
    """(label, number) of each image that splits may draw, after checking its label."""
    pairs = set()
    for distribution in map(benchmark.distribution, splits):
        images = distribution.pool.images[distribution.examples]
        labels = distribution.pool.labels[distribution.examples]
        np.testing.assert_array_equal(images[:, 0, 0, 0], labels)
        pairs |= set(zip(labels.tolist(), images[:, 0, 0, 1].tolist(), strict=True))
    return pairs


def every(split: str, numbers) -> set[tuple[int, int]]:
    return {(LABEL[name], n) for name in NAMES[split] for n in numbers}


class TestClassFolders(BenchmarkContract):
    benchmark = MiniImagenet
    options: ClassVar = OPTIONS

    def root(self, tmp_path):
        return write_files(tmp_path, folders(4, 2))

    def test_a_share_of_every_base_class_is_held_out(self, prepared):
        benchmark = prepared.benchmark
        counts = {"train": (64, 128), "base": (64, 128), "val": (16, 32), "novel": (20, 40)}
        assert counts_of(benchmark) == counts
        assert seen(benchmark, "train", "base") == every("base", range(4))
        assert seen(benchmark, "val") == every("val", range(2))
        assert benchmark.train.pool.class_names == tuple(c.name for c in CLASSES)


def test_imagenet_gives_further_images_to_measure_base_on(opened, write_tree, monkeypatch):
    monkeypatch.setattr(mini_imagenet, "OFFICIAL_IMAGES", 3)
    root, again = write_tree(folders(5, 4)), write_tree(folders(5, 4), "again")
    benchmark = opened(NAME, root, **OPTIONS)
    counts = {"train": (64, 192), "base": (64, 128), "val": (16, 48), "novel": (20, 60)}
    assert counts_of(benchmark) == counts
    trained, fresh = seen(benchmark, "train"), seen(benchmark, "base")
    assert trained | fresh == every("base", range(5))
    assert not trained & fresh
    # They are drawn for each class: not always the first ones; and alike for every seed.
    assert len({tuple(n for c, n in sorted(trained) if c == label) for label, _ in trained}) > 1
    assert seen(opened(NAME, again, image_size=8, held_out=0.1, seed=1), "train") == trained
    # The classifier of "Two Sides", figure 3(b), trains on the 600 and is tested on the others.
    classified = opened(f"in-distribution:{NAME}", root, **OPTIONS, fresh=True)
    assert seen(classified, "train") == trained
    halves = [seen(classified, split) for split in ("val", "novel")]
    assert set.union(*halves) == fresh
    assert list(map(len, halves)) == [64, 64]


def test_further_classes_are_in_the_pool_and_in_no_split(opened, write_tree, refusals, snapshot):
    unused, further = {**OPTIONS, "unused_classes": 2}, ["n00000001", "n00000002", "n99999999"]
    cases = {"folders": folders(1, 1), "pickled": caches(1)}
    assert refusals(NAME, cases, **unused) == snapshot
    images = {
        f"train/{name}/{name}_{number}.JPEG": encoded(grey(label, number))
        for label, name in enumerate(further, 200)
        for number in range(3)
    }
    root = write_tree({**folders(4, 2), **images})
    plain, more = (opened(NAME, root, **options) for options in (OPTIONS, unused))
    assert plain.fingerprint != more.fingerprint
    assert [seen(plain, split) for split in SPLITS] == [seen(more, split) for split in SPLITS]
    names = more.train.pool.class_names
    assert (names[:100], len(names)) == (plain.train.pool.class_names, 102)
    left = class_set(more, ("unused",))
    pixels = left.pool.images[left.examples][:, 0, 0, :2]
    expected = [[200 + further.index(name), n] for name in names[100:] for n in range(3)]
    assert pixels.tolist() == expected
    assert class_set(more, ("novel", "unused")).size == 22


def test_options_that_came_later_are_not_in_the_ids_of_trials_without_them():
    assert [*MiniImagenet.Options().model_dump()] == ["image_size", "held_out", "seed"]
    assert MiniImagenet().pool_options(MiniImagenet.Options()) == {"image_size": 84}


def lists(positions) -> dict[str, str]:
    return {
        f"{file}.csv": "filename,label\n"
        + "".join(f"{name}{p:08d}.jpg,{name}\n" for name in NAMES[split] for p in positions)
        for split, file in FILES.items()
    }


def test_the_lists_of_images_say_which_are_trained_on(
    opened, write_tree, monkeypatch, refused, snapshot
):
    monkeypatch.setattr(mini_imagenet, "OFFICIAL_IMAGES", 3)
    # From 1, by ImageNet's numbers: 5 comes before 12 and 19.
    root = write_tree({**folders(5, 5), **lists((5, 1, 3))})
    benchmark = opened(NAME, root, **OPTIONS)
    assert seen(benchmark, "train") == every("base", (0, 2, 4))
    assert seen(benchmark, "base") == every("base", (1, 3))
    assert seen(benchmark, "novel") == every("novel", (0, 2, 4))
    messages = []
    for files in (lists((6,)), {"val.csv": "filename,label\nn0185567200000003.jpg\n"}):
        messages.append(refused(opened, NAME, write_files(root, files), **OPTIONS))
    assert messages == snapshot


@pytest.mark.parametrize("text", [str, str.encode])
def test_pickled_caches_and_the_category_split(opened, write_tree, monkeypatch, text):
    benchmark = opened(NAME, write_tree(caches(4), "caches"), **OPTIONS)
    assert seen(benchmark, "train", "base") == every("base", range(4))
    assert seen(benchmark, "novel") == every("novel", range(4))
    monkeypatch.setattr(mini_imagenet, "OFFICIAL_IMAGES", 3)
    root = write_tree(category_files(text))
    assert seen(opened(NAME, root, **OPTIONS), "train", "base") == every("base", range(3))
    further = {
        f"miniImageNet_category_split_train_phase_{part}.pickle": categories("base", numbers, text)
        for part, numbers in (("val", range(10, 12)), ("test", range(20, 22)))
    }
    benchmark = opened(NAME, write_files(root, further), **OPTIONS)
    assert seen(benchmark, "train") == every("base", range(3))
    assert seen(benchmark, "base") == every("base", (10, 11, 20, 21))
    assert seen(benchmark, "val") == every("val", range(3))


VAL = cached("val", 3)
ROWS = VAL["class_dict"]
BAD_CACHES = {
    "code": os.system,
    "a list": [1],
    "other keys": {"images": 1},
    "grey": {**VAL, "image_data": np.zeros((48, 8, 8), np.uint8)},
    "floats": {**VAL, "image_data": np.zeros((48, 8, 8, 3), np.float32)},
    "image list": {**VAL, "image_data": [1]},
    "too few images": {**VAL, "image_data": VAL["image_data"][1:]},
    "class list": {**VAL, "class_dict": [1]},
    **{
        f"rows {rows}": {**VAL, "class_dict": {**ROWS, NAMES["val"][0]: rows}}
        for rows in ([], [0.5], [-1], [3, 3])
    },
    "cat": {**VAL, "class_dict": {"cat": [1]}},
    "another split": cached("novel", 3),
}


def test_files_that_cannot_be_used_or_are_missing_are_named(refusals, snapshot):
    name = "mini-imagenet-cache-{}.pkl".format
    cases = {what: {name("val"): pickle.dumps(content, 2)} for what, content in BAD_CACHES.items()}
    cases |= {"no test": {name("test"): None}, "nothing": dict.fromkeys(caches(3))}
    messages = refusals(NAME, cases, caches(3), **OPTIONS)
    cut_off, few = categories("val", range(3))[:-100], categories("val", range(3), labels=[0])
    file = "miniImageNet_category_split_val.pickle"
    cases = {"labels": {file: few}, "cut off": {file: cut_off}}
    assert {**messages, **refusals(NAME, cases, category_files(), **OPTIONS)} == snapshot
