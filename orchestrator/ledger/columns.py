"""Measurements as columns: one Arrow row per snapshot, one Parquet file per trial and protocol.

A snapshot's row is kept in an envelope with its checksum. The Parquet file of a trial that has
ended is plain, so that any tool can open it; its checksum is in ``end.json``.
"""

import io
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from fsl_sweep.orchestrator.records.measures import (
    MEASURES,
    TASK_SETS,
    Measure,
    ScoreTable,
    TaskScores,
    TaskSet,
)

Scores = Mapping[tuple[Measure, TaskSet], TaskScores]
PAIRS: tuple[tuple[Measure, TaskSet], ...] = tuple((m, s) for m in MEASURES for s in TASK_SETS)
COUNTS = pa.list_(pa.uint16())
_NEAR = 1e-9
"""Means are rounded once; two ways of computing them differ by no more."""
SCHEMA = pa.schema(
    [
        ("epoch", pa.int32()),
        *(
            (f"{m}_{s}_{column}", kind)
            for m, s in PAIRS
            for column, kind in (("mean", pa.float64()), ("correct", COUNTS), ("queries", COUNTS))
        ),
        ("snapshot", pa.string()),
    ]
)
ANSWERS = pa.schema(
    [
        ("snapshot", pa.string()),
        *((f"{m}_{s}_{column}", COUNTS) for m, s in PAIRS for column in ("queries", "answers")),
    ]
)
"""The answer to each query of a snapshot, as of ``TaskScores``, where a sweep records them."""
SUMMARY_COLUMNS = ["epoch", "snapshot", *(f"{m}_{s}_mean" for m, s in PAIRS)]


def row_of(epoch: int, snapshot: str, measured: Scores) -> pa.Table:
    """One row of ``SCHEMA``; ``snapshot`` is the SHA-256 of the weights that were measured."""
    columns: dict[str, Any] = {"epoch": [epoch], "snapshot": [snapshot]}
    for measure, task_set in PAIRS:
        scores, name = measured[measure, task_set], f"{measure}_{task_set}"
        columns[f"{name}_mean"] = [scores.mean]
        columns[f"{name}_correct"] = [_counts(scores.correct)]
        columns[f"{name}_queries"] = [_counts(scores.queries)]
    return pa.table([pa.array(columns[field.name], field.type) for field in SCHEMA], schema=SCHEMA)


def answers_of(snapshot: str, measured: Scores) -> bytes:
    """The answers to all queries, compressed, with the SHA-256 of the weights that gave them."""
    columns: dict[str, Any] = {"snapshot": [snapshot]}
    for (measure, task_set), scores in measured.items():
        columns[f"{measure}_{task_set}_queries"] = [_counts(scores.queries)]
        columns[f"{measure}_{task_set}_answers"] = [scores.answers]
    table = pa.table([pa.array(columns[f.name], f.type) for f in ANSWERS], schema=ANSWERS)
    return stream(table, "zstd")


def read_answers(data: bytes) -> tuple[str, dict[tuple[Measure, TaskSet], TaskScores]]:
    """The inverse of ``answers_of``. Raises ValueError on anything else."""
    table = streamed(data)
    if not table.schema.equals(ANSWERS) or table.num_rows != 1:
        raise ValueError("it has other columns")
    counts = lambda name: matrix(table[name])[0].astype(np.int64)  # noqa: E731
    found: dict[tuple[Measure, TaskSet], TaskScores] = {}
    for m, s in PAIRS:
        answers, queries = counts(f"{m}_{s}_answers"), counts(f"{m}_{s}_queries")
        if queries.sum() != len(answers):
            raise ValueError("it has answers to other queries")
        found[m, s] = TaskScores.of_answers(answers, queries)
    return table["snapshot"].to_pylist()[0], found


def _counts(values: np.ndarray) -> np.ndarray:
    if values.min() < 0 or values.max() > np.iinfo(np.uint16).max:
        raise ValueError(f"a task's count is outside 0..65535: {values.min()}..{values.max()}")
    return values.astype(np.uint16)


def stream(table: pa.Table, compression: str | None = None) -> bytes:
    """A table as an Arrow stream."""
    sink = io.BytesIO()
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with pa.ipc.new_stream(sink, table.schema, options=options) as writer:
        writer.write_table(table)
    return sink.getvalue()


def streamed(data: bytes) -> pa.Table:
    """The inverse of ``stream``. Raises ValueError on anything else."""
    options = pa.ipc.IpcReadOptions(use_threads=False)
    try:
        return pa.ipc.open_stream(data, options=options).read_all()
    except (pa.ArrowException, OSError) as failure:
        raise ValueError("it is not an Arrow stream") from failure


