"""From a checked table of records to trial histories, and what is missing from their grid."""

import hashlib
import json
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, cast, final

import numpy as np

from fsl_sweep.orchestrator.errors import BadData
from fsl_sweep.orchestrator.records.measures import (
    SCORE_KEYS,
    TASK_SETS,
    ScoreKey,
    ScoreTable,
    TrialEnd,
    TrialHistory,
)

if TYPE_CHECKING:
    import pandas as pd

ScoreKeys = Collection[tuple[str, str]]
"""Measures and task sets."""
TaskNames = dict[tuple[int, str, str], tuple[list[str], str]]
"""Common tasks by (fold, measure, set), with the first trial that has them."""


def trials_of(where: str, table: "pd.DataFrame") -> list[TrialHistory]:
    """Make the trials of a checked table, an empty one for each missing from a method's grid.

    What no full trial holds, such as ``base``, is NaN. ``where`` begins each message.

    A trial diverged at the first epoch with an empty accuracy, and has no record from there on.

    Raises:
        BadData: a measure, an epoch or a task is missing from a trial, or accuracies follow an
            empty one.
    """
    counts = table.groupby("method")["configuration"].nunique().to_dict()
    held, common = _held(table), TaskNames()
    groups = table.groupby(["method", "configuration", "seed", "fold"], sort=False)
    made = [_Trial(where, cast("tuple[object, ...]", key), rows) for key, rows in groups]
    trials = [trial.history(counts[trial.method] > 1, held, common) for trial in made]
    _check_seeds(where, trials)
    return filled(trials)


def _held(table: "pd.DataFrame") -> set[tuple[str, str]]:
    """Return measures and task sets that full trials have rows of: each trial needs all of them."""
    full = table[(table["fold"] < 0) & table["accuracy"].notna()]
    if "set" in table:
        return set(full[["measure", "set"]].itertuples(index=False, name=None))
    return {*product(full["measure"].unique(), TASK_SETS)}


@final
class _Trial:
    """The rows of one trial."""

    def __init__(self, where: str, key: tuple[object, ...], rows: "pd.DataFrame") -> None:
        self.where = where
        self.method, self.configuration, seed, fold = map(str, key)
        self.draws_nothing, self.seed, self.fold = int(seed) < 0, max(0, int(seed)), int(fold)
        self.rows, self.end = self._recorded(rows)
        self.epochs = np.unique(self.rows["epoch"].to_numpy())

    def __str__(self) -> str:
        return _named(self.method, self.configuration, self.seed, self.fold)

    def _recorded(self, rows: "pd.DataFrame") -> tuple["pd.DataFrame", TrialEnd]:
        """Return the rows before the trial diverged, and how it ended."""
        lost = np.isnan(rows["accuracy"].to_numpy())
        if not lost.any():
            return rows, TrialEnd("done")
        first = rows[lost].sort_values("epoch", kind="stable").iloc[0]
        epoch = int(first["epoch"])
        late = rows[~lost & (rows["epoch"] >= epoch).to_numpy()]
        if len(late):
            raise BadData(
                f"{self.where}: row {late.index[0]}: {self} has an accuracy at epoch "
                f"{late['epoch'].iloc[0]}, but row {first.name}, of epoch {epoch}, is empty, which "
                "says that the trial diverged there: all of its rows from that epoch on must be "
                "empty. If it did not diverge, fill in what is missing."
            )
        return rows[~lost], TrialEnd("diverged", f"its scores are empty from epoch {epoch} on")

    def history(self, several: bool, held: ScoreKeys, common: TaskNames) -> TrialHistory:
        """Make the trial; ``several`` says whether its method has other configurations."""
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
            scores={key: self._scores(key, held, common) for key in SCORE_KEYS},
            end=self.end,
            draws_nothing=self.draws_nothing,
        )

    def _scores(self, key: ScoreKey, held: ScoreKeys, common: TaskNames) -> ScoreTable:
        (measure, task_set), rows = key, self._rows(*key)
        # A fold's trial needs only its accuracy on the fold's classes.
        needed = key == ("val", "selection") or (self.fold < 0 and key in held)
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
        """Return values ``[E, T]`` of rows that must hold every epoch and task."""
        values = np.full((len(self.epochs), len(tasks)), np.nan)
        column = {task: number for number, task in enumerate(tasks)}
        at = np.searchsorted(self.epochs, rows["epoch"].to_numpy())
        of = rows["task"].map(column).to_numpy() if len(tasks) > 1 else 0
        values[at, of] = rows["accuracy"].to_numpy()
        if np.isnan(values).any():
            epoch, task = np.argwhere(np.isnan(values))[0]
            of_task = f" of task {tasks[task]}" if len(tasks) > 1 else ""
            raise BadData(
                f"{self.where}: {self} has no {where}{of_task} at epoch {self.epochs[epoch]}, but "
                "other rows of that epoch. Each epoch of a trial needs every measure of the table."
            )
        return values


