"""FOMAML and MAML against plain autograd, explicit descent and finite differences."""

import copy
from typing import final

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy

from fsl_sweep.learners.backbones.base import Backbone
from fsl_sweep.learners.backbones.dropblock import DropSchedule, drop_blocks, one_training_step
from fsl_sweep.learners.batches import EpisodeBatch
from fsl_sweep.learners.building import build_learner
from fsl_sweep.learners.methods import maml as gradient_adaptation
from fsl_sweep.learners.methods.maml import Fomaml, GradientAdaptationOptions
from fsl_sweep.learners.options import Options

CONV = {"name": "conv4", "width": 3}
LINEAR = {"name": "identity"}


def build(name, backbone=CONV, image=(1, 16, 16), **options):
    options = {"name": name, "way": 3, "inner_steps": 3, "inner_lr": 0.1, **options}
    return build_learner(options, backbone, image, 5, seed=0).double()


def episodes(tasks=2, way=3, shot=2, query=3, image=(1, 16, 16), seed=0):
    draws = torch.Generator().manual_seed(seed)
    images = torch.randn(tasks, way, shot + query, *image, generator=draws, dtype=torch.float64)
    return EpisodeBatch(images[:, :, :shot], images[:, :, shot:])


def labels(way, examples):
    return torch.arange(way).repeat_interleave(examples)


def descended(learner, support, steps, lr):
    """A copy of the network after plain gradient descent on one task's support."""
    network = copy.deepcopy(learner)
    sgd = torch.optim.SGD(network.parameters(), lr=lr)
    for _ in range(steps):
        sgd.zero_grad()
        loss = cross_entropy(network(support.flatten(0, 1)), labels(*support.shape[:2]))
        loss.backward()
        sgd.step()
    network.zero_grad()
    return network


def gradients(learner):
    return {name: parameter.grad.clone() for name, parameter in learner.named_parameters()}


def loss_at(learner, batch):
    """The training loss without touching the learner's running averages or its gradients."""
    return copy.deepcopy(learner).training_loss(batch)


