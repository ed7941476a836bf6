"""``run --until``: a tidy stop, after which the same command goes on."""

import time

import pytest
from commands import TINY, WithoutRay

from fsl_sweep.orchestrator.cli import invoke
from fsl_sweep.orchestrator.ledger.ledger import Ledger
from fsl_sweep.orchestrator.run import load_run
from fsl_sweep.orchestrator.sweep import execute, process
from fsl_sweep.orchestrator.sweep.process import Job, RayProcess, TimeIsUp
from fsl_sweep.orchestrator.text.durations import seconds_of

SLEEPS = "import time; time.sleep(600)"


class StoppedInTheThird(WithoutRay):
    """The time is up when two trials have ended and the third has begun."""

    def __init__(self, address, trials, deadline):
        assert 3500 < deadline - time.monotonic() <= 3600 + 60

    def run(self, job, listeners):
        super().run(job._replace(trials=job.trials[:2]), listeners)
        storage = Ledger(job.run).trial(job.trials[2])
        storage.begin(job.plan.specs[job.trials[2]])
        raise TimeIsUp


def test_what_is_recorded_is_kept_and_reported_and_the_same_command_goes_on(
    tmp_path, monkeypatch, capsys
):
    sweep, run = tmp_path / "tiny.yaml", tmp_path / "run"
    sweep.write_text(TINY.replace("  RR: {learner: {name: ridge}}\n", ""))
    command = ["run", str(sweep), "-o", str(run), "--no-progress", "--set", "keep=last"]
    monkeypatch.setattr(execute, "RayProcess", StoppedInTheThird)
    assert invoke([*command, "--until", "1h"]) == 1
    out, err = capsys.readouterr()
    assert "The time is up. What was recorded is kept: run the same command again" in err
    assert out.startswith("tiny: INCOMPLETE\n4 trials planned, 2 done, 0 failed, 2 missing.")
    ends = [trial.end and trial.end.status for trial in load_run(run).histories]
    assert sorted(ends, key=str) == [None, None, "done", "done"]
    monkeypatch.setattr(execute, "RayProcess", WithoutRay)
    assert invoke([*command, "--until", "1h"]) == 0


def test_a_job_stops_at_its_deadline_and_nothing_of_it_is_left(tmp_path, place, monkeypatch):
    import made

    monkeypatch.setenv("TMPDIR", str(place))
    monkeypatch.setattr(process, "_PROGRAM", SLEEPS)
    with pytest.raises(TimeIsUp), RayProcess(deadline=time.monotonic()) as ray:
        ray.run(Job(tmp_path, made.plan(), ()), [])


@pytest.mark.parametrize(
    ("written", "seconds"), [("90s", 90), ("30m", 1800), ("3h50m", 13800), ("1h0m1s", 3601)]
)
def test_a_duration(written, seconds):
    assert seconds_of(written) == seconds


@pytest.mark.parametrize("written", ["", "0s", "90", "1d", "-1h", "1.5h", "3h 50m", "5m3h"])
def test_no_duration(written, refused, tmp_path):
    with pytest.raises(ValueError, match="is not a duration: write 90s, 30m or 3h50m"):
        seconds_of(written)
    if not written.startswith("-"):
        said = refused("run", tmp_path / "none.yaml", "--until", written)
        assert said == f"--until: {written!r} is not a duration: write 90s, 30m or 3h50m"
