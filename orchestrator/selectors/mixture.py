"""Two measures mixed with fixed weights, for those who care about both distributions.

Source: "Two Sides of Meta-Learning Evaluation", appendix F.4 (i).
"""

from collections.abc import Mapping
from typing import Any, ClassVar

from fsl_sweep.orchestrator.errors import ConfigError, UnknownName
from fsl_sweep.orchestrator.records.paper_names import TEST_MEASURE, measure_name
from fsl_sweep.orchestrator.selectors.names import parse

METRICS = ("novel", "mixture")


class Mixture:
    """Highest ``w BaseGen + (1 - w) ValGen``: between the ``base`` and the ``val`` selector.

    Source: "Two Sides of Meta-Learning Evaluation", appendix F.4 (i), with validation tasks in
    place of the unseen novel ones.

    Args:
        base_weight: w, in [0, 1]; a measure of weight 0 is not used.

    Raises:
        ValueError: the weight is not in [0, 1].
    """

    name: ClassVar[str] = "mixture"
    needs: ClassVar[frozenset[str]] = frozenset({"base", "val"})

    def __init__(self, base_weight: float = 0.5) -> None:
        self.base_weight = checked_weight(base_weight)

    def score(self, scores: Mapping[str, Any]) -> Any:
        """Return the mixture."""
        return mixed(self.base_weight, scores["base"], scores["val"])


def checked_weight(weight: Any) -> float:
    """Return a weight as a float in [0, 1]. Raises ValueError on anything else."""
    if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0 <= weight <= 1:
        raise ValueError(f"the weight of a mixture lies between 0 and 1, not {weight!r}")
    return float(weight)


def mixed(weight: float, first: Any, second: Any) -> Any:
    """Return ``weight * first + (1 - weight) * second``, elementwise on numbers or arrays.

    This is the expected accuracy on tasks that come from the first distribution with probability
    ``weight`` and else from the second. A measure of weight 0 is not used: a mixture of weight 1
    is ``first``, though ``second`` may be NaN.
    """
    if weight in (0, 1):
        return first if weight == 1 else second
    return weight * first + (1 - weight) * second


def base_weight(metric: str) -> float | None:
    """Return the weight of BaseGen in the reported metric ``mixture(w)``; None for ``novel``.

    Raises:
        UnknownName: the metric is neither.
        ConfigError: the weight is missing or not in [0, 1].
    """
    name, arguments = parse(measure_name(metric))
    if name not in METRICS:
        raise UnknownName("metric", name, METRICS, [TEST_MEASURE])
    if name == "novel" and not arguments:
        return None
    try:
        if name == "novel" or len(arguments) != 1:
            raise ValueError(arguments)
        return checked_weight(arguments[0])
    except ValueError:
        problem = f"metric '{metric}' cannot be used: write novel, or mixture(w) with 0 <= w <= 1"
        raise ConfigError("", "", problem) from None
