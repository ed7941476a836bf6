"""What is chosen together: the trials of one method and seed, and the candidates they give."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace

from fsl_sweep.orchestrator.history import Candidate, History
from fsl_sweep.orchestrator.records import TrialHistory
from fsl_sweep.orchestrator.selectors.base import SnapshotSelector, apply, is_cross_validated


def replicates_of(
    histories: Iterable[TrialHistory],
) -> dict[tuple[str, int], list[TrialHistory]]:
    """Full trials by (method, seed): methods in plan order, seeds ascending."""
    groups: dict[tuple[str, int], list[TrialHistory]] = defaultdict(list)
    for trial in histories:
        if trial.fold is None:
            groups[trial.method, trial.seed].append(trial)
    order = list(dict.fromkeys(method for method, _ in groups))
    return dict(sorted(groups.items(), key=lambda item: (order.index(item[0][0]), item[0][1])))


def candidates_of(
    trials: Sequence[TrialHistory], histories: Sequence[History], selector: SnapshotSelector
) -> list[Candidate]:
    """The snapshot that the selector leaves of each trial.

    Raises:
        SelectionError: it cannot choose in one of them.
    """
    return [
        Candidate(trial.trial, trial.hyperparameters, apply(selector, history), history)
        for trial, history in zip(trials, histories, strict=True)
    ]


def with_folds(candidates: Sequence[Candidate], selector: SnapshotSelector) -> list[Candidate]:
    """The candidates with the epoch that the snapshot selector chooses in each class fold.

    A selector that reads the folds itself has chosen one epoch for all of them.
    """
    if is_cross_validated(selector):
        return list(candidates)
    return [
        replace(one, fold_epochs=tuple(apply(selector, fold) for fold in one.history.folds))
        for one in candidates
    ]
