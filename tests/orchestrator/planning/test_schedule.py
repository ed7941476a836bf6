"""Schedules against torch's own schedulers, and optimizers against their definitions."""

import planning_of
import pytest
import torch
from planning_of import replaced
from torch import nn
from torch.optim.lr_scheduler import CosineAnnealingLR, LinearLR, SequentialLR

from fsl_sweep.orchestrator.planning.schedule import resolved_schedule
from fsl_sweep.orchestrator.records.spec import Optimizer
from fsl_sweep.orchestrator.trial.training import learning_rate, make_optimizer

FILE = """
name: tiny
benchmark: {name: glyphs}
defaults: {backbone: {name: conv4}, epochs: 12}
methods:
  M: {learner: {name: protonet}, optimizer: OPTIMIZER, schedule: SCHEDULE}
"""


def planned(optimizer="{lr: 0.1}", schedule="{}"):
    return planning_of.planned(replaced(FILE, OPTIMIZER=optimizer, SCHEDULE=schedule))


def mistake(**options):
    return planning_of.mistake(planned, **options).removeprefix("methods.M.")


@pytest.mark.parametrize(("epochs", "warmup"), [(1, 0), (12, 0), (12, 5), (60, 1), (7, 6)])
def test_cosine_rates_are_those_of_torchs_schedulers(epochs, warmup):
    optimizer = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=0.3)
    annealing = CosineAnnealingLR(optimizer, T_max=epochs - warmup)
    scheduler = annealing
    if warmup:
        optimizer = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=0.3)
        rise = LinearLR(optimizer, start_factor=1 / (warmup + 1), total_iters=warmup)
        annealing = CosineAnnealingLR(optimizer, T_max=epochs - warmup)
        scheduler = SequentialLR(optimizer, [rise, annealing], milestones=[warmup])
    rates = resolved_schedule({"cosine": {"warmup": warmup}}, 0.3, epochs)
    assert len(rates) == epochs
    for epoch in range(1, epochs + 1):
        (expected,) = scheduler.get_last_lr()
        assert learning_rate(rates, epoch) == pytest.approx(expected, rel=1e-9)
        assert learning_rate(rates, epoch) > 0
        optimizer.step()
        scheduler.step()


def test_a_cosine_is_part_of_a_plan_and_its_warmup_may_be_an_axis():
    plan = planned(schedule="{cosine: {warmup: {grid: [0, 5]}}}")
    assert [t.hyperparameters for t in plan.trials] == [
        {"schedule.cosine.warmup": 0},
        {"schedule.cosine.warmup": 5},
    ]
    assert plan.cautions == ()
    assert plan.trials[0].spec.schedule[0] == (0, 0.1)
    assert plan.trials[1].spec.schedule[:2] == [(0, 0.0166666666667), (1, 0.0333333333333)]
    assert plan.trials[1].spec.schedule[5] == (5, 0.1)


@pytest.mark.parametrize(
    ("schedule", "message"),
    [
        (
            "{cosine: {warmup: 5}, 20: 0.1}",
            "schedule.cosine: sets the rate of every epoch, so leave out 20",
        ),
        ("{cosine: {warmup: 12}}", "schedule.cosine.warmup: a rise over 12 of 12 epochs leaves "),
        ("{cosine: {warmup: -1}}", "schedule.cosine.warmup: input should be greater than or equal"),
        (
            "{cosine: {warm_up: 5}}",
            "schedule.cosine.warm_up: unknown key 'warm_up'; did you mean 'warmup'?",
        ),
        ("{cosine: 5}", "schedule.cosine: must be a mapping such as {warmup: ...}, not 5"),
        ("cosine", "schedule: write {cosine: {}}, or {cosine: {warmup: 5}} for a rise over 5 "),
        (
            "{cosine: {warmup: [0, 5]}}",
            "schedule.cosine.warmup: is one value; to train with each of these, write "
            "{grid: [0, 5]}",
        ),
        ("{cosin: {warmup: 5}}", "schedule.cosin: 'cosin' is not an epoch from 0 on, nor "),
    ],
)
def test_mistakes_in_a_cosine_are_told(schedule, message):
    assert mistake(schedule=schedule).startswith(message)


def test_adamw_decays_weights_apart_from_the_gradient():
    layer = nn.Linear(3, 2)
    before = [p.detach().clone() for p in layer.parameters()]
    optimizer = make_optimizer(layer, Optimizer(name="adamw", lr=0.01, weight_decay=0.2))
    for p in layer.parameters():
        p.grad = torch.full_like(p, 7.0)
    optimizer.step()
    # Algorithm 2 of arXiv 1711.05101 at its first step: the moments' quotient is the sign.
    for now, was in zip(layer.parameters(), before, strict=True):
        torch.testing.assert_close(now.detach(), was - 0.01 * 0.2 * was - 0.01)


def test_the_canonical_forms_of_optimizers():
    usual = {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 5e-4}
    assert Optimizer(lr=0.1).model_dump() == {"name": "sgd", **usual}
    assert Optimizer(name="adam", lr=0.1).model_dump() == {"name": "adam", **usual}
    assert Optimizer(name="adamw", lr=0.1, clip_norm=1.0).model_dump() == {
        "name": "adamw",
        "lr": 0.1,
        "weight_decay": 5e-4,
        "clip_norm": 1.0,
    }


@pytest.mark.parametrize("name", ["adam", "adamw"])
def test_what_only_sgd_uses_is_told(name):
    plan = planned(f"{{name: {name}, lr: 0.1, momentum: 0.9, nesterov: true}}")
    assert plan.cautions == (f"M: momentum and nesterov are sgd's, not used by {name}",)
    assert planned(f"{{name: {name}, lr: 0.1}}").cautions == ()
    axis = f"{{name: {name}, lr: 0.1, momentum: {{grid: [0.5, 0.9]}}}}"
    assert mistake(optimizer=axis) == (
        f"optimizer.momentum: {name} has no momentum: all values of this axis train alike; "
        "make a method of each optimizer"
    )
