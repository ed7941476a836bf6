import errno
import fcntl
import json
import os
import subprocess
import sys
import threading
import time

import hostile
import pytest

from fsl_sweep.orchestrator.errors import MachineFailure, RunFolderError
from fsl_sweep.orchestrator.ledger import lock as locks
from fsl_sweep.orchestrator.ledger.lock import STALE_SECONDS, holder_of, run_lock

IMPORTS = """
import sys, time
from pathlib import Path
from fsl_sweep.orchestrator.ledger.lock import check_writable, run_lock
"""
HOLD = f"""{IMPORTS}
with run_lock(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


def lock(folder):
    """Hold the lock of a folder for a moment."""
    with run_lock(folder):
        return json.loads((folder / "lock").read_text())


def test_the_second_run_is_refused_with_host_and_pid_until_the_first_dies(tmp_path):
    command = [sys.executable, "-c", HOLD, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as first:
        assert first.stdout.readline() == "held\n"
        try:
            with pytest.raises(RunFolderError, match=f"process {first.pid} on "):
                lock(tmp_path)
        finally:
            first.kill()
    assert lock(tmp_path)["pid"] == os.getpid()
    assert (tmp_path / "lock").read_text() == ""


def elsewhere(folder, seconds):
    """Leave the lock of another host, whose last sign of life is some seconds from now."""
    (folder / "lock").write_text(json.dumps({"host": "elsewhere", "pid": 7}))
    at = time.time() + seconds
    os.utime(folder / "lock", (at, at))


def test_a_live_holder_on_another_host_is_respected(tmp_path, monkeypatch):
    elsewhere(tmp_path, 0)
    assert holder_of(tmp_path) == "process 7 on elsewhere"
    # The clock of the folder's file system decides: this host's may be an hour behind.
    late = time.time() - 3600
    monkeypatch.setattr(time, "time", lambda: late)
    with pytest.raises(RunFolderError, match="process 7 on elsewhere"):
        lock(tmp_path)


def nobodys(folder, text):
    """Leave the lock that nobody wrote, long ago."""
    (folder / "lock").write_text(text)
    os.utime(folder / "lock", (0, 0))


@pytest.mark.parametrize(
    ("left", "by"),
    [
        *((elsewhere, by) for by in (-STALE_SECONDS - 1, STALE_SECONDS + 30, 10 * 365 * 86400)),
        *((nobodys, by) for by in ("[1, 2", "[" * 4000, '{"host": ["x"], "pid": {}}', "\0" * 9)),
    ],
)
def test_a_lock_from_the_past_or_the_future_or_of_nobody_is_no_sign_of_life(tmp_path, left, by):
    left(tmp_path, by)
    assert holder_of(tmp_path) is None
    lock(tmp_path)


@pytest.fixture
def without_locks(monkeypatch):
    """Let the file system answer with an error where it is asked for a lock."""

    def answer(code):
        monkeypatch.setattr(locks, "_SETTLE_SECONDS", 0.0)

        def flock(*_):
            raise OSError(code, os.strerror(code))

        monkeypatch.setattr(fcntl, "flock", flock)

    return answer


@pytest.mark.parametrize("code", [errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP])
def test_without_file_locks_the_time_of_the_file_decides_on_every_host(
    tmp_path, without_locks, code, snapshot, monkeypatch
):
    without_locks(code)
    remarks = []
    with run_lock(tmp_path, remarks.append):
        assert holder_of(tmp_path).startswith(f"process {os.getpid()} on ")
        with pytest.raises(RunFolderError, match=f"process {os.getpid()} on "):
            lock(tmp_path)
        monkeypatch.undo()  # as for another process, of which the kernel has locks again
        with pytest.raises(RunFolderError, match=f"process {os.getpid()} on "):
            lock(tmp_path)
        assert holder_of(tmp_path).startswith(f"process {os.getpid()} on ")
        killed = (tmp_path / "lock").read_text()
    assert [remark.replace(str(tmp_path), "RUN") for remark in remarks] == snapshot(name="remark")
    without_locks(code)
    assert (tmp_path / "lock").read_text() == ""
    nobodys(tmp_path, killed)
    assert holder_of(tmp_path) is None
    lock(tmp_path)


def test_without_file_locks_the_last_of_several_that_start_at_once_stays(
    tmp_path, without_locks, monkeypatch
):
    without_locks(errno.ENOLCK)
    monkeypatch.setattr(time, "sleep", lambda _: elsewhere(tmp_path, 0))
    with pytest.raises(RunFolderError, match="process 7 on elsewhere"):
        lock(tmp_path)
    assert holder_of(tmp_path) == "process 7 on elsewhere"


def test_another_failure_to_lock_is_the_machines(tmp_path, without_locks):
    without_locks(errno.EIO)
    with pytest.raises(MachineFailure, match="cannot be written: Input/output error"):
        lock(tmp_path)


def test_a_sign_of_life_that_fails_is_not_the_last(tmp_path, monkeypatch):
    monkeypatch.setattr(locks, "BEAT_SECONDS", 0.01)
    touched, again = [], threading.Event()

    def utime(descriptor):
        touched.append(descriptor)
        if len(touched) == 1:
            raise OSError(errno.ESTALE, "Stale file handle")
        again.set()

    monkeypatch.setattr(os, "utime", utime)
    with run_lock(tmp_path):
        assert again.wait(5)


def test_a_folder_without_permission_is_reported(tmp_path):
    """As a user without rights: root may write anywhere, unless it gives up that capability."""
    (tmp_path / "locked").mkdir(mode=0o555)
    rights = ["setpriv", "--bounding-set=-dac_override"] if os.getuid() == 0 else []
    for use in ("run_lock(path).__enter__()", "check_writable(path)"):
        program = [sys.executable, "-c", f"{IMPORTS}\npath = Path('locked/run')\n{use}"]
        done = subprocess.run([*rights, *program], cwd=tmp_path, capture_output=True, text=True)
        error = "RunFolderError: The run folder locked/run cannot be written: Permission denied"
        assert error in done.stderr


@pytest.mark.timeout(20)
@pytest.mark.parametrize("kind", [*hostile.KINDS, "hard link"])
def test_a_lock_that_is_no_file_of_its_own_is_refused(tmp_path, kind):
    run, secret = tmp_path / "run", tmp_path / "secret"
    run.mkdir()
    if kind == "hard link":
        secret.write_text("secret")
        os.link(secret, run / "lock")
    else:
        hostile.put(kind, run / "lock", secret)
    for use in (holder_of, lock):
        with pytest.raises(RunFolderError, match="not a file of its own: the folder cannot be"):
            use(run)
    assert sorted(os.listdir(tmp_path)) == ["run", "secret"]
    assert secret.read_text() == "secret"
