"""Failures of the machine: one message that names it, exit code 3, and nothing half-written."""

import json
import os
import shutil
import signal
import socket
import subprocess
from pathlib import Path

import pytest
from commands import (
    TINY,
    driver_of,
    in_session,
    living,
    started,
    wait_for,
    wait_for_snapshots,
)

from fsl_sweep.orchestrator.cli import invoke
from fsl_sweep.orchestrator.run import load_run

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("ray")]


def sweep_file(folder, epochs):
    path = folder / "tiny.yaml"
    text = TINY.replace("  RR: {learner: {name: ridge}}\n", "")
    path.write_text(text.replace("epochs: 3", f"epochs: {epochs}"))
    return path


def ended(process):
    """Exit code and the messages of a run, without its lines of progress."""
    _, errors = process.communicate(timeout=300)
    return (
        process.returncode,
        [line for line in errors.splitlines() if line.startswith("fsl-")],
        errors,
    )


def message_of(process):
    """The one message of a run that the machine ended."""
    code, messages, errors = ended(process)
    assert code == 3, errors
    assert len(messages) == 1, errors
    assert errors.rstrip().endswith(messages[0])
    assert "Traceback" not in errors
    assert max(map(len, errors.splitlines())) < 700
    return messages[0]


def test_a_cluster_that_cannot_be_reached(tmp_path, capsys):
    run = tmp_path / "run"
    asked = ["run", str(sweep_file(tmp_path, 1)), "-o", str(run), "--address", "127.0.0.1:1"]
    assert invoke(asked) == 3
    error = capsys.readouterr().err
    assert error.startswith("fsl-sweep: No Ray cluster can be reached at 127.0.0.1:1: Connection")
    assert error.count("\n") == 1
    assert not run.exists()
    assert invoke([*asked[:-1], "nowhere"]) == 2
    assert not run.exists()


def test_ray_that_cannot_start(tmp_path, place):
    """Its port is taken."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        os.environ["RAY_GCS_SERVER_PORT"] = str(taken.getsockname()[1])
        try:
            process = started("run", sweep_file(tmp_path, 1), "-o", tmp_path / "run", place=place)
        finally:
            del os.environ["RAY_GCS_SERVER_PORT"]
        message = message_of(process)
    assert "Could not start Ray on this machine: RuntimeError: Failed to start GCS" in message
    assert not [*tmp_path.glob("run/trials/*")]


@pytest.fixture
def small_disk(tmp_path):
    """A file system with little room, and a way to make it larger."""
    folder = tmp_path / "disk"
    folder.mkdir()
    try:
        subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=300k", "tmpfs", folder],
            check=True,
            capture_output=True,
        )
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("needs the right to mount")
    enlarge = ["mount", "-o", "remount,size=20m", folder]
    yield folder, lambda: subprocess.run(enlarge, check=True)
    subprocess.run(["umount", folder], check=True)


def test_a_full_disk_ends_the_run_and_with_room_it_goes_on(tmp_path, place, small_disk):
    disk, enlarge = small_disk
    file, run = sweep_file(tmp_path, 8), disk / "run"
    message = message_of(started("run", file, "-o", run, place=place))
    assert str(run) in message
    assert "No space left on device" in message
    assert not [*run.rglob(".unfinished*")]
    # It is nobody's failure but the disk's: no trial has failed.
    ends = [json.loads(path.read_text())["status"] for path in run.glob("trials/*/end.json")]
    assert set(ends) <= {"done"}
    enlarge()
    code, messages, errors = ended(started("run", file, "-o", run, place=place))
    assert (code, messages) == (0, []), errors
    assert load_run(run).report().completeness.complete


@pytest.fixture
def running(tmp_path, place):
    """A run that has recorded something: its process, its folder, and that of its driver."""
    run = tmp_path / "run"
    process = started("run", sweep_file(tmp_path, 500), "-o", run, place=place)
    wait_for_snapshots(run, 1, process)
    driver = driver_of(process)
    yield process, run, driver
    process.kill()
    process.communicate()
    wait_for(lambda: not in_session(driver))


def test_a_run_folder_that_is_deleted_is_not_built_again(running):
    process, run, _ = running
    run.rename(run.with_name("moved"))
    assert f"The run folder {run} is gone" in message_of(process)
    assert not run.exists()
    shutil.rmtree(run.with_name("moved"))


@pytest.mark.parametrize(
    ("victim", "told"),
    [("gcs_server", "The Ray of this run is gone"), ("driver", "ended unexpectedly (killed by")],
)
def test_ray_that_goes_away(running, victim, told):
    process, run, driver = running
    names = {pid: Path(f"/proc/{pid}/comm").read_text().strip() for pid in in_session(driver)}
    chosen = [pid for pid, name in names.items() if name == victim] or [driver]
    os.kill(chosen[0], signal.SIGKILL)
    assert told in message_of(process)
    assert not names.keys() & living().keys()
    assert not [*run.rglob(".unfinished*")]
