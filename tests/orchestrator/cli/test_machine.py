"""Failures of the machine: one message that names it, exit code 3, and nothing half-written."""

import json
import os
import signal
import socket
import subprocess

import made
import pytest
from commands import NO_SPARE_WORKERS, ONE_CORE, TINY, WithoutRay, living

from fsl_sweep.orchestrator.cli import invoke
from fsl_sweep.orchestrator.errors import MachineFailure
from fsl_sweep.orchestrator.run import load_run
from fsl_sweep.orchestrator.sweep import execute, process
from fsl_sweep.orchestrator.sweep.process import Job, RayProcess


def sweep_file(folder, epochs):
    path = folder / "tiny.yaml"
    text = TINY.replace("  RR: {learner: {name: ridge}}\n", "")
    path.write_text(text.replace("epochs: 3", f"epochs: {epochs}"))
    return str(path)


@pytest.fixture
def message_of(capsys, place, monkeypatch):
    """The one message of a run that the machine ended."""
    monkeypatch.setenv("TMPDIR", str(place))

    def run(*arguments):
        code = invoke(["run", *map(str, arguments)])
        errors = capsys.readouterr().err
        messages = [line for line in errors.splitlines() if line.startswith("fsl-")]
        assert code == 3, errors
        assert len(messages) == 1, errors
        assert errors.rstrip().endswith(messages[0])
        assert max(map(len, errors.splitlines())) < 700
        assert not [*place.iterdir()]
        return messages[0]

    return run


@pytest.mark.slow
@pytest.mark.xdist_group("ray")
def test_ray_that_cannot_start(tmp_path, message_of, monkeypatch):
    """Its port is taken."""
    # Seconds that Ray waits for its head to answer; the defaults are 30 and 5.
    monkeypatch.setenv("RAY_py_gcs_connect_timeout_s", "1")
    monkeypatch.setenv("RAY_gcs_rpc_server_connect_timeout_s", "1")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        monkeypatch.setenv("RAY_GCS_SERVER_PORT", str(taken.getsockname()[1]))
        message = message_of(sweep_file(tmp_path, 1), "-o", tmp_path / "run")
    assert "Could not start Ray on this machine: RuntimeError: Failed to start GCS" in message
    assert not [*tmp_path.glob("run/trials/*")]


@pytest.fixture
def small_disk(tmp_path):
    """A file system with little room, and a way to make it larger."""
    folder = tmp_path / "disk"
    folder.mkdir()

    def mount(*options):
        subprocess.run(["mount", *options, folder], check=True, capture_output=True)

    try:
        mount("-t", "tmpfs", "-o", "size=300k", "tmpfs")
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("needs the right to mount")
    yield folder, lambda: mount("-o", "remount,size=20m")
    subprocess.run(["umount", folder], check=True)


@pytest.mark.slow
@pytest.mark.xdist_group("ray")
def test_a_full_disk_ends_the_run_and_with_room_it_resumes(
    tmp_path, message_of, small_disk, monkeypatch
):
    disk, enlarge = small_disk
    file, run = sweep_file(tmp_path, 8), disk / "run"
    monkeypatch.setenv(*ONE_CORE)
    monkeypatch.setenv(*NO_SPARE_WORKERS)
    message = message_of(file, "-o", run)
    assert str(run) in message
    assert "No space left on device" in message
    assert not [*run.rglob(".unfinished*")]
    # It is the disk's failure: no trial has failed.
    ends = [json.loads(path.read_text())["status"] for path in run.glob("trials/*/end.json")]
    assert set(ends) <= {"done"}
    enlarge()
    monkeypatch.setattr(execute, "RayProcess", WithoutRay)
    assert invoke(["run", file, "-o", str(run)]) == 0
    assert load_run(run).report().completeness.complete


SLEEPS = "import sys, time; print('[time] C a check failed', flush=True); time.sleep(600)"


@pytest.fixture
def held(place, monkeypatch, tmp_path):
    """What ``RayProcess`` says when something happens while its other process only sleeps."""
    monkeypatch.setenv("TMPDIR", str(place))
    monkeypatch.setattr(process, "_PROGRAM", SLEEPS)
    job = Job(tmp_path / "run", made.plan(), ())
    job.run.mkdir()

    def failure(happens):
        with RayProcess() as ray:
            monkeypatch.setattr(ray._pipe, "send", lambda _: happens(ray._process.pid))
            with pytest.raises(MachineFailure) as raised:
                ray.run(job, [])
        assert ray._process.pid not in living()
        assert not [*place.iterdir()]
        return str(raised.value)

    return failure


def test_a_process_with_ray_that_dies(held):
    assert "ended unexpectedly (killed by" in held(lambda pid: os.kill(pid, signal.SIGKILL))


def test_ray_that_does_not_start_in_time(held, monkeypatch):
    monkeypatch.setattr(process, "_TO_START", 0.0)
    message = held(lambda _: None)
    assert "Ray on this machine did not start within 0 seconds" in message
