"""A sweep that measures more than it trains on, and what it leaves on the disk; without Ray."""

import shutil
import time
from pathlib import Path

import pytest
from commands import TINY, WithoutRay
from made import forge

import fsl_sweep
from fsl_sweep.orchestrator.errors import RunFolderError, UnknownName
from fsl_sweep.orchestrator.ledger.ledger import Ledger, tasks_folder
from fsl_sweep.orchestrator.ledger.trial_ledger import TrialLedger
from fsl_sweep.orchestrator.measuring.evaluator import Evaluator
from fsl_sweep.orchestrator.planning.prepare import open_benchmarks, prepare
from fsl_sweep.orchestrator.records.measures import MEASURES
from fsl_sweep.orchestrator.records.protocol import MAIN
from fsl_sweep.orchestrator.report import FORMATS
from fsl_sweep.orchestrator.selection.chosen import chosen_snapshots
from fsl_sweep.orchestrator.sweep import execute
from fsl_sweep.orchestrator.sweep.execute import Executed
from fsl_sweep.orchestrator.trial.trial import Trial

written = FORMATS["markdown"]
SHOT = "measure={2-shot: {episode: {shot: 2}}}"
FEW = ["evaluation.selection_tasks=8", "evaluation.report_tasks=8", "defaults.batches=2"]


@pytest.fixture(scope="module", autouse=True)
def _without_ray():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(execute, "RayProcess", WithoutRay)
        yield


@pytest.fixture(scope="module")
def sweep(tmp_path_factory):
    path = tmp_path_factory.mktemp("sweep") / "tiny.yaml"
    path.write_text(TINY.replace("  RR: {learner: {name: ridge}}\n", ""))
    return path


def executed(sweep, run, *overrides):
    return execute.execute(prepare(str(sweep), run, [*FEW, *overrides], []))


@pytest.fixture(scope="module")
def finished(sweep, tmp_path_factory):
    """A run folder that is done."""
    run = tmp_path_factory.mktemp("finished") / "run"
    assert executed(sweep, run) == Executed(ran=4)
    return run


@pytest.fixture
def run(finished, tmp_path):
    return Path(shutil.copytree(finished, tmp_path / "run"))


@pytest.fixture
def untrained(monkeypatch):
    """Nothing may be trained."""
    monkeypatch.setattr(Trial, "run", lambda self: pytest.fail("it trains"))


def files(run, pattern):
    """Content and time of files, by path."""
    return {
        path.relative_to(run).as_posix(): (path.stat().st_mtime_ns, path.read_bytes())
        for path in run.glob(f"trials/*/{pattern}")
    }


@pytest.mark.parametrize(
    ("changes", "protocols"),
    [(["evaluation.report_tasks=10"], 1), ([SHOT], 1), (["evaluation.seed=3", SHOT], 2)],
    ids=["tasks", "shot", "both"],
)
@pytest.mark.usefixtures("untrained")
def test_another_way_to_measure_trains_nothing_and_keeps_what_was_measured(
    sweep, run, changes, protocols
):
    snapshots, measured = files(run, "snapshots/*"), files(run, "measured/*.parquet")
    assert executed(sweep, run, *changes) == Executed(measured=12 * protocols)
    assert files(run, "snapshots/*") == snapshots
    after = files(run, "measured/*.parquet")
    assert {path: after[path] for path in measured} == measured
    assert len(after) == 4 * (1 + protocols)
    assert executed(sweep, run, *changes) == Executed()  # and nothing is measured twice


def test_an_ended_trial_leaves_no_empty_folders(finished):
    main = Ledger(finished).planned().main.id
    weights = [f"snapshots/000{epoch}.safetensors" for epoch in (1, 2, 3)]
    expected = {"spec.json", "end.json", "measured", f"measured/{main}.parquet", "snapshots"}
    expected.add("resume.state")
    for trial in (finished / "trials").iterdir():
        there = {path.relative_to(trial).as_posix() for path in trial.rglob("*")}
        assert there == expected.union(weights)


