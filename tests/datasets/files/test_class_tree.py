import pytest

from fsl_sweep.datasets.files.archives import open_tree
from fsl_sweep.datasets.files.class_tree import read_class_tree
from fsl_sweep.orchestrator.errors import BadData


def read(path):
    with open_tree(path) as tree:
        return [(e.name, e.superclass, [m.path for m in e.members]) for e in read_class_tree(tree)]


@pytest.mark.parametrize("zipped", [False, True])
@pytest.mark.parametrize("around", ["", "data/", "data/images/"])
def test_one_level_with_folders_around_it(write_tree, zipped, around):
    files = {f"{around}cat/1.png": b"", f"{around}cat/2.JPG": b"", f"{around}ant/1.jpeg": b""}
    assert read(write_tree(files, zipped=zipped)) == [
        ("ant", None, [f"{around}ant/1.jpeg"]),
        ("cat", None, [f"{around}cat/1.png", f"{around}cat/2.JPG"]),
    ]


@pytest.mark.parametrize("around", ["", "data/"])
def test_two_levels_are_sorted_by_superclass(write_tree, around):
    names = ["pet/cat/1.png", "pet/dog/1.png", "bug/fly/1.png"]
    found = read(write_tree({around + name: b"" for name in names}))
    assert [entry[:2] for entry in found] == [("fly", "bug"), ("cat", "pet"), ("dog", "pet")]


def test_a_single_superclass_says_nothing(write_tree):
    found = read(write_tree({"pet/cat/1.png": b"", "pet/dog/1.png": b""}))
    assert [entry[:2] for entry in found] == [("cat", None), ("dog", None)]


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
