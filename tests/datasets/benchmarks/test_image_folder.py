import json
import shutil
import tarfile
from pathlib import Path

import numpy as np
import pytest
from pools import counts_of
from pydantic import ValidationError

from fsl_sweep.datasets.benchmarks.image_folder import read_class_tree
from fsl_sweep.datasets.files.archives import open_tree
from fsl_sweep.datasets.preparing.inventory import check
from fsl_sweep.datasets.preparing.opening import open_benchmark
from fsl_sweep.orchestrator.errors import BadData, MissingData

SMALL = {"image_size": 8, "base": 0.5, "val": 0.25, "novel": 0.25}


@pytest.fixture
def images(png):
    """Eight classes in four superclasses, five grey images each; the grey tells the class."""
    return {f"group{c // 2}/class{c}/{i}.png": png(20 * c + i) for c in range(8) for i in range(5)}


def test_a_tree_becomes_a_benchmark(write_tree, images, tmp_path):
    benchmark = open_benchmark("image-folder", SMALL, write_tree(images), tmp_path)
    assert benchmark.image_shape == (3, 8, 8)
    found = {"train": (4, 16), "base": (4, 4), "val": (2, 10), "novel": (2, 10)}
    assert counts_of(benchmark) == found
    pool = benchmark.train.pool
    assert pool.class_names == tuple(f"class{c}" for c in range(8))
    assert pool.superclasses == tuple(f"group{c // 2}" for c in range(8))
    for index in range(len(pool)):
        assert (np.unique(pool.images[index]) // 20 == pool.labels[index]).all()


def test_every_form_of_a_tree_has_one_fingerprint(write_tree, images, tmp_path):
    forms = [root := write_tree(images), write_tree(images, zipped=True)]
    for suffix in ("", ".gz"):
        forms.append(tmp_path / f"made.tar{suffix}")
        with tarfile.open(forms[-1], f"w:{suffix[1:]}") as archive:
            archive.add(root, "made")
    prints = {open_benchmark("image-folder", SMALL, form, tmp_path).fingerprint for form in forms}
    # Several stores of one content are no ambiguity.
    assert prints == {open_benchmark("image-folder", SMALL, None, tmp_path).fingerprint}


def test_grey_images_have_one_channel(write_tree, images, tmp_path):
    options = {**SMALL, "colour": "grey"}
    assert open_benchmark("image-folder", options, write_tree(images), tmp_path).image_shape[0] == 1


def test_superclasses_are_drawn_whole(write_tree, images, tmp_path):
    options = {**SMALL, "by": "superclass"}
    benchmark = open_benchmark("image-folder", options, write_tree(images), tmp_path)
    groups = [set(benchmark.distribution(s).classes // 2) for s in ("base", "val", "novel")]
    assert sorted(map(len, groups)) == [1, 1, 2]
    assert set().union(*groups) == {0, 1, 2, 3}


def test_superclasses_that_are_not_there(write_tree, png, tmp_path):
    root = write_tree({f"class{c}/{i}.png": png() for c in range(8) for i in range(3)})
    with pytest.raises(BadData, match="no superclasses to split by"):
        open_benchmark("image-folder", {**SMALL, "by": "superclass"}, root, tmp_path)


def test_lists_are_followed_and_not_prepared_again(write_tree, images, tmp_path):
    numbers = {"base": (7, 0), "val": (2, 3), "novel": (4, 5)}
    lists = {split: [f"class{number}" for number in own] for split, own in numbers.items()}
    file = tmp_path / "split.json"
    file.write_text(json.dumps(lists))
    root = write_tree(images)
    open_benchmark("image-folder", SMALL, root, tmp_path)
    benchmark = open_benchmark("image-folder", {**SMALL, "split_file": file}, root, tmp_path)
    assert benchmark.base.classes.tolist() == [0, 7]
    assert benchmark.novel.classes.tolist() == [4, 5]
    unlisted = "2 of the 8 classes of the data are in no split of its split_file"
    assert benchmark.cautions == (unlisted,)
    file.write_text(json.dumps({**lists, "novel": ["class1", "class4", "class5", "class6"]}))
    assert (
        open_benchmark("image-folder", {**SMALL, "split_file": file}, root, tmp_path).cautions == ()
    )
    assert len(list((tmp_path / "datasets").glob("image-folder-*"))) == 1


@pytest.mark.parametrize(
    ("content", "error", "message"),
    [
        (None, MissingData, "no split file"),
        ("{", BadData, "keys base, val and novel, .*Invalid JSON"),
        ('{"base": []}', BadData, "keys base, val and novel"),
        ('{"base": [1], "val": [], "novel": []}', BadData, "keys base, val and novel"),
        ('{"base": ["clas0"], "val": [], "novel": []}', BadData, "did you mean 'class0'"),
        ('{"base": ["class0"], "val": [], "novel": []}', BadData, "it needs at least 2"),
    ],
)
def test_lists_that_cannot_be_used(write_tree, images, tmp_path, content, error, message):
    file = tmp_path / "split.json"
    if content is not None:
        file.write_text(content)
    with pytest.raises(error, match=message):
        open_benchmark("image-folder", {**SMALL, "split_file": file}, write_tree(images), tmp_path)


def test_shares_sum_to_at_most_one(tmp_path):
    with pytest.raises(ValidationError, match="sum to more than 1"):
        open_benchmark("image-folder", {"base": 0.9, "val": 0.2}, tmp_path, tmp_path)


@pytest.mark.parametrize("packed", [False, True])
def test_a_corrupt_image_is_named_by_its_path(tmp_path, packed):
    root = tmp_path / "photographs"
    for name in ("a", "b", "c"):
        (root / name).mkdir(parents=True)
        (root / name / "1.png").write_bytes(b"no image at all")
    if packed:
        root = Path(shutil.make_archive(str(root), "zip", root))
    with pytest.raises(BadData) as caught:
        open_benchmark("image-folder", {}, root, tmp_path / "home")
    assert str(caught.value).startswith(
        f"{root}/a/1.png cannot be decoded as an image (its format is unknown"
    )


def test_copies_of_training_images_among_the_measured_ones_are_named(write_tree, images, tmp_path):
    """A file that is there twice may be trained on and measured, unnoticed."""
    whole = check("image-folder", SMALL, prepared(write_tree(images), tmp_path), tmp_path)
    assert whole.remarks == ()
    benchmark = open_benchmark("image-folder", SMALL, None, tmp_path)
    pool, novel = benchmark.train.pool, benchmark.novel.examples[0]
    name = pool.class_names[pool.labels[novel]]
    trained, held = benchmark.train.examples[0], benchmark.base.examples[0]
    files = sorted(images, key=lambda path: path.partition("/")[2])
    copied = {**images, files[held]: images[files[trained]], files[novel]: images[files[trained]]}
    assert f"/{name}/" in files[novel]
    root = prepared(write_tree(copied, name="copied"), tmp_path / "home")
    assert check("image-folder", SMALL, root, tmp_path / "home").remarks == (
        "base: 1 of 4 images are exact copies of training images; accuracies count them",
        "novel: 1 of 10 images are exact copies of training images; accuracies count them",
    )


def prepared(root: Path, home: Path) -> Path:
    open_benchmark("image-folder", SMALL, root, home)
    return root


def read(path):
    with open_tree(path) as tree:
        classes = read_class_tree(tree).items()
        return [(name, above, [m.path for m in images]) for (above, name), images in classes]


@pytest.mark.parametrize("zipped", [False, True])
@pytest.mark.parametrize("around", ["", "data/", "data/images/"])
def test_one_level_with_folders_around_it(write_tree, zipped, around):
    files = {f"{around}cat/1.png": b"", f"{around}cat/2.JPG": b"", f"{around}ant/1.jpeg": b""}
    assert read(write_tree(files, zipped=zipped)) == [
        ("ant", "", [f"{around}ant/1.jpeg"]),
        ("cat", "", [f"{around}cat/1.png", f"{around}cat/2.JPG"]),
    ]


@pytest.mark.parametrize("around", ["", "data/"])
def test_two_levels_are_sorted_by_superclass(write_tree, around):
    names = ["pet/cat/1.png", "pet/dog/1.png", "bug/fly/1.png"]
    found = read(write_tree({around + name: b"" for name in names}))
    assert [entry[:2] for entry in found] == [("fly", "bug"), ("cat", "pet"), ("dog", "pet")]


def test_a_single_superclass_says_nothing(write_tree):
    found = read(write_tree({"pet/cat/1.png": b"", "pet/dog/1.png": b""}))
    assert [entry[:2] for entry in found] == [("cat", ""), ("dog", "")]


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"cat/1.png": b"", "cat/notes.txt": b""}, r"cat/notes\.txt is not an image"),
        ({"a.txt": b"", "b.md": b"", "c/1.png": b""}, "and 1 more files"),
        ({"cat/1.png": b"", "pet/dog/1.png": b""}, "cat/1.png and pet/dog/1.png"),
        ({"1.png": b""}, "CLASS/ folders"),
        ({"a/b/c/1.png": b"", "d/e/f/1.png": b""}, "CLASS/ folders"),
        ({"pet/cat/1.png": b"", "wild/cat/1.png": b""}, r"called 'cat': pet/cat and wild/cat"),
        ({"cafe\u0301/1.png": b"", "caf\u00e9/1.png": b""}, "called 'café'"),
    ],
)
def test_each_mistake_has_its_message(write_tree, files, message):
    with pytest.raises(BadData, match=message):
        read(write_tree(files))


def test_an_empty_class_folder_is_named(write_tree):
    path = write_tree({"cat/1.png": b"", "ant/1.png": b""})
    (path / "dog").mkdir()
    with pytest.raises(BadData, match=r"/dog holds no images"):
        read(path)
    (path / "dog").rmdir()
    zipped = write_tree({"cat/1.png": b"", "ant/1.png": b"", "dog/": b""}, zipped=True)
    with pytest.raises(BadData, match=r"/dog holds no images"):
        read(zipped)
    (path / "none").mkdir()
    with pytest.raises(BadData, match="none holds no images"):
        read(path / "none")