def test_a_lost_main_measurement_is_made_again_from_the_snapshots_to_the_byte(sweep, run):
    before = {path: data for path, (_, data) in files(run, "measured/*.parquet").items()}
    (run / next(iter(before))).write_bytes(b"harmed")
    assert executed(sweep, run) == Executed(measured=3)
    assert {path: data for path, (_, data) in files(run, "measured/*.parquet").items()} == before


@pytest.mark.usefixtures("untrained")
def test_what_was_killed_before_it_was_compacted_is_compacted_by_the_next_run(
    sweep, run, tmp_path, monkeypatch
):
    """Without measuring anything again."""
    undisturbed = shutil.copytree(run, tmp_path / "undisturbed")
    executed(sweep, undisturbed, SHOT)
    with monkeypatch.context() as patch:
        patch.setattr(TrialLedger, "compact", lambda *_: None)
        assert executed(sweep, run, SHOT) == Executed(measured=12)
    assert len(files(run, "measured/*/*.record")) == 12
    monkeypatch.setattr(execute, "RayProcess", lambda *_: pytest.fail("it starts Ray"))
    assert executed(sweep, run, SHOT) == Executed()
    for pattern in ("measured/**/*.*", "end.json"):
        after, expected = files(run, pattern), files(undisturbed, pattern)
        assert after.keys() == expected.keys()
        assert all(data == expected[path][1] for path, (_, data) in after.items())


def test_the_budget_counts_training_only(sweep, tmp_path, monkeypatch):
    """However long measuring takes: the clock of trials jumps by an hour each time."""
    clock, measure = [time.perf_counter()], Evaluator.measure

    def slow(self, *arguments):
        clock[0] += 3600
        return measure(self, *arguments)

    monkeypatch.setattr(Evaluator, "measure", slow)
    monkeypatch.setattr(time, "perf_counter", lambda: clock[0])
    assert executed(sweep, tmp_path / "run", "budget={seconds: 60}", "seeds=[0]").failed == 0
    ledger = Ledger(tmp_path / "run")
    ends = [history.end.status for history in ledger.histories(ledger.read_plan())]
    assert ends == ["done"] * 2


def kept(ledger):
    """Trial and epoch of the weights that are there."""
    trials = {trial: ledger.trial(trial) for trial in ledger.read_plan().specs}
    return {(name, epoch) for name, trial in trials.items() for epoch in trial.snapshot_epochs()}


# Which epochs of three are there when the last is measured.
KEPT = {"all": (1, 2, 3), "chosen": (1, 2, 3), "last": (3,), "none": ()}


@pytest.mark.parametrize("keep", KEPT)
def test_the_weights_that_are_kept_during_a_run_and_after_it(sweep, tmp_path, monkeypatch, keep):
    ledger, during = Ledger(tmp_path / "run"), []

    class Looking(WithoutRay):
        def run(self, job, listeners):
            super().run(job, [*listeners, self])

        def measured(self, trial, record):
            during.append((record.epoch, ledger.trial(trial).snapshot_epochs()))

        def __getattr__(self, name):
            return lambda *_: None

    monkeypatch.setattr(execute, "RayProcess", Looking)
    executed(sweep, tmp_path / "run", f"keep={keep}", "seeds=[0]")
    plan = ledger.read_plan()
    assert {tuple(there) for epoch, there in during if epoch == 3} == {KEPT[keep]}
    chosen = chosen_snapshots(ledger.histories(plan), plan.selectors)
    if keep != "chosen":
        chosen = {(trial, epoch) for trial in plan.specs for epoch in KEPT[keep]}
    assert kept(ledger) == chosen
    assert executed(sweep, tmp_path / "run", f"keep={keep}", "seeds=[0]") == Executed()
    assert all(history.complete for history in ledger.histories(plan))


def test_one_trial_without_ray_keeps_what_a_run_keeps_while_it_trains(sweep, tmp_path):
    prepared = prepare(str(sweep), tmp_path, [*FEW, "keep=last"], [])
    assert execute.execute_one(prepared, 0).status == "done"
    assert kept(prepared.ledger) == {(prepared.plan.trials[0].id, 3)}


