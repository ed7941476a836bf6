"""What was measured of a trial's snapshots, by protocol.

A snapshot has a file ``measured/PROTOCOL/0001.record``, until all of an ended trial's are one file
``measured/PROTOCOL.parquet``, whose checksum is in the trial's ``end.json``. The answers to
queries, where a sweep records them, stay in a file per snapshot.

What is read is about the recorded weights: rows of others are of another training. ``weights``
holds their SHA-256 by epoch, ascending.
"""

import hashlib
import re
from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from fsl_sweep.orchestrator.errors import Damaged
from fsl_sweep.orchestrator.ledger import columns
from fsl_sweep.orchestrator.ledger.bounds import check_footer
from fsl_sweep.orchestrator.ledger.columns import EMPTY, NOTHING, Measured
from fsl_sweep.orchestrator.ledger.storage import Folder
from fsl_sweep.orchestrator.records.measures import ScoreKey, TaskScores
from fsl_sweep.orchestrator.records.plan import PROTOCOL_ID

MEASURED = "measured"
_NUMBERED = re.compile(r"([0-9]{4}|[1-9][0-9]{4,8})\.([a-z]+)")
_PARQUET = ".parquet"

Weights = Mapping[int, str]


def measured_name(protocol: str, epoch: int) -> str:
    """Name the file of what was measured of a snapshot under a protocol, by the protocol's id."""
    return f"{MEASURED}/{protocol}/{epoch:04d}.record"


def answers_name(protocol: str, epoch: int) -> str:
    """Name the file of a snapshot's answer to each query under a protocol."""
    return f"{MEASURED}/{protocol}/{epoch:04d}.answers"


def compacted_name(protocol: str) -> str:
    """Name the file of what was measured of all of a trial's snapshots."""
    return f"{MEASURED}/{protocol}{_PARQUET}"


def epoch_of(name: str, *suffixes: str) -> int | None:
    """Return the epoch of a file's name that has one of these suffixes; None of other names."""
    match = _NUMBERED.fullmatch(name)
    return int(match[1]) if match and match[2] in suffixes else None


def numbers(folder: Folder, suffix: str) -> list[int]:
    """Return the epochs that have a file with a suffix in a folder, ascending. Raises Damaged."""
    return sorted(e for name in folder.names() if (e := epoch_of(name, suffix)) is not None)


