"""Recorded trials written by hand, for the tests of the analysis wing."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from fsl_sweep.orchestrator.records.measures import (
    CURVES,
    MEASURES,
    TASK_SETS,
    Measure,
    ScoreTable,
    TrialEnd,
    TrialHistory,
)

DONE = TrialEnd("done")
TASKS = 40


def trial(
    method: str,
    configuration: str,
    seed: int = 0,
    *,
    base: Sequence[float] = (),
    val: Sequence[float] = (),
    novel: Sequence[float] = (),
    report: Sequence[float] | None = None,
    loss: Sequence[float] | None = None,
    epochs: Sequence[int] | None = None,
    end: TrialEnd | None = DONE,
    damaged: tuple[str, ...] = (),
    fold: int | None = None,
    spread: float = 0.05,
) -> TrialHistory:
    """A trial whose accuracies have the given means on the selection tasks.

    On the report tasks novel has the means ``report`` (``novel`` by default); tasks differ by a
    pattern common to all trials, so that the tests can compute what to expect.
    """
    count = len(base)
    at = np.arange(1, count + 1) if epochs is None else np.array(epochs)
    pattern = np.linspace(-spread, spread, TASKS)
    means = {"base": base, "val": val, "novel": novel}
    scores = {}
    for measure in MEASURES:
        for task_set in TASK_SETS:
            column = means[measure]
            if measure == "novel" and task_set == "report" and report is not None:
                column = report
            if measure != "novel" and task_set == "report":
                column = np.nan_to_num(np.array(column, dtype=float), nan=0.5)
            table = np.array(column, dtype=float)[:, None] + pattern
            scores[measure, task_set] = ScoreTable(
                np.array(column, dtype=float), lambda table=table: table
            )
    curves = {curve: np.full(count, 0.1) for curve in CURVES}
    curves["train_loss"] = np.array(loss if loss is not None else np.linspace(2, 1, count))
    return TrialHistory(
        trial=f"{method}-{configuration}-{seed}" + ("" if fold is None else f"-fold{fold}"),
        method=method,
        configuration=configuration,
        hyperparameters={"optimizer.lr": configuration},
        seed=seed,
        fold=fold,
        epochs=at.astype(np.int64),
        curves=curves,
        scores=scores,
        end=end,
        damaged=damaged,
    )


def rising(methods: Sequence[str], seeds: int, epochs: int) -> list[TrialHistory]:
    """Trials of two configurations whose curves rise; each method has 2 points more NovelGen."""
    generator, time = np.random.default_rng(0), np.arange(epochs) / epochs
    trials: list[TrialHistory] = []
    for rank, method in enumerate(methods):
        for rate in ("0.1", "0.01"):
            for seed in range(seeds):
                base, val, novel = (
                    start + 0.2 * (1 - np.exp(-5 * time)) + generator.normal(0, 0.005, epochs)
                    for start in (0.6, 0.5, 0.4 + 0.02 * rank)
                )
                trials.append(trial(method, rate, seed, base=base, val=val, novel=novel))
    return trials


def replicates(
    method: str, novel: Sequence[Sequence[float]], *, spread: float = 0.0, **columns: Any
) -> list[TrialHistory]:
    """A trial for each seed with this NovelGen by epoch; ``columns`` are those of every seed."""
    return [
        trial(method, "x", seed, novel=by_epoch, spread=spread, **columns)
        for seed, by_epoch in enumerate(novel)
    ]


def tabled(plain: TrialHistory, table: Callable[[Measure], np.ndarray]) -> TrialHistory:
    """The trial with accuracies of tasks ``[E, T]``, asked for by measure and task set in turn."""
    scores = {(m, s): ScoreTable.from_accuracies(table(m)) for m in MEASURES for s in TASK_SETS}
    return replace(plain, scores=scores)
