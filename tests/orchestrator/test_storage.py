import os
import shutil

import pytest

from fsl_sweep.orchestrator.errors import MachineFailure, RunFolderError
from fsl_sweep.orchestrator.storage import Folder


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
    (tmp_path / "a" / ".unfinished-0").write_bytes(b"half")
    assert (folder / "a").names() == ["x"]
    folder.sweep_unfinished()
    assert os.listdir(tmp_path / "a") == ["x"]


def test_a_file_in_place_of_the_folder_is_told_with_its_path(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(RunFolderError, match="file/x could not be written"):
        Folder(tmp_path / "file").write("x", b"")


def test_a_folder_that_vanished_is_told_and_not_made_again(tmp_path):
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
