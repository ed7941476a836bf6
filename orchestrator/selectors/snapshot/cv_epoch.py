"""The epoch at which learners do best on classes that a fold kept out of their training."""

from typing import ClassVar

from fsl_sweep.orchestrator.selectors.best import BestSnapshot


class CrossValidatedEpoch(BestSnapshot):
    """Highest accuracy on held-out class folds, averaged over the folds epoch by epoch.

    Only epochs that the trial and every fold recorded can be chosen. The snapshot is the full
    trial's: the folds say how long to train, the learner of all base classes is what is kept.

    Source: "Two Sides of Meta-Learning Evaluation", appendix F.5, which leaves open how
    cross-validation should choose snapshots.
    """

    name: ClassVar[str] = "cv-epoch"
    needs: ClassVar[frozenset[str]] = frozenset({"cv"})
