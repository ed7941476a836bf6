"""Early stopping on real Ray: it decides what one process decides, and the grid can follow."""

import json

import pytest
import yaml
from commands import TINY, WithoutRay, finished, started

from fsl_sweep import load_run, run_sweep
from fsl_sweep.orchestrator.cli import invoke
from fsl_sweep.orchestrator.ledger.ledger import Ledger
from fsl_sweep.orchestrator.records.measures import TrialEnd
from fsl_sweep.orchestrator.report import to_json
from fsl_sweep.orchestrator.sweep import execute

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("ray")]
RULE = {"name": "halving", "grace": 1, "factor": 2, "finalists": 1}


def report(folder):
    """The report without what a clock says."""
    plain = json.loads(to_json(load_run(folder).report()))
    plain.pop("cost", None)
    return plain


def ends(folder):
    ledger = Ledger(folder)
    return {trial: ledger.trial(trial).read_end() for trial in ledger.trial_ids()}


def test_a_run_stops_what_one_process_stops_and_complete_trains_the_rest(tmp_path, monkeypatch):
    sweep = yaml.safe_load(TINY) | {"scheduler": RULE}
    (tmp_path / "sweep.yaml").write_text(yaml.safe_dump(sweep))
    alone, grid = finished(tmp_path / "alone", sweep), finished(tmp_path / "grid", TINY)
    command = ["run", str(tmp_path / "sweep.yaml"), "-o", str(tmp_path / "run")]
    first = started(*command)
    out, errors = first.communicate(timeout=300)
    assert first.returncode == 0, errors
    assert errors.count("stopped: halving at epoch 1: rank 2 of 2 by ValGen") == 4
    summary = "halving by ValGen stopped 2 of 4 configurations (4 trials) at epoch 1"
    assert summary in " ".join(out.split())
    assert ends(tmp_path / "run") == ends(alone)
    assert report(tmp_path / "run") == report(alone)
    monkeypatch.setattr(execute, "RayProcess", WithoutRay)
    assert invoke([*command, "--complete"]) == 0
    assert {end.status for end in ends(tmp_path / "run").values()} == {"done"}
    assert report(tmp_path / "run") == report(grid)


def test_a_trial_that_failed_is_not_run_again_while_other_methods_go_on(tmp_path, monkeypatch):
    failing, attempts = [], []

    class Failing(WithoutRay):
        def run(self, job, listeners):
            failing[:] = failing or [job.plan.trials[0].id]
            attempts.extend(trial for trial in job.trials if trial in failing)
            for trial in failing:
                Ledger(job.run).trial(trial).end(
                    TrialEnd("failed", "as made", retriable=True), job.plan.main.id
                )
            others = tuple(trial for trial in job.trials if trial not in failing)
            super().run(job._replace(trials=others), listeners)

    monkeypatch.setattr(execute, "RayProcess", Failing)
    run_sweep(yaml.safe_load(TINY) | {"scheduler": RULE}, tmp_path / "run")
    assert attempts == failing
    plan, outcome = Ledger(tmp_path / "run").planned(), ends(tmp_path / "run")
    assert {outcome[t.id].status for t in plan.trials if t.method == "RR"} == {"done", "stopped"}
    waits = [t.id for t in plan.trials if t.method == "PN" and t.id not in failing]
    assert [outcome[trial] for trial in waits] == [None] * 3
