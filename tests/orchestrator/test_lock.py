import json
import os
import subprocess
import sys
import time

import pytest

from fsl_sweep.orchestrator.errors import RunFolderError
from fsl_sweep.orchestrator.lock import STALE_SECONDS, run_lock

HOLD = """
import sys, time
from pathlib import Path
from fsl_sweep.orchestrator.lock import run_lock
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


def test_a_live_holder_on_another_host_is_respected_and_a_silent_one_is_not(tmp_path):
    lock = tmp_path / "lock"
    lock.write_text(json.dumps({"host": "elsewhere", "pid": 7}))
    with pytest.raises(RunFolderError, match="process 7 on elsewhere"), run_lock(tmp_path):
        pass
    silent = time.time() - STALE_SECONDS - 1
    os.utime(lock, (silent, silent))
    with run_lock(tmp_path):
        pass


def test_rubbish_in_the_lock_file_is_nobodys_lock(tmp_path):
    (tmp_path / "lock").write_text("[1, 2")
    with run_lock(tmp_path):
        pass


def test_a_path_that_cannot_be_a_folder(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(RunFolderError, match="cannot be written"), run_lock(tmp_path / "file"):
        pass
