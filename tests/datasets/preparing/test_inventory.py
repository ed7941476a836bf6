import pytest
from pools import counts_of

from fsl_sweep.datasets.benchmarks.image_folder import ImageFolder
from fsl_sweep.datasets.preparing.inventory import available, check, prepare
from fsl_sweep.orchestrator.errors import BadData, MissingData

OPTIONS = {"image_size": 8, "base": 0.5, "val": 0.25, "novel": 0.25}
GLYPHS = {"base_alphabets": 1, "val_alphabets": 1, "novel_alphabets": 2, "examples": 10}


@pytest.fixture
def source(write_tree, png):
    return write_tree({f"c{c}/{i}.png": png(20 * c) for c in range(8) for i in range(3)})


def row(name, home):
    return next(entry for entry in available(home) if entry.name == name)


def test_an_empty_machine_lists_every_benchmark(tmp_path):
    assert row("glyphs", tmp_path).embedded
    entry = row("omniglot", tmp_path)
    assert (entry.embedded, entry.stores) == (False, ())
    assert "50 alphabets" in entry.description
    assert list(tmp_path.iterdir()) == []


def test_preparing_twice_does_it_once_and_tells_its_progress(source, tmp_path):
    seen = []
    store, already = prepare(
        "image-folder", source, OPTIONS, tmp_path, lambda *done: seen.append(done)
    )
    assert not already
    assert seen[-1] == (24, 24)
    assert (store.classes, store.images) == (8, 24)
    assert store.origin == str(source)
    assert prepare("image-folder", source, {**OPTIONS, "seed": 5}, tmp_path) == (store, True)
    assert row("image-folder", tmp_path).stores == (store,)


def test_a_damaged_store_is_listed_and_replaced(source, tmp_path):
    store, _ = prepare("image-folder", source, OPTIONS, tmp_path)
    (store.path / "main.labels.npy").unlink()
    listed = row("image-folder", tmp_path)
    assert listed.stores == ()
    assert "main.labels.npy is missing" in listed.damaged[0]
    assert not prepare("image-folder", source, OPTIONS, tmp_path)[1]
    assert check("image-folder", OPTIONS, source, tmp_path).problems == ()


def test_checking_counts_and_compares(tmp_path):
    result = check("glyphs", GLYPHS, None, tmp_path)
    assert result.problems == ()
    assert result.benchmark.image_shape == (1, 28, 28)
    found = {"train": (8, 56), "base": (8, 24), "val": (8, 80), "novel": (16, 160)}
    assert counts_of(result.benchmark) == found
    assert result.expected == {"base": 8, "val": 8, "novel": 16}


def test_checking_names_counts_that_are_not_as_published(source, tmp_path, monkeypatch):
    prepare("image-folder", source, OPTIONS, tmp_path)
    monkeypatch.setattr(ImageFolder, "expected", lambda self, options: {"base": 5, "val": 2})
    for official, remarks in ((24, ()), (6000, ("24 images; the official data set has 6,000",))):
        monkeypatch.setattr(ImageFolder, "official_images", official)
        result = check("image-folder", OPTIONS, None, tmp_path)
        assert result.problems == ("The base split has 4 classes; 5 are expected.",)
        assert tuple(r for r in result.remarks if "official" in r) == remarks


def test_checking_reads_every_byte(source, tmp_path):
    store, _ = prepare("image-folder", source, OPTIONS, tmp_path)
    file = store.path / "main.images.npy"
    content = bytearray(file.read_bytes())
    content[-5] ^= 4
    file.write_bytes(content)
    with pytest.raises(BadData, match=r"main\.images\.npy has changed"):
        check("image-folder", OPTIONS, None, tmp_path)


def test_preparing_from_nothing(tmp_path):
    with pytest.raises(MissingData, match="data prepare omniglot --from PATH"):
        prepare("omniglot", None, {}, tmp_path)
    with pytest.raises(MissingData, match="nothing at"):
        prepare("omniglot", tmp_path / "gone", {}, tmp_path)
    assert not prepare("glyphs", None, GLYPHS, tmp_path)[1]
