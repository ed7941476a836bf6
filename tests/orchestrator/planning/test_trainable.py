"""Attribute pairs through planning and training: what can be trained on them, and how."""

import numpy as np
import pytest
import torch
import yaml
from planning_of import planned

from fsl_sweep.datasets.preparing.opening import open_benchmark
from fsl_sweep.datasets.tasks.attributes import FixedTasks
from fsl_sweep.datasets.tasks.episodes import EpisodeShape
from fsl_sweep.learners.building import build_learner
from fsl_sweep.orchestrator.trial.training import Training

SWEEP = """
name: pairs
benchmark: {name: glyphs, tasks: attributes-ood, image_size: 16, examples: 20, held_out: 0.6,
            training_tasks: 6}
episode: {way: 2, shot: 1, query: 2}
evaluation: {selection_tasks: 20, report_tasks: 20}
defaults: {backbone: {name: conv4, width: 4}, optimizer: {lr: 0.1}, epochs: 2, batches: 3,
           augment: crop-jitter-flip}
methods:
  M: {learner: {name: protonet}, train: {way: 2, shot: 1, query: 2, tasks_per_batch: 2}}
"""


@pytest.fixture(scope="module")
def benchmark(tmp_path_factory):
    options = yaml.safe_load(SWEEP)["benchmark"]
    return open_benchmark(options.pop("name"), options, None, tmp_path_factory.mktemp("home"))


def test_training_goes_over_the_fixed_tasks_and_augments_their_images(benchmark, monkeypatch):
    (trial,) = planned(text=SWEEP).trials
    spec = trial.spec
    parts = (spec.learner.model_dump(), spec.backbone.model_dump())
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
