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
    net = nn.Linear(3, 2)
    copied = copy.deepcopy(net)
    groups = [[{"params": [n.weight], "lr": 0.1}, {"params": [n.bias]}] for n in (net, copied)]
    expected = getattr(torch.optim, name)(groups[0], **OPTIONS[name])
    before = getattr(optimizers, name)(groups[1], **OPTIONS[name])
    assert trained(copied, before, 2) == trained(net, expected, 2)
    again = getattr(optimizers, name)([{"params": [p]} for p in copied.parameters()])
    again.load_state_dict(before.state_dict())
    assert trained(copied, again, 3) == trained(net, expected, 3)
    assert copied.bias.equal(net.bias)
    assert copied.weight.grad_fn is None
