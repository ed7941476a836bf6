"""The whole command, in processes of its own, through real Ray: whatever ends it, it resumes."""

import os
import random
import re
import signal
import stat
import time
from contextlib import suppress

import pytest
from commands import ONE_CORE, SIGNALS, TINY, WithoutRay, driver_of, in_session, started, wait_for

from fsl_sweep.orchestrator.errors import RunFolderError
from fsl_sweep.orchestrator.ledger.ledger import Ledger
from fsl_sweep.orchestrator.planning.prepare import prepare
from fsl_sweep.orchestrator.report.formats.as_json import to_json
from fsl_sweep.orchestrator.run import load_run
from fsl_sweep.orchestrator.sweep import execute

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("ray")]

RNG = random.Random(os.environ.get("FSL_TINY_KILL_SEED", "0"))


def stopped(process, driver, place):
    """A signal that asks: the command ends tidily, with that signal's exit code."""
    name = RNG.choice(SIGNALS)
    os.killpg(process.pid, getattr(signal, name))
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 128 + getattr(signal, name), errors
    assert "Stopped. What was recorded is kept" in errors.splitlines()[-1]
    assert not in_session(driver)
    assert not [*place.iterdir()]
    return errors


def killed(process, driver, place):
    """The command is killed: the process that holds Ray ends Ray, and removes its files."""
    os.killpg(process.pid, signal.SIGKILL)
    _, errors = process.communicate(timeout=120)
    wait_for(lambda: not in_session(driver))
    assert not [*place.iterdir()]
    return errors


def further_records(run):
    """What was measured under the further protocol, of trials that are not all measured yet."""
    with suppress(RunFolderError):
        mixed = Ledger(run).planned().protocol("mixed")
        return [*run.glob(f"trials/*/measured/{mixed.id}/*.record")]


def test_disturbed_at_random_moments_the_report_is_the_same_to_the_byte(
    tmp_path, place, monkeypatch
):
    """The many kills are in ``benchmarks/kill_storm.py``."""
    sweep, more = tmp_path / "tiny.yaml", "measure={mixed: {mixture: 0.5, episode: {shot: 2}}}"
    # Enough epochs that no run comes to its end before it is disturbed.
    sweep.write_text(TINY.replace("epochs: 3", "epochs: 8"))
    undisturbed, disturbed = tmp_path / "one", tmp_path / "other"
    command = ("run", sweep, "-o", disturbed, "--set", more)
    for disturb, begun in (
        (killed, lambda: len([*disturbed.glob("trials/*/snapshots/[0-9]*")]) >= 2),
        (stopped, lambda: further_records(disturbed)),
    ):
        process = started(*command, place=place)
        driver = wait_for(lambda command=process: driver_of(command))
        wait_for(lambda on=process, begun=begun: begun() or on.poll() is not None)
        # It holds the folder, and has cleared up after the one before.
        assert {stat.S_IMODE(one.stat().st_mode) for one in place.iterdir()} == {0o700}
        time.sleep(RNG.uniform(0, 0.1))
        assert process.poll() is None
        assert "Traceback" not in disturb(process, driver, place)
        monkeypatch.setenv(*ONE_CORE)  # one worker goes on with what two began
    assert not [*disturbed.rglob(".unfinished*")]
    ledger = Ledger(disturbed)
    mixed, trials = ledger.planned().protocol("mixed").id, ledger.read_plan().specs
    left = [epoch for one in trials for epoch in ledger.trial(one).to_measure(mixed)]
    last = started(*command, place=place)
    out, errors = last.communicate(timeout=300)
    assert last.returncode == 0, errors
    assert out.splitlines()[0] == "tiny: complete"
    assert len(re.findall(r"epoch \d measured", errors)) == len(left) > 0
    assert not list(disturbed.rglob(".unfinished*"))
    monkeypatch.setattr(execute, "RayProcess", WithoutRay)
    execute.execute(prepare(str(sweep), undisturbed, [more], []))
    assert report(disturbed) == report(undisturbed)
    measured = [*undisturbed.glob("trials/*/measured/*.parquet")]
    assert len(measured) == 8 * 2
    for path in measured:
        assert (disturbed / path.relative_to(undisturbed)).read_bytes() == path.read_bytes()
    for trial in trials:
        for name in ("0001", "0008"):
            path = f"trials/{trial}/snapshots/{name}.safetensors"
            assert (disturbed / path).read_bytes() == (undisturbed / path).read_bytes()


def report(folder):
    return to_json(load_run(folder).report())
