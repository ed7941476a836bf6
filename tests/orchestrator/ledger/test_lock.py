import json
import os
import subprocess
import sys
import time

import hostile
import pytest

from fsl_sweep.orchestrator.errors import RunFolderError
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


def test_the_second_run_is_refused_with_host_and_pid_until_the_first_dies(tmp_path):
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE, text=True
    ) as first:
        assert first.stdout is not None
        assert first.stdout.readline() == "held\n"
        try:
            with (
                pytest.raises(RunFolderError, match=f"process {first.pid} on "),
                run_lock(tmp_path),
            ):
                pass
        finally:
            first.kill()
    with run_lock(tmp_path):
        assert json.loads((tmp_path / "lock").read_text())["pid"] == os.getpid()
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
    with pytest.raises(RunFolderError, match="process 7 on elsewhere"), run_lock(tmp_path):
        pass


@pytest.mark.parametrize("seconds", [-STALE_SECONDS - 1, STALE_SECONDS + 30, 10 * 365 * 86400])
def test_a_lock_from_the_past_or_the_future_is_no_sign_of_life(tmp_path, seconds):
    elsewhere(tmp_path, seconds)
    assert holder_of(tmp_path) is None
    with run_lock(tmp_path):
        pass


def test_a_path_that_cannot_be_a_folder(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(RunFolderError, match="cannot be written"), run_lock(tmp_path / "file"):
        pass


def test_a_folder_without_permission_is_reported(tmp_path):
    """As a user without rights: root may write anywhere, unless it gives up that capability."""
    (tmp_path / "locked").mkdir(mode=0o555)
    rights = ["setpriv", "--bounding-set=-dac_override"] if os.getuid() == 0 else []
    for use in ("run_lock(path).__enter__()", "check_writable(path)"):
        program = f"{IMPORTS}\npath = Path('locked/run')\n{use}"
        done = subprocess.run(
            [*rights, sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True
        )
        error = "RunFolderError: The run folder locked/run cannot be written: Permission denied"
        assert error in done.stderr


@pytest.mark.parametrize("text", ["[1, 2", "[" * 4000, '{"host": ["x"], "pid": {}}', "\0" * 9])
def test_a_lock_that_nobody_wrote_is_nobodys(tmp_path, text):
    (tmp_path / "lock").write_text(text)
    os.utime(tmp_path / "lock", (0, 0))
    assert holder_of(tmp_path) is None
    with run_lock(tmp_path):
        pass


@pytest.mark.timeout(20)
@pytest.mark.parametrize("kind", [*hostile.KINDS, "hard link"])
def test_a_lock_that_is_no_file_of_its_own_is_refused(tmp_path, kind):
    (tmp_path / "run").mkdir()
    if kind == "hard link":
        (tmp_path / "secret").write_text("secret")
        os.link(tmp_path / "secret", tmp_path / "run" / "lock")
    else:
        hostile.put(kind, tmp_path / "run" / "lock", tmp_path / "secret")
    for use in (holder_of, lambda folder: run_lock(folder).__enter__()):
        with pytest.raises(RunFolderError, match="not a file of its own: the folder cannot be"):
            use(tmp_path / "run")
    assert sorted(os.listdir(tmp_path)) == ["run", "secret"]
    assert (tmp_path / "secret").read_text() == "secret"
