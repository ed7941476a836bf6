"""The run folder: what was planned, what was measured, and how each trial ended.

    RUN/
      sweep.yaml  plan.json  environment.json  lock
      tasks/SPLIT-SET.json            class tuples of the common tasks
      trials/ID/
        spec.json                     the resolved specification
        epochs/0001.record            one measured epoch; removed when the trial is compacted
        records.parquet               all measured epochs, once the trial has ended
        snapshots/0001.safetensors    weights after an epoch
        resume.pt                     state to go on from; removed when the trial has ended
        end.json                      done, failed or budget, and why

Every file appears whole or not at all. A trial that has ``end.json`` has ended: its records are
compacted before that file is written, so a crash at any point leaves a folder that reads right.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
from pydantic import ValidationError

from fsl_sweep.orchestrator import columns
from fsl_sweep.orchestrator.columns import Tasks, TasksInMemory
from fsl_sweep.orchestrator.compacted import NAME, CompactedRecords
from fsl_sweep.orchestrator.config import TrialSpec
from fsl_sweep.orchestrator.errors import RunFolderError
from fsl_sweep.orchestrator.plan import Plan, PlannedTrial
from fsl_sweep.orchestrator.record_cache import RecordCache
from fsl_sweep.orchestrator.records import EpochRecord, TrialEnd, TrialHistory
from fsl_sweep.orchestrator.storage import Folder

_DAMAGE = (columns.DamagedRecord, pa.ArrowInvalid, pa.ArrowException, OSError, ValueError, KeyError)


class Ledger:
    """Reads and writes one run folder.

    Args:
        path: the run folder.
        standing: it is there; where it has vanished since, writing fails and does not rebuild it.
    """

    def __init__(self, path: Path, standing: bool = False) -> None:
        self.folder = Folder(path, path if standing else None)

    @property
    def path(self) -> Path:
        """The run folder."""
        return self.folder.path

    def trial(self, trial: str) -> "TrialLedger":
        """The records of one trial."""
        return TrialLedger(self.folder / "trials" / trial)

    def read_plan(self) -> Plan | None:
        """The plan, or None where nothing was planned.

        Raises:
            RunFolderError: ``plan.json`` is damaged or of another version.
        """
        data = self.folder.read("plan.json")
        if data is None:
            return None
        try:
            return Plan.from_plain(json.loads(data))
        except (ValueError, KeyError, TypeError, ValidationError, RecursionError) as failure:
            reason = str(failure).splitlines()[0]
            raise RunFolderError(
                f"{self.path / 'plan.json'} is not a readable plan ({reason}). Run the sweep "
                "again into another folder, or restore this file."
            ) from failure

    def write_plan(self, plan: Plan, sweep_text: str) -> None:
        """Record a plan and the file it came from.

        Raises:
            RunFolderError: the folder holds another sweep, or the benchmark's data changed.
        """
        self.check_plan(plan)
        self.folder.write("sweep.yaml", sweep_text.encode())
        self.folder.write("plan.json", _text(plan.to_plain()))

    def check_plan(self, plan: Plan) -> None:
        """Whether the folder is new, or holds this sweep on the same data.

        A fingerprint that is not known yet (None) is not compared.

        Raises:
            RunFolderError: it holds something else.
        """
        before = self.read_plan()
        if before is None and self.folder.names() not in ([], ["lock"]):
            raise RunFolderError(
                f"{self.path} holds files but no plan.json: it is not a run folder. "
                "Choose another with -o."
            )
        if before is not None:
            _check_same_sweep(before, plan, self.path)

    def write_note(self, name: str, content: Mapping[str, Any]) -> None:
        """Put a JSON file beside the plan (``environment.json``, ``tasks/...``)."""
        self.folder.write(name, _text(content))

    def unplanned(self, plan: Plan) -> list[str]:
        """Ids of trials that the folder holds and the plan no longer names."""
        return [t for t in (self.folder / "trials").names() if t not in plan.specs]

    def histories(self, plan: Plan, cache: RecordCache | None = None) -> list[TrialHistory]:
        """One history for each planned trial, in plan order; empty where nothing is recorded.

        With a cache, trials that have ended are read from it where their files did not change.
        """
        return [self.trial(planned.id).history(planned, cache) for planned in plan.trials]

    def pending(self, plan: Plan) -> dict[str, TrialSpec]:
        """Planned trials that have not ended, or whose failure is worth another try."""
        return {
            planned.id: planned.spec
            for planned in plan.trials
            if self.trial(planned.id).unfinished(planned)
        }


class TrialLedger:
    """Reads and writes the folder of one trial."""

    def __init__(self, folder: Folder) -> None:
        self.folder = folder

    def begin(self, spec: TrialSpec) -> None:
        """Record the specification once; forget a failure that is being tried again."""
        if self.folder.read("spec.json") is None:
            self.folder.write("spec.json", _text(spec.canonical()))
        self.folder.remove("end.json")

    def write_epoch(self, record: EpochRecord, snapshot: bytes) -> None:
        """Record a measured epoch; the weights come first, so that no record lacks its own."""
        self.folder.write(f"snapshots/{record.epoch:04d}.safetensors", snapshot)
        row = columns.epoch_row(record)
        self.folder.write(f"epochs/{record.epoch:04d}.record", columns.sealed(row))

    def write_resume(self, state: bytes) -> None:
        """Record the state to go on from, replacing the one before."""
        self.folder.write("resume.pt", state)

    def read_resume(self) -> bytes | None:
        """The state to go on from, if any."""
        return self.folder.read("resume.pt")

    def read_epoch(self, epoch: int) -> EpochRecord:
        """One recorded epoch. Raises KeyError if it is not there whole."""
        data = self.folder.read(f"epochs/{epoch:04d}.record")
        try:
            if data is not None:
                return columns.record_of(columns.opened(data))
            rows = columns.read_columns(columns.parquet(self.folder.read(NAME) or b""), None)
            return columns.record_of(rows.slice(rows["epoch"].to_pylist().index(epoch), 1))
        except _DAMAGE as failure:
            raise KeyError(f"{self.folder.path} has no whole record of epoch {epoch}") from failure

    def recorded(self) -> set[int]:
        """Epochs that are recorded whole, of a trial that has not ended."""
        return {int(row["epoch"][0].as_py()) for row in self._epoch_rows()[0]}

    def end(self, end: TrialEnd) -> None:
        """Record how the trial ended, and compact it unless it may be tried again."""
        if not self._ended_with_records():
            self._write_end(end)
        if end.retriable:
            return
        for name in (self.folder / "epochs").names():
            self.folder.remove(f"epochs/{name}")
        self.folder.remove("resume.pt")

    def _write_end(self, end: TrialEnd) -> None:
        content = {"status": end.status, "reason": end.reason, "retriable": end.retriable}
        rows, _ = self._epoch_rows()
        if rows and not end.retriable:
            data = columns.compacted(rows)
            self.folder.write(NAME, data)
            content["records"] = hashlib.sha256(data).hexdigest()
        self.folder.write("end.json", _text(content))

    def _ended_with_records(self) -> bool:
        """Whether the end is recorded with whole records: what is left in ``epochs/`` is litter."""
        end, table, _, damaged = self._content()
        return end is not None and table is not None and not end.retriable and not damaged

    def read_end(self) -> TrialEnd | None:
        """How the trial ended; None while it has not, or where that record is damaged."""
        return self._content()[0]

    def unfinished(self, planned: PlannedTrial) -> bool:
        """Whether running the sweep should run this trial."""
        history = self.history(planned)
        return history.end is None or history.end.retriable

    def history(self, planned: PlannedTrial, cache: RecordCache | None = None) -> TrialHistory:
        """All that is recorded; what is damaged is named and skipped.

        A trial whose end was recorded but whose records are damaged or incomplete counts as
        unfinished, so that it is run again rather than half believed.
        """
        end, table, tasks, damaged = self._content(cache)
        if end and end.status == "done" and not damaged:
            found = [] if table is None else table["epoch"].to_pylist()
            if found != planned.spec.recorded_epochs:
                damaged = [f"{planned.id}: epochs are missing from its records"]
        if damaged:
            end = None
        if table is None or tasks is None:
            table, tasks = _EMPTY, TasksInMemory(_EMPTY)
        epochs, curves = columns.summary(table)
        return TrialHistory(
            trial=planned.id,
            method=planned.method,
            configuration=planned.configuration,
            hyperparameters=planned.hyperparameters,
            seed=planned.spec.seed,
            fold=planned.fold,
            epochs=epochs,
            curves=curves,
            scores=columns.score_tables(table, tasks),
            end=end,
            damaged=tuple(damaged),
        )

    def _content(self, cache: RecordCache | None = None) -> "_Content":
        """End, summary table, reader of tasks, and names of what is damaged."""
        try:
            plain = _json(self.folder.read("end.json"))
            end = TrialEnd(plain["status"], plain["reason"], plain["retriable"]) if plain else None
        except (ValueError, KeyError, TypeError, RecursionError):
            return None, None, None, [str(self.folder.path / "end.json")]
        if plain and "records" in plain:
            read = CompactedRecords.read if cache is None else cache.records
            records = read(self.folder, plain["records"])
            if records is None:
                return None, None, None, [str(self.folder.path / NAME)]
            return end, records.summary, records, []
        rows, damaged = self._epoch_rows()
        if plain is None and not rows and self.folder.stamp(NAME) is not None:
            # Its records were compacted, and `epochs` emptied, after the end was recorded.
            damaged.append(str(self.folder.path / "end.json"))
        table = pa.concat_tables(rows) if rows else None
        return end, table, table and TasksInMemory(table), damaged

    def _epoch_rows(self) -> tuple[list[pa.Table], list[str]]:
        rows: list[pa.Table] = []
        damaged: list[str] = []
        for name in (self.folder / "epochs").names():
            data = self.folder.read(f"epochs/{name}")
            try:
                rows.append(columns.opened(data or b""))
            except _DAMAGE:
                damaged.append(str(self.folder.path / "epochs" / name))
        return rows, damaged


_Content = tuple[TrialEnd | None, pa.Table | None, Tasks | None, list[str]]
# From nulls, because an array of a Python list loads pandas, which takes longer than all else here.
_EMPTY = pa.table({name: pa.nulls(0, pa.float64()) for name in columns.SUMMARY_COLUMNS})


def _text(content: Mapping[str, Any]) -> bytes:
    return (json.dumps(content, indent=1, allow_nan=False) + "\n").encode()


def _json(data: bytes | None) -> dict[str, Any] | None:
    return None if data is None else json.loads(data)


def _check_same_sweep(before: Plan, plan: Plan, path: Path) -> None:
    if before.name != plan.name:
        raise RunFolderError(
            f"{path} holds the sweep '{before.name}', not '{plan.name}'. "
            "Choose another folder with -o."
        )
    if plan.fingerprint is not None and before.fingerprint != plan.fingerprint:
        raise RunFolderError(
            f"{path} was measured on other data: benchmark fingerprint {before.fingerprint}, now "
            f"{plan.fingerprint}. Its numbers and new ones cannot be compared; "
            "restore the data and the benchmark's settings, or choose another folder with -o."
        )
