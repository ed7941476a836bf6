import os
import shutil

import hostile
import pytest

from fsl_sweep.orchestrator.errors import Damaged, MachineFailure, RunFolderError
from fsl_sweep.orchestrator.ledger.storage import Folder


def test_files_are_replaced_whole(tmp_path):
    folder = Folder(tmp_path)
    folder.write("a/b.json", b"one")
    folder.write("a/b.json", b"two")
    assert folder.read("a/b.json") == b"two"
    assert (folder / "a").names() == ["b.json"]
    assert folder.read("a/none") is None
    assert (folder / "nowhere").names() == []


def test_a_failed_write_leaves_what_was_there_and_no_litter(tmp_path, monkeypatch):
    folder = Folder(tmp_path)
    folder.write("x", b"old")

    def full(_descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(MachineFailure, match=r"x could not be written: No space left on device"):
        folder.write("x", b"new")
    assert folder.read("x") == b"old"
    assert os.listdir(tmp_path) == ["x"]


def test_temporaries_of_a_killed_process_are_invisible_and_swept(tmp_path):
    folder = Folder(tmp_path)
    folder.write("a/x", b"1")
    half = ".unfinished-" + "0" * 32
    folder.write("trials/x", b"1")
    for place in ("trials", "."):
        (tmp_path / place / half).write_bytes(b"half")
    assert (folder / "trials").names() == ["x"]
    kept = [tmp_path / "a" / half, tmp_path / "trials" / ".unfinished-thesis"]
    for path in kept:
        path.write_text("not ours")
    folder.sweep_unfinished()
    assert sorted(os.listdir(tmp_path / "trials")) == [".unfinished-thesis", "x"]
    assert sorted(os.listdir(tmp_path)) == ["a", "trials"]
    assert all(path.is_file() for path in kept)


def test_no_temporary_is_removed_through_a_link(tmp_path):
    outside, half = tmp_path / "outside", ".unfinished-" + "0" * 32
    outside.mkdir()
    (outside / half).write_text("another run's")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "trials").symlink_to(outside)
    (tmp_path / "way").symlink_to(tmp_path / "run")
    (tmp_path / "run" / half).write_text("ours")
    Folder(tmp_path / "way").sweep_unfinished()
    assert os.listdir(outside) == [half]
    assert os.listdir(tmp_path / "run") == ["trials"]


@pytest.mark.timeout(20)
@pytest.mark.parametrize("kind", hostile.KINDS)
def test_what_is_no_file_is_neither_read_nor_waited_for_nor_written_through(tmp_path, kind):
    (tmp_path / "run").mkdir()
    folder, path = Folder(tmp_path / "run"), tmp_path / "run" / "x"
    hostile.put(kind, path, tmp_path / "secret")
    with pytest.raises(Damaged, match=r"x is damaged: it is a (named|socket|folder|symbolic)"):
        folder.read("x")
    if kind != "folder":
        with pytest.raises(Damaged, match="not a folder"):
            folder.write("x/y", b"")
        folder.write("x", b"new")
        assert folder.read("x") == b"new"
    assert sorted(os.listdir(tmp_path)) == ["run", "secret"]
    assert (tmp_path / "secret").read_text() == "secret"


def test_the_run_folder_itself_may_be_a_link(tmp_path):
    (tmp_path / "far").mkdir()
    (tmp_path / "near").symlink_to(tmp_path / "far")
    Folder(tmp_path / "near").write("a/x", b"1")
    assert (tmp_path / "far" / "a" / "x").read_bytes() == b"1"


def test_a_file_in_place_of_the_folder_is_reported_with_its_path(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(RunFolderError, match="file/x could not be written"):
        Folder(tmp_path / "file").write("x", b"")


def test_a_folder_that_vanished_is_reported_and_not_made_again(tmp_path):
    root = tmp_path / "run"
    root.mkdir()
    folder = Folder(root, standing=root) / "trials" / "a"
    folder.write("epochs/1", b"1")
    shutil.rmtree(root)
    with pytest.raises(MachineFailure, match="run is gone: it was deleted or moved"):
        folder.write("epochs/2", b"2")
    with pytest.raises(MachineFailure, match="run is gone"):
        Folder(root, standing=root).write("x", b"")
    assert not root.exists()
