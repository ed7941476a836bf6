"""Two measures mixed with fixed weights, for those who care about both distributions."""

from typing import Any


def checked_weight(weight: Any) -> float:
    """A weight as a float in [0, 1]. Raises ValueError on anything else."""
    if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0 <= weight <= 1:
        raise ValueError(f"the weight of a mixture lies between 0 and 1, not {weight!r}")
    return float(weight)


def mixed(weight: float, first: Any, second: Any) -> Any:
    """``weight * first + (1 - weight) * second``, elementwise on numbers or arrays.

    What has no weight is not looked at: a mixture of weight 1 is ``first``, though ``second`` may
    be NaN.

    This is the expected accuracy on tasks that come from the first distribution with probability
    ``weight`` and else from the second.

    Source: "Two Sides of Meta-Learning Evaluation", appendix F.4 (i).
    """
    if weight in (0, 1):
        return first if weight == 1 else second
    return weight * first + (1 - weight) * second
