"""Epoch records as columns: one Arrow row an epoch, one Parquet file a trial that has ended.

An epoch's row is wrapped in a checksummed envelope, because a torn or altered file must be
noticed, never half believed. A finished trial's Parquet file is plain, so that any tool opens it;
its checksum stands in ``end.json``.
"""

import hashlib
import io
from collections.abc import Callable, Mapping, Sequence

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
    epochs = table["epoch"].to_numpy().astype(np.int64)
    return epochs, {curve: table[curve].to_numpy().astype(np.float64) for curve in CURVES}


def score_tables(
    means: pa.Table, load: Callable[[list[str]], pa.Table]
) -> Mapping[tuple[Measure, TaskSet], ScoreTable]:
    """Score tables whose tasks are read when they are asked for.

    Args:
        means: a table that holds the ``_mean`` columns.
        load: gives a table with the named columns, row for row those of ``means``.
    """

    def loader(name: str) -> Callable[[], np.ndarray]:
        def accuracies() -> np.ndarray:
            table = load([f"{name}_correct", f"{name}_queries"])
            return _matrix(table[f"{name}_correct"]) / _matrix(table[f"{name}_queries"])

        return accuracies

    return {
        (m, s): ScoreTable(means[f"{m}_{s}_mean"].to_numpy(), loader(f"{m}_{s}")) for m, s in PAIRS
    }


def _matrix(column: pa.ChunkedArray) -> np.ndarray:
    rows = len(column)
    flat = column.combine_chunks().flatten().to_numpy(zero_copy_only=False)
    return flat.reshape(rows, -1).astype(np.float64)


SUMMARY_COLUMNS = ["epoch", *CURVES, *(f"{m}_{s}_mean" for m, s in PAIRS)]


def read_columns(data: bytes, columns: list[str] | None) -> pa.Table:
    """Some columns of a compacted file's bytes, or all of them."""
    # Without threads: a small file gains nothing from them, and a native thread that outlives
    # the interpreter aborts the process at its exit.
    return pq.ParquetFile(pa.BufferReader(data)).read(columns, use_threads=False)
