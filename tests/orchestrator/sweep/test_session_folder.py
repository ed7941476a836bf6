"""A session's folder: private, short, owned by the living, swept after the dead."""

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from commands import living, wait_for

from fsl_sweep.orchestrator.errors import MachineFailure
from fsl_sweep.orchestrator.sweep import session_folder as module
from fsl_sweep.orchestrator.sweep.session_folder import session_folder

OWNER = """
import subprocess, time
from fsl_sweep.orchestrator.sweep.session_folder import session_folder
with session_folder() as folder:
    with open(folder / "log", "w") as log:
        by_file = subprocess.Popen(["sleep", "600"], stderr=log, env={"PATH": "/bin:/usr/bin"})
    marked = {"TMPDIR": str(folder), "PATH": "/bin:/usr/bin"}
    by_mark = subprocess.Popen(["sleep", "600"], env=marked)
    print(folder, by_file.pid, by_mark.pid, flush=True)
    time.sleep(600)
"""


@pytest.fixture(autouse=True)
def _there(place, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(place))


def test_a_folder_is_private_and_gone_with_its_block_and_sockets_fit_into_it(place, monkeypatch):
    deepest = f"{module.RAYS}/session_2026-01-31_23-59-59_123456_4194304/sockets/plasma_store"
    with session_folder() as folder:
        assert folder.parent == place
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert len(os.fsencode(folder / deepest)) <= 107
        (folder / "sockets").mkdir()
    assert not [*place.iterdir()]
    longest = place / ("x" * (module._LONGEST - len(str(place)) - 1))
    longest.mkdir()
    monkeypatch.setenv("TMPDIR", str(longest))
    with session_folder() as folder:
        assert len(os.fsencode(folder / deepest)) == 107
    longest.rmdir()


@pytest.mark.parametrize("unusable", ["missing", "a-path-much-too-long-for-a-socket", "full"])
def test_a_place_that_cannot_serve_is_passed_over(place, unusable, monkeypatch):
    chosen, usage = place / unusable, module.shutil.disk_usage
    if unusable != "missing":
        chosen.mkdir()
    if unusable == "full":
        little = usage(place)._replace(free=os.statvfs(place).f_bsize)
        monkeypatch.setattr(
            module.shutil, "disk_usage", lambda path: little if path == str(chosen) else usage(path)
        )
    monkeypatch.setenv("TMPDIR", str(chosen))
    with session_folder() as folder:
        assert folder.parent in (Path("/tmp"), Path("/var/tmp"))
    assert not folder.exists()
    if chosen.exists():
        chosen.rmdir()


def test_a_lock_that_another_run_puts_there_meanwhile_keeps_no_folder(monkeypatch):
    removed = module.shutil.rmtree

    def sweeping(folder, **options):
        removed(folder, **options)
        monkeypatch.setattr(module.shutil, "rmtree", removed)
        folder.mkdir()
        (folder / module._OWNER).touch()

    with session_folder() as folder:
        monkeypatch.setattr(module.shutil, "rmtree", sweeping)
    assert not folder.exists()


def test_where_no_place_serves_each_is_named_with_its_reason(place, monkeypatch):
    monkeypatch.setattr(module, "_ROOM", 2**62)
    with pytest.raises(MachineFailure, match=r"/tmp: only [0-9]+ MB are free; .* set TMPDIR"):
        session_folder().__enter__()
    assert not [*place.iterdir()]


def test_what_a_dead_owner_left_is_swept_and_what_a_living_one_has_is_not(place, tmp_path):
    owner = subprocess.Popen([sys.executable, "-c", OWNER], stdout=subprocess.PIPE, text=True)
    folder, *left = owner.stdout.readline().split()
    bystander = subprocess.Popen(["tail", "-f", f"{folder}/log"], stdout=subprocess.DEVNULL)
    foreign, link = place / "fsl-ray-notours", place / "fsl-ray-00000000"
    foreign.mkdir()  # of another form than names that are made here
    (tmp_path / "kept").write_text("")
    link.symlink_to(tmp_path)
    try:
        with session_folder():
            assert Path(folder).is_dir()
            assert {int(pid) for pid in left} <= living().keys()
        owner.send_signal(signal.SIGKILL)
        owner.wait()
        with session_folder():
            assert not Path(folder).exists()
            assert wait_for(lambda: not {int(pid) for pid in left} & living().keys())
        assert bystander.poll() is None
    finally:
        bystander.kill()
        bystander.wait()
        owner.kill()
        owner.stdout.close()
    assert {*place.iterdir()} == {foreign, link}
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]
    foreign.rmdir()
    link.unlink()


# Its first thread has ended, and another goes on; it has no environment and no file in the folder.
NAMELESS = """
import ctypes, platform, threading, time
threading.Thread(target=time.sleep, args=(600,)).start()
print(flush=True)
ctypes.CDLL(None).syscall({"x86_64": 60, "aarch64": 93}[platform.machine()], 0)
"""


@pytest.mark.usefixtures("place")
def test_a_process_is_known_by_its_session_from_its_birth_until_its_last_thread_ends():
    program = [sys.executable, "-c", NAMELESS]
    process = subprocess.Popen(program, stdout=subprocess.PIPE, env={}, start_new_session=True)
    try:
        process.stdout.readline()
        wait_for(lambda: process.pid not in living())
        assert process.poll() is None
        with session_folder() as folder:
            module.end_session(folder, process.pid)
            assert not folder.exists()
        assert process.wait(timeout=60) == -signal.SIGKILL
    finally:
        process.kill()
        process.stdout.close()
