import os
import pickle
from functools import cache
from typing import ClassVar

import numpy as np
import pytest
from pools import counts_of, encoded, superclasses_of, write_files

from fsl_sweep.datasets.benchmarks.imagenet.folders import tiered_classes
from fsl_sweep.datasets.benchmarks.imagenet.tiered import TieredImagenet
from fsl_sweep.datasets.testing import BenchmarkContract
from fsl_sweep.orchestrator.errors import BadData
from fsl_sweep.orchestrator.measuring.class_sets import class_set

NAME = "tiered-imagenet"
OPTIONS = {"image_size": 8, "held_out": 0.5}
FILES = {"base": "train", "val": "val", "novel": "test"}
CLASSES = {"base": 351, "val": 97, "novel": 160}
SUPERCLASSES = {"base": 20, "val": 6, "novel": 8}
IMAGES = {"base": 4, "val": 2, "novel": 2}


def opencv(first: int, second: int, third: int) -> np.ndarray:
    """A PNG file as OpenCV gives it: a column of bytes."""
    image = np.full((8, 8, 3), 100, np.uint8)
    image[0, 0] = first % 256, second, third
    return np.frombuffer(encoded(image), np.uint8)[:, None].copy()


def labels(split: str) -> dict:
    specific = np.tile(np.arange(CLASSES[split]), IMAGES[split])
    return {
        "label_specific": specific,
        "label_general": specific % SUPERCLASSES[split],
        # Two classes of ImageNet are called crane; the last name is missing, as in real files.
        "label_specific_str": [*("crane" if n == 3 else f"{split}{n}" for n in range(96))],
        "label_general_str": [f"{split} group {n}" for n in range(SUPERCLASSES[split] - 1)],
    }


@cache
def images(split: str) -> list[np.ndarray]:
    order = list(FILES).index(split)
    return [opencv(int(n), int(n) // 256, order) for n in labels(split)["label_specific"]]


@cache
def pickles(protocol: int = 2) -> dict[str, bytes]:
    return {
        f"{file}_{what}.pkl": pickle.dumps(content(split), protocol)
        for split, file in FILES.items()
        for what, content in (("images_png", images), ("labels", labels))
    }


class TestPickles(BenchmarkContract):
    benchmark = TieredImagenet
    options: ClassVar = OPTIONS

    def root(self, tmp_path):
        return write_files(tmp_path, pickles())


def test_the_pickled_lists(opened, write_tree):
    root = write_tree(pickles(protocol=5))  # the conformance suite has 2
    benchmark = opened(NAME, root, **OPTIONS)
    counts = {"train": (351, 702), "base": (351, 702), "val": (97, 194), "novel": (160, 320)}
    assert counts_of(benchmark) == counts
    pool = benchmark.train.pool
    for order, (split, first) in enumerate((("base", 0), ("val", 351), ("novel", 448))):
        distribution = benchmark.distribution(split)
        pixels = pool.images[distribution.examples][:, :, 0, 0].astype(int)
        numbers = pool.labels[distribution.examples] - first
        np.testing.assert_array_equal(pixels[:, 0] + 256 * pixels[:, 1], numbers)
        assert set(pixels[:, 2]) == {order}
        last = SUPERCLASSES[split] - 1
        groups = {*(f"{split} group {n}" for n in range(last)), f"superclass {split} {last}"}
        assert superclasses_of(benchmark, split) == groups
        assert pool.superclasses[first + last] == f"superclass {split} {last}"
    assert pool.class_names[:4] == ("base0", "base1", "base2", "crane #3")
    assert pool.class_names[351 + 3] == "crane #354"
    assert pool.class_names[351 + 96] == "class val 96"


def test_fewer_base_classes_leave_the_others_unused(opened, write_tree):
    root = write_tree(pickles())
    whole, few, more, other = (
        opened(NAME, root, **OPTIONS, base_classes=count, seed=seed)
        for count, seed in ((None, 0), (64, 0), (100, 0), (64, 1))
    )
    others = {"val": (97, 194), "novel": (160, 320)}
    assert counts_of(few) == {"train": (64, 128), "base": (64, 128), **others}
    assert whole.train.pool.fingerprint == few.train.pool.fingerprint  # prepared once
    drawn = [set(split.train.classes.tolist()) for split in (few, more, other, whole)]
    assert drawn[0] < drawn[1] < drawn[3]
    assert drawn[2] != drawn[0]
    # A class that stays is trained on as in the whole.
    assert set(few.train.examples) < set(whole.train.examples)
    left = class_set(few, ("unused",))
    assert set(left.classes.tolist()) == drawn[3] - drawn[0]
    assert len(left.examples) == 4 * 287
    with pytest.raises(BadData, match="uses every class"):
        class_set(whole, ("unused",))
    with pytest.raises(BadData, match="has 351 base classes, not 352"):
        opened(NAME, root, **OPTIONS, base_classes=352)
    count = TieredImagenet().expected(TieredImagenet.Options(base_classes=64))
    assert count == {**CLASSES, "base": 64}


def test_imagenet_folders_split_by_superclass(opened, write_tree):
    names, png = [listed.name for listed in tiered_classes()], opencv(7, 8, 9).tobytes()
    tree = {f"train/{name}/{name}_{number}.JPEG": png for name in names for number in range(2)}
    benchmark = opened(NAME, write_tree(tree), **OPTIONS)
    owners = [superclasses_of(benchmark, split) for split in FILES]
    assert [len(group) for group in owners] == [20, 6, 8]
    assert len(set().union(*owners)) == 34
    assert [len(benchmark.distribution(split).classes) for split in FILES] == [351, 97, 160]


VAL, PNGS = labels("val"), images("val")
SPECIFIC = VAL["label_specific"]
BAD_IMAGES = {
    "code": [*PNGS, os.system],
    "a dict": {"images": PNGS},
    "too few": PNGS[:-1],
    "cut off": [*PNGS[:5], PNGS[5][:-30], *PNGS[6:]],
    "text": [*PNGS[:5], "text", *PNGS[6:]],
}
BAD_LABELS = {
    "a list": [1],
    "nothing": {},
    "too few labels": {**VAL, "label_specific": SPECIFIC[:-1]},
    "too few classes": {**VAL, "label_specific": SPECIFIC % 90},
    "from 1": {**VAL, "label_specific": SPECIFIC + 1},
    "floats": {**VAL, "label_specific": SPECIFIC * 1.0},
    "names": {**VAL, "label_specific_str": [1, 2]},
}


def test_pickles_that_cannot_be_used_or_are_missing_are_named(refusals, snapshot):
    cases = {
        f"{kind}: {what}": {f"val_{kind}.pkl": pickle.dumps(content, 2)}
        for kind, contents in (("images_png", BAD_IMAGES), ("labels", BAD_LABELS))
        for what, content in contents.items()
    }
    few = {"train_labels.pkl": None, "val_images_png.pkl": None, "test_labels.pkl": None}
    cases |= {"few": few, "empty": dict.fromkeys(pickles())}
    assert refusals(NAME, cases, pickles(), **OPTIONS) == snapshot
