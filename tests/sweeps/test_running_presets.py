"""Presets run on small data in the official layouts; every learner in `test_every_learner`."""

import json
import pickle
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import yaml
from places import ROOT
from pools import encoded

from fsl_sweep.datasets.benchmarks.cifar100 import SUPERCLASS_OF
from fsl_sweep.datasets.benchmarks.imagenet.folders import mini_classes
from fsl_sweep.datasets.benchmarks.zappos import published_sets
from fsl_sweep.orchestrator.cli.planned import show_plan
from fsl_sweep.orchestrator.planning.prepare import prepare
from fsl_sweep.orchestrator.sweep.execute import execute_one

pytestmark = pytest.mark.slow


def image(number, height, width=None, kind="PNG"):
    shape = height, width or height, 3
    return encoded(np.random.default_rng(number).integers(0, 256, shape, dtype=np.uint8), kind)


def write_classes(root, names, count, side, file):
    for label, name in enumerate(names):
        (root / name).mkdir(parents=True)
        for number in range(count):
            path = root / name / file.format(name=name, number=number)
            path.write_bytes(image(count * label + number, side))


def write_mini(root):
    write_classes(root / "train", [c.name for c in mini_classes()], 4, 20, "{name}_{number}.JPEG")


def write_cifar(root):
    write_classes(root, SUPERCLASS_OF, 12, 16, "{number}.png")


def write_tiered(root):
    root.mkdir()
    counts = {"train": (351, 20), "val": (97, 6), "test": (160, 8)}
    for split, (classes, superclasses) in counts.items():
        specific = np.arange(4 * classes) % classes
        images = [np.frombuffer(image(n, 16), np.uint8) for n in range(len(specific))]
        labels = {
            "label_specific": specific,
            "label_general": specific % superclasses,
            "label_specific_str": [f"{split} {n}" for n in range(classes)],
            "label_general_str": [f"{split} group {n}" for n in range(superclasses)],
        }
        (root / f"{split}_images_png.pkl").write_bytes(pickle.dumps(images, 2))
        (root / f"{split}_labels.pkl").write_bytes(pickle.dumps(labels, 2))


def write_leaf(root):
    """Twenty writers of some of four characters each, in LEAF's layout."""
    draws, users = np.random.default_rng(0), {}
    for number in range(20):
        labels = np.repeat([0, 7, 12, 40], [5, 4, *draws.integers(0, 4, 2)]).tolist()
        pixels = draws.integers(0, 256, (len(labels), 784)) / 255
        users[f"f{number:04d}"] = {"x": pixels.tolist(), "y": labels}
    counts = [len(user["y"]) for user in users.values()]
    whole = {"users": [*users], "num_samples": counts, "user_data": users}
    (root / "all_data").mkdir(parents=True)
    (root / "all_data" / "all_data_0.json").write_text(json.dumps(whole))


def write_shoes(root):
    names = ",".join(name for names in published_sets() for name in names)
    names = names.replace("Short.heel", "Under.1in").replace("High.heel", "5in...over")
    rows = [f"CID,{names},HeelHeight.Flat,HeelHeight.1in...1.3.4in,HeelHeight.4in...4.3.4in"]
    (root / "ut-zap50k-images").mkdir(parents=True)
    for shoe, answers in enumerate(np.random.default_rng(0).random((150, 66)) < 0.4):
        rows.append(f"{shoe}-1,{','.join(map(str, answers.astype(int)))},0,0,0")
        (root / "ut-zap50k-images" / f"{shoe}.1.jpg").write_bytes(image(shoe, 9, 12, "JPEG"))
    (root / "ut-zap50k-data").mkdir()
    (root / "ut-zap50k-data" / "meta-data-bin.csv").write_text("\n".join(rows))


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


GLYPHS = (
    "benchmark={name: glyphs, tasks: writers, writers: 12, base_alphabets: 1, val_alphabets: 1, "
    "novel_alphabets: 1, classes_per_alphabet: 2, examples: 60, image_size: 16}"
)
PRESETS = {
    "cifar": (write_cifar, [], ["PN", "FIX-PN", "FOMAML", "SB", "MB"]),
    "fc100": (write_cifar, [], ["PN"]),
    "metadl": (write_cifar, [], ["fo-MAML", "transfer"]),
    "mini": (write_mini, ["held_out=0.5"], ["PN"]),
    "tiered": (write_tiered, ["held_out=0.5"], ["PN"]),
    "zappos": (write_shoes, ["min_images=2", "training_tasks=8"], ["PN", "FOMAML"]),
}


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """The folder of a layout, which several presets read."""

    def written(write):
        root = tmp_path_factory.mktemp("layout") / "source"
        write(root)
        return root

    return cache(written)


@pytest.fixture(autouse=True)
def empty_home(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FSL_SWEEP_HOME", str(tmp_path / "home"))


def executed(run, preset, changes, methods):
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
    write, data, methods = PRESETS[preset]
    way = 2 if preset == "zappos" else 5
    changes = [*smaller(preset, way), f"episode={{way: {way}, shot: 1, query: 1}}"]
    data = [*data, "image_size=16", f"root={source(write)}"]
    changes += [f"benchmark.{change}" for change in data]
    executed("run", preset, changes, methods)
    if preset == "zappos":
        executed("other", preset, [*changes, "benchmark.name=zappos-ood"], ["PN"])


@pytest.mark.parametrize(("preset", "methods"), [("femnist", ["PN"]), ("writers", ["PN", "SB"])])
def test_methods_run_on_writers(preset, methods, source, tmp_path, capsys):
    data = GLYPHS if preset == "writers" else f"benchmark.root={source(write_leaf)}"
    prepared = executed("run", preset, [*smaller(preset), data], methods)
    plan = prepared.ledger.read_plan()
    for history in prepared.ledger.histories(plan):
        if history.method in methods:
            table = history.scores["novel", "report"]
            assert table.load().shape == (1, 2)
            assert table.means[0] == pytest.approx(table.load().mean())
    (tasks, *_) = sorted((tmp_path / "run" / "tasks" / plan.main.id).iterdir())
    episode = json.loads(tasks.read_text())["protocol"]["episode"]
    assert episode == {"way": "all", "shot": 1, "query": "rest"}
