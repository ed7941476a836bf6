"""Model-agnostic meta-learning (MAML): the outer gradient goes through the inner loop.

Finn, Abbeel, Levine, "Model-Agnostic Meta-Learning for Fast Adaptation of Deep Networks" (arXiv
1703.03400), equation 1 and algorithm 2.
"""

from typing import final

from fsl_sweep.learners.gradient_adaptation import GradientAdaptation


@final
class Maml(GradientAdaptation):
    """Gradient adaptation whose outer gradient has second derivatives of the inner losses.

    Every inner step of every task in the batch is kept until the outer gradient is taken.
    """

    @property
    def first_order(self) -> bool:
        """Never."""
        return False
