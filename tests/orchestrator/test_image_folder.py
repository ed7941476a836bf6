"""One's own images, split by superclass, from a tree to measured snapshots."""

import json

import numpy as np
import pytest
import yaml
from PIL import Image

from fsl_sweep.orchestrator.cli import invoke

SWEEP = {
    "name": "own",
    "benchmark": {"name": "image-folder", "by": "superclass", "image_size": 16, "held_out": 0.4},
    "episode": {"way": 3, "shot": 1, "query": 2},
    "evaluation": {"selection_tasks": 60, "report_tasks": 60},
    "defaults": {
        "backbone": {"name": "conv4", "width": 8},
        "optimizer": {"lr": 0.01},
        "epochs": 1,
        "batches": 30,
        "train": {"way": 3, "shot": 1, "query": 2, "tasks_per_batch": 1},
    },
    "methods": {"PN": {"learner": {"name": "protonet"}}, "RR": {"learner": {"name": "ridge"}}},
}


@pytest.fixture
def tree(tmp_path):
    """Six superclasses of four classes; a class is a colour, with noise."""
    rng = np.random.default_rng(0)
    for group in range(6):
        for number in range(4):
            folder = tmp_path / "images" / f"group{group}" / f"class{group}{number}"
            folder.mkdir(parents=True)
            colour = rng.integers(0, 256, 3)
            for image in range(10):
                pixels = (colour + rng.normal(0, 10, (16, 20, 3))).clip(0, 255)
                Image.fromarray(pixels.astype(np.uint8)).save(folder / f"{image}.png")
    return tmp_path / "images"


@pytest.mark.slow
def test_superclasses_are_whole_and_colours_are_told_apart(tree, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FSL_SWEEP_HOME", str(tmp_path / "home"))
    benchmark = {**SWEEP["benchmark"], "root": str(tree)}
    (tmp_path / "s.yaml").write_text(yaml.safe_dump({**SWEEP, "benchmark": benchmark}))
    for index in ("0", "1"):
        assert invoke(["trial", "s.yaml", "--index", index]) == 0
    capsys.readouterr()
    assert invoke(["report", "runs/own", "--format", "json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["run"]["complete"] is True
    for row in report["summary"]:
        assert row["novel"]["mean"] > 0.5  # chance is a third
    groups = []
    for split in ("base", "val", "novel"):
        (path,) = tmp_path.glob(f"runs/own/tasks/*/{split}-report.json")
        tasks = json.loads(path.read_text())
        groups.append({label // 4 for label in np.ravel(tasks["classes"])})
    assert [len(found) for found in groups] == [4, 1, 1]
    assert set().union(*groups) == set(range(6))
