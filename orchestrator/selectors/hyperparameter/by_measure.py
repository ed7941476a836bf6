"""The configuration whose selected snapshot has the best of one measure, or of a mixture of two.

Source: "Two Sides of Meta-Learning Evaluation", appendix F.1.
"""

from typing import ClassVar

from fsl_sweep.orchestrator.selectors.best import BestConfiguration
from fsl_sweep.orchestrator.selectors.mixture import Mixture


class BaseConfiguration(BestConfiguration):
    """Highest accuracy on tasks from fresh examples of the base classes."""

    name: ClassVar[str] = "base"
    needs: ClassVar[frozenset[str]] = frozenset({"base"})


class ValConfiguration(BestConfiguration):
    """Highest accuracy on tasks from the validation classes: the usual practice."""

    name: ClassVar[str] = "val"
    needs: ClassVar[frozenset[str]] = frozenset({"val"})


class OracleConfiguration(BestConfiguration):
    """Highest accuracy on novel tasks. It reads test scores: a reference, never a result.

    Source: "Two Sides of Meta-Learning Evaluation", appendix F.5 (oracle evaluation).
    """

    name: ClassVar[str] = "oracle"
    needs: ClassVar[frozenset[str]] = frozenset({"novel"})


class MixtureConfiguration(Mixture, BestConfiguration):
    """Highest mixture of BaseGen and ValGen; see ``Mixture``."""
