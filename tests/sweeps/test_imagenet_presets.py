"""``mini`` and ``tiered`` run on data in the official layouts."""

import io
import pickle
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from fsl_sweep.datasets.imagenet_classes import mini_classes
from fsl_sweep.orchestrator.execute import execute_one
from fsl_sweep.orchestrator.prepare import prepare

LEARNERS = ["PN", "RR", "SVM", "FOMAML", "SB", "MB"]


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
    *(f"methods.FIX-{m}.train={EPISODE}" for m in ("PN", "RR", "SVM", "FOMAML")),
    "methods.RR.backbone={name: conv4, width: 4}",
    "methods.SVM.backbone={name: conv4, width: 4}",
    "methods.FOMAML.schedule={}",
    "methods.FOMAML.epochs=1",
    "methods.FOMAML.learner.inner_steps_test=2",
    "methods.SB.schedule={}",
    "methods.SB.epochs=1",
    "methods.MB.schedule={}",
    "methods.MB.epochs=2",
    "methods.MB.train={batch_size: 16, meta: {epochs: 1, way: 5, shot: 1, query: 1}}",
    "seeds=[0]",
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("preset", "write", "methods"),
    [("mini", write_mini, LEARNERS), ("tiered", write_tiered, ["PN", "SB"])],
)
def test_every_learner_runs_on_small_data_in_the_official_layout(
    preset, write, methods, tmp_path, monkeypatch
):
    monkeypatch.setenv("FSL_SWEEP_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "source")
    changes = [*SHORT, f"benchmark.root={tmp_path / 'source'}"]
    prepared = prepare(preset, tmp_path / "run", changes, [])
    first = {trial.method: index for index, trial in [*enumerate(prepared.plan.trials)][::-1]}
    for method in methods:
        end = execute_one(prepared, first[method])
        assert end.status == "done", (method, end.reason)
