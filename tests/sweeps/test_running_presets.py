"""Presets run, made smaller, on glyphs; their own data are read in `tests/datasets`."""

import json

import pytest
import yaml
from places import ROOT

from fsl_sweep.orchestrator.cli.planned import show_plan
from fsl_sweep.orchestrator.planning.prepare import prepare
from fsl_sweep.orchestrator.sweep.execute import execute_one

pytestmark = pytest.mark.slow


def smaller(preset, way=None):
    """Changes after which its methods train an epoch, of little episodes where a way is given."""
    file = yaml.safe_load((ROOT / "sweeps" / f"{preset}.yaml").read_text())
    episodes = f"way: {way}, shot: 1, query: 1, tasks_per_batch: 2"
    changes = {
        "evaluation={selection_tasks: 2, report_tasks: 2}": True,
        "defaults.backbone={name: conv4, width: 4}": True,
        "defaults.batches=2": True,
        "seeds=[0]": True,
        "measure={}": "measure" in file,
    }
    places = {f"methods.{name}": settings for name, settings in file["methods"].items()}
    for place, settings in {"defaults": file["defaults"], **places}.items():
        train = settings.get("train", {})
        train = train.get("grid", [train])[0]
        fixed = str("fixed_support" in train).lower()
        changes |= {
            f"{place}.schedule={{}}": "schedule" in settings,
            f"{place}.epochs={1 + ('meta' in train)}": "epochs" in settings,
            f"{place}.train={{{episodes}, fixed_support: {fixed}}}": way and "way" in train,
            f"{place}.train.meta={{epochs: 1, {episodes}}}": "meta" in train,
            f"{place}.learner.inner_steps_test=2": "inner_steps_test" in str(settings),
        }
    return [change for change, needed in changes.items() if needed]


GLYPHS = "base_alphabets: 1, val_alphabets: 1, novel_alphabets: 1, examples: 60, image_size: 16"
CLASSES = "classes_per_alphabet: 6, held_out: 0.5"
PAIRS = "tasks: attributes-ood, held_out: 0.6, training_tasks: 8"
PRESETS = {
    "cifar": (CLASSES, 5, ["PN", "FIX-PN", "FOMAML", "SB", "MB"]),
    "fc100": (CLASSES, 5, ["PN"]),
    "metadl": (CLASSES, 5, ["fo-MAML", "transfer"]),
    "mini": (CLASSES, 5, ["PN"]),
    "tiered": (CLASSES, 5, ["PN"]),
    "zappos": (PAIRS, 2, ["PN", "FOMAML"]),
}


@pytest.fixture(autouse=True)
def empty_home(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FSL_SWEEP_HOME", str(tmp_path / "home"))


def executed(preset, data, changes, methods):
    """The preset, planned in full on glyphs, with the first trial of each method done."""
    data = f"benchmark={{name: glyphs, {GLYPHS}, {data}}}"
    prepared = prepare(preset, None, [data, *changes], [])
    assert show_plan(prepared) == 0
    planned = [trial.method for trial in prepared.plan.trials]
    for method in methods:
        end = execute_one(prepared, planned.index(method))
        assert end.status == "done", (method, end.reason)
    return prepared


@pytest.mark.parametrize("preset", PRESETS)
def test_each_kind_of_learner_runs(preset):
    data, way, methods = PRESETS[preset]
    changes = [*smaller(preset, way), f"episode={{way: {way}, shot: 1, query: 1}}"]
    executed(preset, data, changes, methods)


@pytest.mark.parametrize(("preset", "methods"), [("femnist", ["PN"]), ("writers", ["PN", "SB"])])
def test_methods_run_on_writers(preset, methods):
    writers = "tasks: writers, writers: 12, classes_per_alphabet: 2"
    prepared = executed(preset, writers, smaller(preset), methods)
    plan = prepared.ledger.read_plan()
    for history in prepared.ledger.histories(plan):
        if history.method in methods:
            table = history.scores["novel", "report"]
            assert table.load().shape == (1, 2)
            assert table.means[0] == pytest.approx(table.load().mean())
    (tasks, *_) = sorted((prepared.ledger.path / "tasks" / plan.main.id).iterdir())
    episode = json.loads(tasks.read_text())["protocol"]["episode"]
    assert episode == {"way": "all", "shot": 1, "query": "rest"}
