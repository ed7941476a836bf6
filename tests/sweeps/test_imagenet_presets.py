"""``mini`` and ``tiered``: the papers' hyperparameters, and that they run."""

import io
import json
import pickle
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from fsl_sweep.datasets.imagenet_classes import mini_classes
from fsl_sweep.orchestrator.cli import invoke
from fsl_sweep.orchestrator.resolve import plan_sweep
from fsl_sweep.orchestrator.sweepfile import load_sweep

LONG = [(0, 0.1), (20, 6e-3), (40, 1.2e-3), (50, 2.4e-4)]

# "Two Sides of Meta-Learning Evaluation", appendix D.2, table 4: epochs, rates, tasks or images a
# batch. Meta-Baseline's episodes take 30 epochs more.
TABLE_4 = {
    "PN": ("protonet", 60, LONG, 4),
    "RR": ("ridge", 60, LONG, 8),
    "SVM": ("svm", 60, LONG, 8),
    "FOMAML": ("fomaml", 70, [(0, 1e-2), (35, 1e-3), (65, 1e-4)], 4),
    "SB": ("supervised", 100, [(0, 0.1), (90, 1e-2)], 128),
    "MB": ("meta-baseline", 130, [(0, 0.1), (90, 1e-2), (100, 1e-3)], 128),
}
AUGMENT = {"mini": "resized-crop-jitter-flip", "tiered": "crop-jitter-flip"}


@pytest.mark.parametrize("preset", AUGMENT)
def test_values_are_those_of_table_4(preset):
    trials = plan_sweep(load_sweep(preset)).trials
    assert len(trials) == 3 * len(TABLE_4)
    for trial in trials:
        learner, epochs, rates, batch = TABLE_4[trial.method]
        spec = trial.spec.canonical()
        assert (spec["learner"]["name"], spec["epochs"]) == (learner, epochs)
        assert [tuple(step) for step in spec["schedule"]] == rates
        train = spec["train"]
        assert train.get("tasks_per_batch", train.get("batch_size")) == batch
        assert (spec["batches"], spec["augment"]) == (1000, AUGMENT[preset])
        assert spec["backbone"]["name"] == "resnet12"
        optimizer = spec["optimizer"]
        assert (optimizer["name"], optimizer["momentum"], optimizer["nesterov"]) == (
            "sgd",
            0.9,
            True,
        )
        assert optimizer["weight_decay"] == 5e-4
    by_method = {trial.method: trial.spec.canonical() for trial in trials}
    assert by_method["PN"]["learner"]["scale"] == by_method["SB"]["learner"]["scale"] == 10
    assert by_method["RR"]["learner"]["learn_scale"]
    assert by_method["SVM"]["learner"]["learn_scale"]
    steps = ("inner_lr", "inner_steps", "inner_steps_test", "scale")
    assert [by_method["FOMAML"]["learner"][key] for key in steps] == [0.01, 5, 20, 1]
    assert by_method["MB"]["train"]["meta"]["epochs"] == 30


def encoded(number: int, side: int) -> bytes:
    rng = np.random.default_rng(number)
    stream = io.BytesIO()
    Image.fromarray(rng.integers(0, 256, (side, side, 3), dtype=np.uint8)).save(stream, "PNG")
    return stream.getvalue()


def write_mini(root: Path) -> None:
    for number, listed in enumerate(mini_classes()):
        folder = root / "train" / listed.name
        folder.mkdir(parents=True)
        for image in range(4):
            (folder / f"{listed.name}_{image}.JPEG").write_bytes(encoded(4 * number + image, 20))


def write_tiered(root: Path) -> None:
    root.mkdir()
    counts = {"train": (351, 20), "val": (97, 6), "test": (160, 8)}
    for split, (classes, superclasses) in counts.items():
        specific = np.arange(4 * classes) % classes
        images = [np.frombuffer(encoded(n, 16), np.uint8) for n in range(len(specific))]
        labels = {
            "label_specific": specific,
            "label_general": specific % superclasses,
            "label_specific_str": [f"{split} {n}" for n in range(classes)],
            "label_general_str": [f"{split} group {n}" for n in range(superclasses)],
        }
        (root / f"{split}_images_png.pkl").write_bytes(pickle.dumps(images, 2))
        (root / f"{split}_labels.pkl").write_bytes(pickle.dumps(labels, 2))


EPISODE = "{way: 5, shot: 1, query: 1, tasks_per_batch: 2}"
SHORT = [
    "benchmark.image_size=16",
    "benchmark.held_out=0.5",
    "episode.shot=1",
    "episode.query=1",
    "evaluation={selection_tasks: 2, report_tasks: 2}",
    "defaults.backbone={name: conv4, width: 4}",
    "defaults.schedule={}",
    "defaults.epochs=1",
    "defaults.batches=2",
    *(f"methods.{m}.train={EPISODE}" for m in ("PN", "RR", "SVM", "FOMAML")),
    "methods.FOMAML.schedule={0: 0.01}",
    "methods.FOMAML.epochs=1",
    "methods.FOMAML.learner.inner_steps_test=2",
    "methods.SB.schedule={0: 0.1}",
    "methods.SB.epochs=1",
    "methods.MB.schedule={0: 0.1}",
    "methods.MB.epochs=2",
    "methods.MB.train={batch_size: 16, meta: {epochs: 1, way: 5, shot: 1, query: 1}}",
    "seeds=[0]",
]


@pytest.mark.slow
@pytest.mark.parametrize(("preset", "write"), [("mini", write_mini), ("tiered", write_tiered)])
def test_every_method_runs_on_small_data_in_the_official_layout(
    preset, write, tmp_path, capsys, monkeypatch
):
    monkeypatch.setenv("FSL_SWEEP_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "source")
    shortened = [word for text in SHORT for word in ("--set", text)]
    root = ("--set", f"benchmark.root={tmp_path / 'source'}")
    for index in range(len(TABLE_4)):
        arguments = ("trial", preset, "--index", str(index), "-o", "run", *shortened, *root)
        assert invoke(list(arguments)) == 0, capsys.readouterr().err
    capsys.readouterr()
    assert invoke(["report", "run", "--format", "json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["run"]["done"] == len(TABLE_4)
    assert {row["method"] for row in report["summary"]} == set(TABLE_4)
