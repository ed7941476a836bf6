"""Preparing, finding, listing, checking and opening benchmarks on this machine."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from pools import counts_of, grey

from fsl_sweep.datasets.benchmarks.glyphs.glyphs import Glyphs
from fsl_sweep.datasets.benchmarks.image_folder import ImageFolder
from fsl_sweep.datasets.preparing.inventory import available, check, prepare
from fsl_sweep.datasets.preparing.opening import open_benchmark, prepared_stores
from fsl_sweep.orchestrator.errors import BadData, RunFolderError

NAME = "image-folder"
OPTIONS = {"image_size": 8, "base": 0.5, "val": 0.25, "novel": 0.25}
GLYPHS = {"base_alphabets": 1, "val_alphabets": 1, "novel_alphabets": 2, "examples": 10}


@pytest.fixture
def source(write_tree):
    def make(name="source", value=0):
        files = {f"c{c}/{i}.png": grey(20 * c + value) for c in range(8) for i in range(3)}
        return write_tree(files, name)

    return make


@pytest.fixture
def home(tmp_path):
    return tmp_path / "home"


def row(name, home):
    return next(entry for entry in available(home) if entry.name == name)


def test_a_damaged_store_is_listed_and_replaced(source, home):
    assert row("omniglot", home).stores == ()
    assert not home.exists()  # an empty machine lists every benchmark
    root = source()
    store, _ = prepare(NAME, root, OPTIONS, home)
    assert prepare(NAME, root, {**OPTIONS, "seed": 5}, home) == (store, True)
    assert row(NAME, home).stores == (store,)
    (store.path / "main.labels.npy").unlink()
    assert row(NAME, home).stores == ()
    assert "main.labels.npy is missing" in row(NAME, home).damaged[0]
    assert not prepare(NAME, root, OPTIONS, home)[1]
    assert check(NAME, OPTIONS, root, home).problems == ()


def test_checking_counts_compares_with_what_is_published_and_reads_every_byte(
    source, home, monkeypatch
):
    result = check("glyphs", GLYPHS, None, home)
    assert result.problems == ()
    assert result.benchmark.image_shape == (1, 28, 28)
    counts = {"train": (8, 56), "base": (8, 24), "val": (8, 80), "novel": (16, 160)}
    assert counts_of(result.benchmark) == counts
    assert result.expected == {"base": 8, "val": 8, "novel": 16}
    store, _ = prepare(NAME, source(), OPTIONS, home)
    monkeypatch.setattr(ImageFolder, "expected", lambda self, options: {"base": 5, "val": 2})
    for official, remarks in ((24, ()), (6000, ("24 images; the official data set has 6,000",))):
        monkeypatch.setattr(ImageFolder, "official_images", official)
        result = check(NAME, OPTIONS, None, home)
        assert result.problems == ("The base split has 4 classes; 5 are expected.",)
        assert tuple(r for r in result.remarks if "official" in r) == remarks
    file = store.path / "main.images.npy"
    content = bytearray(file.read_bytes())
    content[-5] ^= 4
    file.write_bytes(content)
    with pytest.raises(BadData, match=r"main\.images\.npy has changed"):
        check(NAME, OPTIONS, None, home)


def test_what_is_not_there_is_named_with_what_to_do(source, home, opened, refused, snapshot):
    root, gone = source(), home / "gone"
    messages = [
        refused(prepare, "omniglot", None, {}, home),
        refused(prepare, "omniglot", gone, {}, home),
        refused(check, NAME, OPTIONS, root, home),
    ]
    prepare(NAME, root, OPTIONS, home)
    (store,) = prepared_stores(NAME, home)
    messages.append(refused(opened, NAME, None, **{**OPTIONS, "image_size": 9}))
    messages.append(refused(opened, NAME, gone, **OPTIONS))
    assert [text.replace(store.name, "STORE") for text in messages] == snapshot
    assert not prepare("glyphs", None, GLYPHS, home)[1]


def test_two_sources_that_fit_ask_for_the_root_and_damage_is_no_hindrance(
    source, opened, home, refused
):
    first, second = source("first"), source("second", value=3)
    prints = [opened(NAME, root, **OPTIONS).fingerprint for root in (first, second, second)]
    assert prints[0] != prints[1] == prints[2]
    message = refused(opened, NAME, **OPTIONS)
    assert f"benchmark.root: '{NAME}' has been prepared from several sources" in message
    assert {"from TMP/first", "from TMP/second"} <= set(re.findall(r"from TMP/\w+", message))
    (prepared_stores(NAME, home)[0] / "sheet.json").write_text("{")
    assert opened(NAME, **OPTIONS).fingerprint in prints
    with pytest.raises(BadData, match="is damaged"):
        opened(NAME, **OPTIONS, colour="grey")


def test_an_earlier_version_a_half_deleted_store_and_a_home_that_cannot_be_written(
    opened, home, monkeypatch
):
    first = opened("glyphs", **GLYPHS)
    next((home / "datasets").glob("glyphs-*/sheet.json")).unlink()
    assert opened("glyphs", **GLYPHS).fingerprint == first.fingerprint
    monkeypatch.setattr(Glyphs, "version", 99)
    opened("glyphs", **GLYPHS)
    assert len(prepared_stores("glyphs", home)) == 2
    # A home that cannot be written is named.
    file = home / "file"
    file.write_text("")
    for place, message in ((file, r"file/datasets.*FSL_SWEEP_HOME"), (Path("/proc"), "/proc/data")):
        with pytest.raises(RunFolderError, match=message):
            open_benchmark("glyphs", GLYPHS, None, place)


def test_concurrent_processes_prepare_once(tmp_path):
    code = (
        "import sys; from pathlib import Path;"
        "from fsl_sweep.datasets.benchmarks.glyphs.glyphs import Glyphs;"
        "from fsl_sweep.datasets.preparing.opening import open_benchmark;"
        "plain = Glyphs.prepare;"
        "Glyphs.prepare = lambda *a: (print('prepared'), plain(*a))[1];"
        f"print(open_benchmark('glyphs', {GLYPHS!r}, None, Path(sys.argv[1])).fingerprint)"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    workers = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    lines = [line for worker in workers for line in worker.communicate()[0].split()]
    assert [worker.returncode for worker in workers] == [0] * 2
    assert lines.count("prepared") == 1
    assert (len(lines), len(set(lines))) == (3, 2)
    assert not list((tmp_path / "datasets").glob(".preparing*"))
