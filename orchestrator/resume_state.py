"""Whether a state to go on from fits the training that it is to be put into.

Loading would convert what it can (another precision, one number for a vector) and stop half way at
what it cannot. So a state is compared before anything is loaded: it has the keys, types and shapes
that this training would give it, or none of it is used.
"""

import math
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn


def is_progress(state: Any, epochs: int) -> bool:
    """Whether it says where it stands: ``epoch`` from 1 to ``epochs``, and ``spent`` seconds."""
    if not isinstance(state, dict):
        return False
    epoch, spent = state.get("epoch"), state.get("spent")
    counted = type(epoch) is int and 1 <= epoch <= epochs
    return counted and type(spent) is float and 0 <= spent < math.inf


def fits_module(state: Any, module: nn.Module) -> bool:
    """Whether a state dict has exactly the module's keys, each a tensor of its type and shape."""
    own = module.state_dict()
    return _is_mapping(state, own) and all(_alike(state[key], own[key]) for key in own)


def fits_optimizer(state: Any, stepped: torch.optim.Optimizer) -> bool:
    """Whether a state dict is that of an optimizer like ``stepped``, which took a step.

    Parameters that no step has reached have no entry, so that entries may be missing. The learning
    rate may differ: each epoch sets it.
    """
    own = stepped.state_dict()
    if not _is_mapping(state, own) or not _same_groups(state["param_groups"], own["param_groups"]):
        return False
    entries, possible = state["state"], own["state"]
    return isinstance(entries, Mapping) and all(
        number in possible
        and _is_mapping(entry, possible[number])
        and all(_alike(entry[key], value) for key, value in possible[number].items())
        for number, entry in entries.items()
    )


def _same_groups(groups: Any, own: list[dict[str, Any]]) -> bool:
    return (
        isinstance(groups, list)
        and len(groups) == len(own)
        and all(
            _is_mapping(group, mine)
            and isinstance(group["lr"], float)
            and all(_alike(group[key], value) for key, value in mine.items() if key != "lr")
            for group, mine in zip(groups, own, strict=True)
        )
    )


def _is_mapping(state: Any, own: Mapping[Any, Any]) -> bool:
    return isinstance(state, Mapping) and state.keys() == own.keys()


def _alike(value: Any, own: Any) -> bool:
    """Tensors of one type and shape, in dense memory; of anything else, equal values."""
    if not isinstance(own, Tensor):
        return type(value) is type(own) and value == own
    return (
        isinstance(value, Tensor)
        and (value.dtype, value.shape, value.layout) == (own.dtype, own.shape, torch.strided)
        and (value.is_contiguous() or value.is_contiguous(memory_format=torch.channels_last))
    )
