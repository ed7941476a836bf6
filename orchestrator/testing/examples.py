"""Histories for the conformance suites to try a selector on."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fsl_sweep.orchestrator.errors import SelectionError
from fsl_sweep.orchestrator.records.measures import MEASURES
from fsl_sweep.orchestrator.selectors.candidate import Candidate
from fsl_sweep.orchestrator.selectors.history import History

RECORDED = ("train_loss", *MEASURES)
TASKS = 12
FOLDS = 3
NAN = float("nan")


def random_history(seed: int, epochs: Sequence[int] = (1, 2, 3, 4, 5, 6)) -> History:
    """Make scores without ties, per-task accuracies whose means they are, and class folds."""
    generator = np.random.default_rng(seed)
    return _random(generator, epochs, [_random(generator, epochs) for _ in range(FOLDS)])


def constant_history(value: float, epochs: Sequence[int] = (1, 2, 3, 4)) -> History:
    """Give every measure one value at every epoch; NaN is allowed."""
    column = np.full(len(epochs), value)
    return _same(epochs, column, [_same(epochs, column)] * FOLDS)


def nan_history(good: int, epochs: Sequence[int] = (1, 2, 3, 4)) -> History:
    """Make every measure NaN but at the epoch ``good``."""
    column = np.where(np.array(epochs) == good, 0.5, np.nan)
    return _same(epochs, column, [_same(epochs, column)] * FOLDS)


def partly_nan_history(seed: int, epochs: Sequence[int] = (1, 2, 3, 4, 5, 6)) -> History:
    """Make a random history with every measure NaN at some epochs, but not at all of them."""
    generator = np.random.default_rng(seed)
    missing = generator.random(len(epochs)) < 0.5
    missing[generator.integers(len(epochs))] = False

    def without(history: History, folds: Sequence[History] = ()) -> History:
        scores = {m: np.where(missing, np.nan, history.scores[m]) for m in RECORDED}
        tasks = {m: np.where(missing[:, None], np.nan, history.tasks[m]) for m in MEASURES}
        return History.from_arrays(epochs=epochs, tasks=tasks, folds=folds, **scores)

    complete = random_history(seed, epochs)
    return without(complete, [without(fold) for fold in complete.folds])


def candidate(history: History, number: int, epoch: int | None = None) -> Candidate:
    """Make a candidate at ``epoch`` (the last by default), and at the first epoch of each fold."""
    at = int(history.epochs[-1]) if epoch is None else epoch
    first = tuple(int(fold.epochs[0]) for fold in history.folds)
    return Candidate(f"trial-{number}", {"optimizer.lr": 10.0**-number}, at, history, first)


def candidates(seed: int, count: int = 4) -> list[Candidate]:
    """Make candidates of random histories."""
    return [candidate(random_history(seed * 10 + i), i) for i in range(count)]


def constant(*values: float) -> list[Candidate]:
    """Make a candidate for each value, which all of its measures have."""
    return [candidate(constant_history(value), i) for i, value in enumerate(values)]


def at_epochs_apart() -> list[Candidate]:
    """Make candidates of different epochs that do not follow each other."""
    epochs = (3, 10, 25)
    return [candidate(random_history(i, epochs), i, epoch) for i, epoch in enumerate(epochs)]


def must_raise(select: Callable[[Any], Any], name: str, choices: Any) -> None:
    """Raise AssertionError unless the selector raises SelectionError."""
    try:
        chosen = select(choices)
    except SelectionError:
        return
    raise AssertionError(f"'{name}' chose {chosen!r} where it must raise SelectionError.")


def _random(
    generator: np.random.Generator, epochs: Sequence[int], folds: Sequence[History] = ()
) -> History:
    tasks = {measure: generator.random((len(epochs), TASKS)) for measure in MEASURES}
    scores = {measure: table.mean(axis=1) for measure, table in tasks.items()}
    loss = generator.random(len(epochs)) + 0.1
    return History.from_arrays(epochs=epochs, train_loss=loss, tasks=tasks, folds=folds, **scores)


def _same(epochs: Sequence[int], column: np.ndarray, folds: Sequence[History] = ()) -> History:
    tasks = {measure: np.repeat(column[:, None], TASKS, axis=1) for measure in MEASURES}
    scores = dict.fromkeys(RECORDED, column)
    return History.from_arrays(epochs=epochs, tasks=tasks, folds=folds, **scores)
