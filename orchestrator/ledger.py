"""The run folder: what was planned, what was measured, and how each trial ended.

    RUN/
      sweep.yaml  plan.json  environment.json  lock
      tasks/SPLIT-SET.json            class tuples of the common tasks
      trials/ID/
        spec.json                     the resolved specification
        epochs/0001.record            one measured epoch; removed when the trial is compacted
        records.parquet               all measured epochs, once the trial has ended
        snapshots/0001.safetensors    weights after an epoch
        resume.state                  state to go on from; removed when the trial has ended
        end.json                      done, failed or budget, and why

Every file appears whole or not at all, and carries a checksum or has one elsewhere: records and
states in an envelope, JSON in a key of its own, a compacted file's in ``end.json``, a snapshot's in
its epoch's record, that of ``sweep.yaml`` in the plan. What does not match is damaged: it is named
and not used. Only files whose names are made here are ever removed.

A trial that has ``end.json`` has ended: its records are
compacted before that file is written, so a crash at any point leaves a folder that reads right.
"""

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
from pydantic import ValidationError

from fsl_sweep.orchestrator import columns, envelope
from fsl_sweep.orchestrator.columns import Tasks, TasksInMemory
from fsl_sweep.orchestrator.compacted import NAME, CompactedRecords
from fsl_sweep.orchestrator.config import TrialSpec
from fsl_sweep.orchestrator.epoch_records import EpochRecords
from fsl_sweep.orchestrator.errors import Damaged, RunFolderError
from fsl_sweep.orchestrator.local_path import check_local
from fsl_sweep.orchestrator.plan import TRIAL_ID, Plan, PlannedTrial, check_format
from fsl_sweep.orchestrator.record_cache import RecordCache
from fsl_sweep.orchestrator.records import STATUSES, EpochRecord, TrialEnd, TrialHistory
from fsl_sweep.orchestrator.storage import Folder

RESUME, SNAPSHOTS = "resume.state", "snapshots"
_SNAPSHOT = re.compile(r"([0-9]{4}|[1-9][0-9]{4,8})\.safetensors")


