"""The configuration whose selected snapshot has the best mixture of BaseGen and ValGen."""

from collections.abc import Mapping
from typing import Any, ClassVar

from fsl_sweep.orchestrator.selectors.best import BestConfiguration
from fsl_sweep.orchestrator.selectors.mixture import checked_weight, mixed


class MixtureConfiguration(BestConfiguration):
    """Highest ``w BaseGen + (1 - w) ValGen``: between the ``base`` and the ``val`` selector.

    Source: "Two Sides of Meta-Learning Evaluation", appendix F.4 (i), with validation tasks in
    place of the unseen novel ones.

    Args:
        base_weight: w, in [0, 1]; a measure of weight 0 is not looked at.

    Raises:
        ValueError: the weight is not in [0, 1].
    """

    name: ClassVar[str] = "mixture"
    needs: ClassVar[frozenset[str]] = frozenset({"base", "val"})

    def __init__(self, base_weight: float = 0.5) -> None:
        self.base_weight = checked_weight(base_weight)

    def score(self, scores: Mapping[str, Any]) -> Any:
        """The mixture."""
        return mixed(self.base_weight, scores["base"], scores["val"])