@pytest.mark.parametrize("together", [False, True])
def test_fomamls_gradient_is_the_query_gradient_at_the_adapted_weights(together, monkeypatch):
    monkeypatch.setattr(gradient_adaptation.GradientAdaptation, "_together", lambda *_: together)
    learner = build("fomaml", inner_steps=2)
    batch = episodes(tasks=2, shot=1, query=2)
    loss = learner.training_loss(batch)
    loss.backward()
    expected_loss, expected = 0.0, {}
    for support, query in zip(batch.support, batch.query, strict=True):
        network = descended(learner, support, 2, 0.1)
        task_loss = cross_entropy(network(query.flatten(0, 1)), labels(*query.shape[:2])) / 2
        task_loss.backward()
        expected_loss += task_loss.item()
        for name, gradient in gradients(network).items():
            expected[name] = expected.get(name, 0) + gradient
    np.testing.assert_allclose(loss.item(), expected_loss, rtol=1e-9)
    for name, gradient in gradients(learner).items():
        torch.testing.assert_close(gradient, expected[name], rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("together", [False, True])
def test_mamls_gradient_is_the_finite_difference_of_its_loss(together, monkeypatch):
    monkeypatch.setattr(gradient_adaptation.GradientAdaptation, "_together", lambda *_: together)
    learner = build("maml", LINEAR, (6, 1, 1))
    batch = episodes(image=(6, 1, 1))
    learner.training_loss(batch).backward()
    _assert_finite_differences(learner, batch, rtol=1e-6)


def test_mamls_gradient_through_convolutions_and_batch_norm_is_the_finite_difference():
    # Few inner steps and images, so that no ReLU or maximum changes sides within the difference.
    learner = build("maml", inner_steps=2)
    batch = episodes(tasks=1, shot=1, query=1)
    learner.training_loss(batch).backward()
    _assert_finite_differences(learner, batch, rtol=1e-3, entries=3)


def _assert_finite_differences(learner, batch, rtol, entries=None, width=1e-6):
    found = gradients(learner)
    for name, parameter in learner.named_parameters():
        flat = parameter.data.view(-1)
        order = found[name].flatten().abs().argsort(descending=True)
        for index in order[:entries].tolist():
            value = flat[index].item()
            sides = []
            for side in (width, -width):
                flat[index] = value + side
                sides.append(learner.training_loss(batch).item())
            flat[index] = value
            difference = (sides[0] - sides[1]) / (2 * width)
            given = found[name].view(-1)[index].item()
            np.testing.assert_allclose(given, difference, rtol=rtol, atol=2e-8, err_msg=name)


@pytest.mark.parametrize(
    ("batch_norm", "together"), [("batch", False), ("batch", True), ("running", False)]
)
@pytest.mark.parametrize("name", ["fomaml", "maml"])
def test_prediction_is_explicit_descent_for_the_steps_of_the_test(
    name, batch_norm, together, monkeypatch
):
    learner = build(name, batch_norm=batch_norm, inner_steps_test=4)
    learner.training_loss(episodes(seed=5))  # moves the running averages, where there are any
    monkeypatch.setattr(gradient_adaptation.GradientAdaptation, "_together", lambda *_: together)
    learner.eval()
    batch = episodes()
    logits = learner.predict(batch.support, batch.query.flatten(1, 2))
    for task, support in enumerate(batch.support):
        network = descended(learner, support, 4, 0.1)
        expected = network(batch.query[task].flatten(0, 1))
        torch.testing.assert_close(logits[task], expected, rtol=1e-7, atol=1e-9)
    assert not logits.requires_grad


def test_batch_statistics_leave_nothing_running_and_running_ones_move_in_training_only():
    batch = episodes()
    assert not any("running" in name for name in build("fomaml").state_dict())
    learner = build("fomaml", batch_norm="running")
    average = learner.backbone.blocks[0][1].running_mean
    before = average.clone()
    learner.training_loss(batch)
    assert not torch.equal(average, before)
    moved = average.clone()
    learner.eval().predict(batch.support, batch.query.flatten(1, 2))
    assert torch.equal(average, moved)


def test_in_test_only_batch_statistics_let_queries_see_one_another():
    batch = episodes()
    query = batch.query.flatten(1, 2)
    for batch_norm, seen in (("batch", True), ("running", False)):
        learner = build("fomaml", batch_norm=batch_norm).eval()
        whole = learner.predict(batch.support, query)
        part = learner.predict(batch.support, query[:, :4])
        assert torch.allclose(whole[:, :4], part) is not seen


@pytest.mark.parametrize("name", ["fomaml", "maml"])
def test_tasks_of_another_way_are_refused_with_both_numbers(name):
    batch = episodes(way=4)
    with pytest.raises(ValueError, match="answers 3-way tasks; these are 4-way"):
        build(name).training_loss(batch)
    with pytest.raises(ValueError, match="answers 3-way tasks; these are 4-way"):
        build(name).eval().predict(batch.support, batch.query.flatten(1, 2))


@pytest.mark.parametrize(
    ("name", "backbone", "options", "in_training", "in_test"),
    [
        ("fomaml", CONV, {}, True, True),
        # The second derivatives of batch norm are wrong together.
        ("maml", CONV, {}, False, True),
        ("fomaml", CONV, {"batch_norm": "running"}, False, True),
        ("fomaml", {"name": "resnet12"}, {}, False, True),
        ("maml", LINEAR, {}, True, True),
    ],
    ids=str,
)
def test_tasks_go_together_where_that_is_right(name, backbone, options, in_training, in_test):
    learner = build(name, backbone, **options)
    gpu, cpu = torch.device("cuda"), torch.device("cpu")
    assert learner._together(gpu) is in_training
    assert learner.eval()._together(gpu) is in_test
    assert learner._together(cpu) is (backbone is LINEAR)


@final
class Dropping(Backbone):
    """DropBlock of single units, and nothing else."""

    Options = Options

    def __init__(self, options, image_shape):
        super().__init__(options, image_shape)
        self.feature_dim = image_shape[0]
        self.drop = DropSchedule(0.5, 4)

    def forward(self, images):
        if self.training:
            images = drop_blocks(images, self.drop.rate, 1, self.drop.advance(images.device))
        return images.flatten(1)


def test_all_passes_of_a_training_step_are_one_step_of_the_drop_schedule():
    options = GradientAdaptationOptions(way=3, inner_steps=2)
    learner = Fomaml(Dropping(Options(), (6, 1, 1)), options, 5).double()
    schedule = learner.backbone.drop
    batch = episodes(image=(6, 1, 1))
    losses = []
    for _ in range(2):
        with one_training_step(learner):
            losses.append(learner.training_loss(batch).item())
    assert int(schedule.step) == 2
    assert schedule.rate == 0.25
    learner.eval().predict(batch.support, batch.query.flatten(1, 2))
    assert int(schedule.step) == 2
    assert len(set(losses)) == 2


def test_each_pass_of_a_training_step_draws_anew_and_a_lone_pass_as_ever():
    schedule, other = DropSchedule(0.5, 4), DropSchedule(0.5, 4)
    other.load_state_dict(schedule.state_dict())
    with one_training_step(torch.nn.ModuleList([schedule])):
        seeds = [schedule.advance(torch.device("cpu")).initial_seed() for _ in range(3)]
    assert len(set(seeds)) == 3
    other.advance(torch.device("cpu"))
    assert torch.equal(other.step, schedule.step)
    assert (
        schedule.advance(torch.device("cpu")).initial_seed()
        == other.advance(torch.device("cpu")).initial_seed()
    )
