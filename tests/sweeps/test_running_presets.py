"""Presets run, on the data of their laptop variants; every learner in `test_every_learner`."""

import json

import pytest

from fsl_sweep.orchestrator.cli.planned import show_plan
from fsl_sweep.orchestrator.planning.variant import prepare_variant
from fsl_sweep.orchestrator.sweep.execute import execute_one

pytestmark = pytest.mark.slow

FEW = [
    "evaluation={selection_tasks: 2, report_tasks: 2}",
    "defaults.batches=2",
    "defaults.backbone.width=4",
    "seeds=[0]",
]
WRITERS = ["writers=12", "examples=60", "classes_per_alphabet=2"]
PRESETS = {
    "mini": ([], None),  # all methods of figure 1, and of FIX-ML
    "cifar": ([], ["PN", "FIX-RR"]),
    "fc100": ([], ["PN", "FOMAML"]),
    "tiered": ([], ["PN", "SVM"]),
    "metadl": ([], ["fo-MAML", "transfer"]),
    "omniglot": ([], ["PN"]),
    "zappos": (["tasks=attributes-ood", "training_tasks=8"], ["PN", "FOMAML"]),
    "femnist": (WRITERS, ["PN"]),
    "writers": (WRITERS, ["PN", "SB"]),
}


@pytest.mark.parametrize("preset", PRESETS)
def test_each_kind_of_learner_runs(preset, tmp_path, monkeypatch):
    """The preset, planned in full, with the first trial of each method done."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FSL_SWEEP_HOME", str(tmp_path / "home"))
    data, methods = PRESETS[preset]
    changes = [*FEW, *(f"benchmark.{change}" for change in data)]
    prepared = prepare_variant(preset, None, changes, laptop=True)
    assert show_plan(prepared) == 0
    plan, ledger = prepared.plan, prepared.ledger
    planned = [trial.method for trial in plan.trials]
    for method in methods or plan.methods:
        end = execute_one(prepared, planned.index(method))
        assert end.status == "done", (method, end.reason)
    plan = ledger.planned()
    history = ledger.histories(plan)[0]
    table = history.scores["novel", "report"]
    assert table.load().shape == (len(history.epochs), 2)
    assert table.means == pytest.approx(table.load().mean(axis=1))
    (tasks, *_) = sorted((ledger.path / "tasks" / plan.main.id).iterdir())
    episode = json.loads(tasks.read_text())["protocol"]["episode"]
    assert (episode["query"] == "rest") is (data == WRITERS)
    folded = {trial.method for trial in plan.trials if trial.fold is not None}
    assert folded == ({"PN", "RR"} if preset in ("mini", "cifar", "fc100", "tiered") else set())
