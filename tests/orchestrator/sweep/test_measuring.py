"""A sweep that measures more than it trains on, and what it leaves on the disk; without Ray."""

import shutil
import time
from pathlib import Path

import pytest
from commands import TINY, WithoutRay

from fsl_sweep.orchestrator.errors import RunFolderError
from fsl_sweep.orchestrator.ledger.ledger import Ledger
from fsl_sweep.orchestrator.measuring.evaluator import Evaluator
from fsl_sweep.orchestrator.planning.prepare import prepare
from fsl_sweep.orchestrator.selection.chosen import chosen_snapshots
from fsl_sweep.orchestrator.sweep import execute
from fsl_sweep.orchestrator.trial.trial import Trial

SHOT = "measure={2-shot: {episode: {shot: 2}}}"
FEW = ["evaluation.selection_tasks=8", "evaluation.report_tasks=8", "defaults.batches=2"]


@pytest.fixture(scope="module")
def sweep(tmp_path_factory):
    path = tmp_path_factory.mktemp("sweep") / "tiny.yaml"
    path.write_text(TINY.replace("  RR: {learner: {name: ridge}}\n", ""))
    return path


@pytest.fixture(autouse=True)
def _without_ray(monkeypatch):
    monkeypatch.setattr(execute, "RayProcess", WithoutRay)


def executed(sweep, run, *overrides):
    return execute.execute(prepare(str(sweep), run, [*FEW, *overrides], []))


@pytest.fixture(scope="module")
def finished(sweep, tmp_path_factory):
    """A run folder that is done."""
    run = tmp_path_factory.mktemp("finished") / "run"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(execute, "RayProcess", WithoutRay)
        assert executed(sweep, run) == execute.Executed(ran=4)
    return run


@pytest.fixture
def run(finished, tmp_path):
    return Path(shutil.copytree(finished, tmp_path / "run"))


def files(run, pattern):
    """Content and time of files, by path."""
    return {
        path.relative_to(run).as_posix(): (path.stat().st_mtime_ns, path.read_bytes())
        for path in run.glob(f"trials/*/{pattern}")
    }


@pytest.mark.parametrize(
    "changes",
    [["evaluation.report_tasks=10"], [SHOT], ["evaluation.seed=3", SHOT]],
    ids=lambda changes: changes[0],
)
def test_another_way_to_measure_trains_nothing_and_keeps_what_was_measured(
    sweep, run, monkeypatch, changes
):
    before = files(run, "snapshots/*"), files(run, "measured/*.parquet")
    expected = before[1].keys()
    monkeypatch.setattr(Trial, "run", lambda self: pytest.fail("it trains"))
    protocols = 1 if "measure" in changes[0] or len(changes) == 1 else 2
    assert executed(sweep, run, *changes) == execute.Executed(
        measured=execute.Measured(12 * protocols)
    )
    assert files(run, "snapshots/*") == before[0]
    after = files(run, "measured/*.parquet")
    assert {path: after[path] for path in expected} == before[1]
    assert len(after) == 4 * (1 + protocols)
    assert executed(sweep, run, *changes) == execute.Executed()  # and nothing is measured twice


def test_a_lost_main_measurement_is_made_again_from_the_snapshots_to_the_byte(sweep, run):
    before = files(run, "measured/*.parquet")
    first = next(iter(before))
    (run / first).write_bytes(b"harmed")
    assert executed(sweep, run) == execute.Executed(measured=execute.Measured(3))
    after = files(run, "measured/*.parquet")
    assert {path: data for path, (_, data) in after.items()} == {
        path: data for path, (_, data) in before.items()
    }


def test_the_budget_counts_training_only(sweep, tmp_path, monkeypatch):
    """However long measuring takes: the clock of trials jumps by an hour each time."""
    clock, measure = [0.0], Evaluator.measure

    def slow(self, *given):
        clock[0] += 3600
        return measure(self, *given)

    started = time.perf_counter()
    monkeypatch.setattr(Evaluator, "measure", slow)
    monkeypatch.setattr(time, "perf_counter", lambda: started + clock[0])
    assert executed(sweep, tmp_path / "run", "budget={seconds: 60}", "seeds=[0]").failed == 0
    ledger = Ledger(tmp_path / "run")
    ends = [history.end.status for history in ledger.histories(ledger.read_plan())]
    assert ends == ["done"] * 2


