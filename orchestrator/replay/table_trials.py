"""From a checked table of records to trial histories, and what is missing from their grid."""

import hashlib
import json
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, cast, final

import numpy as np

from fsl_sweep.orchestrator.errors import BadData
from fsl_sweep.orchestrator.records.measures import (
    MEASURES,
    TASK_SETS,
    Measure,
    ScoreTable,
    TaskSet,
    TrialEnd,
    TrialHistory,
)

if TYPE_CHECKING:
    import pandas as pd

Pairs = Collection[tuple[str, str]]
"""Measures and task sets."""
Tasks = dict[tuple[int, str, str], tuple[list[str], str]]
"""Common tasks by (fold, measure, set), with the first trial that has them."""


def trials_of(where: str, table: "pd.DataFrame") -> list[TrialHistory]:
    """The trials of a checked table, with an empty one for each hole in a method's grid.

    What no full trial holds, such as ``base``, is NaN. ``where`` begins each message.

    Raises:
        BadData: a measure, an epoch or a task is missing from a trial.
    """
    counts = table.groupby("method")["configuration"].nunique().to_dict()
    held, common = _held(table), Tasks()
    trials: list[TrialHistory] = []
    for key, rows in table.groupby(["method", "configuration", "seed", "fold"], sort=False):
        trial = _Trial(where, cast("tuple[object, ...]", key), rows)
        trials.append(trial.history(counts[trial.method] > 1, held, common))
    _check_seeds(where, trials)
    return filled(trials)


def _held(table: "pd.DataFrame") -> set[tuple[str, str]]:
    """The measures and task sets that full trials have rows of: each needs all of them."""
    full = table[table["fold"] < 0]
    if "set" in table:
        return set(full[["measure", "set"]].itertuples(index=False, name=None))
    return {(measure, one) for measure in full["measure"].unique() for one in TASK_SETS}


@final
class _Trial:
    """The rows of one trial."""

    def __init__(self, where: str, key: tuple[object, ...], rows: "pd.DataFrame") -> None:
        self.where, self.rows = where, rows
        self.method, self.configuration, seed, fold = map(str, key)
        self.seed, self.fold = int(seed), int(fold)
        self.epochs = np.unique(rows["epoch"].to_numpy())

    def __str__(self) -> str:
        return _named(self.method, self.configuration, self.seed, self.fold)

    def history(self, several: bool, held: Pairs, common: Tasks) -> TrialHistory:
        """The trial; ``several`` says whether its method has other configurations."""
        fold = None if self.fold < 0 else self.fold
        loss = self._rows("train_loss")
        curves = {"train_loss": self._matrix(loss, "train_loss", [""])[:, 0]} if len(loss) else {}
        return TrialHistory(
            trial=_trial_id(self.method, self.configuration, self.seed, fold),
            method=self.method,
            configuration=self.configuration,
            hyperparameters={"configuration": self.configuration} if several else {},
            seed=self.seed,
            fold=fold,
            epochs=self.epochs,
            curves=curves,
            scores={(m, s): self._scores(m, s, held, common) for m in MEASURES for s in TASK_SETS},
            end=TrialEnd("done"),
        )

    def _scores(
        self, measure: Measure, task_set: TaskSet, held: Pairs, common: Tasks
    ) -> ScoreTable:
        rows, pair = self._rows(measure, task_set), (measure, task_set)
        # A fold's trial needs only its accuracy on the fold's classes.
        needed = pair == ("val", "selection") or (self.fold < 0 and pair in held)
        if not len(rows) and not needed:
            return ScoreTable.from_means(np.full(len(self.epochs), np.nan))
        where = f"{measure}, {task_set} tasks" if "set" in self.rows else measure
        if "task" not in self.rows or not len(rows):  # without rows it says what is missing
            return ScoreTable.from_means(self._matrix(rows, where, [""])[:, 0])
        tasks = _ordered(rows["task"].unique().tolist())
        known, owner = common.setdefault((self.fold, measure, task_set), (tasks, str(self)))
        if tasks != known:
            odd = sorted({*tasks} ^ {*known})[0]
            raise BadData(
                f"{self.where}: {self} and {owner} have different tasks ({where}): task {odd} is "
                "in only one of them. All trials must be measured on the same tasks."
            )
        return ScoreTable.from_accuracies(self._matrix(rows, where, tasks))

    def _rows(self, measure: str, task_set: str = "") -> "pd.DataFrame":
        wanted = self.rows["measure"] == measure
        if "set" in self.rows and task_set:
            wanted &= self.rows["set"] == task_set
        return self.rows[wanted]

    def _matrix(self, rows: "pd.DataFrame", where: str, tasks: Sequence[str]) -> np.ndarray:
        """Values ``[E, T]`` of rows that must hold every epoch and task."""
        found = np.full((len(self.epochs), len(tasks)), np.nan)
        column = {task: number for number, task in enumerate(tasks)}
        at = np.searchsorted(self.epochs, rows["epoch"].to_numpy())
        of = rows["task"].map(column).to_numpy() if len(tasks) > 1 else 0
        found[at, of] = rows["accuracy"].to_numpy()
        if np.isnan(found).any():
            epoch, task = np.argwhere(np.isnan(found))[0]
            of_task = f" of task {tasks[task]}" if len(tasks) > 1 else ""
            raise BadData(
                f"{self.where}: {self} has no {where}{of_task} at epoch {self.epochs[epoch]}, but "
                "other rows of that epoch. Each epoch of a trial needs every measure of the table."
            )
        return found


