"""When records were written: the dates in TensorBoard."""

from contextlib import suppress
from pathlib import Path

import numpy as np

from fsl_sweep.orchestrator.ledger.trial_ledger import record_name, snapshot_name
from fsl_sweep.orchestrator.records.measures import TrialHistory


def recorded_at(run: Path, trial: str, epoch: int) -> float | None:
    """When an epoch was recorded, in seconds since 1970, by its files or by the trial's end.

    They keep their dates, so that a view that is rebuilt has the same. None where there are none.
    """
    for name in (record_name(epoch), snapshot_name(epoch), "end.json"):
        with suppress(OSError, ValueError):  # an id may be any text
            return (run / "trials" / trial / name).lstat().st_mtime
    return None


def dates(run: Path, trial: TrialHistory) -> np.ndarray:
    """The date of each recorded epoch, in seconds since 1970, float64 ``[E]``.

    They count back from the last one by what each epoch cost, so that differences are seconds of
    training and measuring, without the breaks. From 0 on where no file tells.
    """
    if len(trial.epochs) == 0:
        return np.empty(0)
    seconds = elapsed(trial)
    last = recorded_at(run, trial.trial, int(trial.epochs[-1]))
    return seconds if last is None else last - seconds[-1] + seconds


def elapsed(trial: TrialHistory) -> np.ndarray:
    """Seconds of training and measuring up to each recorded epoch, float64 ``[E]``."""
    return np.cumsum(trial.curves["train_seconds"] + trial.curves["evaluation_seconds"])
