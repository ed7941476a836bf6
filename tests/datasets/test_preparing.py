"""Preparing, finding, listing, checking and opening benchmarks on this machine."""

import subprocess
import sys
from pathlib import Path

import pytest
from pools import counts_of

from fsl_sweep.datasets.benchmarks.glyphs.glyphs import Glyphs
from fsl_sweep.datasets.benchmarks.image_folder import ImageFolder
from fsl_sweep.datasets.preparing.inventory import available, check, prepare
from fsl_sweep.datasets.preparing.opening import open_benchmark
from fsl_sweep.orchestrator.errors import BadData, ConfigError, MissingData, RunFolderError

OPTIONS = {"image_size": 8, "base": 0.5, "val": 0.25, "novel": 0.25}
GLYPHS = {"base_alphabets": 1, "val_alphabets": 1, "novel_alphabets": 2, "examples": 10}


@pytest.fixture
def source(write_tree, png):
    def make(name="source", value=0):
        files = {f"c{c}/{i}.png": png(20 * c + value) for c in range(8) for i in range(3)}
        return write_tree(files, name)

    return make


def row(name, home):
    return next(entry for entry in available(home) if entry.name == name)


def test_an_empty_machine_lists_every_benchmark(tmp_path):
    assert row("glyphs", tmp_path).embedded
    entry = row("omniglot", tmp_path)
    assert (entry.embedded, entry.stores) == (False, ())
    assert "50 alphabets" in entry.description
    assert list(tmp_path.iterdir()) == []


def test_preparing_twice_does_it_once_and_tells_its_progress(source, tmp_path):
    root, seen = source(), []
    store, already = prepare(
        "image-folder", root, OPTIONS, tmp_path, lambda *done: seen.append(done)
    )
    assert not already
    assert seen[-1] == (24, 24)
    assert (store.classes, store.images) == (8, 24)
    assert store.origin == str(root)
    assert prepare("image-folder", root, {**OPTIONS, "seed": 5}, tmp_path) == (store, True)
    assert row("image-folder", tmp_path).stores == (store,)


def test_a_damaged_store_is_listed_and_replaced(source, tmp_path):
    root = source()
    store, _ = prepare("image-folder", root, OPTIONS, tmp_path)
    (store.path / "main.labels.npy").unlink()
    listed = row("image-folder", tmp_path)
    assert listed.stores == ()
    assert "main.labels.npy is missing" in listed.damaged[0]
    assert not prepare("image-folder", root, OPTIONS, tmp_path)[1]
    assert check("image-folder", OPTIONS, root, tmp_path).problems == ()


def test_checking_counts_and_compares(tmp_path):
    result = check("glyphs", GLYPHS, None, tmp_path)
    assert result.problems == ()
    assert result.benchmark.image_shape == (1, 28, 28)
    found = {"train": (8, 56), "base": (8, 24), "val": (8, 80), "novel": (16, 160)}
    assert counts_of(result.benchmark) == found
    assert result.expected == {"base": 8, "val": 8, "novel": 16}


def test_checking_names_counts_that_are_not_as_published(source, tmp_path, monkeypatch):
    prepare("image-folder", source(), OPTIONS, tmp_path)
    monkeypatch.setattr(ImageFolder, "expected", lambda self, options: {"base": 5, "val": 2})
    for official, remarks in ((24, ()), (6000, ("24 images; the official data set has 6,000",))):
        monkeypatch.setattr(ImageFolder, "official_images", official)
        result = check("image-folder", OPTIONS, None, tmp_path)
        assert result.problems == ("The base split has 4 classes; 5 are expected.",)
        assert tuple(r for r in result.remarks if "official" in r) == remarks


def test_checking_reads_every_byte(source, tmp_path):
    store, _ = prepare("image-folder", source(), OPTIONS, tmp_path)
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