def filled(trials: Sequence[TrialHistory]) -> list[TrialHistory]:
    """Trials in plan order, with an empty one for each hole of a method's grid.

    A method's grid is each of its configurations with each of its seeds: a seed that lacks a
    configuration would choose among fewer candidates than the others, and must not be averaged
    with them. Class folds need no filling: those missing are named where they are averaged.
    """
    methods = dict.fromkeys(trial.method for trial in trials)
    return [one for name in methods for one in _grid([t for t in trials if t.method == name])]


def _grid(trials: Sequence[TrialHistory]) -> list[TrialHistory]:
    """One method's trials: configurations as they came, seeds ascending, folds last."""
    found: dict[tuple[str, int], list[TrialHistory]] = {}
    for one in trials:
        found.setdefault((one.configuration, one.seed), []).append(one)
    grid: list[TrialHistory] = []
    for configuration, example in {one.configuration: one for one in trials}.items():
        for seed in sorted({one.seed for one in trials}):
            here = found.get((configuration, seed), [])
            if all(one.fold is not None for one in here):
                hole = replace(
                    example,
                    trial=_trial_id(example.method, configuration, seed, None),
                    seed=seed,
                    fold=None,
                    epochs=np.zeros(0, np.int64),
                    curves={},
                    scores={},
                    end=None,
                    damaged=(),
                )
                grid.append(hole)
            grid += sorted(here, key=lambda one: -1 if one.fold is None else one.fold)
    return grid


def _trial_id(method: str, configuration: str, seed: int, fold: int | None) -> str:
    """The id of a trial that has no specification, 16 hexadecimal digits."""
    text = json.dumps([method, configuration, seed, fold])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _check_seeds(where: str, trials: Sequence[TrialHistory]) -> None:
    """The seeds and folds of one configuration have the same epochs until one of them ends."""
    longest: dict[tuple[str, str], TrialHistory] = {}
    for one in sorted(trials, key=lambda one: -one.epochs[-1]):
        other, end = longest.setdefault((one.method, one.configuration), one), one.epochs[-1]
        odd = np.setxor1d(one.epochs[:-1], other.epochs[other.epochs < end])
        names = [_named(t.method, t.configuration, t.seed, t.fold) for t in (one, other)]
        if len(odd):
            raise BadData(
                f"{where}: {names[0]} and {names[1]} have different epochs: epoch {odd[0]} is in "
                "only one of them, and both went on after it. Add its rows, or remove one trial."
            )
        if one.fold is None and ("train_loss" in one.curves) != ("train_loss" in trials[0].curves):
            raise BadData(
                f"{where}: some trials have rows of train_loss and others, such as {names[0]} or "
                "the first one, have none. Give it for all of them, or for none."
            )


def _named(method: str, configuration: str, seed: int, fold: int | None) -> str:
    in_fold = "" if fold is None or fold < 0 else f", fold {fold}"
    return f"{method} (configuration {configuration}, seed {seed}{in_fold})"


def _ordered(tasks: list[str]) -> list[str]:
    """Tasks by number where all are numbers, else by name."""
    return sorted(tasks, key=int if all(t.isdecimal() for t in tasks) else None)  # type: ignore[arg-type]
