"""Histories for the conformance suites to try a selector on."""

from collections.abc import Sequence

import numpy as np

from fsl_sweep.orchestrator.history import SCORES, Candidate, History
from fsl_sweep.orchestrator.records import MEASURES

TASKS = 12


def random_history(seed: int, epochs: Sequence[int] = (1, 2, 3, 4, 5, 6)) -> History:
    """Scores without ties, and per-task accuracies whose means they are."""
    generator = np.random.default_rng(seed)
    tasks = {measure: generator.random((len(epochs), TASKS)) for measure in MEASURES}
    scores = {measure: table.mean(axis=1) for measure, table in tasks.items()}
    return _history(epochs, generator.random(len(epochs)) + 0.1, scores, tasks)


def constant_history(value: float, epochs: Sequence[int] = (1, 2, 3, 4)) -> History:
    """Every measure has one value at every epoch; NaN is allowed."""
    column = np.full(len(epochs), value)
    tasks = {measure: np.full((len(epochs), TASKS), value) for measure in MEASURES}
    return _history(epochs, column, dict.fromkeys(MEASURES, column), tasks)


def nan_history(good: int, epochs: Sequence[int] = (1, 2, 3, 4)) -> History:
    """Every measure is NaN but at the epoch ``good``."""
    column = np.where(np.array(epochs) == good, 0.5, np.nan)
    tasks = {measure: np.repeat(column[:, None], TASKS, axis=1) for measure in MEASURES}
    return _history(epochs, column, dict.fromkeys(MEASURES, column), tasks)


def candidate(history: History, number: int, epoch: int | None = None) -> Candidate:
    """A candidate at ``epoch`` (the last by default)."""
    at = int(history.epochs[-1]) if epoch is None else epoch
    return Candidate(f"trial-{number}", {"optimizer.lr": 10.0**-number}, at, history)


def with_noise_in(history: History, measures: frozenset[str], seed: int) -> History:
    """The same history with other values in ``measures``."""
    generator = np.random.default_rng(seed)
    noise = {m: generator.random(len(history.epochs)) for m in measures}
    scores = {m: noise.get(m, history.scores[m]) for m in SCORES}
    tasks = {
        m: generator.random((len(history.epochs), TASKS)) if m in measures else history.tasks[m]
        for m in MEASURES
    }
    return _history(history.epochs.tolist(), scores.pop("train_loss"), scores, tasks)


def _history(
    epochs: Sequence[int],
    train_loss: np.ndarray,
    scores: dict[str, np.ndarray],
    tasks: dict[str, np.ndarray],
) -> History:
    return History.from_arrays(
        epochs=list(epochs),
        train_loss=train_loss,
        base=scores["base"],
        val=scores["val"],
        novel=scores["novel"],
        tasks=tasks,
    )
