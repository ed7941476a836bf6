"""Schedules against torch's own schedulers, and optimizers against their definitions."""

import pytest
import torch
from planning_of import planned
from torch import nn
from torch.optim.lr_scheduler import CosineAnnealingLR, LinearLR, SequentialLR

from fsl_sweep.orchestrator.planning.schedule import resolved_schedule
from fsl_sweep.orchestrator.records.spec import Optimizer
from fsl_sweep.orchestrator.trial.training import learning_rate, make_optimizer


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
    plan = planned("defaults.schedule={cosine: {warmup: {grid: [0, 5]}}}", "defaults.epochs=12")
    first, second = plan.trials
    axes = [{"schedule.cosine.warmup": 0}, {"schedule.cosine.warmup": 5}]
    assert [first.hyperparameters, second.hyperparameters] == axes
    assert plan.cautions == ()
    assert first.spec.schedule[0] == (0, 0.1)
    assert second.spec.schedule[:2] == [(0, 0.0166666666667), (1, 0.0333333333333)]
    assert second.spec.schedule[5] == (5, 0.1)


def test_relative_schedules_and_steps_that_are_never_reached():
    plan = planned("defaults.schedule={relative: true, 2: 0.5, 4: 0.2, 6: 0.1}")
    steps = [(0, 0.1), (2, 0.05), (4, pytest.approx(0.02)), (6, pytest.approx(0.01))]
    assert plan.trials[0].spec.schedule == steps
    assert plan.cautions == tuple(
        f"M: the schedule's step at epoch {epoch} is never reached, because training ends after 4 "
        "epochs"
        for epoch in (4, 6)
    )


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
    clipped = Optimizer(name="adamw", lr=0.1, clip_norm=1.0).model_dump()
    assert clipped == {"name": "adamw", "lr": 0.1, "weight_decay": 5e-4, "clip_norm": 1.0}


@pytest.mark.parametrize("name", ["adam", "adamw"])
def test_what_only_sgd_uses_is_told(name):
    plan = planned(f"M.optimizer={{name: {name}, lr: 0.1, momentum: 0.9, nesterov: true}}")
    assert plan.cautions == (f"M: momentum and nesterov are sgd's, not used by {name}",)
    assert planned(f"M.optimizer={{name: {name}, lr: 0.1}}").cautions == ()
