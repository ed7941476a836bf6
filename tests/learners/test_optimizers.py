"""Our optimizers step as torch's, to the bit; that they load no compiler `test_order` tests."""

import copy

import pytest
import torch
from torch import nn

from fsl_sweep.learners import optimizers

OPTIONS = {
    "SGD": {"momentum": 0.9, "nesterov": True, "weight_decay": 0.1},
    "Adam": {"eps": 1e-3},
    "AdamW": {"weight_decay": 0.1},
}


def trained(net, descent, steps):
    for _ in range(steps):
        descent.zero_grad()
        net(torch.eye(3)).square().sum().backward()
        descent.step()
    return net.weight.detach().numpy().tobytes()


@pytest.mark.parametrize("name", OPTIONS)
def test_steps_are_torchs_also_after_going_on_from_a_state(name):
    torchs, ours = getattr(torch.optim, name), getattr(optimizers, name)
    one = nn.Linear(3, 2)
    other = copy.deepcopy(one)
    first, second = (
        [{"params": [net.weight], "lr": 0.1}, {"params": [net.bias]}] for net in (one, other)
    )
    expected = torchs(first, **OPTIONS[name])
    trained(one, expected, 2)
    before = ours(second, **OPTIONS[name])
    trained(other, before, 2)
    again = ours([{"params": [other.weight]}, {"params": [other.bias]}])
    again.load_state_dict(before.state_dict())
    assert trained(other, again, 3) == trained(one, expected, 3)
    assert other.bias.equal(one.bias)
    assert other.weight.grad_fn is None
