"""Every learner trains on the embedded benchmark, through real Ray, to clearly above chance."""

import json
import subprocess
import sys

import pytest
import yaml

from fsl_sweep.learners.catalogue import LEARNERS

pytestmark = pytest.mark.slow

WAY = 3
# Classes of novel alphabets that are drawn steadily: easy enough to be learned in seconds.
HEAD = """
name: every-learner
benchmark:
  {name: glyphs, base_alphabets: 2, val_alphabets: 2, novel_alphabets: 3, classes_per_alphabet: 6,
   examples: 20, image_size: 16, wobble: 0.06, drift: 0.05}
episode: {way: 3, shot: 1, query: 3}
evaluation: {selection_tasks: 20, report_tasks: 150, every: 2}
defaults:
  backbone: {name: conv4, width: 16}
  optimizer: {name: sgd, lr: 0.05}
  epochs: 2
  batches: 40
selectors: {snapshot: [last], hyperparameter: [val]}
resources: {cpu: 1, gpu: 0.0}
"""
EPISODES = {"way": 3, "shot": 1, "query": 5, "tasks_per_batch": 4}
BATCHES = {"batch_size": 24}
STAGES = {**BATCHES, "meta": {**EPISODES, "epochs": 1}}
ADAPTING = {"way": 3, "inner_lr": 0.4, "inner_steps": 3, "inner_steps_test": 5}
# Options beside the name, and what it trains on. The challenge's transfer baseline is close to
# chance with its own ten small steps, as the paper reports: it is given more here.
TRIED = {
    "protonet": ({}, EPISODES),
    "ridge": ({}, EPISODES),
    "svm": ({}, EPISODES),
    "fomaml": (ADAPTING, EPISODES),
    "maml": (ADAPTING, EPISODES),
    "supervised": ({}, BATCHES),
    "meta-baseline": ({}, STAGES),
    "ncc": ({}, BATCHES),
    "logistic": ({}, BATCHES),
    "finetune": ({}, BATCHES),
    "transfer": ({"steps": 50, "lr": 0.05}, BATCHES),
    "metadelta": ({"encoders": 2}, BATCHES),
    "pt-map": ({}, BATCHES),
    "conv-qda": ({}, EPISODES),
}


def sweep_file():
    methods = {
        name: {"learner": {"name": name, **options}, "train": train}
        for name, (options, train) in TRIED.items()
    }
    return HEAD + yaml.safe_dump({"methods": methods})


@pytest.fixture(scope="module")
def novel(tmp_path_factory):
    """NovelGen of each method on the report tasks, with its interval over tasks."""
    folder = tmp_path_factory.mktemp("every-learner")
    (folder / "sweep.yaml").write_text(sweep_file())
    command = [sys.executable, "-m", "fsl_sweep.orchestrator.cli"]
    run = [*command, "run", str(folder / "sweep.yaml"), "-o", str(folder / "run")]
    done = subprocess.run(run, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr
    report = [*command, "report", str(folder / "run"), "--format", "json"]
    told = subprocess.run(report, capture_output=True, text=True, timeout=120, check=True)
    return {one["method"]: one["novel"] for one in json.loads(told.stdout)["selections"]}


def test_no_learner_is_left_out():
    # These two are not measured on novel classes from a file alone: the classifier answers base
    # classes, and a program comes from a plug-in. Their own tests train them to above chance.
    elsewhere = {"classifier", "metadl"}
    assert set(TRIED) | elsewhere == set(LEARNERS.names())


@pytest.mark.parametrize("learner", TRIED)
def test_it_learns(novel, learner):
    assert novel[learner]["n"] == 150
    assert novel[learner]["low"] > 1 / WAY + 0.1
