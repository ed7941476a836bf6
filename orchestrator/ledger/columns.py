"""Measurements as columns: one Arrow row per snapshot, one Parquet file per trial and protocol.

A snapshot's row is kept in an envelope with its checksum. The Parquet file of a trial that has
ended is plain, so that any tool can open it; its checksum is in ``end.json``.
"""

import io
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from math import ceil
from typing import Any, NamedTuple

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

Pair = tuple[Measure, TaskSet]
Scores = Mapping[tuple[Measure, TaskSet], TaskScores]
PAIRS: tuple[Pair, ...] = tuple((m, s) for m in MEASURES for s in TASK_SETS)
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


class Summary(NamedTuple):
    """What is known of measured rows without their tasks.

    Attributes:
        epochs: of the rows, ascending, int64 ``[n]``.
        means: of each row ``[n]``.
        deviations: as of ``ScoreTable``, where they are known.
    """

    epochs: np.ndarray
    means: Mapping[Pair, np.ndarray]
    deviations: Mapping[Pair, float] = {}

    @classmethod
    def of_table(cls, table: pa.Table) -> "Summary":
        """The summary of a table with ``SUMMARY_COLUMNS``."""
        epochs = values(table["epoch"]).astype(np.int64)
        return cls(epochs, {(m, s): values(table[f"{m}_{s}_mean"]) for m, s in PAIRS})


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


def checked(table: pa.Table, schema: pa.Schema, summary: Summary | None = None) -> pa.Table:
    """The table, if it has exactly these columns and values. Raises as ``check_values``."""
    if not table.schema.equals(schema):
        raise ValueError("it has other columns")
    if any(column.null_count for column in table.columns):
        raise ValueError("it lacks values")
    check_values(table, summary)
    return table


def check_values(table: pa.Table, summary: Summary | None = None) -> None:
    """Check what a table holds of epochs, means and counts; each row is an epoch.

    If there is a ``summary``, its epochs and means are those of the table, row for row.

    Raises:
        ValueError: an epoch does not follow the one before; a mean is outside [0, 1], or not that
            of its tasks; a task has more correct answers than queries, or no query.
    """
    there = set(table.column_names)
    if "epoch" in there and (np.diff(values(table["epoch"]), prepend=0) <= 0).any():
        raise ValueError("its epochs do not ascend from 1")
    if summary is not None and len(table) != len(summary.epochs):
        raise ValueError("it does not hold the recorded epochs")
    for pair in PAIRS:
        mean, correct, queries = _names(pair)
        means = values(table[mean]) if mean in there else None
        if summary is not None:
            means = summary.means[pair]
        if means is not None and not ((means >= 0) & (means <= 1)).all():
            raise ValueError(f"{mean} is outside 0 to 1")
        if {correct, queries} <= there:
            _accuracies(pair, matrix(table[correct]), matrix(table[queries]), means)


@cache
def _names(pair: Pair) -> tuple[str, str, str]:
    """The columns of means, correct answers and queries."""
    measure, task_set = pair
    name = f"{measure}_{task_set}"
    return f"{name}_mean", f"{name}_correct", f"{name}_queries"


def accuracies_of(table: pa.Table, pair: Pair) -> np.ndarray:
    """Accuracies ``[E, T]`` of a table's counts. Raises ValueError as ``check_values``."""
    return _accuracies(pair, *(matrix(table[name]) for name in _names(pair)[1:]))


def _accuracies(
    pair: Pair, correct: np.ndarray, queries: np.ndarray | int, means: np.ndarray | None = None
) -> np.ndarray:
    """Accuracies of counts ``[E, T]``, checked, also against means ``[E]``.

    ``queries`` is one number where every task has as many.
    """
    mean, *_ = _names(pair)
    name = mean.removesuffix("_mean")
    if np.shape(queries) not in ((), correct.shape):
        raise ValueError(f"{name} has counts of different tasks")
    if np.min(queries) < 1 or correct.min() < 0 or (correct > queries).any():
        raise ValueError(f"{name} has a task with more correct answers than queries")
    accuracies = correct / queries
    if means is not None and (abs(accuracies.mean(axis=1) - means) > _NEAR).any():
        raise ValueError(f"{mean} is not the mean of its tasks")
    return accuracies


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


def plain_summary(table: pa.Table) -> dict[str, Any]:
    """As plain data, the means of a table's rows and the largest deviation of each column."""
    found: dict[str, Any] = {}
    for pair in PAIRS:
        mean, *_ = _names(pair)
        found[mean] = values(table[mean]).tolist()
        # Upwards, so that the bound stays one.
        most = accuracies_of(table, pair).std(axis=1).max()
        found["{}_{}_deviation".format(*pair)] = ceil(most * 10**6) / 10**6
    return found


