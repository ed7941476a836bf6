"""Measures that records from elsewhere do not hold: what is left out, and what is refused."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from fsl_sweep.orchestrator.errors import ConfigError, RunFolderError
from fsl_sweep.orchestrator.records.measures import (
    MEASURES,
    SHOWN_AS,
    TASK_SETS,
    Measure,
    ScoreKey,
    ScoreTable,
    TrialHistory,
)
from fsl_sweep.orchestrator.records.paper_names import selector_names
from fsl_sweep.orchestrator.selectors.base import is_cross_validated
from fsl_sweep.orchestrator.selectors.catalogue import BUILD


def unknown(table: ScoreTable) -> bool:
    """Tell whether no snapshot has a score, not even on single tasks."""
    return not table.per_task and not np.isfinite(table.means).any()


def lacking(trial: TrialHistory) -> frozenset[ScoreKey]:
    """Return what a trial that recorded epochs does not hold."""
    return frozenset(key for key, table in trial.scores.items() if unknown(table))


def lacks_of(histories: Iterable[TrialHistory]) -> frozenset[ScoreKey]:
    """Return what no full trial holds; nothing where none has recorded an epoch."""
    lacks = [lacking(trial) for trial in _recorded(histories)]
    return frozenset.intersection(*lacks) if lacks else frozenset()


def _recorded(histories: Iterable[TrialHistory]) -> list[TrialHistory]:
    return [trial for trial in histories if trial.fold is None and len(trial.epochs)]


def usable(step: str, names: Iterable[str], lacks: Iterable[ScoreKey]) -> list[str]:
    """Return the selectors of a step that need nothing of what is lacking."""
    blind = {measure for measure, task_set in lacks if task_set == "selection"}
    return [name for name in names if not BUILD[step](name).needs & blind]


def asked_for(
    step: str, typed: Sequence[str], histories: Sequence[TrialHistory]
) -> tuple[str, ...]:
    """Check the selectors of one step that a user names, and return our names of them.

    Args:
        step: ``snapshot`` or ``hyperparameter``.
        typed: their names, as typed.
        histories: what there is to choose by.

    Raises:
        UnknownName, PluginError, ConfigError: a selector cannot be used.
        ConfigError: a name is given twice, or its selector needs class folds or a measure, and
            there are none.
    """
    folds, lacks = any(trial.fold is not None for trial in histories), lacks_of(histories)
    try:
        names = tuple(selector_names(typed))
    except ValueError as failure:
        raise ConfigError("", f"--{step}", str(failure)) from None
    for name in names:
        selector, problem = BUILD[step](name), None
        if is_cross_validated(selector) and not folds:
            problem = f"'{name}' needs class folds, which this run has none of; leave it out"
        elif not usable(step, [name], lacks):
            needs = " and ".join(sorted(selector.needs & {measure for measure, _ in lacks}))
            problem = f"'{name}' needs {needs}, which the records do not hold; leave it out"
        if problem is not None:
            raise ConfigError("", f"--{step}", problem)
    return names


def check_reported(places: Iterable[Path], histories: Iterable[TrialHistory], metric: str) -> None:
    """Raise where a method lacks what methods are compared by, as in tables.

    Raises:
        RunFolderError: NovelGen is not known.
        ConfigError: the metric is a mixture, and BaseGen is not known.
    """
    where = ", ".join(map(str, places))
    for trial in _recorded(histories):
        lacks = lacking(trial)
        if ("novel", "report") in lacks:
            raise RunFolderError(
                f"{where}: {trial.method} has no rows of novel{_of(lacks, 'novel')}, so that "
                "nothing can be reported on novel classes. Add them for every epoch. Without them, "
                "`fsl_sweep.load_run(...).selections()` says what the strategies choose, with its "
                "ValGen."
            )
        if metric != "novel" and ("base", "report") in lacks:
            problem = f"{metric} needs BaseGen, and {trial.method} has no rows of base"
            raise ConfigError(where, "--metric", f"{problem}; compare by novel")


def caution(name: str, lacks: frozenset[ScoreKey]) -> tuple[str, ...]:
    """Say in one line what is lacking and left out for it, or nothing."""
    missing: list[Measure] = [m for m in MEASURES if any(of == m for of, _ in lacks)]
    if not missing:
        return ()
    rows = " and no rows of ".join(f"{m}{_of(lacks, m)}" for m in missing)
    shown = " or ".join(SHOWN_AS[m] for m in missing)
    return (f"{name} has no rows of {rows}: what needs its {shown} is left out.",)


def _of(lacks: frozenset[ScoreKey], measure: Measure) -> str:
    """Say on which tasks a measure is lacking, if not on all."""
    sets = [task_set for task_set in TASK_SETS if (measure, task_set) in lacks]
    return f" on {sets[0]} tasks" if len(sets) == 1 else ""
