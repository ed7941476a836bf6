"""Learning rates by epoch: a sweep file's ``schedule`` as (first epoch, rate) pairs.

A rate holds for whole epochs. A schedule has one of three forms:

- steps, ``{20: 0.006, 40: 0.0012}``: the rate that holds from that epoch on, 0 being the first;
- relative steps, ``{relative: true, 20: 0.1}``: the same as factors of ``optimizer.lr``;
- ``{cosine: {warmup: W}}``: with E epochs and the rate lr, epoch e has

      lr (e + 1) / (W + 1)                             for e < W,
      lr (1 + cos(pi (e - W) / (E - W))) / 2           from W on,

  which is torch's ``LinearLR(start_factor=1 / (W + 1), total_iters=W)`` followed at epoch W by
  ``CosineAnnealingLR(T_max=E - W)``, stepped once an epoch. The last epoch's rate is above 0.
"""

import math
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field

from fsl_sweep.orchestrator.errors import ConfigError
from fsl_sweep.orchestrator.records.model import Model
from fsl_sweep.orchestrator.sweepfile.messages import validated

Rates = list[tuple[int, float]]


class Cosine(Model):
    """Half a cosine over all epochs, after ``warmup`` epochs of a linear rise."""

    warmup: Annotated[int, Field(ge=0)] = 0


def resolved_schedule(schedule: Mapping[Any, Any], rate: float, epochs: int) -> Rates:
    """Resolve a schedule to (first epoch, learning rate) pairs, ascending from epoch 0 on.

    Args:
        schedule: as in the sweep file.
        rate: ``optimizer.lr``.
        epochs: how many the trial has.

    Raises:
        ConfigError: it has none of the three forms; the path begins at ``schedule``.
    """
    if "cosine" not in schedule:
        return _steps(schedule, rate)
    if others := ", ".join(repr(key) for key in schedule if key != "cosine"):
        problem = f"sets the rate of every epoch, so leave out {others}"
        raise _error("cosine", problem)
    cosine = validated(Cosine, schedule["cosine"], "schedule.cosine", axes=True)
    if cosine.warmup >= epochs:
        problem = f"a rise over {cosine.warmup} of {epochs} epochs leaves none for the cosine"
        raise _error("cosine.warmup", f"{problem}; set fewer, or more 'epochs'")
    return [(epoch, _annealed(rate, epoch, cosine.warmup, epochs)) for epoch in range(epochs)]


def _annealed(rate: float, epoch: int, warmup: int, epochs: int) -> float:
    if epoch < warmup:
        factor = (epoch + 1) / (warmup + 1)
    else:
        factor = (1 + math.cos(math.pi * (epoch - warmup) / (epochs - warmup))) / 2
    # The last bit of a cosine differs between machines; a trial's id must not.
    return float(f"{rate * factor:.12g}")


def _steps(schedule: Mapping[Any, Any], rate: float) -> Rates:
    relative = schedule.get("relative", False)
    if not isinstance(relative, bool):
        raise _error("relative", f"must be true or false, not {relative!r}")
    steps: dict[int, float] = {0: rate}
    for epoch, value in schedule.items():
        if epoch == "relative":
            continue
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not isinstance(epoch, int) or isinstance(epoch, bool) or epoch < 0:
            problem = f"{epoch!r} is not an epoch from 0 on, nor 'relative' or 'cosine'"
            raise _error(epoch, problem)
        if not number or value <= 0:
            raise _error(epoch, f"{value!r} is not a rate above 0")
        steps[epoch] = float(value) * (rate if relative else 1.0)
    if steps[0] != rate:
        problem = f"sets {steps[0]}, but optimizer.lr is {rate}: one of them would be ignored. "
        raise _error("0", f"{problem}Leave out epoch 0, or use factors with 'relative: true'")
    return sorted(steps.items())


def _error(key: object, problem: str) -> ConfigError:
    return ConfigError("", f"schedule.{key}", problem)
