"""The folder of one trial: its measured epochs, its weights, and how it ended.

Each epoch has a file in ``epochs/`` until the trial ends; then all of them are one Parquet file.
"""

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from fsl_sweep.orchestrator.errors import Damaged, RunFolderError
from fsl_sweep.orchestrator.ledger import columns
from fsl_sweep.orchestrator.ledger.storage import Folder
from fsl_sweep.orchestrator.records.measures import STATUSES, EpochRecord, TrialEnd, TrialHistory
from fsl_sweep.orchestrator.records.plan import PlannedTrial
from fsl_sweep.orchestrator.records.spec import TrialSpec

EPOCHS, SNAPSHOTS = "epochs", "snapshots"
RESUME, COMPACTED = "resume.state", "records.parquet"
_NUMBERED = re.compile(r"([0-9]{4}|[1-9][0-9]{4,8})\.(record|safetensors)")
# From nulls, because an array of a Python list loads pandas, which takes longer than all else here.
_EMPTY = pa.table({name: pa.nulls(0, pa.float64()) for name in columns.SUMMARY_COLUMNS})


def record_name(epoch: int) -> str:
    """The name of an epoch's record in a trial's folder."""
    return f"{EPOCHS}/{epoch:04d}.record"


def snapshot_name(epoch: int) -> str:
    """The name of an epoch's weights in a trial's folder."""
    return f"{SNAPSHOTS}/{epoch:04d}.safetensors"


class _Content(NamedTuple):
    """What a trial's folder holds; ``load`` reads other columns, row for row those of ``table``."""

    end: TrialEnd | None = None
    table: pa.Table = _EMPTY
    load: Callable[[list[str]], pa.Table] = _EMPTY.select
    damaged: Sequence[str] = ()


