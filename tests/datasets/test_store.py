import json
import resource
from pathlib import Path

import numpy as np
import pytest
from pools import blank_pool, pool_of

from fsl_sweep.datasets.pool import ImagePool
from fsl_sweep.datasets.store.reading import SHEET, datasets_folder, open_store, sheet_digest
from fsl_sweep.datasets.store.writing import writing_store
from fsl_sweep.orchestrator.errors import BadData, MachineFailure, RunFolderError

HEAD = {"benchmark": "made", "version": 1, "options": {}, "source": {"path": "", "signature": ""}}


def write_pool(path, pool: ImagePool) -> Path:
    with writing_store(path, HEAD) as writer:
        out = writer.pool(pool.image_shape)
        for start in range(0, len(pool), 1 + len(pool) // 9):
            part = slice(start, start + 1 + len(pool) // 9)
            writers = None if pool.writers is None else pool.writers[part]
            out.append(pool.images[part], pool.labels[part], writers)
        out.describe(pool.class_names, pool.superclasses, pool.attributes, pool.attribute_names)
    return path


@pytest.fixture
def full_pool(pool) -> ImagePool:
    known = {"attributes": np.eye(6, 3, dtype=bool), "attribute_names": ["p", "q", "r"]}
    more = {"superclasses": ["s", "s", "t", "t", "é", "u"], "writers": np.arange(len(pool)) % 7}
    return pool_of(pool.images, pool.labels, pool.class_names, **known, **more)


@pytest.fixture
def stored(tmp_path, full_pool):
    return write_pool(tmp_path / "made-1", full_pool)


def test_a_pool_comes_back_equal_and_mapped(stored, full_pool):
    store = open_store(stored)
    store.verify()
    back = store.pools()["main"]
    assert isinstance(back.images, np.memmap)
    assert not back.images.flags.writeable
    for name in ("images", "labels", "writers", "attributes"):
        np.testing.assert_array_equal(getattr(back, name), getattr(full_pool, name))
    for name in ("class_names", "superclasses", "attribute_names", "fingerprint"):
        assert getattr(back, name) == getattr(full_pool, name)
    assert (store.images, store.classes) == (len(full_pool), 6)
    assert store.bytes == sum(path.stat().st_size for path in stored.glob("*.npy"))
    few = write_pool(stored.with_name("made-2"), blank_pool([0, 3, 3], 6))
    assert open_store(few).classes == 2  # that have images


def test_what_is_damaged_edited_or_of_another_format_is_refused(stored, refused, snapshot):
    def changed(name, change):
        whole = (stored / name).read_bytes()
        (stored / name).write_bytes(change(whole))
        message = refused(lambda: open_store(stored).pools())
        (stored / name).write_bytes(whole)
        return message

    def pickled(content):
        np.save(stored / "main.labels.npy", np.zeros(3, dtype=object), allow_pickle=True)
        return (stored / "main.labels.npy").read_bytes().ljust(len(content), b"\0")[: len(content)]

    def of_format_99(content):
        sheet = {**json.loads(content), "format": 99}
        return json.dumps({**sheet, "digest": sheet_digest(sheet)}).encode()

    changes = {
        "cut off": ("main.images.npy", lambda content: content[:-7]),
        "pickled": ("main.labels.npy", pickled),
        "of another type": ("main.labels.npy", lambda content: content.replace(b"<i8", b"<u8")),
        "no JSON": (SHEET, lambda _: b"{"),
        "no text": (SHEET, lambda _: b"\xff\xfe"),
        "no sheet": (SHEET, lambda _: b"[]"),
        "edited": (SHEET, lambda content: content.replace(b'"class 0"', b'"renamed"')),
        "another format": (SHEET, of_format_99),
    }
    messages = {what: changed(*change) for what, change in changes.items()}
    (stored / "main.images.npy").unlink()
    assert {**messages, "missing": refused(open_store, stored)} == snapshot


@pytest.mark.parametrize("failure", [KeyboardInterrupt, BadData])
def test_a_preparation_that_is_interrupted_or_fails_leaves_nothing(tmp_path, pool, failure):
    def interrupted():
        with writing_store(tmp_path / "made-1", HEAD) as writer:
            writer.pool(pool.image_shape).append(pool.images, pool.labels)
            raise failure

    with pytest.raises(failure):
        interrupted()
    assert list(tmp_path.iterdir()) == []
    # What a killed preparation left is cleaned, and that of another store kept.
    for folder in (tmp_path / ".preparing-made-1-x", tmp_path / ".preparing-made-2-x"):
        folder.mkdir()
        (folder / "main.images.npy").write_bytes(b"half")
    write_pool(tmp_path / "made-1", pool)
    assert sorted(p.name for p in tmp_path.iterdir()) == [".preparing-made-2-x", "made-1"]


def test_images_of_another_shape_and_a_place_to_write_nothing_to(tmp_path, pool, refused, snapshot):
    def written(shape, path=tmp_path / "m"):
        with writing_store(path, HEAD) as writer:
            writer.pool(shape).append(pool.images, pool.labels)

    assert refused(written, (3, 4, 4)) == snapshot
    with pytest.raises(RunFolderError, match="Cannot write the prepared data set /proc"):
        written(pool.image_shape, Path("/proc/made-1"))


def test_a_full_disk_is_reported_and_leaves_nothing(tmp_path):
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
    try:
        with pytest.raises(MachineFailure, match=r"main\.labels\.npy: File too la.*FSL_SWEEP_HOME"):
            write_pool(tmp_path / "made-1", blank_pool(np.zeros(30_000, int)))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert list(tmp_path.iterdir()) == []


def test_where_stores_are(monkeypatch, tmp_path):
    assert datasets_folder(tmp_path) == tmp_path / "datasets"
    monkeypatch.setenv("FSL_SWEEP_HOME", str(tmp_path / "env"))
    assert datasets_folder(None) == tmp_path / "env" / "datasets"
    monkeypatch.delenv("FSL_SWEEP_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert datasets_folder(None) == tmp_path / ".cache" / "fsl-sweep" / "datasets"
