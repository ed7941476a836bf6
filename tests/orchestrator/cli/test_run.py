"""The whole command, in processes of its own, through real Ray: whatever ends it, it resumes."""

import os
import random
import signal
import stat
import time
from pathlib import Path

import pytest
from commands import (
    SIGNALS,
    TINY,
    WithoutRay,
    driver_of,
    in_session,
    living,
    started,
    wait_for,
    wait_for_snapshots,
)

from fsl_sweep.orchestrator.ledger.ledger import Ledger
from fsl_sweep.orchestrator.planning.prepare import prepare
from fsl_sweep.orchestrator.report.formats.as_json import to_json
from fsl_sweep.orchestrator.run import load_run
from fsl_sweep.orchestrator.sweep import execute

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("ray")]

RNG = random.Random(os.environ.get("FSL_TINY_KILL_SEED", "0"))


def stopped(process, driver, run, place):
    """A signal that asks: the command ends tidily, with that signal's exit code."""
    name = RNG.choice(SIGNALS)
    os.killpg(process.pid, getattr(signal, name))
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 128 + getattr(signal, name), errors
    assert "Stopped. What was recorded is kept" in errors.splitlines()[-1]
    assert not in_session(driver)
    assert not [*place.iterdir()]
    return errors


def killed(process, driver, run, place):
    """The command is killed: the process that holds Ray ends Ray, and removes its files."""
    os.killpg(process.pid, signal.SIGKILL)
    _, errors = process.communicate(timeout=120)
    wait_for(lambda: not in_session(driver))
    assert not [*place.iterdir()]
    return errors


def failed(process, expected):
    """What a command says that ends with one message, as a failure of the machine."""
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 3, errors
    (message,) = [line for line in errors.splitlines() if line.startswith("fsl-")]
    assert expected in message
    return errors


def moved(process, driver, run, place):
    """The run folder is moved: the command ends, and nothing is written where it was."""
    run.rename(run.with_name("moved"))
    errors = failed(process, f"The run folder {run} is gone")
    assert not run.exists()
    run.with_name("moved").rename(run)
    assert not [*place.iterdir()]
    return errors


def without_its_head(process, driver, run, place):
    """Ray's head dies: the command ends, and nothing of Ray is left."""
    names = {pid: Path(f"/proc/{pid}/comm").read_text().strip() for pid in in_session(driver)}
    (head,) = [pid for pid, name in names.items() if name == "gcs_server"]
    os.kill(head, signal.SIGKILL)
    errors = failed(process, "The Ray of this run is gone")
    assert not names.keys() & living().keys()
    assert not [*place.iterdir()]
    return errors


def test_disturbed_at_random_moments_the_report_is_the_same_to_the_byte(
    tmp_path, place, monkeypatch
):
    """The many kills are in ``benchmarks/kill_storm.py``."""
    sweep = tmp_path / "tiny.yaml"
    # Enough epochs that no run comes to its end before it is disturbed.
    sweep.write_text(TINY.replace("epochs: 3", "epochs: 20"))
    undisturbed, disturbed, longer = (tmp_path / name for name in ("one", "other", "longer"))
    for disturb, run, *settings in (
        (stopped, disturbed),
        (killed, disturbed),
        (moved, disturbed),
        # Workers go on until it is noticed that the head is gone.
        (without_its_head, longer, "--set", "defaults.epochs=500"),
    ):
        before = len([*run.glob("trials/*/snapshots/[0-9]*")])
        process = started("run", sweep, "-o", run, *settings, place=place)
        driver = wait_for(lambda command=process: driver_of(command))
        # It holds the folder, and has cleared up after the one before.
        wait_for_snapshots(run, before + 2, process)
        assert {stat.S_IMODE(one.stat().st_mode) for one in place.iterdir()} == {0o700}
        time.sleep(RNG.uniform(0, 0.5))
        assert process.poll() is None
        errors = disturb(process, driver, run, place)
        assert "Traceback" not in errors
        assert disturb in (killed, moved) or not [*run.rglob(".unfinished*")]
    last = started("run", sweep, "-o", disturbed, place=place)
    out, errors = last.communicate(timeout=300)
    assert last.returncode == 0, errors
    assert out.splitlines()[0] == "tiny: complete"
    assert not list(disturbed.rglob(".unfinished*"))
    more = "measure={mixed: {mixture: 0.5, episode: {shot: 2}}}"
    process = started("run", sweep, "-o", disturbed, "--set", more, place=place)
    driver = wait_for(lambda: driver_of(process))
    wait_for(
        lambda: [*disturbed.glob("trials/*/measured/*/*.record")] or process.poll() is not None
    )
    time.sleep(RNG.uniform(0, 0.2))
    assert process.poll() is None
    killed(process, driver, disturbed, place)
    last = started("run", sweep, "-o", disturbed, "--set", more, place=place)
    _, errors = last.communicate(timeout=300)
    assert last.returncode == 0, errors
    monkeypatch.setattr(execute, "RayProcess", WithoutRay)
    execute.execute(prepare(str(sweep), undisturbed, [more], []))
    assert report(disturbed) == report(undisturbed)
    measured = [*undisturbed.glob("trials/*/measured/*.parquet")]
    assert len(measured) == 8 * 2
    for path in measured:
        assert (disturbed / path.relative_to(undisturbed)).read_bytes() == path.read_bytes()
    for trial in Ledger(undisturbed).read_plan().specs:
        for name in ("0001", "0020"):
            path = f"trials/{trial}/snapshots/{name}.safetensors"
            assert (disturbed / path).read_bytes() == (undisturbed / path).read_bytes()


def report(folder):
    return to_json(load_run(folder).report())