class Ledger:
    """Reads and writes one run folder.

    Args:
        path: the run folder.
        standing: it is there; where it has vanished since, writing fails and does not rebuild it.

    Raises:
        RunFolderError: the path is an address, such as ``s3://bucket/run``.
    """

    def __init__(self, path: Path, standing: bool = False) -> None:
        check_local(path)
        self.folder = Folder(path, standing=standing)

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
            plain = envelope.parsed_json(data, "plan.json")
            check_format(plain)
            return Plan.from_plain(envelope.checked_json(plain, "plan.json"))
        except Damaged as failure:
            reason = failure.reason
        except (ValueError, KeyError, TypeError, ValidationError, RecursionError) as failure:
            reason = str(failure).splitlines()[0]
        raise RunFolderError(
            f"{self.path / 'plan.json'} is not a readable plan ({reason}). Run the sweep "
            "again into another folder, or restore this file."
        )

    def write_plan(self, plan: Plan, sweep_text: str) -> None:
        """Record a plan and the file it came from.

        Raises:
            RunFolderError: the folder holds another sweep, or the benchmark's data changed.
        """
        self.check_plan(plan)
        text = sweep_text.encode()
        self.folder.write("sweep.yaml", text)
        content = {**plan.to_plain(), "sweep_file": hashlib.sha256(text).hexdigest()}
        self.folder.write_json("plan.json", content)

    def sweep_file_changed(self) -> bool:
        """Whether ``sweep.yaml`` is not the file that was planned last. Raises Damaged."""
        plan, text = self.folder.read_json("plan.json"), self.folder.read("sweep.yaml")
        digest = None if text is None else hashlib.sha256(text).hexdigest()
        return plan is not None and plan.get("sweep_file") != digest

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
        self.folder.write_json(name, content)

    def read_note(self, name: str) -> dict[str, Any] | None:
        """What ``write_note`` was given; None where there is none whole."""
        try:
            return self.folder.read_json(name)
        except Damaged:
            return None

    def unplanned(self, plan: Plan) -> list[str]:
        """Ids of trials that the folder holds and the plan no longer names."""
        return [t for t in self.trial_ids() if t not in plan.specs]

    def trial_ids(self) -> list[str]:
        """Ids of trials that the folder holds, planned or not."""
        try:
            return [*filter(TRIAL_ID.fullmatch, (self.folder / "trials").names())]
        except Damaged:  # each planned trial will say so
            return []

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
        self.folder, self.epochs = folder, EpochRecords(folder)

    def begin(self, spec: TrialSpec) -> None:
        """Record the specification once; forget a failure that is being tried again."""
        if self.read_spec() != spec.canonical():
            self.folder.write_json("spec.json", spec.canonical())
        self.folder.remove("end.json")

    def read_spec(self) -> dict[str, Any] | None:
        """The recorded specification as plain data; None where there is none whole."""
        try:
            return self.folder.read_json("spec.json")
        except Damaged:
            return None

    def write_epoch(self, record: EpochRecord, snapshot: bytes) -> None:
        """Record a measured epoch; the weights come first, so that no record lacks its own."""
        self.folder.write(snapshot_name(record.epoch), snapshot)
        row = columns.epoch_row(record, hashlib.sha256(snapshot).hexdigest())
        self.epochs.write(record.epoch, row)

    def check_snapshot(self, epoch: int) -> Path:
        """The file with the weights after an epoch.

        Raises:
            RunFolderError: it is not there, or not what was recorded with the epoch.
        """
        path, data = self.folder.path / snapshot_name(epoch), self.folder.read(snapshot_name(epoch))
        if data is None:
            raise RunFolderError(f"{path} does not exist: epoch {epoch} has no snapshot.")
        if hashlib.sha256(data).hexdigest() != self.snapshots().get(epoch):
            raise Damaged(
                self.folder.place(snapshot_name(epoch)), "it is not the recorded snapshot"
            )
        return path

    def snapshots(self) -> dict[int, str]:
        """The SHA-256 of the weights after each epoch that is recorded whole."""
        tasks = self._content()[2]
        if tasks is None:
            return {}
        table = tasks.load(["epoch", "snapshot"])
        return dict(zip(*(column.to_pylist() for column in table.columns), strict=True))

    def snapshot_epochs(self) -> list[int]:
        """Epochs of which weights are there, whole or not, ascending. Raises Damaged."""
        found = map(_SNAPSHOT.fullmatch, (self.folder / SNAPSHOTS).names())
        return sorted(int(name[1]) for name in found if name)

    def write_resume(self, state: bytes) -> None:
        """Record the state to go on from, replacing the one before."""
        self.folder.write_sealed(RESUME, state)

    def read_resume(self) -> bytes | None:
        """The state to go on from; None where there is none that is whole and this trial's."""
        try:
            return self.folder.read_sealed(RESUME)
        except Damaged:
            return None

    def read_epoch(self, epoch: int) -> EpochRecord:
        """One recorded epoch. Raises KeyError if it is not there whole."""
        try:
            row = self.epochs.row(epoch)
            if row is None and isinstance(records := self._content()[2], CompactedRecords):
                table = records.load(columns.SCHEMA.names)
                row = table.slice(table["epoch"].to_pylist().index(epoch), 1)
        except (Damaged, ValueError):
            row = None
        if row is None:
            raise KeyError(f"{self.folder.path} has no whole record of epoch {epoch}")
        return columns.record_of(row)

    def recorded(self) -> set[int]:
        """Epochs that are recorded whole, of a trial that has not ended."""
        return {int(row["epoch"][0].as_py()) for row in self.epochs.whole()[0]}

    def end(self, end: TrialEnd) -> None:
        """Record how the trial ended, and compact it unless it may be tried again."""
        if not self._ended_with_records():
            self._write_end(end)
        if end.retriable:
            return
        self.epochs.remove()
        self.folder.remove(RESUME)

    def _write_end(self, end: TrialEnd) -> None:
        content = {"status": end.status, "reason": end.reason, "retriable": end.retriable}
        rows, _ = self.epochs.whole()
        if rows and not end.retriable:
            data = columns.compacted(rows)
            self.folder.write(NAME, data)
            content["records"] = hashlib.sha256(data).hexdigest()
        self.folder.write_json("end.json", content)

    def _ended_with_records(self) -> bool:
        """Whether the end is recorded with whole records: what is left in ``epochs/`` is litter."""
        end, table, _, damaged = self._content()
        return end is not None and table is not None and not end.retriable and not damaged

    def read_end(self) -> TrialEnd | None:
        """How the trial ended; None while it has not, or where that record is damaged."""
        return self._content()[0]

    def damaged(self) -> tuple[str, ...]:
        """Names of what is damaged among its end and its records."""
        return tuple(self._content()[3])

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
        if not damaged:
            found = [] if table is None else table["epoch"].to_pylist()
            expected = planned.spec.recorded_epochs
            whole = expected if end and end.status == "done" else expected[: len(found)]
            if found != whole:
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
            plain = self.folder.read_json("end.json")
            end = None if plain is None else _end_of(plain)
        except Damaged as damage:
            return None, None, None, [str(self.folder.root / damage.place)]
        except (ValueError, KeyError, TypeError):
            return None, None, None, [str(self.folder.path / "end.json")]
        if plain and "records" in plain:
            read = CompactedRecords.read if cache is None else cache.records
            records = read(self.folder, plain["records"])
            if records is None:
                return None, None, None, [str(self.folder.path / NAME)]
            return end, records.summary, records, []
        rows, names = self.epochs.whole()
        damaged = [str(self.folder.path / name) for name in names]
        if plain is None and not rows and self.folder.stamp(NAME) is not None:
            # Its records were compacted, and `epochs` emptied, after the end was recorded.
            damaged.append(str(self.folder.path / "end.json"))
        table = pa.concat_tables(rows) if rows else None
        return end, table, table and TasksInMemory(table), damaged


_Content = tuple[TrialEnd | None, pa.Table | None, Tasks | None, list[str]]
# From nulls, because an array of a Python list loads pandas, which takes longer than all else here.
_EMPTY = pa.table({name: pa.nulls(0, pa.float64()) for name in columns.SUMMARY_COLUMNS})


def snapshot_name(epoch: int) -> str:
    """The name of an epoch's weights in a trial's folder."""
    return f"{SNAPSHOTS}/{epoch:04d}.safetensors"


def _end_of(plain: Mapping[str, Any]) -> TrialEnd:
    status, reason, retriable = (plain[key] for key in ("status", "reason", "retriable"))
    texts = isinstance(reason, str) and isinstance(plain.get("records", ""), str)
    if status not in STATUSES or not texts or not isinstance(retriable, bool):
        raise ValueError(f"{status!r} is not how a trial ends")
    return TrialEnd(status, reason, retriable)


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
