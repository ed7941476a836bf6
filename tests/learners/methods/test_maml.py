"""FOMAML and MAML against plain autograd, explicit descent and finite differences."""

import copy
from functools import partial

import numpy as np
import pytest
import small
import torch
from small import IDENTITY, SHAPE
from torch.nn.functional import cross_entropy

from fsl_sweep.learners.methods.maml import GradientAdaptation

CONV = {"name": "conv4", "width": 3}
VECTOR = 6, 1, 1


def build(name, backbone=CONV, shape=SHAPE, **options):
    options = {"way": 3, "inner_steps": 3, "inner_lr": 0.1, **options}
    return small.build(name, backbone, shape, **options).double()


def episodes(**sizes):
    return small.episodes(**{"query": 3, "dtype": torch.float64, **sizes})


def predicted(learner, batch):
    return learner.eval().predict(batch.support, batch.query.flatten(1, 2))


def loss_of(network, images):
    labels = torch.arange(len(images)).repeat_interleave(images.shape[1])
    return cross_entropy(network(images.flatten(0, 1)), labels)


def descended(learner, support, steps):
    """A copy of the network after plain gradient descent on one task's support."""
    network = copy.deepcopy(learner)
    sgd = torch.optim.SGD(network.parameters(), lr=0.1)
    for _ in range(steps):
        sgd.zero_grad()
        loss_of(network, support).backward()
        sgd.step()
    network.zero_grad()
    return network


@pytest.mark.parametrize("together", [False, True])
def test_fomamls_gradient_is_the_query_gradient_at_the_adapted_weights(together, monkeypatch):
    monkeypatch.setattr(GradientAdaptation, "_together", lambda *_: together)
    learner, batch = build("fomaml", inner_steps=2), episodes(shot=1, query=2)
    loss = learner.training_loss(batch)
    loss.backward()
    networks = [descended(learner, support, 2) for support in batch.support]
    losses = [loss_of(*pair) / 2 for pair in zip(networks, batch.query, strict=True)]
    np.testing.assert_allclose(loss.item(), sum(losses).item(), rtol=1e-9)
    sum(losses).backward()
    for mean, *parts in zip(*(n.parameters() for n in (learner, *networks)), strict=True):
        expected = sum(part.grad for part in parts)
        torch.testing.assert_close(mean.grad, expected, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(
    ("together", "network", "steps", "sizes", "rtol"),
    [
        (False, (IDENTITY, VECTOR), 3, {"shape": VECTOR}, 1e-6),
        (True, (IDENTITY, VECTOR), 3, {"shape": VECTOR}, 1e-6),
        # Few inner steps and images, so that no ReLU or maximum changes sides.
        (False, (CONV, SHAPE), 2, {"tasks": 1, "shot": 1, "query": 1}, 1e-3),
    ],
)
def test_mamls_gradient_is_the_finite_difference_of_its_loss(
    together, network, steps, sizes, rtol, monkeypatch
):
    monkeypatch.setattr(GradientAdaptation, "_together", lambda *_: together)
    learner, batch = build("maml", *network, inner_steps=steps), episodes(**sizes)
    entries = 3 if network[0] is CONV else None  # of each parameter
    learner.training_loss(batch).backward()
    for name, parameter in learner.named_parameters():
        flat, slopes = parameter.data.view(-1), parameter.grad.flatten()
        for index in slopes.abs().argsort(descending=True)[:entries].tolist():
            value, sides = flat[index].item(), []
            for side in (1e-6, -1e-6):
                flat[index] = value + side
                sides.append(learner.training_loss(batch).item())
            flat[index] = value
            slope = (sides[0] - sides[1]) / 2e-6
            np.testing.assert_allclose(slopes[index], slope, rtol=rtol, atol=2e-8, err_msg=name)


@pytest.mark.parametrize(
    ("batch_norm", "together"), [("batch", False), ("batch", True), ("running", False)]
)
@pytest.mark.parametrize("name", ["fomaml", "maml"])
def test_prediction_is_explicit_descent_for_the_steps_of_the_test(
    name, batch_norm, together, monkeypatch
):
    learner, batch = build(name, batch_norm=batch_norm, inner_steps_test=4), episodes()
    learner.training_loss(episodes(seed=5))  # moves the running averages, where there are any
    monkeypatch.setattr(GradientAdaptation, "_together", lambda *_: together)
    logits = predicted(learner, batch)
    for task, support in enumerate(batch.support):
        expected = descended(learner, support, 4)(batch.query[task].flatten(0, 1))
        torch.testing.assert_close(logits[task], expected, rtol=1e-7, atol=1e-9)
    assert not logits.requires_grad


@pytest.mark.parametrize("batch_norm", ["batch", "running"])
def test_batch_statistics_let_queries_see_one_another_and_running_ones_move_in_training(batch_norm):
    learner, batch = build("fomaml", batch_norm=batch_norm), episodes()
    norm, averages = learner.backbone.blocks[0][1], []
    for use in (str, learner.training_loss, partial(predicted, learner)):
        logits = use(batch)
        averages.append(repr(norm.running_mean))
    part = learner.predict(batch.support, batch.query.flatten(1, 2)[:, :4])
    running = batch_norm == "running"
    assert torch.allclose(logits[:, :4], part) is running
    assert (averages[0] != "None", averages[0] != averages[1]) == (running, running)
    assert averages[1] == averages[2]


@pytest.mark.parametrize(
    ("name", "backbone", "options", "in_training", "in_test"),
    [
        ("fomaml", CONV, {}, True, True),
        # The second derivatives of batch norm are wrong together.
        ("maml", CONV, {}, False, True),
        ("fomaml", CONV, {"batch_norm": "running"}, False, True),
        ("fomaml", {"name": "resnet12"}, {}, False, True),
        ("maml", IDENTITY, {}, True, True),
    ],
    ids=str,
)
def test_tasks_go_together_where_that_is_right(name, backbone, options, in_training, in_test):
    learner = build(name, backbone, **options)
    assert learner._together(torch.device("cuda")) is in_training
    assert learner.eval()._together(torch.device("cuda")) is in_test
    assert learner._together(torch.device("cpu")) is (backbone is IDENTITY)
