"""Heads compute in float32 at least, whatever precision the backbone runs in.

Squared distances and kernels of bfloat16 features lose the differences between classes, and torch
has no factorisation in that type.
"""

import torch
from jaxtyping import Float
from torch import Tensor


def full_precision(device: torch.device) -> torch.autocast:
    """Switch autocast off on ``device`` within the block."""
    return torch.autocast(device.type, enabled=False)


def at_least_float32(values: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """Convert half precision to float32; leave float32 and float64 as they are."""
    return values.float() if values.dtype in (torch.bfloat16, torch.float16) else values
