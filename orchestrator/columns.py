"""Epoch records as columns: one Arrow row an epoch, one Parquet file a trial that has ended.

An epoch's row is wrapped in a checksummed envelope, because a torn or altered file must be
noticed, never half believed. A finished trial's Parquet file is plain, so that any tool opens it;
its checksum stands in ``end.json``.
"""

import hashlib
import io
from collections.abc import Mapping, Sequence
from typing import Protocol, final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from fsl_sweep.orchestrator.records import (
    CURVES,
    MEASURES,
    TASK_SETS,
    EpochRecord,
    Measure,
    ScoreTable,
    TaskScores,
    TaskSet,
)

_MAGIC = b"fsl-sweep record 1 "
PAIRS: tuple[tuple[Measure, TaskSet], ...] = tuple((m, s) for m in MEASURES for s in TASK_SETS)


class DamagedRecord(ValueError):
    """Bytes that are not a whole, unaltered record."""


def epoch_row(record: EpochRecord) -> pa.Table:
    """One row: epoch, curves, and for each measure and task set ``mean, correct, queries``."""
    columns: dict[str, pa.Array] = {"epoch": pa.array([record.epoch], pa.int32())}
    for curve in CURVES:
        columns[curve] = pa.array([getattr(record, curve)], pa.float64())
    for measure, task_set in PAIRS:
        scores, name = record.scores[measure, task_set], f"{measure}_{task_set}"
        columns[f"{name}_mean"] = pa.array([scores.mean], pa.float64())
        columns[f"{name}_correct"] = pa.array([_counts(scores.correct)], pa.list_(pa.uint16()))
        columns[f"{name}_queries"] = pa.array([_counts(scores.queries)], pa.list_(pa.uint16()))
    return pa.table(columns)


def _counts(values: np.ndarray) -> np.ndarray:
    if values.min() < 0 or values.max() > np.iinfo(np.uint16).max:
        raise ValueError(f"a task's count is outside 0..65535: {values.min()}..{values.max()}")
    return values.astype(np.uint16)


def sealed(row: pa.Table) -> bytes:
    """A table in its envelope: magic, SHA-256 and Arrow stream."""
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, row.schema) as writer:
        writer.write_table(row)
    payload = sink.getvalue()
    return _MAGIC + hashlib.sha256(payload).hexdigest().encode() + b"\n" + payload


def opened(data: bytes) -> pa.Table:
    """The inverse of ``sealed``. Raises DamagedRecord on anything but its exact output."""
    head, newline, payload = data.partition(b"\n")
    if not newline or head != _MAGIC + hashlib.sha256(payload).hexdigest().encode():
        raise DamagedRecord("the checksum does not match")
    options = pa.ipc.IpcReadOptions(use_threads=False)
    return pa.ipc.open_stream(payload, options=options).read_all()


def record_of(row: pa.Table) -> EpochRecord:
    """The record that a one-row table holds."""
    (plain,) = row.to_pylist()
    scores: dict[tuple[Measure, TaskSet], TaskScores] = {
        (m, s): TaskScores(
            np.array(plain[f"{m}_{s}_correct"], np.int64),
            np.array(plain[f"{m}_{s}_queries"], np.int64),
        )
        for m, s in PAIRS
    }
    return EpochRecord(epoch=plain["epoch"], scores=scores, **{c: plain[c] for c in CURVES})


def compacted(rows: Sequence[pa.Table]) -> bytes:
    """Rows as one Parquet file, ascending by epoch."""
    sink = io.BytesIO()
    pq.write_table(pa.concat_tables(rows), sink, compression="zstd")
    return sink.getvalue()


def summary(table: pa.Table) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Epochs int64 ``[E]`` and the curves float64 ``[E]``."""
    epochs = _values(table["epoch"]).astype(np.int64)
    return epochs, {curve: _values(table[curve]).astype(np.float64) for curve in CURVES}


class Tasks(Protocol):
    """Where the tasks of a trial's epochs are read from."""

    def load(self, names: list[str]) -> pa.Table:
        """Some columns, one row an epoch."""
        ...

    def rows(self, name: str, at: Sequence[int]) -> pa.Table:
        """Columns ``task_columns(name)`` of some epochs, by position."""
        ...


@final
class TasksInMemory(Tasks):
    """The tasks of a table that is at hand."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def load(self, names: list[str]) -> pa.Table:
        """Some columns of the table."""
        return self._table.select(names)

    def rows(self, name: str, at: Sequence[int]) -> pa.Table:
        """Some rows of two of its columns."""
        return taken(self.load(task_columns(name)), at)


def taken(table: pa.Table, at: Sequence[int]) -> pa.Table:
    """A copy of the rows at some positions."""
    positions = pa.py_buffer(np.asarray(at, np.int64))
    return table.take(pa.Array.from_buffers(pa.int64(), len(at), [None, positions]))


def task_columns(name: str) -> list[str]:
    """The columns that hold the tasks of a measure and task set, such as ``novel_report``."""
    return [f"{name}_correct", f"{name}_queries"]


def score_tables(means: pa.Table, tasks: Tasks) -> Mapping[tuple[Measure, TaskSet], ScoreTable]:
    """Score tables whose tasks are read when they are asked for.

    Args:
        means: a table that holds the ``_mean`` columns.
        tasks: reads further columns, row for row those of ``means``.
    """
    return {(m, s): _score_table(f"{m}_{s}", means, tasks) for m, s in PAIRS}


def _score_table(name: str, means: pa.Table, tasks: Tasks) -> ScoreTable:
    return ScoreTable(
        _values(means[f"{name}_mean"]),
        load=lambda: _accuracies(tasks.load(task_columns(name))),
        load_rows=lambda at: _accuracies(tasks.rows(name, at)),
    )


def _accuracies(table: pa.Table) -> np.ndarray:
    """Accuracies ``[rows, T]`` of a table of correct counts and of queries."""
    correct, queries = table.columns
    return _matrix(correct) / _matrix(queries)


def _matrix(column: pa.ChunkedArray) -> np.ndarray:
    rows = len(column)
    return _values(column.combine_chunks().flatten()).reshape(rows, -1).astype(np.float64)


def _values(column: pa.ChunkedArray | pa.Array) -> np.ndarray:
    """The numbers of a column that lacks none."""
    # Not `to_numpy`, which loads pandas: that takes longer than reading a hundred trials.
    return np.from_dlpack(
        column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    )


SUMMARY_COLUMNS = ["epoch", *CURVES, *(f"{m}_{s}_mean" for m, s in PAIRS)]


def parquet(data: bytes) -> pq.ParquetFile:
    """A compacted file's bytes, opened."""
    return pq.ParquetFile(pa.BufferReader(data))


def read_columns(file: pq.ParquetFile, columns: list[str] | None) -> pa.Table:
    """Some columns of a compacted file, or all of them."""
    # Without threads: a small file gains nothing from them, and a native thread that outlives
    # the interpreter aborts the process at its exit.
    return file.read(columns, use_threads=False)
