"""Attribute pairs through planning and training: what can be trained on them, and how."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
import yaml

from fsl_sweep.datasets.preparing.opening import open_benchmark
from fsl_sweep.datasets.tasks.attributes import FixedTasks
from fsl_sweep.datasets.tasks.episodes import EpisodeShape
from fsl_sweep.learners.building import build_learner
from fsl_sweep.orchestrator.cli import invoke
from fsl_sweep.orchestrator.errors import BadData
from fsl_sweep.orchestrator.planning.feasibility import check_feasible
from fsl_sweep.orchestrator.planning.plan_sweep import plan_sweep
from fsl_sweep.orchestrator.records.protocol import MAIN
from fsl_sweep.orchestrator.sweepfile.reading import load_sweep
from fsl_sweep.orchestrator.trial.training import Training

SWEEP = yaml.safe_load("""
name: pairs
benchmark: {name: glyphs, tasks: attributes-ood, image_size: 16, examples: 20, held_out: 0.6,
            training_tasks: 6}
episode: {way: 2, shot: 1, query: 2}
evaluation: {selection_tasks: 20, report_tasks: 20}
defaults: {backbone: {name: conv4, width: 4}, optimizer: {lr: 0.1}, epochs: 2, batches: 3,
           augment: crop-jitter-flip}
""")
PN = {
    "learner": {"name": "protonet"},
    "train": {"way": 2, "shot": 1, "query": 2, "tasks_per_batch": 2},
}


@pytest.fixture(scope="module")
def benchmark(tmp_path_factory):
    options = {key: value for key, value in SWEEP["benchmark"].items() if key != "name"}
    return open_benchmark("glyphs", options, None, tmp_path_factory.mktemp("home"))


def sweep(**method):
    return {**SWEEP, "methods": {"M": {**PN, **method}}}


def planned(*overrides, **method):
    return plan_sweep(load_sweep(sweep(**method), overrides))


@pytest.mark.parametrize(
    ("learner", "train"),
    [
        ("supervised", {"batch_size": 8}),
        (
            "meta-baseline",
            {"batch_size": 8, "meta": {"epochs": 1, "way": 2, "shot": 1, "query": 2}},
        ),
    ],
)
def test_batches_of_labels_are_refused_where_images_have_none(tmp_path, benchmark, learner, train):
    plan = planned(learner={"name": learner}, train=train)
    with pytest.raises(BadData, match=f"M: {learner} trains on batches of labelled images, but"):
        check_feasible(plan, {MAIN: benchmark})
    classes = open_benchmark("glyphs", {"examples": 20, "image_size": 16}, None, tmp_path)
    check_feasible(plan, {MAIN: classes})


def test_a_fixed_support_is_refused(benchmark):
    train = {"way": 2, "shot": 1, "query": 2, "fixed_support": True}
    with pytest.raises(BadData, match=r"M.*fixed_support.*attributes"):
        check_feasible(planned(train=train), {MAIN: benchmark})


def test_other_ways_than_two_are_refused(benchmark):
    with pytest.raises(BadData, match=r"M, base tasks: .* have 2 classes.*not 5; write `way: 2`"):
        check_feasible(planned("episode.way=5"), {MAIN: benchmark})
    check_feasible(planned(), {MAIN: benchmark})


def test_training_goes_over_the_fixed_tasks_and_augments_their_images(benchmark, monkeypatch):
    (trial,) = planned().trials
    spec = trial.spec
    parts = ({"name": named.name, **named.options} for named in (spec.learner, spec.backbone))
    learner = build_learner(*parts, benchmark.image_shape, benchmark.n_base_classes, 0)
    run = Training(spec, benchmark, learner, torch.device("cpu"))
    rectangular, seen = run._rectangular, []

    def watched(episodes, draws):
        indices = np.concatenate([episodes.support, episodes.query], axis=2)
        batch = rectangular(episodes, draws)
        seen.append((indices, torch.cat([batch.support, batch.query], dim=2)))
        return batch

    monkeypatch.setattr(run, "_rectangular", watched)
    losses = [float(loss) for epoch in (1, 2) for loss in run.epoch(epoch)]
    assert np.isfinite(losses).all()
    assert isinstance(benchmark.train, FixedTasks)
    kept = benchmark.train.episodes(EpisodeShape(2, 1, 2))
    tasks = np.concatenate([kept.support, kept.query], axis=2)
    images = []
    for epoch in (seen[:3], seen[3:]):
        taken = {
            row.tobytes(): shown
            for rows, given in epoch
            for row, shown in zip(rows, given, strict=True)
        }
        assert set(taken) == {row.tobytes() for row in tasks}  # three steps of two: a pass over six
        images.append(taken[tasks[0].tobytes()])
    assert not torch.equal(*images)  # the same task, its images augmented afresh


@pytest.mark.slow
def test_a_trial_on_attribute_pairs_runs_to_its_report(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FSL_SWEEP_HOME", str(tmp_path / "home"))
    Path("s.yaml").write_text(yaml.safe_dump(sweep()))
    assert invoke(["trial", "s.yaml", "--index", "0", "-o", "run"]) == 0, capsys.readouterr().err
    (path,) = tmp_path.glob("run/tasks/*/novel-report.json")
    tuples = json.loads(path.read_text())["classes"]
    assert all(one < other < 10 for one, other in tuples)
    capsys.readouterr()
    assert invoke(["report", "run", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["run"]["done"] == 1
