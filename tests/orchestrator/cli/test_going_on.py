"""More or fewer epochs of a run that is there: what is said, what is trained, and the report."""

import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from commands import TINY, WithoutRay, finished

from fsl_sweep.orchestrator.cli import invoke
from fsl_sweep.orchestrator.ledger.ledger import Ledger
from fsl_sweep.orchestrator.measuring.evaluator import Evaluator
from fsl_sweep.orchestrator.planning import plan_sweep
from fsl_sweep.orchestrator.records.measures import TrialEnd
from fsl_sweep.orchestrator.report.formats.as_json import to_json
from fsl_sweep.orchestrator.run import load_run
from fsl_sweep.orchestrator.sweep import execute

SWEEP = TINY.replace("  RR: {learner: {name: ridge}}\n", "").replace("batches: 4", "batches: 2")
"""One method of two configurations and two seeds, three epochs each."""
LONGER = ("--set", "defaults.epochs=4")


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Runs that are done: of three epochs, of four, and of three by a former version."""
    place, plan = tmp_path_factory.mktemp("runs"), plan_sweep.plan_sweep

    def formerly(*arguments):
        """The plan with the ids that depend on the epochs."""
        made = plan(*arguments)
        return replace(made, trials=tuple(trial.formerly for trial in made.trials))

    three = finished(place / "three", SWEEP)
    finished(place / "four", SWEEP.replace("epochs: 3", "epochs: 4"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plan_sweep, "plan_sweep", formerly)
        finished(place / "former", SWEEP)
    assert Ledger(three).planned().specs.keys().isdisjoint(Ledger(place / "former").trial_ids())
    return place


@pytest.fixture
def command(tmp_path, monkeypatch, capsys, runs):
    """Run a command; give its exit code, how many epochs were measured, and what it said."""
    shutil.copytree(runs, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(execute, "RayProcess", WithoutRay)
    Path("s.yaml").write_text(SWEEP)
    measured, measure = [], Evaluator.measure
    monkeypatch.setattr(Evaluator, "measure", lambda *a: measured.append(0) or measure(*a))

    def command(*words):
        measured.clear()
        code = invoke([*map(str, words)])
        said = capsys.readouterr()
        text = re.sub(r"[0-9a-f]{16}(?!\d)", "ID", said.err + said.out)
        return code, len(measured), re.sub(r"\d+(\.\d+)? ([kM]?B|s|min)\b", "N", text)

    return command


def report(run):
    """The report, and under which specifications its records are."""
    return to_json(load_run(Path(run)).report())


def shown(text, *words):
    """The lines that hold one of these words."""
    return [line for line in text.splitlines() if any(word in line for word in words)]


def test_more_epochs_go_on_and_fewer_are_read(command, snapshot):
    code, _, said = command("run", "s.yaml", "-o", "three", *LONGER, "--dry-run")
    assert (code, shown(said, "epoch", "gradient")) == (0, snapshot)
    first, at_once = report("three"), report("four")
    code, epochs, said = command("run", "s.yaml", "-o", "three", *LONGER)
    assert (code, epochs, shown(said, "from epoch", "no longer")) == (0, 4, snapshot)
    assert report("three") == at_once
    code, epochs, said = command("run", "s.yaml", "-o", "three")
    assert (code, epochs, shown(said, "from epoch", "no longer")) == (0, 0, [])
    assert report("three") == first
    assert command("verify", "three")[2] == "three: nothing is damaged\n"
    assert command("run", "s.yaml", "-o", "three", *LONGER)[1] == 0
    assert report("three") == at_once


def test_after_prune_they_begin_again_and_that_is_said_before(command, snapshot):
    at_once = report("four")
    code, _, said = command("prune", "three", "--keep", "last")
    assert (code, shown(said, "state")) == (0, snapshot)
    for dry in (["--dry-run"], []):
        code, epochs, said = command("run", "s.yaml", "-o", "three", *LONGER, *dry)
        assert (code, epochs) == (0, 0 if dry else 16)
        assert shown(said, "from the beginning") == snapshot
    assert report("three") == at_once


def test_a_folder_of_a_former_version_is_read_and_gone_on_with(command):
    """Its ids hold the epochs: fewer or more are other trials there, as they were."""
    before = report("former")
    assert command("run", "s.yaml", "-o", "former")[:2] == (0, 0)
    assert report("former") == before
    assert command("verify", "former")[2] == "former: nothing is damaged\n"
    code, epochs, _ = command("run", "s.yaml", "-o", "former", "--set", "seeds=[0, 1, 2]")
    assert (code, epochs) == (0, 6)
    trials = Ledger(Path("former")).planned().trials
    assert len({trial.id for trial in trials}) == 6
    assert len({trial.configuration for trial in trials}) == 2
    code, epochs, said = command("run", "s.yaml", "-o", "former", *LONGER)
    assert (code, epochs) == (0, 16)
    assert "former: 6 trials are no longer planned" in said


def test_what_a_rule_stopped_is_an_outcome_and_no_candidate(command, snapshot):
    """Without a scheduler that is set aside: it goes on."""
    ledger, at_once = Ledger(Path("three")), report("four")
    plan = ledger.write_plan(Ledger(Path("four")).planned(), Path("four/sweep.yaml").read_text())
    worse = [trial for trial in plan.trials if trial.configuration == plan.trials[0].configuration]
    for trial in worse:
        storage = ledger.trial(trial.id)
        storage.reopen()
        storage.end(TrialEnd("stopped", "rank 2 of 2 in epoch 3", trained=3), plan.main.id)
    code, _, said = command("status", "three")
    assert (code, said) == (1, snapshot)  # the others are to go on
    code, _, said = command("run", "s.yaml", "-o", "three", *LONGER)
    assert code == 0
    assert shown(said, "had been stopped") == snapshot
    assert report("three") == at_once