def checked(table: pa.Table, schema: pa.Schema, summary: pa.Table | None = None) -> pa.Table:
    """The table, if it has exactly these columns and values. Raises as ``check_values``."""
    if not table.schema.equals(schema):
        raise ValueError("it has other columns")
    if any(column.null_count for column in table.columns):
        raise ValueError("it lacks values")
    check_values(table, summary)
    return table


def check_values(table: pa.Table, summary: pa.Table | None = None) -> None:
    """Check what a table holds of epochs, means and counts; each row is an epoch.

    The means are in ``summary``, row for row, if not in ``table``.

    Raises:
        ValueError: an epoch does not follow the one before; a mean is outside [0, 1], or not that
            of its tasks; a task has more correct answers than queries, or no query.
    """
    there = set(table.column_names)
    if "epoch" in there and (np.diff(values(table["epoch"]), prepend=0) <= 0).any():
        raise ValueError("its epochs do not ascend from 1")
    for name in (f"{measure}_{task_set}" for measure, task_set in PAIRS):
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


def scores_of(row: pa.Table) -> dict[tuple[Measure, TaskSet], TaskScores]:
    """The results that a one-row table holds."""
    (plain,) = row.to_pylist()
    counts = lambda name: np.array(plain[name], np.int64)  # noqa: E731
    return {
        (m, s): TaskScores(counts(f"{m}_{s}_correct"), counts(f"{m}_{s}_queries")) for m, s in PAIRS
    }


def compacted(rows: Sequence[pa.Table]) -> bytes:
    """Rows as one Parquet file, ascending by epoch."""
    sink = io.BytesIO()
    pq.write_table(pa.concat_tables(rows), sink, compression="zstd")
    return sink.getvalue()


def score_tables(
    epochs: np.ndarray, means: pa.Table, load: Callable[[list[str]], pa.Table]
) -> dict[tuple[Measure, TaskSet], ScoreTable]:
    """Score tables of these epochs ``[E]``, with NaN where an epoch was not measured.

    Args:
        epochs: of the trial, ascending.
        means: epochs and means of what was measured, some of the trial's epochs.
        load: reads other columns of the same rows.
    """
    at = np.searchsorted(epochs, values(means["epoch"]))

    def spread(rows: np.ndarray) -> np.ndarray:
        if len(at) == len(epochs):
            return rows
        every = np.full((len(epochs), *rows.shape[1:]), np.nan)
        every[at] = rows
        return every

    def made(name: str) -> ScoreTable:
        def accuracies() -> np.ndarray:
            if not len(at):
                return np.full((len(epochs), 1), np.nan)
            correct, queries = load([f"{name}_correct", f"{name}_queries"]).columns
            return spread(matrix(correct).astype(np.float64) / matrix(queries))

        return ScoreTable(spread(values(means[f"{name}_mean"])), accuracies)

    return {(m, s): made(f"{m}_{s}") for m, s in PAIRS}


def matrix(column: pa.ChunkedArray) -> np.ndarray:
    """A column of lists as ``[rows, T]``. Raises ValueError where they differ in length."""
    lists = column.combine_chunks()
    sizes = np.diff(np.from_dlpack(lists.offsets))
    if len(set(sizes.tolist())) > 1 or 0 in sizes:
        raise ValueError("its epochs have counts of different tasks")
    return values(lists.flatten()).reshape(len(lists), -1)


def values(column: pa.ChunkedArray | pa.Array) -> np.ndarray:
    """The numbers of a column. Raises ValueError where a cell holds none."""
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if array.null_count or not (
        pa.types.is_integer(array.type) or pa.types.is_floating(array.type)
    ):
        raise ValueError("it has cells that hold no number")
    # Not `to_numpy`, which loads pandas: that takes longer than reading a hundred trials.
    return np.from_dlpack(array)


def read_columns(
    file: pq.ParquetFile, names: Sequence[str] = SCHEMA.names, summary: pa.Table | None = None
) -> pa.Table:
    """Some columns of a compacted file. Raises ValueError where no trial can have measured them."""
    # Without threads: a small file gains nothing from them, and a native thread that outlives
    # the interpreter aborts the process at its exit.
    try:
        table = file.read(list(names), use_threads=False)
    except (pa.ArrowException, OSError) as failure:
        raise ValueError("it is not a Parquet file of records") from failure
    return checked(table, pa.schema([SCHEMA.field(name) for name in names]), summary)
