"""Whether recorded values can be what a trial measured, which no checksum shows."""

import numpy as np
import pyarrow as pa

from fsl_sweep.orchestrator.columns import matrix, values
from fsl_sweep.orchestrator.records import MEASURES, TASK_SETS

_NEAR = 1e-9
"""Means are rounded once; two ways of computing them differ by no more."""


def check_values(table: pa.Table, summary: pa.Table | None = None) -> None:
    """Check what a table holds of epochs, means and counts; each row is an epoch.

    Args:
        table: some columns of a trial's records.
        summary: where their means are, row for row, if not in ``table``.

    Raises:
        ValueError: an epoch does not follow the one before; a mean is outside [0, 1], or not that
            of its tasks; a task has more correct answers than queries, or no query.
    """
    there = set(table.column_names)
    if "epoch" in there and (np.diff(values(table["epoch"]), prepend=0) <= 0).any():
        raise ValueError("its epochs do not ascend from 1")
    for name in (f"{measure}_{task_set}" for measure in MEASURES for task_set in TASK_SETS):
        mean, correct, queries = (f"{name}_{kind}" for kind in ("mean", "correct", "queries"))
        source = table if summary is None else summary
        means = values(source[mean]) if mean in source.column_names else None
        if means is not None and not ((means >= 0) & (means <= 1)).all():
            raise ValueError(f"{mean} is outside 0 to 1")
        if {correct, queries} <= there:
            _check_counts(name, matrix(table[correct]), matrix(table[queries]), means)


def _check_counts(
    name: str, correct: np.ndarray, queries: np.ndarray, means: np.ndarray | None
) -> None:
    """Of counts ``[E, T]`` and means ``[E]``."""
    if correct.shape != queries.shape:
        raise ValueError(f"{name} has counts of different tasks")
    if (queries < 1).any() or (correct < 0).any() or (correct > queries).any():
        raise ValueError(f"{name} has a task with more correct answers than queries")
    if means is not None and (abs((correct / queries).mean(axis=1) - means) > _NEAR).any():
        raise ValueError(f"{name}_mean is not the mean of its tasks")