def summary_of(plain: Mapping[str, Any], epochs: np.ndarray) -> Summary:
    """The inverse of ``plain_summary``, for rows of these epochs ``[E]``.

    Raises:
        ValueError, KeyError, TypeError: it holds something else.
    """
    means = np.array([plain[_names(pair)[0]] for pair in PAIRS], np.float64)
    if means.shape != (len(PAIRS), len(epochs)) or not ((means >= 0) & (means <= 1)).all():
        raise ValueError("it does not hold the mean of each epoch")
    deviations = {pair: float(plain["{}_{}_deviation".format(*pair)]) for pair in PAIRS}
    return Summary(epochs, dict(zip(PAIRS, means, strict=True)), deviations)


def score_tables(
    epochs: np.ndarray, summary: Summary, load: Callable[[Pair], np.ndarray]
) -> dict[Pair, ScoreTable]:
    """Score tables of these epochs ``[E]``, with NaN where an epoch was not measured.

    Args:
        epochs: of the trial, ascending.
        summary: of what was measured, some of the trial's epochs.
        load: reads accuracies of each task of the same rows.
    """
    at = np.searchsorted(epochs, summary.epochs)

    def spread(rows: np.ndarray) -> np.ndarray:
        if len(at) == len(epochs):
            return rows
        every = np.full((len(epochs), *rows.shape[1:]), np.nan)
        every[at] = rows
        return every

    def made(pair: Pair) -> ScoreTable:
        def accuracies() -> np.ndarray:
            if not len(at):
                return np.full((len(epochs), 1), np.nan)
            return spread(load(pair))

        deviation = summary.deviations.get(pair)
        return ScoreTable(spread(summary.means[pair]), accuracies, deviation=deviation)

    return {pair: made(pair) for pair in PAIRS}


def matrix(column: pa.ChunkedArray) -> np.ndarray:
    """A column of lists as ``[rows, T]``. Raises ValueError where they differ in length."""
    lists = _whole(column)
    ends = np.from_dlpack(lists.offsets)
    sizes = np.diff(ends)
    if lists.null_count or len(set(sizes.tolist())) > 1 or 0 in sizes:
        raise ValueError("its epochs have counts of different tasks")
    # Not `flatten`, which loads all functions of pyarrow: that takes as long as reading 50 trials.
    return values(lists.values[ends[0] : ends[-1]]).reshape(len(lists), -1)


def _whole(column: pa.ChunkedArray) -> pa.Array:
    # Of a single chunk, `combine_chunks` makes a copy.
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def values(column: pa.ChunkedArray | pa.Array) -> np.ndarray:
    """The numbers of a column. Raises ValueError where a cell holds none."""
    array = _whole(column) if isinstance(column, pa.ChunkedArray) else column
    if array.null_count or not (
        pa.types.is_integer(array.type) or pa.types.is_floating(array.type)
    ):
        raise ValueError("it has cells that hold no number")
    # Not `to_numpy`, which loads pandas: that takes longer than reading a hundred trials.
    return np.from_dlpack(array)


def read_columns(
    file: pq.ParquetFile, names: Sequence[str] = SCHEMA.names, summary: Summary | None = None
) -> pa.Table:
    """Some columns of a compacted file. Raises ValueError where no trial can have measured them."""
    return checked(_read(file, names), pa.schema([SCHEMA.field(name) for name in names]), summary)


def read_accuracies(file: pq.ParquetFile, pair: Pair, means: np.ndarray) -> np.ndarray:
    """Accuracies ``[E, T]`` from a compacted file, with these means. Raises as ``read_columns``."""
    _, correct, queries = _names(pair)
    each = _of_every_task(file, pair)
    table = _read(file, [correct, queries] if each is None else [correct])
    if any(field.type != COUNTS for field in table.schema) or correct not in table.column_names:
        raise ValueError("it has other columns")
    asked = matrix(table[queries]) if each is None else each
    return _accuracies(pair, matrix(table[correct]), asked, means)


def _of_every_task(file: pq.ParquetFile, pair: Pair) -> int | None:
    """The queries of every task, where the file's statistics say that they are equally many.

    To read a column takes as long whether its values differ or not.
    """
    leaves, names = file.schema_arrow.names, _names(pair)[1:]
    if file.metadata.num_row_groups != 1 or not {*names} <= {*leaves}:
        return None
    group = file.metadata.row_group(0)
    correct, queries = (group.column(leaves.index(name)) for name in names)
    found = queries.statistics
    if found is None or not found.has_min_max or found.min != found.max or found.null_count:
        return None
    return found.min if queries.num_values == correct.num_values else None


def _read(file: pq.ParquetFile, names: Sequence[str]) -> pa.Table:
    # Without threads: a small file gains nothing from them, and a native thread that outlives
    # the interpreter aborts the process at its exit.
    try:
        return file.read(list(names), use_threads=False)
    except (pa.ArrowException, OSError) as failure:
        raise ValueError("it is not a Parquet file of records") from failure