class TrialLedger:
    """Reads and writes the folder of one trial."""

    def __init__(self, folder: Folder) -> None:
        self.folder = folder

    def begin(self, spec: TrialSpec) -> None:
        """Record the specification, and remove a failure that is being tried again."""
        self.folder.write_json("spec.json", spec.canonical())
        self.folder.remove("end.json")

    def write_epoch(self, record: EpochRecord, snapshot: bytes) -> None:
        """Record a measured epoch; its weights come first, so that no record lacks them."""
        self.folder.write(snapshot_name(record.epoch), snapshot)
        row = columns.epoch_row(record, hashlib.sha256(snapshot).hexdigest())
        self.folder.write_sealed(record_name(record.epoch), columns.stream(row))

    def write_resume(self, state: bytes) -> None:
        """Record the state to resume from, replacing the one before."""
        self.folder.write_sealed(RESUME, state)

    def read_resume(self) -> bytes | None:
        """The state to resume from; None where there is none, or it is damaged."""
        with suppress(Damaged):
            return self.folder.read_sealed(RESUME)
        return None

    def end(self, end: TrialEnd) -> None:
        """Record how the trial ended, and compact its records unless it may be tried again."""
        content = self._content()
        recorded = content.end is not None and not content.end.retriable
        # Once the end is recorded with its records, the files left in `epochs` are not needed.
        if not (recorded and len(content.table) and not content.damaged):
            self._write_end(end)
        if not end.retriable:
            for epoch in self.record_epochs():
                self.folder.remove(record_name(epoch))
            self.folder.remove(RESUME)

    def _write_end(self, end: TrialEnd) -> None:
        content = {"status": end.status, "reason": end.reason, "retriable": end.retriable}
        rows, _ = self._rows()
        if rows and not end.retriable:
            data = columns.compacted(rows)
            self.folder.write(COMPACTED, data)
            content["records"] = hashlib.sha256(data).hexdigest()
        self.folder.write_json("end.json", content)

    def read_end(self) -> TrialEnd | None:
        """How the trial ended; None while it has not, or where its end or records are damaged."""
        return self._content().end

    def check_snapshot(self, epoch: int) -> Path:
        """The file with the weights after an epoch.

        Raises:
            RunFolderError: it is missing, or not what was recorded with the epoch.
        """
        name = snapshot_name(epoch)
        path, data = self.folder.path / name, self.folder.read(name)
        if data is None:
            raise RunFolderError(f"{path} does not exist: epoch {epoch} has no snapshot.")
        if hashlib.sha256(data).hexdigest() != self.snapshots().get(epoch):
            raise Damaged(self.folder.place(name), "it is not the recorded snapshot")
        return path

    def snapshots(self) -> dict[int, str]:
        """The SHA-256 of the weights after each undamaged epoch."""
        content = self._content()
        if not len(content.table):
            return {}
        table = content.load(["epoch", "snapshot"])
        return dict(zip(*(column.to_pylist() for column in table.columns), strict=True))

    def snapshot_epochs(self) -> list[int]:
        """Epochs that have a file of weights, damaged or not, ascending. Raises Damaged."""
        return self._numbers(SNAPSHOTS, "safetensors")

    def record_epochs(self) -> list[int]:
        """Epochs that have a file of records, damaged or not, ascending. Raises Damaged."""
        return self._numbers(EPOCHS, "record")

    def _numbers(self, folder: str, suffix: str) -> list[int]:
        found = map(_NUMBERED.fullmatch, (self.folder / folder).names())
        return sorted(int(name[1]) for name in found if name and name[2] == suffix)

    def read_epoch(self, epoch: int) -> EpochRecord:
        """One recorded epoch. Raises KeyError if it is missing or damaged."""
        with suppress(Damaged, ValueError, KeyError):
            row = self._row(epoch)
            if row is None:
                table = self._content().load(columns.SCHEMA.names)
                row = table.slice(table["epoch"].to_pylist().index(epoch), 1)
            return columns.record_of(row)
        raise KeyError(f"{self.folder.path} has no undamaged record of epoch {epoch}")

    def recorded(self) -> set[int]:
        """Epochs with undamaged records, of a trial that has not ended."""
        return {row["epoch"][0].as_py() for row in self._rows()[0]}

    def damaged(self) -> Sequence[str]:
        """Where damaged files are among its end and its records, below the run folder."""
        return self._content().damaged

    def unfinished(self, planned: PlannedTrial) -> bool:
        """Whether running the sweep runs this trial."""
        history = self.history(planned)
        return history.end is None or history.end.retriable

    def history(self, planned: PlannedTrial) -> TrialHistory:
        """All that is recorded; what is damaged is named and skipped.

        A trial whose end was recorded but whose records are damaged or incomplete counts as
        unfinished, so that it is run again.
        """
        content = self._content()
        end, damaged = content.end, [str(self.folder.root / place) for place in content.damaged]
        epochs, curves = columns.summary(content.table)
        if not damaged:
            expected = planned.spec.recorded_epochs
            if end is None or end.status != "done":
                expected = expected[: len(epochs)]
            if epochs.tolist() != expected:
                damaged = [f"{planned.id}: epochs are missing from its records"]
        return TrialHistory(
            trial=planned.id,
            method=planned.method,
            configuration=planned.configuration,
            hyperparameters=planned.hyperparameters,
            seed=planned.spec.seed,
            fold=planned.fold,
            epochs=epochs,
            curves=curves,
            scores=columns.score_tables(content.table, content.load),
            end=None if damaged else end,
            damaged=tuple(damaged),
        )

    def _content(self) -> _Content:
        try:
            plain = self.folder.read_json("end.json")
            end = None if plain is None else _end_of(plain)
        except Damaged as damage:  # perhaps a link in the place of a folder above
            return _Content(damaged=[damage.place])
        except (ValueError, KeyError, TypeError):
            return _Content(damaged=[self.folder.place("end.json")])
        if plain and "records" in plain:
            return self._compacted(end, plain["records"])
        rows, damaged = self._rows()
        if plain is None and not rows and self.folder.modified(COMPACTED) is not None:
            # Its records were compacted, and `epochs` emptied, after the end was recorded.
            damaged.append(self.folder.place("end.json"))
        table = pa.concat_tables(rows) if rows else _EMPTY
        return _Content(end, table, table.select, damaged)

    def _compacted(self, end: TrialEnd | None, checksum: str) -> _Content:
        try:
            file = _parquet(self.folder, checksum)
            table = columns.read_columns(file, columns.SUMMARY_COLUMNS)
            if not {*columns.SCHEMA.names} <= {*file.schema_arrow.names}:
                raise ValueError("it lacks columns")
        except (Damaged, ValueError):
            return _Content(damaged=[self.folder.place(COMPACTED)])

        def load(names: list[str]) -> pa.Table:
            # Read each time: the tasks of a thousand trials do not fit in memory.
            try:
                return columns.read_columns(_last_parquet(self.folder, checksum), names, table)
            except ValueError as failure:
                raise Damaged(self.folder.place(COMPACTED), str(failure)) from failure

        return _Content(end, table, load)

    def _rows(self) -> tuple[list[pa.Table], list[str]]:
        """The undamaged epochs in ``epochs/``, ascending, and where the damaged files are."""
        rows: list[pa.Table] = []
        damaged: list[str] = []
        try:
            for epoch in self.record_epochs():
                try:
                    if (row := self._row(epoch)) is not None:
                        rows.append(row)
                except Damaged as damage:
                    damaged.append(damage.place)
            if rows:
                columns.check_values(pa.concat_tables(rows))
        except (Damaged, ValueError):  # no folder, or epochs that were not measured alike
            return [], [self.folder.place(EPOCHS)]
        return rows, damaged

    def _row(self, epoch: int) -> pa.Table | None:
        """The record of an epoch; None where there is none. Raises Damaged."""
        payload = self.folder.read_sealed(record_name(epoch))
        if payload is None:
            return None
        try:
            row = columns.checked(columns.streamed(payload), columns.SCHEMA)
            if row["epoch"].to_pylist() != [epoch]:
                raise ValueError("it is another epoch's")
        except ValueError as failure:
            raise Damaged(self.folder.place(record_name(epoch)), str(failure)) from failure
        return row


def _parquet(folder: Folder, checksum: str) -> pq.ParquetFile:
    """A trial's compacted records. Raises Damaged."""
    data = folder.read(COMPACTED) or b""
    if hashlib.sha256(data).hexdigest() != checksum:
        raise Damaged(folder.place(COMPACTED), "it is not what was recorded")
    try:
        return pq.ParquetFile(pa.BufferReader(data))
    except (pa.ArrowException, OSError) as failure:
        raise Damaged(folder.place(COMPACTED), "it is not a Parquet file") from failure


_last_parquet = lru_cache(maxsize=1)(_parquet)
"""The last file is kept: a trial's columns are read in turn."""


def _end_of(plain: Mapping[str, Any]) -> TrialEnd:
    status, reason, retriable = (plain[key] for key in ("status", "reason", "retriable"))
    texts = isinstance(reason, str) and isinstance(plain.get("records", ""), str)
    if status not in STATUSES or not texts or not isinstance(retriable, bool):
        raise ValueError(f"{status!r} is not how a trial ends")
    return TrialEnd(status, reason, retriable)
