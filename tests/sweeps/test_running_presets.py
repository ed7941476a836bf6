"""Presets run on small data in the official layouts, one method of each kind of learner.

Every learner trains in ``test_every_learner``. Here each benchmark's files meet its preset.
"""

import csv
import io
import json
import pickle
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from fsl_sweep.datasets.benchmarks.cifar100 import SUPERCLASS_OF
from fsl_sweep.datasets.benchmarks.imagenet.folders import mini_classes
from fsl_sweep.datasets.benchmarks.zappos import published_sets
from fsl_sweep.orchestrator.cli.planned import show_plan
from fsl_sweep.orchestrator.planning.prepare import Prepared, prepare
from fsl_sweep.orchestrator.sweep.execute import execute_one

pytestmark = pytest.mark.slow


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


def write_cifar(root: Path) -> None:
    for label, name in enumerate(SUPERCLASS_OF):
        (root / name).mkdir(parents=True)
        for image in range(12):
            (root / name / f"{image}.png").write_bytes(encoded(12 * label + image, 16))


def write_leaf(root: Path) -> None:
    """Twenty writers of some of four characters each, in LEAF's layout."""
    (root / "all_data").mkdir(parents=True)
    rng = np.random.default_rng(0)
    users = {}
    for number in range(20):
        labels = np.repeat([0, 7, 12, 40], [5, 4, *rng.integers(0, 4, 2)])
        pixels = rng.integers(0, 256, (len(labels), 784)) / 255
        users[f"f{number:04d}"] = {"x": pixels.tolist(), "y": labels.tolist()}
    counts = [len(user["y"]) for user in users.values()]
    whole = {"users": list(users), "num_samples": counts, "user_data": users}
    (root / "all_data" / "all_data_0.json").write_text(json.dumps(whole))


def write_shoes(root: Path) -> None:
    rng = np.random.default_rng(0)
    first, second = published_sets()
    names = [*first, *second]
    header = [name.replace("Short.heel", "Under.1in") for name in names]
    header = [name.replace("High.heel", "5in...over") for name in header]
    empty = [f"HeelHeight.{height}" for height in ("Flat", "1in...1.3.4in", "4in...4.3.4in")]
    (root / "ut-zap50k-data").mkdir(parents=True)
    (root / "ut-zap50k-images").mkdir()
    stream = io.StringIO()
    rows = csv.writer(stream)
    rows.writerow(["CID", *header, *empty])
    for shoe in range(150):
        rows.writerow([f"{shoe}-1", *(rng.random(66) < 0.4).astype(int), 0, 0, 0])
        image = Image.fromarray(rng.integers(0, 256, (9, 12, 3), dtype=np.uint8))
        image.save(root / "ut-zap50k-images" / f"{shoe}.1.jpg")
    (root / "ut-zap50k-data" / "meta-data-bin.csv").write_text(stream.getvalue())


