"""Measurements as columns: one Arrow row per snapshot, one Parquet file per trial and protocol.

A snapshot's row is kept in an envelope with its checksum. The Parquet file of a trial that has
ended is plain, so that any tool can open it; its checksum is in ``end.json``.
"""

import io
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache, partial
from math import ceil
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from fsl_sweep.orchestrator.ledger.bounds import check_stream
from fsl_sweep.orchestrator.records.measures import (
    SCORE_KEYS,
    ScoreKey,
    ScoreTable,
    TaskScores,
)

Scores = Mapping[ScoreKey, TaskScores]
COUNTS = pa.list_(pa.uint16())
_NEAR = 1e-9
"""Means are rounded once; two ways of computing them differ by no more."""
SCHEMA = pa.schema(
    [
        ("epoch", pa.int32()),
        *(
            (f"{m}_{s}_{column}", kind)
            for m, s in SCORE_KEYS
            for column, kind in (("mean", pa.float64()), ("correct", COUNTS), ("queries", COUNTS))
        ),
        ("snapshot", pa.string()),
    ]
)
ANSWERS = pa.schema(
    [
        ("snapshot", pa.string()),
        *(
            (f"{m}_{s}_{column}", COUNTS)
            for m, s in SCORE_KEYS
            for column in ("queries", "answers")
        ),
    ]
)
"""The answer to each query of a snapshot, as of ``TaskScores``, where a sweep records them."""
SUMMARY_COLUMNS = ["epoch", "snapshot", *(f"{m}_{s}_mean" for m, s in SCORE_KEYS)]


class Measured(NamedTuple):
    """What was measured of a trial's snapshots under a protocol.

    Attributes:
        epochs: of the snapshots, ascending, int64 ``[n]``.
        means: of each snapshot ``[n]``.
        accuracies: reads the accuracies of tasks ``[n, T]`` of a measure and task set.
        deviations: as of ``ScoreTable``, where they are known.
        damaged: where damaged files are.
    """

    epochs: np.ndarray
    means: Mapping[ScoreKey, np.ndarray]
    accuracies: Callable[[ScoreKey], np.ndarray]
    deviations: Mapping[ScoreKey, float] = {}
    damaged: Sequence[str] = ()

    @classmethod
    def of_table(cls, table: pa.Table) -> "Measured":
        """Return what a table with ``SUMMARY_COLUMNS`` holds; with all columns, its tasks too."""
        epochs = values(table["epoch"]).astype(np.int64)
        means = {key: values(table[_columns(key)[0]]) for key in SCORE_KEYS}
        return cls(epochs, means, partial(accuracies_of, table))

    def at(self, epochs: Collection[int]) -> "Measured":
        """Return what was measured of these epochs."""
        if self.epochs.tolist() == [*epochs]:
            return self
        rows = np.isin(self.epochs, [*epochs])
        return self._replace(
            epochs=self.epochs[rows],
            means={key: means[rows] for key, means in self.means.items()},
            accuracies=lambda key: self.accuracies(key)[rows],
        )


def row_of(epoch: int, snapshot: str, measured: Scores) -> pa.Table:
    """Make one row of ``SCHEMA``; ``snapshot`` is the SHA-256 of the measured weights."""
    columns: dict[str, Any] = {"epoch": [epoch], "snapshot": [snapshot]}
    for key in SCORE_KEYS:
        scores, (mean, correct, queries) = measured[key], _columns(key)
        columns[mean] = [scores.mean]
        columns[correct] = [_counts(scores.correct)]
        columns[queries] = [_counts(scores.queries)]
    return pa.table([pa.array(columns[field.name], field.type) for field in SCHEMA], schema=SCHEMA)


def answers_of(snapshot: str, measured: Scores) -> bytes:
    """Write the answers to all queries, compressed, with the SHA-256 of the weights."""
    columns: dict[str, Any] = {"snapshot": [snapshot]}
    for (measure, task_set), scores in measured.items():
        columns[f"{measure}_{task_set}_queries"] = [_counts(scores.queries)]
        columns[f"{measure}_{task_set}_answers"] = [scores.answers]
    table = pa.table([pa.array(columns[f.name], f.type) for f in ANSWERS], schema=ANSWERS)
    return stream(table, "zstd")


def read_answers(data: bytes) -> tuple[str, dict[ScoreKey, TaskScores]]:
    """Read what ``answers_of`` wrote. Raises ValueError on anything else."""
    table = streamed(data)
    if not table.schema.equals(ANSWERS) or table.num_rows != 1:
        raise ValueError("it has other columns")
    counts = lambda name: matrix(table[name])[0].astype(np.int64)  # noqa: E731
    scores: dict[ScoreKey, TaskScores] = {}
    for m, s in SCORE_KEYS:
        answers, queries = counts(f"{m}_{s}_answers"), counts(f"{m}_{s}_queries")
        if queries.sum() != len(answers):
            raise ValueError("it has answers to other queries")
        scores[m, s] = TaskScores.of_answers(answers, queries)
    return table["snapshot"].to_pylist()[0], scores


