"""Early stopping of real trials in this process: the records of the grid, whoever kills it."""

import itertools
import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from fsl_sweep import load_run
from fsl_sweep.orchestrator.cli.planned import show_plan
from fsl_sweep.orchestrator.ledger.storage import Folder
from fsl_sweep.orchestrator.planning.prepare import prepare
from fsl_sweep.orchestrator.records.protocol import MAIN
from fsl_sweep.orchestrator.report import to_json
from fsl_sweep.orchestrator.trial.trial import Trial, use_threads
from fsl_sweep.orchestrator.upkeep.early_stopping import advance

SWEEP = {
    "name": "tiny",
    "benchmark": {
        "name": "glyphs",
        "image_size": 16,
        "examples": 12,
        "classes_per_alphabet": 4,
        "base_alphabets": 2,
        "val_alphabets": 1,
        "novel_alphabets": 1,
    },
    "episode": {"way": 3, "shot": 1, "query": 2},
    "evaluation": {"selection_tasks": 20, "report_tasks": 20},
    "defaults": {
        "backbone": {"name": "conv4", "width": 4},
        "optimizer": {"lr": {"grid": [0.1, 0.2, 0.3, 0.4]}},
        "epochs": 4,
        "batches": 1,
        "train": {"way": 3, "shot": 1, "query": 2},
    },
    "methods": {"PN": {"learner": {"name": "protonet"}}},
    "seeds": [0, 1],
    "selectors": "all",
}
RULE = {"name": "halving", "grace": 1, "factor": 2, "finalists": 1}
OPERATIONS = ("write", "remove")


class Killed(BaseException):
    pass


@pytest.fixture(autouse=True, scope="module")
def _one_thread():
    use_threads(1)


def run(folder: Path, whole: bool = False, kill: int | None = None, **changes):
    """Run the sweep as far as it goes, one trial after the other, in an order that kills change."""
    prepared = prepare(SWEEP | changes, folder)
    plan, benchmarks = prepared.opened()
    ledger = prepared.ledger
    plan = ledger.write_plan(plan, prepared.sweep.text)
    calls = itertools.count()

    def counted(operation):
        def counting(*arguments, **options):
            if next(calls) == kill:
                raise Killed
            return operation(*arguments, **options)

        return counting

    with pytest.MonkeyPatch.context() as patch:
        for name in OPERATIONS:
            patch.setattr(Folder, name, counted(getattr(Folder, name)))
        while may := advance(ledger, plan, plan.specs.keys(), whole):
            for trial, until in sorted(may.items(), reverse=bool(kill and kill % 2)):
                training = Trial(
                    plan.specs[trial], ledger.trial(trial), benchmarks[MAIN], plan.main
                )
                for _ in training.run(until):
                    pass
    return ledger


def report(folder: Path) -> str:
    """The report without what a clock says."""
    plain = json.loads(to_json(load_run(folder).report()))
    plain["cost"] = plain["run"]["cost"] = None
    return json.dumps(plain, sort_keys=True)


def ends(ledger):
    plan = ledger.read_plan()
    return {trial: ledger.trial(trial).read_end() for trial in plan.specs}


@pytest.fixture(scope="module")
def grid(tmp_path_factory):
    return run(tmp_path_factory.mktemp("grid") / "run")


@pytest.fixture(scope="module")
def halved(tmp_path_factory):
    return run(tmp_path_factory.mktemp("halved") / "run", scheduler=RULE)


def weights(ledger, trial):
    return ledger.trial(trial).snapshots()


def test_seeds_are_stopped_together_and_finalists_are_those_of_the_grid(grid, halved):
    plan = halved.read_plan()
    statuses = {trial: end.status for trial, end in ends(halved).items()}
    by_configuration = {}
    for planned in plan.trials:
        key = planned.method, planned.configuration
        by_configuration.setdefault(key, set()).add(statuses[planned.id])
    assert sorted(map(sorted, by_configuration.values())) == [["done"], *3 * [["stopped"]]]
    for trial, status in statuses.items():
        mine, whole = weights(halved, trial), weights(grid, trial)
        assert mine == {epoch: digest for epoch, digest in whole.items() if epoch in mine}
        assert len(mine) == 4 if status == "done" else len(mine) in (1, 2)
    assert load_run(halved.path).report().complete


@pytest.mark.parametrize("rule", [None, RULE])
def test_the_rest_of_the_grid_is_trained_on_demand(grid, tmp_path, rule):
    folder = tmp_path / "run"
    run(folder, scheduler=RULE)
    run(folder, whole=rule is not None, **({"scheduler": rule} if rule else {}))
    assert report(folder) == report(grid.path)


@pytest.mark.parametrize(
    ("changes", "whole", "said"),
    [
        ({}, False, ("done already: 8, 6 of them stopped early; to run: 0", "0 gradient steps")),
        (
            {},
            True,
            (
                "done already: 2; to run: 6",
                "16 gradient steps\n  6 trials that had been stopped go on.\n",
            ),
        ),
        ({"scheduler": None}, False, ("done already: 2; to run: 6", "16 gradient steps")),
        (
            {"seeds": [0, 1, 2]},
            False,
            (
                "done already: 8, 6 of them stopped early; to run: 4",
                "16 gradient steps\n  less what halving will stop; what it has stopped may go on\n",
            ),
        ),
    ],
)
def test_a_dry_run_counts_what_was_stopped_and_goes_on(halved, capsys, changes, whole, said):
    """Of three configurations, in two seeds, 3, 3 and 2 of four epochs of one step are left."""
    assert show_plan(prepare(SWEEP | {"scheduler": RULE} | changes, halved.path), whole) == 0
    shown = capsys.readouterr().out
    for text in said:
        assert text in shown


def test_stopped_trials_wait_for_a_seed_that_is_added(halved, tmp_path):
    shutil.copytree(halved.path, tmp_path / "run")
    prepared = prepare(SWEEP | {"scheduler": RULE, "seeds": [0, 1, 2]}, tmp_path / "run")
    plan = prepared.ledger.write_plan(prepared.opened()[0], prepared.sweep.text)
    said = []
    may = advance(prepared.ledger, plan, plan.specs.keys(), notify=said.append)
    assert [*may.values()] == [1] * 4
    assert {plan.specs[trial].seed for trial in may} == {2}
    assert said == [
        "6 trials that had been stopped wait at the same rung: others have yet to reach it."
    ]


@pytest.mark.slow
def test_no_kill_changes_what_is_stopped_or_reported(halved, tmp_path):
    rng = np.random.default_rng(0)
    expected, kills = report(halved.path), 0
    for attempt in range(4):
        folder = tmp_path / str(attempt)
        while True:
            try:
                ledger = run(folder, kill=int(rng.integers(0, 40)), scheduler=RULE)
                break
            except Killed:
                kills += 1
        assert ends(ledger) == ends(halved)
        assert report(folder) == expected
    assert kills > 4