def test_one_trial_without_ray_writes_tasks_that_are_missing(sweep, run):
    """Those of the protocols that the folder was planned with."""
    tasks = run / tasks_folder(Ledger(run).planned().main.id)
    expected = {path.name: path.read_bytes() for path in tasks.iterdir()}
    shutil.rmtree(tasks)
    assert execute.execute_one(prepare(str(sweep), run, [*FEW, SHOT], []), 0).status == "done"
    assert {path.name: path.read_bytes() for path in tasks.iterdir()} == expected
    assert [*(run / "tasks").iterdir()] == [tasks]


def test_chosen_is_the_union_over_strategies_and_seeds(sweep, run):
    """Each method and seed has a snapshot that `last` chose, and all that others chose beside."""
    selectors = "selectors={snapshot: [SNAPSHOT], hyperparameter: [base, val]}"
    ledger, unions = Ledger(run), []
    for name in ("last", "val", "base"):
        executed(sweep, run, selectors.replace("SNAPSHOT", name))
        plan = ledger.read_plan()
        unions.append(chosen_snapshots(ledger.histories(plan), plan.selectors))
        assert {plan.specs[trial].seed for trial, _ in unions[-1]} == {0, 1}
    executed(sweep, run, selectors.replace("SNAPSHOT", "last, val, base"), "keep=chosen")
    assert (left := kept(ledger)) == set.union(*unions)
    assert len(left) > max(map(len, unions)) or unions[0] == unions[1] == unions[2]


def test_training_keeps_what_is_measured_afterwards(sweep):
    more = {("none", "last"): "last", ("last", "last"): "last", ("none", "chosen"): "chosen"}
    more["last", "all"] = "all"
    for (keep, snapshots), expected in ({(keep, None): keep for keep in KEPT} | more).items():
        measure = {"x": {"snapshots": snapshots, "episode": {"shot": 2}}} if snapshots else {}
        prepared = prepare(str(sweep), None, [f"keep={keep}", f"measure={measure}"], [])
        assert prepared.plan.kept_while_training == expected, (keep, snapshots)


def test_a_protocol_that_needs_pruned_weights_is_refused_before_anything_trains(
    sweep, run, request
):
    executed(sweep, run, "keep=none")
    assert not files(run, "snapshots/*")
    request.getfixturevalue("untrained")
    for snapshots in ("all", "last"):
        measure = f"measure={{x: {{episode: {{shot: 2}}, snapshots: {snapshots}}}}}"
        with pytest.raises(RunFolderError, match=r"they were pruned .* cannot be measured under x"):
            executed(sweep, run, measure, "seeds=[0, 1, 2]")


def test_the_classes_of_each_measure_are_named(sweep, run):
    """Those of the benchmark, and the novel ones of a protocol that lists its own."""
    few = ["alphabet-03/character-04", "alphabet-03/character-01", "alphabet-02/character-00"]
    executed(sweep, run, f"measure={{few: {{classes: {few}, snapshots: last}}}}")
    opened, plan = fsl_sweep.load_run(run), Ledger(run).planned()
    main = open_benchmarks(plan)[MAIN]
    for measure in MEASURES:
        tasks = main.distribution(measure)
        assert opened.classes(measure) == tuple(tasks.pool.class_names[c] for c in tasks.classes)
    assert opened.classes("NovelGen", "few") == tuple(sorted(few))
    assert f"novel classes: {', '.join(opened.classes('novel'))}\n" in written(opened.report())
    with pytest.raises(UnknownName, match="unknown measure 'train'"):
        opened.classes("train")
    # A run of an earlier version does not name them, until it is run again.
    name = f"{tasks_folder(plan.main.id)}/novel-report.json"
    forge(run, name, {"classes": [[0, 1, 2]]})
    with pytest.raises(RunFolderError, match="Which classes are novel ones is not recorded"):
        fsl_sweep.load_run(run).classes("novel")
    assert "novel classes" not in written(fsl_sweep.load_run(run).report())
    executed(sweep, run)
    assert fsl_sweep.load_run(run).classes("novel") == opened.classes("novel")
