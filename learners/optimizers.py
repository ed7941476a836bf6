"""torch's optimizers, without its compiler.

torch marks their methods for the compiler, and the first call of one loads all of it: that takes
as long as torch itself, in each process that trains. These call the same methods unmarked.
"""

import inspect
from typing import TypeVar, cast

import torch

O = TypeVar("O", bound=torch.optim.Optimizer)  # noqa: E741

_MARKED = ("add_param_group", "load_state_dict", "state_dict", "zero_grad")


def _unmarked(cls: type[O]) -> type[O]:
    methods = {name: inspect.unwrap(getattr(cls, name)) for name in _MARKED}
    # The mark of `step` also turns gradients off.
    step = torch.no_grad()(inspect.unwrap(cls.step))
    unmarked = type(cls.__name__, (cls,), {**methods, "step": step, "__doc__": cls.__doc__})
    return cast("type[O]", unmarked)


Adam = _unmarked(torch.optim.Adam)
AdamW = _unmarked(torch.optim.AdamW)
SGD = _unmarked(torch.optim.SGD)
