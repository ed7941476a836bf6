import errno
import os
import shutil
import stat

import hostile
import pytest

from fsl_sweep.orchestrator.errors import Damaged, MachineFailure, RunFolderError
from fsl_sweep.orchestrator.ledger.storage import Folder

HALF = ".unfinished-" + "0" * 32


def test_files_are_replaced_completely_below_a_folder_that_may_be_a_link(tmp_path):
    (tmp_path / "far").mkdir()
    (tmp_path / "near").symlink_to(tmp_path / "far")
    folder = Folder(tmp_path / "near")
    folder.write("a/b.json", b"one")
    folder.write("a/b.json", b"two")
    assert folder.read("a/b.json") == (tmp_path / "far/a/b.json").read_bytes() == b"two"
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
    with pytest.raises(RunFolderError, match="x/y could not be written"):
        Folder(tmp_path / "x").write("y", b"")


def test_a_file_system_that_cannot_flush_folders_is_written_to(tmp_path, monkeypatch):
    """But any other failure to flush one is reported."""
    flush, failing = os.fsync, [errno.EINVAL]

    def fsync(descriptor):
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(failing[0], os.strerror(failing[0]))
        flush(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    folder = Folder(tmp_path)
    folder.write("trials/x", b"1")
    folder.move("trials", "retried")
    assert folder.read("retried/x") == b"1"
    failing[0] = errno.EIO
    with pytest.raises(MachineFailure, match="could not be written"):
        folder.write("trials/x", b"1")


def test_temporaries_of_a_killed_process_are_invisible_and_swept_but_not_through_a_link(tmp_path):
    run, outside = tmp_path / "run", tmp_path / "outside"
    folder = Folder(run)
    for name in ("a/x", "trials/x"):
        folder.write(name, b"1")
    outside.mkdir()
    (run / "tasks").symlink_to(outside)
    for place in ("trials", ".", "tasks"):
        (run / place / HALF).write_bytes(b"half")
    assert (folder / "trials").names() == ["x"]
    kept = [run / "a" / HALF, run / "trials" / ".unfinished-thesis"]
    for path in kept:
        path.write_text("not ours")
    (tmp_path / "way").symlink_to(run)
    Folder(tmp_path / "way").sweep_unfinished()
    assert sorted(os.listdir(run / "trials")) == [".unfinished-thesis", "x"]
    assert sorted(os.listdir(run)) == ["a", "tasks", "trials"]
    assert os.listdir(outside) == [HALF]
    assert all(path.is_file() for path in kept)


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


def test_a_folder_that_vanished_is_reported_and_not_made_again(tmp_path):
    (root := tmp_path / "run").mkdir()
    folder = Folder(root, standing=root) / "trials" / "a"
    folder.write("epochs/1", b"1")
    shutil.rmtree(root)
    with pytest.raises(MachineFailure, match="run is gone: it was deleted or moved"):
        folder.write("epochs/2", b"2")
    with pytest.raises(MachineFailure, match="run is gone"):
        Folder(root, standing=root).write("x", b"")
    assert not root.exists()
