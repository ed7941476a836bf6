"""The snapshot with the best of one measure, or of a mixture of two."""

from typing import ClassVar

from fsl_sweep.orchestrator.selectors.best import BestSnapshot
from fsl_sweep.orchestrator.selectors.mixture import Mixture


class BaseSnapshot(BestSnapshot):
    """Highest accuracy on tasks from fresh examples of the base classes.

    Source: "Two Sides of Meta-Learning Evaluation", section 5.1.2.
    """

    name: ClassVar[str] = "base"
    needs: ClassVar[frozenset[str]] = frozenset({"base"})


class ValSnapshot(BestSnapshot):
    """Highest accuracy on tasks from the validation classes: the usual practice.

    Source: "Two Sides of Meta-Learning Evaluation", section 5.1.1.
    """

    name: ClassVar[str] = "val"
    needs: ClassVar[frozenset[str]] = frozenset({"val"})


class OracleSnapshot(BestSnapshot):
    """Highest accuracy on novel tasks. It reads test scores: a reference, never a result.

    Source: "Two Sides of Meta-Learning Evaluation", appendix F.3, table 6 (best NovelGen).
    """

    name: ClassVar[str] = "oracle"
    needs: ClassVar[frozenset[str]] = frozenset({"novel"})


class MixtureSnapshot(Mixture, BestSnapshot):
    """Highest mixture of BaseGen and ValGen; see ``Mixture``."""