def filled(trials: Sequence[TrialHistory]) -> list[TrialHistory]:
    """Return trials in plan order, with an empty one for each missing from a method's grid.

    A method's grid is each of its configurations with each of its seeds: a seed that lacks a
    configuration would choose among fewer candidates than the others, and must not be averaged
    with them. Class folds need no filling: those missing are named where they are averaged.
    """
    methods = dict.fromkeys(trial.method for trial in trials)
    return [trial for name in methods for trial in _grid([t for t in trials if t.method == name])]


def _grid(trials: Sequence[TrialHistory]) -> list[TrialHistory]:
    """Return one method's trials: configurations as they came, seeds ascending, folds last."""
    cells: dict[tuple[str, int], list[TrialHistory]] = defaultdict(list)
    for trial in trials:
        cells[trial.configuration, trial.seed].append(trial)
    grid: list[TrialHistory] = []
    seeds = sorted({trial.seed for trial in trials})
    for example, seed in product({t.configuration: t for t in trials}.values(), seeds):
        cell = cells[example.configuration, seed]
        if all(trial.fold is not None for trial in cell):
            missing = replace(
                example,
                trial=_trial_id(example.method, example.configuration, seed, None),
                seed=seed,
                fold=None,
                epochs=np.zeros(0, np.int64),
                curves={},
                scores={},
                end=None,
                damaged=(),
            )
            grid.append(missing)
        grid += sorted(cell, key=lambda trial: -1 if trial.fold is None else trial.fold)
    return grid


def _trial_id(method: str, configuration: str, seed: int, fold: int | None) -> str:
    """Return the id of a trial that has no specification, 16 hexadecimal digits."""
    text = json.dumps([method, configuration, seed, fold])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _check_seeds(where: str, trials: Sequence[TrialHistory]) -> None:
    """Check that a configuration's seeds and folds have the same epochs until one of them ends."""
    longest: dict[tuple[str, str], TrialHistory] = {}
    recorded = [trial for trial in trials if len(trial.epochs)]
    for trial in sorted(recorded, key=lambda trial: -trial.epochs[-1]):
        other = longest.setdefault((trial.method, trial.configuration), trial)
        odd = np.setxor1d(trial.epochs[:-1], other.epochs[other.epochs < trial.epochs[-1]])
        names = [_named(t.method, t.configuration, t.seed, t.fold) for t in (trial, other)]
        if len(odd):
            raise BadData(
                f"{where}: {names[0]} and {names[1]} have different epochs: epoch {odd[0]} is in "
                "only one of them, and both went on after it. Add its rows, or remove one trial."
            )
        with_loss = ["train_loss" in t.curves for t in (trial, recorded[0])]
        if trial.fold is None and with_loss[0] != with_loss[1]:
            raise BadData(
                f"{where}: some trials have rows of train_loss and others, such as {names[0]} or "
                "the first one, have none. Give it for all of them, or for none."
            )


def _named(method: str, configuration: str, seed: int, fold: int | None) -> str:
    in_fold = "" if fold is None or fold < 0 else f", fold {fold}"
    return f"{method} (configuration {configuration}, seed {seed}{in_fold})"


def _ordered(tasks: list[str]) -> list[str]:
    """Sort tasks by number where all are numbers, else by name."""
    return sorted(tasks, key=int if all(t.isdecimal() for t in tasks) else None)  # type: ignore[arg-type]
