"""``status`` and ``report`` of a run that is finished, on its way, or empty."""

import json
import re

import made
import pytest

from fsl_sweep.orchestrator.records.measures import TrialEnd

DONE, FAILED = made.DONE, TrialEnd("failed", "no memory")
DIVERGED = TrialEnd("diverged", "the training loss became nan in epoch 4")
SPENT = TrialEnd("budget", "the budget of 1 s was spent in epoch 1, step 2")
BEGUN, EARLY = "begun", "stopped before its first snapshot"
RUNS = {
    "finished": (DONE, DONE),
    "with a failure": (*[DONE] * 5, FAILED),
    "failed": (FAILED, FAILED),
    "with one that diverged": (*[DONE] * 5, DIVERGED),
    "with one that diverged and a failure": (DIVERGED, *[DONE] * 4, FAILED),
    "on its way": (DONE, BEGUN, None, None),
    "stopped by a budget": (EARLY, SPENT, SPENT, SPENT),
}


def write(folder, ends):
    """A run of two methods, of whose trials each ends so, has only begun, or has not begun."""
    epochs = 40 if SPENT in ends else 3
    trials = [
        made.planned(made.spec(seed, way, epochs), f"W{way}")
        for way in (5, 6)
        for seed in range(len(ends) // 2)
    ]
    ended = [pair for pair in zip(trials, ends, strict=True) if isinstance(pair[1], TrialEnd)]
    finished, how = zip(*ended, strict=True)
    ledger = made.recorded(folder, *finished, ends=how)
    ledger.write_plan(made.plan(*trials), "name: made\n")
    for trial, end in zip(trials, ends, strict=True):
        if end in (BEGUN, EARLY):
            ledger.trial(trial.id).begin(trial.spec)
        if end == EARLY:
            ledger.trial(trial.id).end(SPENT, made.MAIN_ID)


@pytest.mark.parametrize("run", RUNS)
def test_what_is_said_of_a_run(tmp_path, monkeypatch, said, run, snapshot) -> None:
    """Status, and the answer of the report; its numbers and figure have tests of their own."""
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "my run", RUNS[run])
    text = re.sub(r"-?\d+\.\d+", "N", said("status 'my run'", "report 'my run'"))
    assert re.sub(r"(?m) {2,}[-|xo<> ]+N$|(?<=^NovelGen, %).*", "", text) == snapshot
    plain = json.loads(said("report 'my run' --format json").partition("\n")[2])
    keys = (
        "complete",
        "done",
        "diverged",
        "failed",
        "missing",
        "stopped_by_budget",
        "stopped_before_snapshot",
    )
    assert [{key: plain["run"][key] for key in keys}, *plain["cautions"]] == snapshot
    assert "Cautions ─" in said("report 'my run' --full")
