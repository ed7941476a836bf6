"""The metric of a configuration by epoch, over its seeds and class folds."""

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from fsl_sweep.orchestrator.records.measures import TrialHistory
from fsl_sweep.orchestrator.records.scheduler import StoppingMetric


def curves(
    trials: Sequence[TrialHistory], metric: StoppingMetric, epochs: Sequence[int]
) -> np.ndarray | None:
    """Return the metric ``[seeds, epochs]``, averaged over folds; None if some is missing."""
    groups: dict[int, list[np.ndarray]] = defaultdict(list)
    for trial in trials:
        if (curve := _curve(trial, metric, epochs)) is None:
            return None
        groups[trial.seed].append(curve)
    return np.array([np.mean(groups[seed], axis=0) for seed in sorted(groups)])


def best_score(trials: Sequence[TrialHistory], metric: StoppingMetric) -> float | None:
    """Return the largest mean over seeds and folds, over the epochs that all of them recorded.

    It is what a snapshot selector by this metric would find, if it chose one epoch for all. Larger
    is better: a training loss is negated. Of a trial that its budget ended, the last value stands
    for later epochs.

    Args:
        trials: those of one configuration, all of which have ended.
        metric: what is looked at.

    Returns:
        None if one of them diverged, or has recorded nothing.
    """
    if any(trial.diverged or not len(trial.epochs) for trial in trials):
        return None
    whole = [trial for trial in trials if trial.end is None or trial.end.status != "budget"]
    last = min(int(trial.epochs[-1]) for trial in whole) if whole else np.inf
    epochs = sorted({e for trial in trials for e in trial.epochs.tolist() if e <= last})
    scores = curves(trials, metric, epochs)
    if scores is None:
        return None
    # Rounded, so that the same scores in other seeds have the same mean.
    means = np.round(scores.mean(axis=0), 12)
    finite = means[np.isfinite(means)]
    return float(finite.max()) if len(finite) else None


def _curve(trial: TrialHistory, metric: StoppingMetric, epochs: Sequence[int]) -> np.ndarray | None:
    """Return the metric at these epochs, larger ones better; None if it is not there yet.

    A trial that diverged has NaN from there on, and one that its budget ended its last value.
    """
    scores = (
        -trial.curves["train_loss"]
        if metric == "train_loss"
        else trial.scores[metric, "selection"].means
    )
    known = dict(zip(trial.epochs.tolist(), scores.tolist(), strict=True))
    curve = np.array([known.get(epoch, np.nan) for epoch in epochs])
    if trial.diverged or not np.isnan(curve).any():
        return curve
    if trial.end is None or trial.end.status != "budget" or trial.unmeasured:
        return None
    last = np.maximum.accumulate(np.where(np.isnan(curve), -1, np.arange(len(curve))))
    return np.where(last < 0, np.nan, curve[last])
