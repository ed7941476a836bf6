"""Rows of the frames that a notebook gets of a run."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from fsl_sweep.orchestrator.records.measures import CURVES, MEASURES, TASK_SETS, TrialHistory
from fsl_sweep.orchestrator.records.protocol import PlannedProtocol

if TYPE_CHECKING:
    import pandas as pd

    from fsl_sweep.orchestrator.selection.select import Selection


def epochs_of(trial: TrialHistory, protocol: PlannedProtocol | None) -> "pd.DataFrame":
    """Return a row for each recorded epoch of a trial, with its scores under a protocol."""
    import pandas as pd

    columns: dict[str, Any] = {
        "method": trial.method,
        "trial": trial.trial,
        "configuration": trial.configuration,
        "seed": trial.seed,
        "fold": trial.fold,
        "status": trial.end.status if trial.end else "unfinished",
    }
    # Lists and mappings would be taken for columns of their own.
    axes = trial.hyperparameters.items()
    plain = {k: v if isinstance(v, (str, int, float)) else str(v) for k, v in axes}
    means = {f"{m}_{s}": table.means for (m, s), table in trial.scores.items()}
    curves = {curve: trial.curves[curve] for curve in CURVES if curve in trial.curves}
    name = {"protocol": protocol and protocol.name}  # a table has none
    return pd.DataFrame(columns | plain | {"epoch": trial.epochs} | curves | name | means)


def epoch_columns(trials: Sequence[TrialHistory]) -> list[str]:
    """Return the columns of ``epochs_of`` where no epoch of the planned trials is recorded."""
    means = [f"{measure}_{task_set}" for measure in MEASURES for task_set in TASK_SETS]
    first = ["method", "trial", "configuration", "seed", "fold", "status"]
    return [*first, *_keys(trials), "epoch", *CURVES, "protocol", *means]


def selection_columns(trials: Sequence[TrialHistory]) -> list[str]:
    """Return the columns of ``row_of`` where nothing was selected among the planned trials."""
    strategy = ["snapshot_selector", "hyperparameter_selector", "oracle"]
    scores = [f"{measure}{end}" for measure in MEASURES for end in ("", "_low", "_high")]
    chosen = ["trial", "configuration", *_keys(trials), "epoch"]
    last = ["regret", "novel_evaluations"]
    return ["method", "seed", *strategy, *chosen, "protocol", *scores, *last]


def _keys(trials: Sequence[TrialHistory]) -> list[str]:
    return list(dict.fromkeys(key for trial in trials for key in trial.hyperparameters))


def row_of(selection: "Selection", protocol: PlannedProtocol | None) -> dict[str, Any]:
    """Return what was chosen, and its report scores under a protocol."""
    row: dict[str, Any] = {
        "method": selection.method,
        "seed": selection.seed,
        "snapshot_selector": selection.strategy.snapshot,
        "hyperparameter_selector": selection.strategy.hyperparameter,
        "oracle": selection.strategy.oracle,
        "trial": selection.trial,
        "configuration": selection.snapshot.configuration,
        **selection.hyperparameters,
        "epoch": selection.epoch,
        "protocol": protocol and protocol.name,
    }
    for measure in MEASURES:
        interval = getattr(selection, measure)
        row |= {
            measure: interval.mean,
            f"{measure}_low": interval.low,
            f"{measure}_high": interval.high,
        }
    return row | {"regret": selection.regret, "novel_evaluations": selection.novel_evaluations}
