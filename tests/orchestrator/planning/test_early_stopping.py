"""Schedulers in a sweep file: what is refused, and what is said before anything runs."""

import pytest

from fsl_sweep.orchestrator.planning.early_stopping import scheduler_remarks
from tests.orchestrator import submitted
from tests.orchestrator.planning_of import mistake, planned

GRID = "M.optimizer.lr={grid: [0.1, 0.2, 0.3]}"
SINGLE = "methods.N={learner: {name: ridge}, train: {way: 3, shot: 1, query: 2}}"


@pytest.mark.parametrize(
    "scheduler",
    [
        *(
            f"{{name: halving, metric: {name}}}"
            for name in ("novel", "NovelGen", "oracle", "novel gen", "test", "vall")
        ),
        "{name: halving, factor: 1}",
        "{name: halving, grace: 0}",
        "{name: halving, finalists: 0}",
        "{name: halving, finalists: 3}",
        "{name: halving, grace: 4}",
        "{name: race, grace: 1}",
        *(f"{{name: {name}}}" for name in ("asha", "ASHA", "hyperband", "pbt", "PB2", "halvin")),
        "halving",
        "{name: halving, rungs: [1, 2]}",
    ],
)
def test_what_is_refused(scheduler, snapshot):
    assert mistake(planned, GRID, f"scheduler={scheduler}") == snapshot


def test_a_grid_of_one_configuration_each_is_refused(snapshot):
    assert mistake(planned, SINGLE, "scheduler={name: halving, grace: 1}") == snapshot


def test_the_training_loss_of_a_program_is_not_known(tmp_path, monkeypatch):
    submitted.install(tmp_path / "site", monkeypatch)
    program = "M={learner: {name: metadl, submission: protos, mode: {grid: [batch, episode]}}}"
    rule = "scheduler={name: halving, grace: 1, finalists: 1, metric: train_loss}"
    assert "not known" in mistake(planned, program, rule)


def test_what_is_said_before_a_run(snapshot):
    halving = "scheduler={name: halving, grace: 1, finalists: 1}"
    assert scheduler_remarks(planned(GRID, "scheduler=" + halving[10:])) == []
    remarks = scheduler_remarks(
        planned(GRID, SINGLE, halving, "M.schedule={0: 1, 3: 0.1, relative: true}")
    )
    assert remarks == snapshot


def test_a_scheduler_changes_no_trial_and_no_digest():
    without = planned(GRID)
    plan = planned(GRID, "scheduler={name: halving, grace: 1, metric: ValGen}")
    assert (plan.trials, plan.sweep) == (without.trials, without.sweep)
    assert plan.scheduler.metric == "val"
    assert type(plan).from_plain(plan.on({"main": "f" * 16}).to_plain()).scheduler == plan.scheduler
    assert "scheduler" not in without.to_plain()