def kept(ledger):
    plan = ledger.read_plan()
    return {one.id: ledger.trial(one.id).snapshot_epochs() for one in plan.trials}


@pytest.mark.parametrize("keep", ["all", "chosen", "last", "none"])
def test_the_weights_that_are_kept_during_a_run_and_after_it(sweep, tmp_path, monkeypatch, keep):
    ledger, during = Ledger(tmp_path / "run"), []

    class Looking(WithoutRay):
        def run(self, job, listeners):
            super().run(job, [*listeners, self])
            self.job = job

        def measured(self, trial, record):
            during.append((record.epoch, ledger.trial(trial).snapshot_epochs()))

        def __getattr__(self, name):
            return lambda *_: None

    monkeypatch.setattr(execute, "RayProcess", Looking)
    executed(sweep, tmp_path / "run", f"keep={keep}", "seeds=[0]")
    plan = ledger.read_plan()
    assert {tuple(there) for epoch, there in during if epoch == 3} == {
        {"all": (1, 2, 3), "chosen": (1, 2, 3), "last": (3,), "none": ()}[keep]
    }
    chosen = {one.id: [] for one in plan.trials}
    for trial, epoch in sorted(chosen_snapshots(ledger.histories(plan), plan.selectors)):
        chosen[trial].append(epoch)
    expected = {
        "all": {trial: [1, 2, 3] for trial in chosen},
        "chosen": chosen,
        "last": {trial: [3] for trial in chosen},
        "none": {trial: [] for trial in chosen},
    }[keep]
    assert kept(ledger) == expected
    assert executed(sweep, tmp_path / "run", f"keep={keep}", "seeds=[0]") == execute.Executed()
    assert all(history.complete for history in ledger.histories(plan))


def test_one_trial_without_ray_keeps_what_a_run_keeps_while_it_trains(sweep, tmp_path):
    prepared = prepare(str(sweep), tmp_path, [*FEW, "keep=last"], [])
    assert execute.execute_one(prepared, 0).status == "done"
    assert kept(prepared.ledger)[prepared.plan.trials[0].id] == [3]


def test_chosen_is_the_union_over_strategies_and_seeds(sweep, run):
    """Each method and seed has a snapshot that `last` chose, and all that others chose beside."""
    selectors = "selectors={snapshot: [SNAPSHOT], hyperparameter: [base, val]}"
    ledger, unions = Ledger(run), []
    for name in ("last", "val", "base"):
        executed(sweep, run, selectors.replace("SNAPSHOT", name))
        plan = ledger.read_plan()
        chosen = chosen_snapshots(ledger.histories(plan), plan.selectors)
        assert {plan.specs[trial].seed for trial, _ in chosen} == {0, 1}
        unions.append(chosen)
    executed(sweep, run, selectors.replace("SNAPSHOT", "last, val, base"), "keep=chosen")
    left = {(trial, epoch) for trial, epochs in kept(ledger).items() for epoch in epochs}
    assert left == set.union(*unions)
    assert len(left) > max(map(len, unions)) or unions[0] == unions[1] == unions[2]


@pytest.mark.parametrize(
    ("keep", "snapshots", "expected"),
    [
        ("all", None, "all"),
        ("chosen", None, "chosen"),
        ("last", None, "last"),
        ("none", None, "none"),
        ("none", "last", "last"),
        ("last", "last", "last"),
        ("none", "chosen", "chosen"),
        ("last", "all", "all"),
    ],
)
def test_training_keeps_what_is_measured_afterwards(sweep, keep, snapshots, expected):
    asked = {"x": {"snapshots": snapshots, "episode": {"shot": 2}}} if snapshots else {}
    prepared = prepare(str(sweep), None, [f"keep={keep}", f"measure={asked}"], [])
    assert prepared.plan.kept_while_training == expected


@pytest.mark.parametrize("snapshots", ["all", "last"])
def test_a_protocol_that_needs_pruned_weights_is_refused_before_anything_trains(
    sweep, run, monkeypatch, snapshots
):
    executed(sweep, run, "keep=none")
    assert not files(run, "snapshots/*")
    monkeypatch.setattr(Trial, "run", lambda self: pytest.fail("it trains"))
    measure = f"measure={{x: {{episode: {{shot: 2}}, snapshots: {snapshots}}}}}"
    with pytest.raises(RunFolderError, match="because they were pruned") as refused:
        executed(sweep, run, measure, "seeds=[0, 1, 2]")
    assert "cannot be measured under x" in str(refused.value)
