"""From a finished run to a learner that answers as it was measured, by the public interface."""

import json

import numpy as np
import pytest
import submitted
import torch
import yaml
from evaluated import CONV, CPU
from made import flip
from trained import BATCHES

import fsl_sweep
from fsl_sweep.datasets.benchmark import common_tasks
from fsl_sweep.datasets.preparing.opening import open_benchmark
from fsl_sweep.datasets.tasks.episodes import EpisodeShape
from fsl_sweep.orchestrator.cli import invoke
from fsl_sweep.orchestrator.errors import ConfigError, Damaged, RunFolderError, UnknownName
from fsl_sweep.orchestrator.measuring.images import PoolImages

SHAPE, TASKS, SEED = EpisodeShape(way=3, shot=2, query=4), 10, 7
EPISODE = {"way": 3, "shot": 2, "query": 4}
GLYPHS = {"base_alphabets": 2, "val_alphabets": 2, "novel_alphabets": 1, "image_size": 16}
GLYPHS |= {"classes_per_alphabet": 6, "examples": 20, "held_out": 0.4}
MAML = {"name": "maml", "way": 3, "inner_lr": 0.1, "inner_steps": 1, "inner_steps_test": 2}
SHORT = {"train": {**EPISODE, "tasks_per_batch": 1}, "epochs": 2, "batches": 4}
TRAINED = {"backbone": CONV, "optimizer": {"lr": 0.05}, **SHORT}
GRID = {"optimizer": {"lr": {"grid": [0.1, 0.01]}}}
SWEEP = {
    "name": "models",
    "benchmark": {"name": "glyphs", **GLYPHS},
    "episode": EPISODE,
    "evaluation": {"selection_tasks": 4, "report_tasks": TASKS, "seed": SEED},
    "methods": {
        "PN": {**TRAINED, "learner": {"name": "protonet"}, **GRID},
        "RR": {**TRAINED, "learner": {"name": "ridge"}},
        "MAML": {**TRAINED, "learner": MAML},
        "FT": {**TRAINED, "learner": {"name": "finetune", "steps": 3}, "train": BATCHES},
        "protos": {**SHORT, "learner": {"name": "metadl", "submission": "protos"}},
    },
    "selectors": {"snapshot": ["last", "val"], "hyperparameter": ["val"]},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Six trials of two epochs, each run in this process."""
    home = tmp_path_factory.mktemp("models")
    (home / "s.yaml").write_text(yaml.safe_dump(SWEEP, sort_keys=False))
    with pytest.MonkeyPatch.context() as patch:
        submitted.install(home / "installed", patch)
        for index in range(6):
            command = ["trial", str(home / "s.yaml"), "--index", str(index)]
            assert invoke([*command, "-o", str(home / "run")]) == 0
        yield home / "run"


@pytest.fixture(scope="module")
def run(folder):
    return fsl_sweep.load_run(folder)


@pytest.fixture(scope="module")
def data(folder):
    return open_benchmark("glyphs", GLYPHS, None, folder.parent / "home")


@pytest.fixture(scope="module")
def tasks(folder, data):
    """Images of the report tasks of the validation classes: support and queries class by class."""
    episodes = common_tasks(data, "val", "report", TASKS, SHAPE, SEED)
    (file,) = folder.glob("tasks/*/val-report.json")
    assert episodes.classes.tolist() == json.loads(file.read_text())["classes"]
    images = data.val.pool.images
    return [*zip(images[episodes.support], images[episodes.query.reshape(TASKS, 12)], strict=True)]


@pytest.mark.parametrize("method", SWEEP["methods"])
def test_recorded_counts_come_back_through_classify_only(run, tasks, method):
    """Task by task, of every snapshot.

    A head answers one task here and many at once when it is measured, so that logits may differ in
    their last bits, and a query halfway between two classes could change sides; none of these does.
    """
    right = np.arange(3).repeat(4)
    for trial in (trial for trial in run.histories if trial.method == method):
        assert trial.epochs.tolist() == [1, 2]
        recorded = trial.scores["val", "report"].load() * len(right)
        assert len(np.unique(recorded)) > 3  # neither chance nor perfection
        for epoch, expected in zip((1, 2), recorded, strict=True):
            learner = run.load_learner(trial.trial, epoch)
            counts = [np.sum(learner.classify(*task).argmax(1) == right) for task in tasks]
            np.testing.assert_array_equal(counts, expected.round())


def test_features_are_those_that_are_measured_to_the_last_bit(run, data, monkeypatch):
    (chosen,) = run.chosen("PN")
    model, seen = chosen.load("cpu"), []
    monkeypatch.setattr(
        type(model.learner), "head", lambda _, *parts: seen.extend(parts) or torch.zeros(1, 9, 2)
    )
    pool = data.val.pool
    support, query = np.array([[3, 50], [70, 8]]), np.arange(9)
    model.classify(pool.images[support], pool.images[query])
    with torch.inference_mode():
        measured = PoolImages(pool, data, CPU).through(model.learner.embed, np.arange(100))
    assert torch.equal(seen[0][0], measured[support])
    assert torch.equal(seen[1][0], measured[query])


def test_the_chosen_snapshots_are_those_of_the_selections_and_say_which_they_are(run):
    for snapshot, name in (("last", "end-of-training"), ("val", "ValGen")):
        frame = run.selections([snapshot], ["val"])
        (expected,) = frame[frame["method"] == "PN"].to_dict("records")
        (chosen,) = run.chosen("PN", name)
        for key in ("seed", "trial", "epoch"):
            assert getattr(chosen.snapshot, key) == expected[key]
        assert chosen.snapshot.hyperparameters == {"optimizer.lr": expected["optimizer.lr"]}
        assert chosen.path == run.snapshot_path(chosen.snapshot.trial, chosen.snapshot.epoch)
        about = chosen.load().description
        assert (about.trial, about.epoch) == (chosen.snapshot.trial, chosen.snapshot.epoch)
        assert (about.learner["name"], about.backbone) == ("protonet", CONV)
        assert (about.image_shape, about.n_base_classes) == ((1, 16, 16), 12)
        assert about.version == fsl_sweep.__version__


def test_what_cannot_be_chosen_or_is_not_the_recorded_snapshot_is_refused(run):
    with pytest.raises(UnknownName, match="unknown method 'PNN'; did you mean 'PN'"):
        run.chosen("PNN")
    with pytest.raises(UnknownName, match="vall"):
        run.chosen("PN", "vall")
    with pytest.raises(ConfigError, match="class folds"):
        run.chosen("PN", "val", "cv")
    with pytest.raises(RunFolderError, match="val / pareto chose no snapshot of PN"):
        run.chosen("PN", "val", "pareto")
    trial = run.histories[-1].trial
    flip(run.snapshot_path(trial, 1))
    with pytest.raises(Damaged, match="not the recorded snapshot"):
        run.load_learner(trial, 1)
