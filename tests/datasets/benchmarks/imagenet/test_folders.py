from contextlib import ExitStack

import pytest
from places import REAL_DATA
from pools import grey

from fsl_sweep.datasets.benchmarks.imagenet.abstract import _files_signature
from fsl_sweep.datasets.benchmarks.imagenet.folders import (
    further_classes,
    mini_classes,
    open_classes,
    tiered_classes,
)
from fsl_sweep.datasets.files.decoding import read_image

WANTED = ("n00000001", "n00000002")
FILES = {f"{name}/{name}_{n}.JPEG": grey(n) for name in WANTED for n in (1, 10, 2)}


def read(root, signed=False):
    """By class the names of its files and their greys, or its signature."""
    with ExitStack() as stack:
        classes = open_classes(root, WANTED, stack)
        if classes is None or signed:
            return classes and {name: _files_signature(tree) for name, tree in classes.items()}
        return {
            name: [
                (m.path.rpartition("/")[2], read_image(tree, m, "rgb").getpixel((0, 0))[0])
                for m in tree.members
            ]
            for name, tree in classes.items()
        }


CONTENT = {name: [(f"{name}_{n}.JPEG", n) for n in (1, 10, 2)] for name in WANTED}


@pytest.mark.parametrize("zipped", [False, True])
@pytest.mark.parametrize("prefix", ["", "train/", "images/", "ILSVRC/Data/CLS-LOC/train/"])
def test_class_folders_wherever_they_lie(write_tree, prefix, zipped):
    tree = {prefix + path: content for path, content in FILES.items()}
    plain = write_tree(tree, "plain", zipped)
    assert read(plain) == CONTENT
    tree |= {f"{prefix}n00000003/x.JPEG": b"never read"}
    more = write_tree(tree | ({"LICENSE.txt": b"text"} if prefix else {}), "more", zipped)
    assert read(more) == CONTENT
    inside = write_tree({f"a/{path}": content for path, content in tree.items()}, zipped=zipped)
    deeper = inside if zipped else inside / "a"
    assert read(deeper) == CONTENT
    if zipped:  # the date stands for the content of a file
        assert read(deeper, signed=True) == read(plain, signed=True)


@pytest.mark.parametrize("zipped", [False, True])
def test_classes_under_their_splits_and_imagenets_own_validation(write_tree, zipped):
    train = {f"train/{path}": content for path, content in FILES.items()}
    val = {f"val/{name}/ILSVRC2012_val_1.JPEG": grey(99) for name in WANTED}
    assert read(write_tree({**train, **val}, zipped=zipped)) == CONTENT
    parts = dict(zip(WANTED, ("train", "test"), strict=True))
    split = {f"{parts[path.partition('/')[0]]}/{path}": FILES[path] for path in FILES}
    assert read(write_tree(split, "split", zipped=zipped)) == CONTENT


@pytest.mark.parametrize("prefix", ["", "images/"])
def test_files_that_carry_their_class_in_their_names(write_tree, prefix):
    tree = {f"{prefix}{name}{n:08d}.jpg": grey(n) for name in WANTED for n in (3, 5)}
    root = write_tree({**tree, "train.csv": b"filename,label\n"} if prefix else tree)
    assert read(root) == {name: [(f"{name}{n:08d}.jpg", n) for n in (3, 5)] for name in WANTED}


@pytest.mark.parametrize("zipped", [False, True])
@pytest.mark.parametrize("name", ["train/{0}/{1}.JPEG", "images/{0}{1:08d}.jpg"])
def test_further_classes_are_those_that_are_not_listed(write_tree, zipped, name, refused, snapshot):
    classes = [*WANTED, *(f"n1000000{n}" for n in range(5))]
    tree = {name.format(listed, n): b"" for listed in classes for n in (1, 2)}
    root = write_tree({**tree, "train/README.txt": b"text"}, zipped=zipped)
    with ExitStack() as stack:
        drawn = further_classes(root, WANTED, 3, stack)
        assert drawn == further_classes(root, WANTED, 3, stack) == sorted(drawn)
        assert len(set(drawn)) == 3
        assert [*further_classes(root, WANTED, 5, stack)] == classes[2:]
        assert refused(further_classes, root, WANTED, 6, stack) == snapshot


def test_missing_empty_and_double_classes_are_named(write_tree, refused, snapshot):
    only = {path: content for path, content in FILES.items() if path.startswith(WANTED[0])}
    twice = {f"{part}/{path}": content for part in "ab" for path, content in FILES.items()}
    messages = [refused(read, write_tree(only, zipped=zipped)) for zipped in (False, True)]
    messages.append(refused(read, write_tree(twice, "twice", zipped=True)))
    empty = write_tree(only, "empty")
    (empty / WANTED[1]).mkdir()
    assert [*messages, refused(read, empty)] == snapshot
    assert read(write_tree({"cat/1.png": b""}, "other")) is None


def test_the_lists_are_those_that_were_handed_down():
    if not (REAL_DATA / "splits").is_dir():
        pytest.skip(f"the published lists are not at {REAL_DATA}: ours are NOT compared")
    for split, file in (("base", "train"), ("val", "val"), ("novel", "test")):
        mini = (REAL_DATA / "splits" / f"mini_imagenet_{file}.txt").read_text().split()
        assert sorted(mini) == [c.name for c in mini_classes() if c.split == split]
        rows = (REAL_DATA / "splits" / f"tiered_imagenet_{file}.csv").read_text().split()
        ours = [f"{c.name},{c.superclass}" for c in tiered_classes() if c.split == split]
        assert sorted(rows) == ours
