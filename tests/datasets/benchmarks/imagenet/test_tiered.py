import os
import pickle
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from pools import counts_of, encoded

from fsl_sweep.datasets.benchmarks.imagenet.folders import tiered_classes
from fsl_sweep.datasets.benchmarks.imagenet.tiered import TieredImagenet
from fsl_sweep.datasets.preparing.opening import open_benchmark
from fsl_sweep.datasets.testing import BenchmarkContract
from fsl_sweep.orchestrator.errors import BadData, MissingData
from fsl_sweep.orchestrator.measuring.class_sets import class_set

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


def images(split: str) -> list[np.ndarray]:
    order = list(FILES).index(split)
    return [opencv(int(n), int(n) // 256, order) for n in labels(split)["label_specific"]]


def write_pickles(root: Path, protocol: int = 2) -> Path:
    root.mkdir(exist_ok=True)
    for split, name in FILES.items():
        (root / f"{name}_images_png.pkl").write_bytes(pickle.dumps(images(split), protocol))
        (root / f"{name}_labels.pkl").write_bytes(pickle.dumps(labels(split), protocol))
    return root


VAL = images("val")


@pytest.fixture(scope="module")
def source(tmp_path_factory) -> dict[str, bytes]:
    root = write_pickles(tmp_path_factory.mktemp("tiered"))
    return {path.name: path.read_bytes() for path in root.iterdir()}


class TestPickles(BenchmarkContract):
    benchmark = TieredImagenet
    options: ClassVar = OPTIONS

    def root(self, tmp_path):
        return write_pickles(tmp_path)


def test_the_pickled_lists(tmp_path):
    root = write_pickles(tmp_path / "source", protocol=5)  # the conformance suite has 2
    benchmark = open_benchmark("tiered-imagenet", OPTIONS, root, tmp_path)
    found = {"train": (351, 702), "base": (351, 702), "val": (97, 194), "novel": (160, 320)}
    assert counts_of(benchmark) == found
    pool = benchmark.train.pool
    first = {"base": 0, "val": 351, "novel": 448}
    for order, split in enumerate(FILES):
        distribution = benchmark.distribution(split)
        pixels = pool.images[distribution.examples][:, :, 0, 0].astype(int)
        numbers = pool.labels[distribution.examples] - first[split]
        np.testing.assert_array_equal(pixels[:, 0] + 256 * pixels[:, 1], numbers)
        assert set(pixels[:, 2]) == {order}
        above = {pool.superclasses[c] for c in distribution.classes}
        assert len(above) == SUPERCLASSES[split]
        last = SUPERCLASSES[split] - 1
        assert pool.superclasses[first[split] + last] == f"superclass {split} {last}"
        assert f"{split} group 0" in above
    assert pool.class_names[:4] == ("base0", "base1", "base2", "crane #3")
    assert pool.class_names[351 + 3] == "crane #354"
    assert pool.class_names[351 + 96] == "class val 96"


def test_fewer_base_classes_leave_the_others_unused(tmp_path):
    root = write_pickles(tmp_path / "source")
    whole, few, more, other = (
        open_benchmark("tiered-imagenet", {**OPTIONS, **options}, root, tmp_path)
        for options in (
            {},
            {"base_classes": 64},
            {"base_classes": 100},
            {"base_classes": 64, "seed": 1},
        )
    )
    others = {"val": (97, 194), "novel": (160, 320)}
    assert counts_of(few) == {"train": (64, 128), "base": (64, 128), **others}
    assert whole.train.pool.fingerprint == few.train.pool.fingerprint  # prepared once
    drawn = [set(one.train.classes.tolist()) for one in (few, more, other, whole)]
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
        open_benchmark("tiered-imagenet", {**OPTIONS, "base_classes": 352}, root, tmp_path)
    count = TieredImagenet().expected(TieredImagenet.Options(base_classes=64))
    assert count == {**CLASSES, "base": 64}


def test_imagenet_folders_split_by_superclass(tmp_path):
    png = opencv(7, 8, 9).tobytes()
    for listed in tiered_classes():
        folder = tmp_path / "source" / "train" / listed.name
        folder.mkdir(parents=True)
        for number in range(2):
            (folder / f"{listed.name}_{number}.JPEG").write_bytes(png)
    benchmark = open_benchmark("tiered-imagenet", OPTIONS, tmp_path / "source", tmp_path)
    pool = benchmark.train.pool
    owners = [
        {pool.superclasses[c] for c in benchmark.distribution(split).classes} for split in FILES
    ]
    assert [len(group) for group in owners] == [20, 6, 8]
    assert len(set().union(*owners)) == 34
    assert [len(benchmark.distribution(split).classes) for split in FILES] == [351, 97, 160]


def altered(**values) -> dict:
    return {**labels("val"), **values}


SPECIFIC, GENERAL = labels("val")["label_specific"], labels("val")["label_general"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("images_png", [*VAL, os.system], "is refused: it names 'posix.system'"),
        ("images_png", {"images": VAL}, "must hold a list of 194 images"),
        ("images_png", VAL[:-1], "must hold a list of 194 images"),
        ("images_png", [*VAL[:5], VAL[5][:-30], *VAL[6:]], "val_images_png.pkl, image 5 cannot be"),
        ("images_png", [*VAL[:5], "text", *VAL[6:]], "item 5 is not an encoded"),
        ("labels", [1], "holds a list instead of a dict"),
        ("labels", {}, "must have 'label_specific'"),
        ("labels", altered(label_specific=SPECIFIC[:-1]), "must have the 97 classes"),
        ("labels", altered(label_specific=SPECIFIC % 90), "must have the 97 classes"),
        ("labels", altered(label_specific=SPECIFIC + 1), "numbered from 0"),
        ("labels", altered(label_specific=SPECIFIC * 1.0), "must have 'label_specific', whole"),
        ("labels", altered(label_general=GENERAL % 5), "each in one of 6 superclasses"),
        ("labels", altered(label_general=GENERAL * 10**12), "each in one of 6 superclasses"),
        ("labels", altered(label_general=np.arange(194) // 35), "each in one of 6 superclasses"),
        ("labels", altered(label_specific_str=[1, 2]), "'label_specific_str' must be a list"),
    ],
)  # fmt: skip
def test_pickles_that_cannot_be_used(source, tmp_path, name, content, message):
    root = tmp_path / "source"
    root.mkdir()
    for file, whole in source.items():
        (root / file).write_bytes(whole)
    path = root / f"val_{name}.pkl"
    path.write_bytes(pickle.dumps(content, 2))
    with pytest.raises(BadData) as caught:
        open_benchmark("tiered-imagenet", OPTIONS, root, tmp_path / "home")
    assert message in str(caught.value)
    assert str(path) in str(caught.value)


def test_what_is_missing_is_named(source, tmp_path):
    with pytest.raises(MissingData, match=r"neither \{train,val,test\}_images_png\.pkl"):
        open_benchmark("tiered-imagenet", OPTIONS, tmp_path, tmp_path)
    for file in ("train_images_png.pkl", "train_labels.pkl", "val_labels.pkl"):
        (tmp_path / file).write_bytes(source[file])
    lacking = (
        r"val_labels\.pkl, but not val_images_png\.pkl, test_images_png\.pkl, test_labels\.pkl\."
    )
    with pytest.raises(MissingData, match=lacking):
        open_benchmark("tiered-imagenet", OPTIONS, tmp_path, tmp_path)
