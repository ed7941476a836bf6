"""``status`` names the trials that lag behind, while a run is active."""

import os
import re
import shutil
import time

import made
import pytest
import yaml
from commands import TINY, finished

from fsl_sweep.orchestrator.cli import invoke, run_folder
from fsl_sweep.orchestrator.ledger.ledger import Ledger
from fsl_sweep.orchestrator.upkeep.recording import locked


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    return finished(tmp_path_factory.mktemp("trained") / "run", TINY)


@pytest.fixture
def lagging(trained, tmp_path):
    """A run that is active, with three trials that have no end: how long ago they were heard of."""
    ledger = Ledger(shutil.copytree(trained, tmp_path / "run"))
    late, begun, waiting, *_ = ledger.planned().specs
    # Five minutes for each record, whatever it took.
    for trial in ledger.planned().specs:
        end = ledger.trial(trial).folder.read_json("end.json")
        end["epochs"]["train_seconds"] = [300.0] * 3
        made.forge(ledger.path, f"trials/{trial}/end.json", end)
    now = time.time()
    os.utime(ledger.path / "plan.json", (now - 7200, now - 7200))
    for trial, ago in ((late, 5400), (begun, 60), (waiting, 9000)):
        folder = ledger.trial(trial).folder
        folder.remove("end.json")
        os.utime(folder.path / "spec.json", (now - ago, now - ago))
    with locked(ledger):
        yield ledger, late


def test_only_trials_that_run_and_are_late_are_named(lagging, capsys):
    ledger, late = lagging
    assert invoke(["status", str(ledger.path)]) == 1
    out = capsys.readouterr().out
    assert "running now: process" in out
    (line,) = [line for line in out.splitlines() if "lags behind" in line]
    assert re.fullmatch(
        rf"  {late}  .*: lags behind, no record for 1 h \d\d min; its method takes "
        r"5 min 0\d s for one",
        line,
    )


@pytest.mark.parametrize(
    ("epoch", "begun", "late"),
    [(1, False, False), (1, True, True), (2, False, True)],
    ids=["waits at a rung", "goes on from it", "runs"],
)
def test_who_waits_at_a_rung_does_not_lag_behind(tmp_path, capsys, epoch, begun, late):
    sweep = yaml.safe_load(TINY) | {"scheduler": {"name": "halving", "grace": 1, "finalists": 1}}
    ledger = Ledger(finished(tmp_path / "run", sweep))
    ends = {trial: ledger.trial(trial).read_end().status for trial in ledger.planned().specs}
    trial = next(trial for trial, status in ends.items() if status == "done")
    storage, now = ledger.trial(trial), time.time()
    storage.reopen()
    for number in range(epoch + 1, 4):
        storage.folder.remove(f"epochs/{number:04d}.json")
    ago = {"plan.json": 90, f"trials/{trial}/epochs/000{epoch}.json": 60}
    ago[f"trials/{trial}/spec.json"] = 50 if begun else 70
    for name, hours in ago.items():
        os.utime(ledger.path / name, (now - 3600 * hours, now - 3600 * hours))
    with locked(ledger):
        invoke(["status", str(ledger.path)])
    out = capsys.readouterr().out
    assert f"  {trial}  PN" in out
    assert ("lags behind" in out) == late


def test_it_watches_until_no_run_is_active(lagging, capsys, monkeypatch):
    ledger, _ = lagging
    rounds = iter([None, None])
    monkeypatch.setattr(run_folder.time, "sleep", lambda _: next(rounds))
    monkeypatch.setattr(
        "fsl_sweep.orchestrator.ledger.lock.holder_of",
        lambda _, left=[1, 2, 3]: left and left.pop(),
    )
    invoke(["status", str(ledger.path), "--watch"])
    assert capsys.readouterr().out.count("planned\n") == 2
