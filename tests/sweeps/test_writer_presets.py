"""The presets whose tasks are writers."""

import json

import numpy as np
import pytest

from fsl_sweep.datasets.writer_splits import writer_sizes
from fsl_sweep.orchestrator.cli import running
from fsl_sweep.orchestrator.config import Episode
from fsl_sweep.orchestrator.execute import execute_one
from fsl_sweep.orchestrator.prepare import prepare


@pytest.fixture(autouse=True)
def empty_home(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FSL_SWEEP_HOME", str(tmp_path / "home"))


@pytest.fixture(scope="module")
def leaf_files(tmp_path_factory):
    """Twenty writers of some of four characters each, in LEAF's layout."""
    place = tmp_path_factory.mktemp("leaf") / "all_data"
    place.mkdir()
    rng = np.random.default_rng(0)
    users = {}
    for number in range(20):
        labels = np.repeat([0, 7, 12, 40], [5, 4, *rng.integers(0, 4, 2)])
        pixels = rng.integers(0, 256, (len(labels), 784)) / 255
        users[f"f{number:04d}"] = {"x": pixels.tolist(), "y": labels.tolist()}
    counts = [len(user["y"]) for user in users.values()]
    whole = {"users": list(users), "num_samples": counts, "user_data": users}
    (place / "all_data_0.json").write_text(json.dumps(whole))
    return place.parent


def planned(name, *overrides):
    return prepare(name, None, list(overrides), []).plan


def test_the_papers_table_for_femnist():
    """Table 4 of "Two Sides of Meta-Learning Evaluation", appendix D.2, and its text."""
    specs = {trial.method: trial.spec for trial in planned("femnist").trials}
    assert set(specs) == {"PN", "RR", "SVM"}
    writers = writer_sizes(3597)[0]
    for spec in specs.values():
        assert (spec.epochs, spec.schedule) == (100, [(0, 1e-3), (50, 1e-4)])
        assert spec.episode == Episode(way="all", shot=1, query="rest")
        train = spec.episodic
        assert (train.way, train.shot, train.query) == ("all", 1, "rest")
        assert train.tasks_per_batch == 5
        optimizer = spec.optimizer
        assert (optimizer.name, optimizer.momentum, optimizer.nesterov) == ("sgd", 0.9, True)
        assert (optimizer.weight_decay, spec.augment) == (1e-2, "none")
        assert (spec.backbone.name, spec.backbone.options["width"]) == ("conv4", 64)
        # An epoch is a pass over the writers that train, who are all but val and novel.
        assert spec.benchmark.options["base"] == "redrawn"
        assert 0 <= spec.batches * 5 - writers < 5
        assert spec.evaluation.report_tasks == writer_sizes(3597)[2]
    assert {"scale": 10.0, "metric": "euclidean", "learn_scale": False}.items() <= (
        specs["PN"].learner.options.items()
    )
    assert specs["RR"].learner.options["learn_scale"]
    assert specs["SVM"].learner.options["learn_scale"]


SMALL = [
    "evaluation={selection_tasks: 2, report_tasks: 2}",
    "defaults.backbone={name: conv4, width: 4}",
    "defaults.epochs=1",
    "defaults.schedule={}",
    "defaults.batches=2",
    "seeds=[0]",
]
GLYPHS = (
    "benchmark={name: glyphs, tasks: writers, writers: 12, base_alphabets: 1, val_alphabets: 1, "
    "novel_alphabets: 1, classes_per_alphabet: 2, examples: 60, image_size: 16}"
)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "embedded"), [("femnist", False), ("writers", False), ("writers", True)]
)
def test_every_method_runs_on_writers(name, embedded, leaf_files, tmp_path, capsys):
    changes = [*SMALL, GLYPHS if embedded else f"benchmark.root={leaf_files}"]
    prepared = prepare(name, tmp_path / "run", changes, [])
    assert running.show_plan(prepared) == 0
    assert "gradient steps\n" in capsys.readouterr().out  # how many images, nobody knows
    for index in range(len(prepared.plan.trials)):
        end = execute_one(prepared, index)
        assert end.status == "done", (prepared.plan.trials[index].method, end.reason)
    for history in prepared.ledger.histories(prepared.plan):
        table = history.scores["novel", "report"]
        assert table.load().shape == (1, 2)
        assert table.means[0] == pytest.approx(table.load().mean())
    (epoch, *_) = sorted((tmp_path / "run" / "tasks").iterdir())
    assert json.loads(epoch.read_text())["episode"] == {"way": "all", "shot": 1, "query": "rest"}
