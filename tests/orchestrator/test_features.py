"""A benchmark of features through planning, training and measurement."""

import numpy as np
import pytest
import yaml
from sklearn.neighbors import KNeighborsClassifier
from trained import CPU, drawn, measured

from fsl_sweep.datasets.preparing.opening import open_benchmark
from fsl_sweep.learners.building import build_learner
from fsl_sweep.orchestrator.cli import invoke
from fsl_sweep.orchestrator.errors import ConfigError
from fsl_sweep.orchestrator.measuring.images import PoolImages
from fsl_sweep.orchestrator.planning.plan_sweep import plan_sweep
from fsl_sweep.orchestrator.records.protocol import Episode
from fsl_sweep.orchestrator.sweepfile.reading import load_sweep

SWEEP = {
    "name": "frozen",
    "benchmark": {"name": "features", "root": "f.npz"},
    "episode": {"way": 3, "shot": 2, "query": 2},
    "evaluation": {"selection_tasks": 30, "report_tasks": 30},
    "defaults": {
        "backbone": {"name": "identity"},
    },
    "methods": {
        "NCC": {"learner": {"name": "ncc"}},
        "LR": {"learner": {"name": "logistic"}},
        "FT": {"learner": {"name": "finetune", "steps": 5}},
    },
}


@pytest.fixture
def source(tmp_path):
    """Clusters far from 0 and of very different scales, as extractors give them."""
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(20), 25)
    features = rng.normal(size=(20, 16))[labels] + 2 * rng.normal(size=(500, 16)) + 50
    np.savez(tmp_path / "f.npz", features=features * np.logspace(-2, 2, 16), labels=labels)
    return tmp_path / "f.npz"


@pytest.fixture
def data(source, tmp_path):
    return open_benchmark("features", {}, source, tmp_path / "home")


def test_features_reach_a_learner_as_they_are(data, source):
    images = PoolImages(data.train.pool, data, CPU)
    indices = np.array([[3, 17], [499, 3]])
    given = images.normalised(images.unit(indices))
    expected = np.load(source)["features"].astype(np.float32)[indices]
    np.testing.assert_array_equal(given.numpy()[..., 0, 0], expected)


def test_nearest_centroids_are_those_of_scikit_learn(data):
    tasks = drawn(data, 60, 10, episode=Episode(way=3, shot=2, query=2))
    learner = build_learner({"name": "ncc"}, {"name": "identity"}, data.image_shape, 12, 0)
    scores = measured(data, tasks, learner)
    rows = data.novel.pool.images[:, :, 0, 0].astype(np.float64)
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    episodes = tasks.episodes["novel", "selection"]
    correct = []
    for support, query in zip(episodes.support, episodes.query, strict=True):
        centroids = unit[support].mean(axis=1)
        centroids /= np.linalg.norm(centroids, axis=1, keepdims=True)
        nearest = KNeighborsClassifier(1).fit(centroids, [0, 1, 2])
        correct.append((nearest.predict(unit[query.ravel()]) == np.repeat([0, 1, 2], 2)).sum())
    np.testing.assert_array_equal(scores["novel", "selection"].correct, correct)
    assert 60 < sum(correct) < 360  # neither chance nor certain: a wrong scale would show


@pytest.mark.slow
def test_a_comparison_of_frozen_features_runs(source, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FSL_SWEEP_HOME", str(tmp_path / "home"))
    (tmp_path / "s.yaml").write_text(yaml.safe_dump(SWEEP))
    for index, method in enumerate(("FT", "LR", "NCC")):
        assert invoke(["trial", "s.yaml", "--index", str(index), "-o", "run"]) == 0
        assert f"{method} seed=0: done" in capsys.readouterr().out
    assert invoke(["report", "run"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "is trained: more seeds change at most what a learner draws itself. " in said
    assert " left out" not in said
    assert invoke(["data", "check", "features", "--root", "f.npz"]) == 0
    assert "features: 16, fingerprint" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("section", "value", "message"),
    [
        (
            "backbone",
            {"name": "conv4"},
            "methods.RR.backbone.name: 'conv4' takes images, but benchmark 'features' holds "
            "features of a frozen extractor; use 'identity'",
        ),
        (
            "backbone",
            {"name": "torchvision:resnet18"},
            "methods.RR.backbone.name: 'torchvision:resnet18' takes images, but ",
        ),
        (
            "augment",
            "crop-jitter-flip",
            "methods.RR.augment: 'crop-jitter-flip' changes images, but benchmark 'features' "
            "holds features of a frozen extractor; write 'augment: none'",
        ),
    ],
)
def test_what_needs_images_is_refused_by_the_plan(tmp_path, section, value, message):
    own = {"learner": {"name": "ridge"}, "optimizer": {"lr": 0.1}, section: value}
    tree = {**SWEEP, "methods": {"RR": own}}
    (tmp_path / "s.yaml").write_text(yaml.safe_dump(tree))
    with pytest.raises(ConfigError) as caught:
        plan_sweep(load_sweep(str(tmp_path / "s.yaml")))
    assert str(caught.value).removeprefix(f"{tmp_path}/s.yaml: ").startswith(message)
