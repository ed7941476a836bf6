"""First-order MAML (FOMAML): the outer gradient is the query gradient at the adapted weights.

Finn, Abbeel, Levine, "Model-Agnostic Meta-Learning for Fast Adaptation of Deep Networks" (arXiv
1703.03400), section 5.2, "first-order approximation". Hyperparameters as in "Two Sides of
Meta-Learning Evaluation", appendix D.2, table 4.
"""

from typing import final

from fsl_sweep.learners.gradient_adaptation import GradientAdaptation


@final
class Fomaml(GradientAdaptation):
    """Gradient adaptation whose inner gradients count as constants in the outer gradient."""

    @property
    def first_order(self) -> bool:
        """Always."""
        return True
