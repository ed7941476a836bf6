"""Whether a state to resume from fits the training that it is loaded into.

Loading would convert what it can (another precision, one number for a vector) and stop half way at
what it cannot. So a state is compared before anything is loaded: either it has the keys, types and
shapes that this training would give it, or it is not used.
"""

import math
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn


def is_progress(state: Any, epochs: int) -> bool:
    """Whether it holds a position: ``epoch`` from 1 to ``epochs``, and ``spent`` seconds."""
    if not isinstance(state, dict):
        return False
    epoch, spent = state.get("epoch"), state.get("spent")
    counted = type(epoch) is int and 1 <= epoch <= epochs
    return counted and type(spent) is float and 0 <= spent < math.inf


def fits_module(state: Any, module: nn.Module) -> bool:
    """Whether a state dict has exactly the module's keys, each a tensor of its type and shape."""
    return _alike(state, module.state_dict())


def fits_optimizer(state: Any, stepped: torch.optim.Optimizer) -> bool:
    """Whether a state dict is that of an optimizer like ``stepped``, which took a step.

    Parameters that no step has reached have no entry. The learning rate may differ: each epoch
    sets it.
    """
    own = stepped.state_dict()
    if not isinstance(state, Mapping) or state.keys() != own.keys():
        return False
    groups, entries = state["param_groups"], state["state"]
    if not isinstance(groups, list) or not isinstance(entries, Mapping):
        return False
    rates = [group.get("lr") if isinstance(group, Mapping) else None for group in groups]
    expected = [
        {**mine, "lr": rate} for mine, rate in zip(own["param_groups"], rates, strict=False)
    ]
    reached = {number: entry for number, entry in own["state"].items() if number in entries}
    floats = all(isinstance(rate, float) for rate in rates)
    return floats and _alike(groups, expected) and _alike(entries, reached)


def _alike(value: Any, own: Any) -> bool:
    """Whether nested values have the same keys, and tensors of the same type and shape.

    Tensors are in dense memory; anything else is equal.
    """
    if isinstance(own, Mapping):
        same = isinstance(value, Mapping) and value.keys() == own.keys()
        return same and all(_alike(value[key], own[key]) for key in own)
    if isinstance(own, list):
        same = isinstance(value, list) and len(value) == len(own)
        return same and all(map(_alike, value, own))
    if not isinstance(own, Tensor):
        return type(value) is type(own) and value == own
    return (
        isinstance(value, Tensor)
        and (value.dtype, value.shape, value.layout) == (own.dtype, own.shape, torch.strided)
        and (value.is_contiguous() or value.is_contiguous(memory_format=torch.channels_last))
    )