class Measurements:
    """Reads and writes what was measured, in the folder of one trial."""

    def __init__(self, folder: Folder) -> None:
        self.folder = folder

    def write(
        self, protocol: str, epoch: int, snapshot: str, scores: columns.Scores, answers: bool
    ) -> None:
        """Record what was measured of the weights ``snapshot``, with or without the answers."""
        if answers:
            data = columns.answers_of(snapshot, scores)
            self.folder.write_sealed(answers_name(protocol, epoch), data)
        row = columns.row_of(epoch, snapshot, scores)
        self.folder.write_sealed(measured_name(protocol, epoch), columns.stream(row))

    def read_answers(
        self, protocol: str, epoch: int, weights: Weights
    ) -> dict[ScoreKey, TaskScores] | None:
        """Read a snapshot's results with the answer to each query; None if that is not recorded.

        Raises:
            Damaged: the file is damaged, or the answers are those of other weights.
        """
        name = answers_name(protocol, epoch)
        data = self.folder.read_sealed(name)
        if data is None:
            return None
        try:
            snapshot, answers = columns.read_answers(data)
        except ValueError as failure:
            raise Damaged(self.folder.place(name), str(failure)) from failure
        if snapshot != weights.get(epoch):
            raise Damaged(self.folder.place(name), "it was measured of other weights")
        return answers

    def files(self, protocol: str) -> list[int]:
        """Return epochs with a file of measurements, damaged or not, ascending. Raises Damaged."""
        return numbers(self.folder / MEASURED / protocol, "record")

    def answered(self, protocol: str) -> list[int]:
        """Return epochs with a file of answers, damaged or not, ascending. Raises Damaged."""
        return numbers(self.folder / MEASURED / protocol, "answers")

    def protocols(self) -> list[str]:
        """Return ids of protocols under which something was measured, sorted. Raises Damaged."""
        names = (name.removesuffix(_PARQUET) for name in (self.folder / MEASURED).names())
        return sorted(set(filter(PROTOCOL_ID.fullmatch, names)))

    def compacted(self) -> list[str]:
        """Name the files of all of the trial's snapshots."""
        with suppress(Damaged):
            names = (self.folder / MEASURED).names()
            return [f"{MEASURED}/{name}" for name in names if name.endswith(_PARQUET)]
        return []

    def read(
        self,
        protocol: str,
        weights: Weights,
        checksum: str | None,
        summary: Measured | None = None,
    ) -> Measured:
        """Read what was measured of the recorded weights under a protocol.

        ``checksum`` is that of the compacted file, if there should be one. Where it is damaged,
        what was measured again since is read. With its ``summary``, it is not read now.
        """
        compacted = NOTHING
        if checksum is not None:
            if summary is not None:
                return self._unread(protocol, checksum, summary)
            compacted = self._compacted(protocol, weights, checksum)
            if not compacted.damaged:
                return compacted
        table, damaged = self._rows(protocol, weights)
        measured = Measured.of_table(table)
        if measured.epochs.tolist() != [*weights]:
            damaged = [*compacted.damaged, *damaged]
        return measured._replace(damaged=damaged)

    def compact(
        self, protocol: str, weights: Weights, checksum: str | None
    ) -> tuple[str, Mapping[str, Any]] | None:
        """Put the measurements of all snapshots into one file, unless there is an undamaged one.

        Returns:
            The file's SHA-256, and what a new one amounts to as plain data; None where measurements
            are missing.
        """
        if checksum is not None and not self._compacted(protocol, weights, checksum).damaged:
            return checksum, {}
        table, _ = self._rows(protocol, weights)
        if not len(table) or not _about(table, weights):
            return None
        data = columns.compacted([table])
        self.folder.write(compacted_name(protocol), data)
        return hashlib.sha256(data).hexdigest(), columns.plain_summary(table)

    def expand(self, protocol: str, checksum: str, epochs: int) -> None:
        """Write a file for each of at most so many snapshots in the compacted file, if it is whole.

        A damaged one is left.
        """
        try:
            file = _parquet(self.folder, compacted_name(protocol), checksum, epochs)
            table = columns.read_columns(file)
        except (Damaged, ValueError):
            return
        for at in range(len(table)):
            row = table.slice(at, 1)
            epoch, snapshot = row["epoch"][0].as_py(), _snapshot(row)
            self.write(protocol, epoch, snapshot, columns.scores_of(row), answers=False)

    def row(self, protocol: str, epoch: int) -> pa.Table | None:
        """Read what was measured of an epoch; None where there is no file. Raises Damaged."""
        name = measured_name(protocol, epoch)
        payload = self.folder.read_sealed(name)
        if payload is None:
            return None
        try:
            row = columns.checked(columns.streamed(payload), columns.SCHEMA)
            if row["epoch"].to_pylist() != [epoch]:
                raise ValueError("it is another epoch's")
        except ValueError as failure:
            raise Damaged(self.folder.place(name), str(failure)) from failure
        return row

    def _rows(self, protocol: str, weights: Weights) -> tuple[pa.Table, list[str]]:
        """Read undamaged rows about these weights, ascending; say where the damaged files are."""
        rows: list[pa.Table] = []
        damaged: list[str] = []
        try:
            for epoch in self.files(protocol):
                try:
                    if (row := self.row(protocol, epoch)) is not None:
                        rows.append(row)
                except Damaged as damage:
                    damaged.append(damage.place)
            if rows:
                columns.check_values(pa.concat_tables(rows))
        except Damaged as damage:  # no folder
            return EMPTY, [damage.place]
        except ValueError:  # epochs that were not measured alike
            return EMPTY, [self.folder.place(f"{MEASURED}/{protocol}")]
        ours = [row for row in rows if weights.get(row["epoch"][0].as_py()) == _snapshot(row)]
        return pa.concat_tables(ours) if ours else EMPTY, damaged

    def _compacted(self, protocol: str, weights: Weights, checksum: str) -> Measured:
        name = compacted_name(protocol)
        try:
            file = _parquet(self.folder, name, checksum, len(weights))
            table = columns.read_columns(file, columns.SUMMARY_COLUMNS)
            if not {*columns.SCHEMA.names} <= {*file.schema_arrow.names}:
                raise ValueError("it lacks columns")
            if not _about(table, weights):
                raise ValueError("it is not about the recorded weights")
        except (Damaged, ValueError):
            return NOTHING._replace(damaged=[self.folder.place(name)])
        return self._unread(protocol, checksum, Measured.of_table(table))

    def _unread(self, protocol: str, checksum: str, summary: Measured) -> Measured:
        name = compacted_name(protocol)

        # Read each time: the tasks of a thousand trials do not fit in memory.
        def accuracies(key: ScoreKey) -> np.ndarray:
            try:
                file = _last_parquet(self.folder, name, checksum, len(summary.epochs))
                return columns.read_accuracies(file, key, summary.means[key])
            except ValueError as failure:
                raise Damaged(self.folder.place(name), str(failure)) from failure

        return summary._replace(accuracies=accuracies)


def _snapshot(row: pa.Table) -> str:
    return row["snapshot"][0].as_py()


def _about(table: pa.Table, weights: Weights) -> bool:
    """Return whether a table's rows are about exactly these weights, in the same order."""
    epochs = columns.values(table["epoch"]).tolist()
    return [*zip(epochs, table["snapshot"].to_pylist(), strict=True)] == [*weights.items()]


def _parquet(folder: Folder, name: str, checksum: str, rows: int) -> pq.ParquetFile:
    """Open a file of so many compacted measurements. Raises Damaged."""
    data = folder.read(name, rows) or b""
    if hashlib.sha256(data).hexdigest() != checksum:
        raise Damaged(folder.place(name), "it is not what was recorded")
    try:
        file = pq.ParquetFile(pa.BufferReader(data))
    except MemoryError:  # which Arrow's is too
        raise
    except (pa.ArrowException, OSError) as failure:
        raise Damaged(folder.place(name), "it is not a Parquet file") from failure
    check_footer(folder.place(name), file.metadata, rows)
    return file


_last_parquet = lru_cache(maxsize=8)(_parquet)
"""The last files are kept: a trial's columns are read in turn, perhaps under two protocols."""
