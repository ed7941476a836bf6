"""Which trials of a seed a strategy may choose: finalists; and who diverged is one that loses.

What a scheduler's rule stopped is no candidate. The recorded snapshots of a trial that diverged
stand, so that a snapshot selector that reads scores may choose one. After them there is no usable
network: a selector that reads none (``last``) would choose its end, and a cross-validated strategy
trains the chosen configuration, which diverges, in full.
"""

from collections.abc import Iterable

from fsl_sweep.orchestrator.records.measures import TrialHistory
from fsl_sweep.orchestrator.selection.completeness import FoldTrials
from fsl_sweep.orchestrator.selectors import SnapshotSelector


def leaves_nothing(trial: TrialHistory) -> bool:
    """Return whether a trial is no candidate for any strategy.

    It diverged without a snapshot, or a scheduler's rule stopped it.
    """
    return trial.stopped or (trial.diverged and not len(trial.epochs))


def candidates_of(
    trials: Iterable[TrialHistory], selector: SnapshotSelector, folds: FoldTrials | None = None
) -> list[TrialHistory]:
    """Return the trials of a replicate that a strategy with this snapshot selector may choose.

    Args:
        trials: of the replicate, none of them missing or failed.
        selector: of snapshots.
        folds: the trials of class folds, where the strategy is cross-validated.
    """
    if folds is not None:
        return [trial for trial in trials if not trial.diverged and not folds.diverged(trial)]
    return [t for t in trials if not t.diverged or (selector.needs and len(t.epochs))]
