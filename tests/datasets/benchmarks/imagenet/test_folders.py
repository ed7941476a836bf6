from contextlib import ExitStack

import pytest
from places import REAL_DATA

from fsl_sweep.datasets.benchmarks.imagenet.folders import (
    further_classes,
    mini_classes,
    open_classes,
    tiered_classes,
)
from fsl_sweep.orchestrator.errors import BadData, MissingData

WANTED = ("n00000001", "n00000002")


@pytest.fixture
def files(png):
    return {f"{name}/{name}_{n}.JPEG": png(n) for name in WANTED for n in (1, 10, 2)}


def opened(root):
    with ExitStack() as stack:
        found = open_classes(root, WANTED, stack)
        return {
            name: [
                (m.path.rpartition("/")[2], images.image(m).getpixel((0, 0))[0]) for m in members
            ]
            for name, images in found.items()
            if (members := images.members)
        }


def expected(names=WANTED):
    return {name: [(f"{name}_{n}.JPEG", n) for n in (1, 10, 2)] for name in names}


@pytest.mark.parametrize("zipped", [False, True])
@pytest.mark.parametrize("prefix", ["", "train/", "images/", "ILSVRC/Data/CLS-LOC/train/"])
def test_class_folders_wherever_they_lie(write_tree, files, png, prefix, zipped):
    tree = {prefix + path: content for path, content in files.items()}
    tree[f"{prefix}n00000003/x.JPEG"] = b"never read"
    if prefix:
        tree["LICENSE.txt"] = b"text"
    assert opened(write_tree(tree, zipped=zipped)) == expected()


@pytest.mark.parametrize("zipped", [False, True])
def test_classes_under_their_splits_and_imagenets_own_validation(write_tree, files, png, zipped):
    train = {f"train/{path}": content for path, content in files.items()}
    val = {f"val/{name}/ILSVRC2012_val_1.JPEG": png(99) for name in WANTED}
    assert opened(write_tree({**train, **val}, zipped=zipped)) == expected()
    split = {
        f"{'train' if path.startswith(WANTED[0]) else 'test'}/{path}": content
        for path, content in files.items()
    }
    assert opened(write_tree(split, "split", zipped=zipped)) == expected()


@pytest.mark.parametrize("prefix", ["", "images/"])
def test_files_that_carry_their_class_in_their_names(write_tree, png, prefix):
    tree = {f"{prefix}{name}{n:08d}.jpg": png(n) for name in WANTED for n in (3, 5)}
    root = write_tree({**tree, "train.csv": b"filename,label\n"} if prefix else tree)
    assert opened(root) == {name: [(f"{name}{n:08d}.jpg", n) for n in (3, 5)] for name in WANTED}


@pytest.mark.parametrize("zipped", [False, True])
@pytest.mark.parametrize("name", ["train/{0}/{1}.JPEG", "images/{0}{1:08d}.jpg"])
def test_further_classes_are_those_that_are_not_listed(write_tree, png, zipped, name):
    classes = [*WANTED, *(f"n1000000{n}" for n in range(5))]
    tree = {name.format(one, n): png(n) for one in classes for n in (1, 2)}
    root = write_tree({**tree, "train/README.txt": b"text"}, zipped=zipped)
    with ExitStack() as stack:
        drawn = further_classes(root, WANTED, 3, stack)
        assert drawn == further_classes(root, WANTED, 3, stack) == sorted(drawn)
        assert len(set(drawn)) == 3
        assert [*further_classes(root, WANTED, 5, stack)] == classes[2:]
        with pytest.raises(MissingData, match="has images of 5 further classes"):
            further_classes(root, WANTED, 6, stack)


def test_a_folder_and_its_zip_have_the_same_files(write_tree, files):
    with ExitStack() as stack:
        one = open_classes(write_tree(files), WANTED, stack)
        other = open_classes(write_tree({f"a/{p}": c for p, c in files.items()}), WANTED, stack)
    prints = [{name: c.signature() for name, c in found.items()} for found in (one, other)]
    assert len(prints[0]) == 2
    assert prints[0] == prints[1]


def test_missing_classes_are_named(write_tree, files, png):
    only = {path: content for path, content in files.items() if path.startswith(WANTED[0])}
    with ExitStack() as stack:
        for zipped in (False, True):
            root = write_tree(only, zipped=zipped)
            with pytest.raises(MissingData, match=r"1 of 2 classes; missing are n00000002\.$"):
                open_classes(root, WANTED, stack)
        assert open_classes(write_tree({"cat/1.png": png()}, "other"), WANTED, stack) is None


def test_an_empty_class_and_one_in_two_places(write_tree, files, tmp_path):
    root = write_tree(files)
    for path in (root / WANTED[1]).iterdir():
        path.unlink()
    with ExitStack() as stack:
        with pytest.raises(BadData, match=r"n00000002\) holds no images"):
            open_classes(root, WANTED, stack)
        twice = {f"{part}/{path}": content for part in "ab" for path, content in files.items()}
        with pytest.raises(BadData, match="class n00000001 in a/n00000001 and in b/n00000001"):
            open_classes(write_tree(twice, "twice", zipped=True), WANTED, stack)


def test_the_lists_are_those_that_were_handed_down():
    if not (REAL_DATA / "splits").is_dir():
        pytest.skip(f"the published lists are not at {REAL_DATA}: ours are NOT compared")
    for split, file in (("base", "train"), ("val", "val"), ("novel", "test")):
        mini = (REAL_DATA / "splits" / f"mini_imagenet_{file}.txt").read_text().split()
        assert sorted(mini) == [c.name for c in mini_classes() if c.split == split]
        rows = (REAL_DATA / "splits" / f"tiered_imagenet_{file}.csv").read_text().split()
        ours = [f"{c.name},{c.superclass}" for c in tiered_classes() if c.split == split]
        assert sorted(rows) == ours
