"""DropBlock's rate follows the training steps of the real training loop, and nothing else."""

from typing import final

import pytest
import torch
from made import benchmark, trainable
from trained import drawn, measured

from fsl_sweep.learners.backbones.base import Backbone
from fsl_sweep.learners.backbones.dropblock import DropSchedule, drop_blocks
from fsl_sweep.learners.backbones.resnet12 import ResNet12Options
from fsl_sweep.learners.catalogue import LEARNERS
from fsl_sweep.learners.options import Options, resolve
from fsl_sweep.orchestrator.trial.training import Training

FULL = 20_000  # training steps; the original counts 40,000 passes, two a step
RATE = 0.1

EPISODES = {"way": 3, "shot": 1, "query": 2, "tasks_per_batch": 2}
STAGED = {"batch_size": 8, "meta": {**EPISODES, "epochs": 2}}
TRIED = {
    "separate": ({"name": "protonet"}, EPISODES),
    "joint": ({"name": "protonet", "passes": "joint"}, EPISODES),
    "of differing shapes": ({"name": "protonet"}, {**EPISODES, "query_counts": "multinomial"}),
    "fomaml": ({"name": "fomaml", "way": 3}, EPISODES),
    "batches, then episodes": ({"name": "meta-baseline"}, STAGED),
}


@final
class Dropping(Backbone):
    """A linear layer, and DropBlock of single units on the schedule of a ResNet-12."""

    Options = Options

    def __init__(self, options, image_shape):
        super().__init__(options, image_shape)
        self.feature_dim = 6
        self.layer = torch.nn.Linear(16 * 16, 6)
        self.drop = DropSchedule(RATE, ResNet12Options().drop_steps)

    def forward(self, images):
        features = self.layer(images.flatten(1))[:, :, None, None]
        if self.training:
            draws = self.drop.advance(images.device)
            features = drop_blocks(features, self.drop.rate, 1, draws)
        return features.flatten(1)


def made(spec, data):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        cls, options = resolve(LEARNERS, {"name": spec.learner.name, **spec.learner.options})
        return cls(Dropping(Options(), data.image_shape), options, 12)


@pytest.mark.parametrize("kind", TRIED)
def test_the_rate_is_full_after_20_000_training_steps(kind):
    data = benchmark()
    learner, train = TRIED[kind]
    spec = trainable(learner=learner, train=train, batches=3, epochs=3)
    one = made(spec, data)
    run, schedule = Training(spec, data, one, torch.device("cpu")), one.backbone.drop
    for epoch in (1, 2, 3):
        rates = [schedule.rate for _ in run.epoch(epoch)]
        steps = [3 * (epoch - 1) + step for step in (1, 2, 3)]
        assert rates == pytest.approx([RATE * step / FULL for step in steps], rel=1e-12)
    state = {**one.state_dict(), "backbone.drop.step": torch.tensor(FULL - 2)}
    one.load_state_dict(state)
    rates = [schedule.rate for _ in run.epoch(3)]
    assert rates == pytest.approx([RATE * (FULL - 1) / FULL, RATE, RATE], rel=1e-12)


@pytest.mark.parametrize("kind", ["separate", "fomaml"])
def test_nothing_is_dropped_and_no_step_counted_when_a_snapshot_is_measured(kind):
    """In the released code of the papers FOMAML is tested as it is trained, dropout included."""
    data = benchmark()
    learner, train = TRIED[kind]
    spec = trainable(learner=learner, train=train)
    one, other = made(spec, data), made(spec, data)
    other.load_state_dict(one.state_dict())
    one.backbone.drop.final_rate, other.backbone.drop.final_rate = 0.9, 0.0
    for each in (one, other):
        each.load_state_dict({**each.state_dict(), "backbone.drop.step": torch.tensor(FULL)})
    tasks = drawn(data, 6, 2)
    found, expected = (measured(data, tasks, each.train()) for each in (one, other))
    for key, scores in expected.items():
        assert found[key].correct.tolist() == scores.correct.tolist()
    assert int(one.backbone.drop.step) == FULL