def _counts(values: np.ndarray) -> np.ndarray:
    if values.min() < 0 or values.max() > np.iinfo(np.uint16).max:
        raise ValueError(f"a task's count is outside 0..65535: {values.min()}..{values.max()}")
    return values.astype(np.uint16)


def stream(table: pa.Table, compression: str | None = None) -> bytes:
    """Write a table as an Arrow stream."""
    sink = io.BytesIO()
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with pa.ipc.new_stream(sink, table.schema, options=options) as writer:
        writer.write_table(table)
    return sink.getvalue()


def streamed(data: bytes) -> pa.Table:
    """Read what ``stream`` wrote. Raises ValueError on anything else, as ``check_stream`` too."""
    check_stream(data)
    options = pa.ipc.IpcReadOptions(use_threads=False)
    try:
        return pa.ipc.open_stream(data, options=options).read_all()
    except MemoryError:  # which Arrow's is too
        raise
    except (pa.ArrowException, OSError) as failure:
        raise ValueError("it is not an Arrow stream") from failure


def checked(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return the table if it has exactly these columns and values. Raises as ``check_values``."""
    if not table.schema.equals(schema):
        raise ValueError("it has other columns")
    if any(column.null_count for column in table.columns):
        raise ValueError("it lacks values")
    check_values(table)
    return table


def check_values(table: pa.Table) -> None:
    """Check what a table holds of epochs, means and counts; each row is an epoch.

    Raises:
        ValueError: an epoch does not follow the one before; a mean is outside [0, 1], or not that
            of its tasks; a task has more correct answers than queries, or no query.
    """
    names = set(table.column_names)
    if "epoch" in names and (np.diff(values(table["epoch"]), prepend=0) <= 0).any():
        raise ValueError("its epochs do not ascend from 1")
    for key in SCORE_KEYS:
        mean, correct, queries = _columns(key)
        means = values(table[mean]) if mean in names else None
        if means is not None and not ((means >= 0) & (means <= 1)).all():
            raise ValueError(f"{mean} is outside 0 to 1")
        if {correct, queries} <= names:
            _accuracies(key, matrix(table[correct]), matrix(table[queries]), means)


@cache
def _columns(key: ScoreKey) -> tuple[str, str, str]:
    """Return the columns of means, correct answers and queries."""
    measure, task_set = key
    name = f"{measure}_{task_set}"
    return f"{name}_mean", f"{name}_correct", f"{name}_queries"


def accuracies_of(table: pa.Table, key: ScoreKey) -> np.ndarray:
    """Return accuracies ``[E, T]`` of a table's counts. Raises ValueError as ``check_values``."""
    return _accuracies(key, *(matrix(table[name]) for name in _columns(key)[1:]))


def _accuracies(
    key: ScoreKey, correct: np.ndarray, queries: np.ndarray | int, means: np.ndarray | None = None
) -> np.ndarray:
    """Return accuracies of counts ``[E, T]``, checked, also against means ``[E]``.

    ``queries`` is one number where every task has as many.
    """
    mean, *_ = _columns(key)
    name = mean.removesuffix("_mean")
    if np.shape(queries) not in ((), correct.shape):
        raise ValueError(f"{name} has counts of different tasks")
    if np.min(queries) < 1 or correct.min() < 0 or (correct > queries).any():
        raise ValueError(f"{name} has a task with more correct answers than queries")
    accuracies = correct / queries
    if means is not None and (abs(accuracies.mean(axis=1) - means) > _NEAR).any():
        raise ValueError(f"{mean} is not the mean of its tasks")
    return accuracies


def scores_of(row: pa.Table) -> dict[ScoreKey, TaskScores]:
    """Return the results that a one-row table holds."""
    (plain,) = row.to_pylist()
    return {
        key: TaskScores(*(np.array(plain[name], np.int64) for name in _columns(key)[1:]))
        for key in SCORE_KEYS
    }


def compacted(rows: Sequence[pa.Table]) -> bytes:
    """Write rows as one Parquet file, ascending by epoch."""
    sink = io.BytesIO()
    pq.write_table(pa.concat_tables(rows), sink, compression="zstd")
    return sink.getvalue()


def plain_summary(table: pa.Table) -> dict[str, Any]:
    """Return the means of a table's rows and each column's largest deviation, as plain data."""
    plain: dict[str, Any] = {}
    for key in SCORE_KEYS:
        mean, *_ = _columns(key)
        plain[mean] = values(table[mean]).tolist()
        # Upwards, so that the bound stays one.
        largest = accuracies_of(table, key).std(axis=1).max()
        plain["{}_{}_deviation".format(*key)] = ceil(largest * 10**6) / 10**6
    return plain


def summary_of(plain: Mapping[str, Any], epochs: np.ndarray) -> Measured:
    """Read what ``plain_summary`` gave, for rows of these epochs ``[E]``, without their tasks.

    Raises:
        ValueError, KeyError, TypeError: it holds something else.
    """
    means = np.array([plain[_columns(key)[0]] for key in SCORE_KEYS], np.float64)
    if means.shape != (len(SCORE_KEYS), len(epochs)) or not ((means >= 0) & (means <= 1)).all():
        raise ValueError("it does not hold the mean of each epoch")
    deviations = {key: float(plain["{}_{}_deviation".format(*key)]) for key in SCORE_KEYS}
    by_key = dict(zip(SCORE_KEYS, means, strict=True))
    return NOTHING._replace(epochs=epochs, means=by_key, deviations=deviations)


def score_tables(epochs: np.ndarray, measured: Measured) -> dict[ScoreKey, ScoreTable]:
    """Return score tables of a trial's epochs ``[E]``, with NaN where one was not measured."""
    at = np.searchsorted(epochs, measured.epochs)

    def spread(rows: np.ndarray) -> np.ndarray:
        if len(at) == len(epochs):
            return rows
        every = np.full((len(epochs), *rows.shape[1:]), np.nan)
        every[at] = rows
        return every

    def score_table(key: ScoreKey) -> ScoreTable:
        def accuracies() -> np.ndarray:
            if not len(at):
                return np.full((len(epochs), 1), np.nan)
            return spread(measured.accuracies(key))

        deviation = measured.deviations.get(key)
        return ScoreTable(spread(measured.means[key]), accuracies, deviation=deviation)

    return {key: score_table(key) for key in SCORE_KEYS}


def matrix(column: pa.ChunkedArray) -> np.ndarray:
    """Return a column of lists as ``[rows, T]``. Raises ValueError where they differ in length."""
    lists = _one_chunk(column)
    ends = np.from_dlpack(lists.offsets)
    sizes = np.diff(ends)
    if lists.null_count or len(set(sizes.tolist())) > 1 or 0 in sizes:
        raise ValueError("its epochs have counts of different tasks")
    # Not `flatten`, which loads all functions of pyarrow: that takes as long as reading 50 trials.
    return values(lists.values[ends[0] : ends[-1]]).reshape(len(lists), -1)


def _one_chunk(column: pa.ChunkedArray) -> pa.Array:
    # Of a single chunk, `combine_chunks` makes a copy.
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def values(column: pa.ChunkedArray | pa.Array) -> np.ndarray:
    """Return the numbers of a column. Raises ValueError where a cell holds none."""
    array = _one_chunk(column) if isinstance(column, pa.ChunkedArray) else column
    if array.null_count or not (
        pa.types.is_integer(array.type) or pa.types.is_floating(array.type)
    ):
        raise ValueError("it has cells that hold no number")
    # Not `to_numpy`, which loads pandas: that takes longer than reading a hundred trials.
    return np.from_dlpack(array)


def read_columns(file: pq.ParquetFile, names: Sequence[str] = SCHEMA.names) -> pa.Table:
    """Read columns of a compacted file. Raises ValueError if no trial can have measured them."""
    return checked(_read(file, names), pa.schema([SCHEMA.field(name) for name in names]))


def read_accuracies(file: pq.ParquetFile, key: ScoreKey, means: np.ndarray) -> np.ndarray:
    """Read accuracies ``[E, T]`` with these means from a file. Raises as ``read_columns``."""
    _, correct, queries = _columns(key)
    equal = _of_every_task(file, key)
    table = _read(file, [correct, queries] if equal is None else [correct])
    if any(field.type != COUNTS for field in table.schema) or correct not in table.column_names:
        raise ValueError("it has other columns")
    counts = matrix(table[queries]) if equal is None else equal
    return _accuracies(key, matrix(table[correct]), counts, means)


def _of_every_task(file: pq.ParquetFile, key: ScoreKey) -> int | None:
    """Return the queries of every task, where the file's statistics say that all have as many.

    To read a column takes as long whether its values differ or not.
    """
    leaves, names = file.schema_arrow.names, _columns(key)[1:]
    if file.metadata.num_row_groups != 1 or not {*names} <= {*leaves}:
        return None
    group = file.metadata.row_group(0)
    correct, queries = (group.column(leaves.index(name)) for name in names)
    known = queries.statistics
    if known is None or not known.has_min_max or known.min != known.max or known.null_count:
        return None
    return known.min if queries.num_values == correct.num_values else None


def _read(file: pq.ParquetFile, names: Sequence[str]) -> pa.Table:
    # Without threads: a small file gains nothing from them, and a native thread that outlives
    # the interpreter aborts the process at its exit.
    try:
        return file.read(list(names), use_threads=False)
    except MemoryError:  # which Arrow's is too
        raise
    except (pa.ArrowException, OSError) as failure:
        raise ValueError("it is not a Parquet file of records") from failure


# Not `empty_table`, which loads pandas.
EMPTY = pa.table([pa.nulls(0, field.type) for field in SCHEMA], schema=SCHEMA)
NOTHING = Measured.of_table(EMPTY)
"""What was measured where nothing was."""