SMALL = [
    "evaluation={selection_tasks: 2, report_tasks: 2}",
    "defaults.backbone={name: conv4, width: 4}",
    "defaults.schedule={}",
    "defaults.epochs=1",
    "defaults.batches=2",
    "seeds=[0]",
]
CLASSES = [*SMALL, "benchmark.image_size=16", "episode={way: 5, shot: 1, query: 1}"]
EPISODES = "way: 5, shot: 1, query: 1, tasks_per_batch: 2"
EPISODIC = ("PN", "RR", "SVM", "FOMAML")
PAPER = [
    *CLASSES,
    *(f"methods.{method}.train={{{EPISODES}}}" for method in EPISODIC),
    *(f"methods.FIX-{m}.train={{{EPISODES}, fixed_support: true}}" for m in EPISODIC),
    *(f"methods.{method}.schedule={{}}" for method in ("PN", "FIX-PN", "FOMAML", "SB", "MB")),
    *(f"methods.{method}.epochs=1" for method in ("PN", "FIX-PN", "FOMAML", "SB")),
    "methods.FOMAML.learner.inner_steps_test=2",
    "methods.MB.epochs=2",
    "measure={}",
    f"methods.MB.train.meta={{epochs: 1, {EPISODES}}}",
]
IMAGENET = [*PAPER, "benchmark.held_out=0.5"]
CHALLENGE = [
    *CLASSES,
    *(f"methods.{method}.train={{{EPISODES}}}" for method in ("fo-MAML", "PN", "conv-qda")),
    "methods.fo-MAML.epochs=1",
]
SHOES = [
    *CLASSES,
    "benchmark.min_images=2",
    "benchmark.training_tasks=8",
    "episode={way: 2, shot: 1, query: 1}",
    "defaults.optimizer.lr=0.1",
    "defaults.train={way: 2, shot: 1, query: 1, tasks_per_batch: 2}",
    "methods.FOMAML.learner.inner_steps_test=2",
]
GLYPHS = (
    "benchmark={name: glyphs, tasks: writers, writers: 12, base_alphabets: 1, val_alphabets: 1, "
    "novel_alphabets: 1, classes_per_alphabet: 2, examples: 60, image_size: 16}"
)
PRESETS = {
    "cifar": (write_cifar, PAPER, ["PN", "FIX-PN", "FOMAML", "SB", "MB"]),
    "fc100": (write_cifar, PAPER, ["PN"]),
    "metadl": (write_cifar, CHALLENGE, ["fo-MAML", "transfer"]),
    "mini": (write_mini, IMAGENET, ["PN"]),
    "tiered": (write_tiered, IMAGENET, ["PN"]),
    "zappos": (write_shoes, SHOES, ["PN", "FOMAML"]),
}


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """The folder of a layout, which several presets read."""

    @cache
    def written(write):
        root = tmp_path_factory.mktemp("layout") / "source"
        write(root)
        return root

    return written


@pytest.fixture(autouse=True)
def empty_home(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FSL_SWEEP_HOME", str(tmp_path / "home"))


def executed(run: str, preset: str, changes: list[str], methods: list[str]) -> Prepared:
    """The preset, planned in full, with the first trial of each method done."""
    prepared = prepare(preset, Path(run), changes, [])
    assert show_plan(prepared) == 0
    planned = [trial.method for trial in prepared.plan.trials]
    for method in methods:
        end = execute_one(prepared, planned.index(method))
        assert end.status == "done", (method, end.reason)
    return prepared


@pytest.mark.parametrize("preset", PRESETS)
def test_each_kind_of_learner_runs_on_data_in_the_official_layout(preset, source, capsys):
    write, changes, methods = PRESETS[preset]
    root = f"benchmark.root={source(write)}"
    executed("run", preset, [*changes, root], methods)
    if preset == "zappos":
        executed("other", preset, [*changes, root, "benchmark.name=zappos-ood"], ["PN"])


@pytest.mark.parametrize(
    ("preset", "embedded", "methods"), [("femnist", False, ["PN"]), ("writers", True, ["PN", "SB"])]
)
def test_methods_run_on_writers(preset, embedded, methods, tmp_path, capsys):
    write_leaf(tmp_path / "leaf")
    data = GLYPHS if embedded else f"benchmark.root={tmp_path / 'leaf'}"
    prepared = executed("run", preset, [*SMALL, data], methods)
    assert "gradient steps\n" in capsys.readouterr().out  # how many images, nobody knows
    plan = prepared.ledger.read_plan()
    assert plan is not None
    for history in prepared.ledger.histories(plan):
        if history.method in methods:
            table = history.scores["novel", "report"]
            assert table.load().shape == (1, 2)
            assert table.means[0] == pytest.approx(table.load().mean())
    (tasks, *_) = sorted((tmp_path / "run" / "tasks" / plan.main.id).iterdir())
    episode = json.loads(tasks.read_text())["protocol"]["episode"]
    assert episode == {"way": "all", "shot": 1, "query": "rest"}