def test_what_is_prepared_with_other_options_is_named(source, tmp_path):
    open_benchmark("image-folder", OPTIONS, source(), tmp_path)
    with pytest.raises(MissingData, match=r"image_size=9.*prepared with other options"):
        open_benchmark("image-folder", {**OPTIONS, "image_size": 9}, None, tmp_path)


def test_a_root_that_is_not_there_is_not_passed_over(source, tmp_path):
    open_benchmark("image-folder", OPTIONS, source(), tmp_path)
    with pytest.raises(MissingData, match=r"nothing at .*gone.*data prepare image-folder --from"):
        open_benchmark("image-folder", OPTIONS, tmp_path / "gone", tmp_path)


def test_two_sources_that_fit_ask_for_the_root(source, tmp_path):
    one, other = source("one"), source("other", value=3)
    first = open_benchmark("image-folder", OPTIONS, one, tmp_path)
    second = open_benchmark("image-folder", OPTIONS, other, tmp_path)
    assert first.fingerprint != second.fingerprint
    with pytest.raises(ConfigError, match=r"benchmark\.root: .*several sources") as info:
        open_benchmark("image-folder", OPTIONS, None, tmp_path)
    assert str(one) in str(info.value)
    assert str(other) in str(info.value)
    again = open_benchmark("image-folder", OPTIONS, other, tmp_path)
    assert again.fingerprint == second.fingerprint


def test_a_damaged_store_of_other_options_is_no_hindrance(source, tmp_path):
    root = source()
    good = open_benchmark("image-folder", OPTIONS, root, tmp_path)
    open_benchmark("image-folder", {**OPTIONS, "image_size": 9}, root, tmp_path)
    for store in (tmp_path / "datasets").glob("image-folder-*"):
        if (store / "main.images.npy").stat().st_size > 24 * 3 * 8 * 8 + 128:
            (store / "sheet.json").write_text("{")
    again = open_benchmark("image-folder", OPTIONS, None, tmp_path)
    assert again.fingerprint == good.fingerprint
    with pytest.raises(BadData, match="is damaged"):
        open_benchmark("image-folder", {**OPTIONS, "colour": "grey"}, None, tmp_path)


def test_an_earlier_version_of_the_preparation_is_not_used(tmp_path, monkeypatch):
    open_benchmark("glyphs", GLYPHS, None, tmp_path)
    monkeypatch.setattr(Glyphs, "version", 99)
    open_benchmark("glyphs", GLYPHS, None, tmp_path)
    assert len(list((tmp_path / "datasets").glob("glyphs-*"))) == 2


def test_a_home_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(RunFolderError, match=r"file/datasets.*FSL_SWEEP_HOME"):
        open_benchmark("glyphs", GLYPHS, None, tmp_path / "file")
    with pytest.raises(RunFolderError, match="/proc/datasets"):
        open_benchmark("glyphs", GLYPHS, None, Path("/proc"))


def test_concurrent_processes_prepare_once(tmp_path):
    code = (
        "import sys; from pathlib import Path;"
        "from fsl_sweep.datasets.benchmarks.glyphs.glyphs import Glyphs;"
        "from fsl_sweep.datasets.preparing.opening import open_benchmark;"
        "plain = Glyphs.prepare;"
        "Glyphs.prepare = lambda *a: (print('prepared'), plain(*a))[1];"
        f"print(open_benchmark('glyphs', {GLYPHS!r}, None, Path(sys.argv[1])).fingerprint)"
    )
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    lines = [line for worker in workers for line in worker.communicate()[0].split()]
    assert [worker.returncode for worker in workers] == [0] * 2
    assert lines.count("prepared") == 1
    assert len(lines) == 3
    assert len(set(lines)) == 2
    assert not list((tmp_path / "datasets").glob(".preparing*"))


def test_a_half_deleted_store_is_prepared_again(tmp_path):
    first = open_benchmark("glyphs", GLYPHS, None, tmp_path)
    next((tmp_path / "datasets").glob("glyphs-*/sheet.json")).unlink()
    assert open_benchmark("glyphs", GLYPHS, None, tmp_path).fingerprint == first.fingerprint
