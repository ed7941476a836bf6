import json
import tarfile

import pytest
from pools import counts_of, grey
from pydantic import ValidationError

from fsl_sweep.datasets.benchmark import MEASURED
from fsl_sweep.datasets.benchmarks.image_folder import read_class_tree
from fsl_sweep.datasets.files.archives import open_tree
from fsl_sweep.datasets.preparing.inventory import check
from fsl_sweep.datasets.preparing.opening import prepared_stores

SMALL = {"image_size": 8, "base": 0.5, "val": 0.25, "novel": 0.25}
# Eight classes in four superclasses, five grey images each; the grey tells the class.
IMAGES = {f"group{c // 2}/class{c}/{i}.png": grey(20 * c + i) for c in range(8) for i in range(5)}


@pytest.fixture
def folder(opened):
    return lambda root, **options: opened("image-folder", root, **{**SMALL, **options})


def test_a_tree_becomes_a_benchmark_in_every_form(write_tree, folder, tmp_path):
    root = write_tree(IMAGES)
    benchmark = folder(root)
    assert benchmark.image_shape == (3, 8, 8)
    counts = {"train": (4, 16), "base": (4, 4), "val": (2, 10), "novel": (2, 10)}
    assert counts_of(benchmark) == counts
    pool = benchmark.train.pool
    assert pool.class_names == tuple(f"class{c}" for c in range(8))
    assert pool.superclasses == tuple(f"group{c // 2}" for c in range(8))
    assert (pool.images // 20 == pool.labels[:, None, None, None]).all()
    forms = [write_tree(IMAGES, zipped=True)]
    for suffix in ("", ".gz"):
        forms.append(tmp_path / f"made.tar{suffix}")
        with tarfile.open(forms[-1], f"w:{suffix[1:]}") as archive:
            archive.add(root, "made")
    # Several stores of one content are no ambiguity.
    assert {folder(form).fingerprint for form in (*forms, None)} == {benchmark.fingerprint}
    assert folder(root, colour="grey").image_shape[0] == 1


def test_superclasses_are_drawn_whole_and_lists_followed(write_tree, folder, tmp_path):
    numbers = {"base": (7, 0), "val": (2, 3), "novel": (4, 5)}
    lists = {split: [f"class{number}" for number in those] for split, those in numbers.items()}
    root, file = write_tree(IMAGES), tmp_path / "split.json"
    file.write_text(json.dumps(lists))
    drawn = folder(root, by="superclass")
    groups = [set(drawn.distribution(s).classes // 2) for s in MEASURED]
    assert sorted(map(len, groups)) == [1, 1, 2]
    assert set().union(*groups) == {0, 1, 2, 3}
    benchmark = folder(root, split_file=file)
    for split, those in numbers.items():
        assert benchmark.distribution(split).classes.tolist() == sorted(those)
    unlisted = "2 of the 8 classes of the data are in no split of its split_file"
    assert benchmark.cautions == (unlisted,)
    file.write_text(json.dumps({**lists, "novel": ["class1", "class4", "class5", "class6"]}))
    assert folder(root, split_file=file).cautions == ()
    assert len(prepared_stores("image-folder", tmp_path / "home")) == 1


def test_splits_that_cannot_be_made_are_refused(write_tree, folder, tmp_path, refused, snapshot):
    root, file = write_tree(IMAGES), tmp_path / "split.json"
    lists = [{"base": base, "val": [], "novel": []} for base in ([1], ["clas0"], ["class0"])]
    flat = write_tree({path.partition("/")[2]: image for path, image in IMAGES.items()}, "flat")
    messages = [refused(folder, flat, by="superclass"), refused(folder, root, split_file=file)]
    for content in ("{", '{"base": []}', *map(json.dumps, lists)):
        file.write_text(content)
        messages.append(refused(folder, root, split_file=file))
    assert messages == snapshot
    with pytest.raises(ValidationError, match="sum to more than 1"):
        folder(root, base=0.9, val=0.2, novel=0.2)


def test_copies_of_training_images_among_the_measured_ones_are_named(write_tree, folder, tmp_path):
    """A file that is there twice may be trained on and measured, unnoticed."""

    def remarks(files, name):
        folder(root := write_tree(files, name))
        return check("image-folder", SMALL, root, tmp_path / "home").remarks

    assert remarks(IMAGES, "plain") == ()
    benchmark = folder(tmp_path / "plain")
    pool, novel = benchmark.train.pool, benchmark.novel.examples[0]
    trained, held = benchmark.train.examples[0], benchmark.base.examples[0]
    files = sorted(IMAGES, key=lambda path: path.partition("/")[2])
    assert f"/{pool.class_names[pool.labels[novel]]}/" in files[novel]
    copied = {files[place]: IMAGES[files[trained]] for place in (held, novel)}
    assert remarks({**IMAGES, **copied}, "copied") == (
        "base: 1 of 4 images are exact copies of training images; accuracies count them",
        "novel: 1 of 10 images are exact copies of training images; accuracies count them",
    )


def read(path):
    with open_tree(path) as tree:
        classes = read_class_tree(tree).items()
        return [(name, above, [m.path for m in images]) for (above, name), images in classes]


@pytest.mark.parametrize("zipped", [False, True])
@pytest.mark.parametrize("around", ["", "data/", "data/images/"])
def test_classes_on_one_or_two_levels_with_folders_around_them(write_tree, zipped, around):
    names = ["cat/1.png", "cat/2.JPG", "ant/1.jpeg"]
    assert read(write_tree({around + name: b"" for name in names}, zipped=zipped)) == [
        ("ant", "", [f"{around}ant/1.jpeg"]),
        ("cat", "", [f"{around}cat/1.png", f"{around}cat/2.JPG"]),
    ]
    names = ["pet/cat/1.png", "pet/dog/1.png", "bug/fly/1.png"]
    deep = read(write_tree({around + name: b"" for name in names}, "deep", zipped))
    assert [entry[:2] for entry in deep] == [("fly", "bug"), ("cat", "pet"), ("dog", "pet")]
    single = read(write_tree({around + name: b"" for name in names[:2]}, "single", zipped))
    assert [entry[:2] for entry in single] == [("cat", ""), ("dog", "")]  # says nothing


def test_trees_that_are_no_class_folders_are_refused(write_tree, folder, refused, snapshot):
    cases = {
        "notes": "cat/1.png cat/notes.txt",
        "texts": "a.txt b.md c/1.png",
        "levels": "cat/1.png pet/dog/1.png",
        "flat": "1.png",
        "deep": "a/b/c/1.png d/e/f/1.png",
        "twice": "pet/cat/1.png wild/cat/1.png",
        "spelled": "cafe\u0301/1.png caf\u00e9/1.png",
        "none": "",
    }
    trees = [write_tree(dict.fromkeys(paths.split(), b""), name) for name, paths in cases.items()]
    trees[-1].mkdir()
    messages = [refused(folder, tree) for tree in trees]
    broken = {f"{name}/1.png": b"no image at all" for name in "abc"}
    messages += [refused(folder, write_tree(broken, "photos", zipped)) for zipped in (False, True)]
    assert messages == snapshot
