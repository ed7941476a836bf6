"""The folder of one trial: its epochs, its weights, what was measured, and how it ended.

Each epoch and each measured snapshot has a file until the trial ends. Then ``end.json`` holds the
epochs, and one Parquet file for each protocol what was measured.
"""

import hashlib
import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from fsl_sweep.orchestrator.errors import Damaged, RunFolderError
from fsl_sweep.orchestrator.ledger import columns
from fsl_sweep.orchestrator.ledger.storage import Folder
from fsl_sweep.orchestrator.records.measures import (
    CURVES,
    STATUSES,
    EpochRecord,
    Measure,
    TaskScores,
    TaskSet,
    TrialEnd,
    TrialHistory,
)
from fsl_sweep.orchestrator.records.plan import PROTOCOL_ID, PlannedTrial
from fsl_sweep.orchestrator.records.spec import TrialSpec

EPOCHS, MEASURED, SNAPSHOTS = "epochs", "measured", "snapshots"
RESUME, PRUNED = "resume.state", "pruned.json"
_NUMBERED = re.compile(r"([0-9]{4}|[1-9][0-9]{4,8})\.(json|record|answers|safetensors)")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_PARQUET = ".parquet"
# From nulls, because an array of a Python list loads pandas, which takes longer than all else here.
_EMPTY = pa.table({name: pa.nulls(0, pa.float64()) for name in columns.SUMMARY_COLUMNS})


def record_name(epoch: int) -> str:
    """The name of an epoch's record in a trial's folder."""
    return f"{EPOCHS}/{epoch:04d}.json"


def snapshot_name(epoch: int) -> str:
    """The name of an epoch's weights in a trial's folder."""
    return f"{SNAPSHOTS}/{epoch:04d}.safetensors"


def measured_name(protocol: str, epoch: int) -> str:
    """The name of what was measured of a snapshot under a protocol, by the protocol's id."""
    return f"{MEASURED}/{protocol}/{epoch:04d}.record"


def answers_name(protocol: str, epoch: int) -> str:
    """The name of a snapshot's answer to each query under a protocol."""
    return f"{MEASURED}/{protocol}/{epoch:04d}.answers"


def compacted_name(protocol: str) -> str:
    """The name of what was measured of all of a trial's snapshots."""
    return f"{MEASURED}/{protocol}{_PARQUET}"


class _Epoch(NamedTuple):
    """What training recorded of an epoch: its curves, and the SHA-256 of its weights."""

    curves: Mapping[str, float]
    snapshot: str


class _Content(NamedTuple):
    """A trial's end, its epochs ascending, the checksums of compacted measurements, and damage."""

    end: TrialEnd | None = None
    epochs: Mapping[int, _Epoch] = {}
    compacted: Mapping[str, str] = {}
    damaged: Sequence[str] = ()


class _Measured(NamedTuple):
    """What was measured under a protocol; ``load`` reads other columns of the rows of ``table``."""

    table: pa.Table = _EMPTY
    load: Callable[[list[str]], pa.Table] = _EMPTY.select
    damaged: Sequence[str] = ()

    @property
    def epochs(self) -> list[int]:
        return columns.values(self.table["epoch"]).astype(np.int64).tolist()

    def of_weights(self, epochs: Mapping[int, _Epoch]) -> "_Measured":
        """The rows about weights that were recorded; others are of another training."""
        named = zip(self.epochs, self.table["snapshot"].to_pylist(), strict=True)
        same = [e in epochs and epochs[e].snapshot == snapshot for e, snapshot in named]
        if all(same):
            return self
        rows = pa.array(np.flatnonzero(same))
        return _Measured(self.table.take(rows), lambda n: self.load(n).take(rows), self.damaged)


class TrialLedger:
    """Reads and writes the folder of one trial."""

    def __init__(self, folder: Folder) -> None:
        self.folder = folder

    def begin(self, spec: TrialSpec) -> None:
        """Record the specification, and remove a failure that is being tried again."""
        self.folder.write_json("spec.json", spec.canonical())
        self.folder.remove("end.json")
        for protocol in self.protocols():  # their checksums were in the end that is gone
            self.folder.remove(compacted_name(protocol))

    def write_epoch(
        self,
        record: EpochRecord,
        protocol: str,
        snapshot: bytes,
        keep: bool = True,
        answers: bool = False,
    ) -> None:
        """Record an epoch and what was measured of it.

        Its weights and measurements come first, so that no epoch lacks them.

        Args:
            record: the epoch.
            protocol: id of the protocol that it was measured under.
            snapshot: its weights.
            keep: whether to write the weights.
            answers: whether to write the answer to each query.
        """
        digest = hashlib.sha256(snapshot).hexdigest()
        if keep:
            self.folder.write(snapshot_name(record.epoch), snapshot)
        else:
            self._note_pruned({record.epoch})
        self._write_measured(record.epoch, digest, protocol, record.scores, answers)
        curves = {name: getattr(record, name) for name in CURVES}
        plain = {name: None if math.isnan(value) else value for name, value in curves.items()}
        content = {"epoch": record.epoch, **plain, "snapshot": digest}
        self.folder.write_json(record_name(record.epoch), content)

    def write_measured(
        self, epoch: int, protocol: str, scores: columns.Scores, answers: bool = False
    ) -> None:
        """Record what was measured of a snapshot. Raises KeyError if its epoch is not recorded."""
        self._write_measured(epoch, self.snapshots()[epoch], protocol, scores, answers)

    def _write_measured(
        self, epoch: int, snapshot: str, protocol: str, scores: columns.Scores, answers: bool
    ) -> None:
        if answers:
            data = columns.answers_of(snapshot, scores)
            self.folder.write_sealed(answers_name(protocol, epoch), data)
        row = columns.row_of(epoch, snapshot, scores)
        self.folder.write_sealed(measured_name(protocol, epoch), columns.stream(row))

    def read_answers(
        self, epoch: int, protocol: str
    ) -> dict[tuple[Measure, TaskSet], TaskScores] | None:
        """A snapshot's results with the answer to each query; None where that is not recorded.

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
        if snapshot != self.snapshots().get(epoch):
            raise Damaged(self.folder.place(name), "it was measured of other weights")
        return answers

    def write_resume(self, state: bytes) -> None:
        """Record the state to resume from, replacing the one before."""
        self.folder.write_sealed(RESUME, state)

    def read_resume(self) -> bytes | None:
        """The state to resume from; None where there is none, or it is damaged."""
        with suppress(Damaged):
            return self.folder.read_sealed(RESUME)
        return None

    def end(self, end: TrialEnd, protocol: str) -> None:
        """Record how the trial ended, and compact its records unless it may be tried again.

        ``protocol`` is the id of the one that was measured as it trained.
        """
        there, content = self.record_epochs(), self._content()
        recorded = content.end is not None and not content.end.retriable
        # Once the end is recorded with its epochs, the files left in `epochs` are not needed.
        if not (recorded and content.epochs and not content.damaged):
            plain: dict[str, Any] = {
                "status": end.status,
                "reason": end.reason,
                "retriable": end.retriable,
            }
            if not end.retriable:
                plain["epochs"] = [
                    self.folder.read_json(record_name(epoch)) for epoch in content.epochs
                ]
                plain["measured"] = {}
            self.folder.write_json("end.json", plain)
        if not end.retriable:
            for epoch in there:
                self.folder.remove(record_name(epoch))
            self.folder.remove(RESUME)
            self.compact(protocol)

    def compact(self, protocol: str) -> None:
        """Put the measurements of all snapshots of an ended trial into one file.

        Where some are missing nothing changes.
        """
        content = self._content()
        if not self._is_compacted(protocol, content):
            rows, _ = self._rows(protocol)
            plain = self.folder.read_json("end.json")
            measured = _Measured(pa.concat_tables(rows) if rows else _EMPTY)
            table = measured.of_weights(content.epochs).table
            if plain is None or not rows or not _about(table, content.epochs):
                return
            data = columns.compacted([table])
            self.folder.write(compacted_name(protocol), data)
            checksums = {**plain["measured"], protocol: hashlib.sha256(data).hexdigest()}
            plain["measured"] = dict(sorted(checksums.items()))
            self.folder.write_json("end.json", plain)
        for epoch in self.measured_files(protocol):
            self.folder.remove(measured_name(protocol, epoch))

    def read_end(self) -> TrialEnd | None:
        """How the trial ended; None while it has not, or where its end or epochs are damaged."""
        return self._content().end

    def check_snapshot(self, epoch: int) -> Path:
        """The file with the weights after an epoch.

        Raises:
            RunFolderError: it is missing, or not what was recorded with the epoch.
        """
        name = snapshot_name(epoch)
        path, data = self.folder.path / name, self.folder.read(name)
        if data is None:
            pruned = epoch in self.pruned()
            why = "it was pruned" if pruned else f"epoch {epoch} has no snapshot"
            raise RunFolderError(f"{path} does not exist: {why}.")
        if hashlib.sha256(data).hexdigest() != self.snapshots().get(epoch):
            raise Damaged(self.folder.place(name), "it is not the recorded snapshot")
        return path

    def snapshots(self) -> dict[int, str]:
        """The SHA-256 of the weights after each recorded epoch, whether they are kept or not."""
        return {epoch: one.snapshot for epoch, one in self._content().epochs.items()}

    def prune(self, epochs: Collection[int]) -> None:
        """Remove the weights of these epochs; that they were removed is recorded first."""
        there = set(self.snapshot_epochs()) & set(epochs)
        self._note_pruned(there)
        for epoch in sorted(there):
            self.folder.remove(snapshot_name(epoch))

    def _note_pruned(self, epochs: Collection[int]) -> None:
        before = self.pruned()
        if not before.issuperset(epochs):
            self.folder.write_json(PRUNED, {"epochs": sorted(before.union(epochs))})

    def pruned(self) -> set[int]:
        """Epochs whose weights were not kept, on purpose."""
        with suppress(Damaged, KeyError, TypeError):
            return set((self.folder.read_json(PRUNED) or {"epochs": ()})["epochs"])
        return set()

    def snapshot_epochs(self) -> list[int]:
        """Epochs that have a file of weights, damaged or not, ascending. Raises Damaged."""
        return self._numbers(SNAPSHOTS, "safetensors")

    def snapshot_size(self, epoch: int) -> int:
        """The bytes of the weights after an epoch; 0 where they are not there."""
        return self.folder.size(snapshot_name(epoch))

    def record_epochs(self) -> list[int]:
        """Epochs that have a file of records, damaged or not, ascending. Raises Damaged."""
        return self._numbers(EPOCHS, "json")

    def measured_files(self, protocol: str) -> list[int]:
        """Epochs that have a file of measurements, damaged or not, ascending. Raises Damaged."""
        return self._numbers(f"{MEASURED}/{protocol}", "record")

    def answered(self, protocol: str) -> list[int]:
        """Epochs that have a file of answers, damaged or not, ascending. Raises Damaged."""
        return self._numbers(f"{MEASURED}/{protocol}", "answers")

    def _numbers(self, folder: str, suffix: str) -> list[int]:
        found = map(_NUMBERED.fullmatch, (self.folder / folder).names())
        return sorted(int(name[1]) for name in found if name and name[2] == suffix)

    def protocols(self) -> list[str]:
        """Ids of the protocols that something was measured under, sorted. Raises Damaged."""
        names = (name.removesuffix(_PARQUET) for name in (self.folder / MEASURED).names())
        return sorted(set(filter(PROTOCOL_ID.fullmatch, names)))

    def read_epoch(self, epoch: int, protocol: str) -> EpochRecord:
        """One recorded epoch. Raises KeyError if it is missing, damaged, or was not measured."""
        with suppress(Damaged, ValueError, KeyError):
            row = self._row(protocol, epoch)
            one = _epoch_of(self.folder.read_json(record_name(epoch)) or {})[1] if row else None
            if row is None or one is None:
                content = self._content()
                one, measured = content.epochs[epoch], self._measured(protocol, content)
                row = measured.load(columns.SCHEMA.names)
                row = row.slice(measured.epochs.index(epoch), 1)
            return EpochRecord(epoch=epoch, scores=columns.scores_of(row), **one.curves)
        raise KeyError(f"{self.folder.path} has no undamaged record of epoch {epoch}")

    def recorded(self, protocol: str) -> set[int]:
        """Epochs that are recorded and measured under a protocol, without damage."""
        return set(self._measured(protocol, self._content()).epochs)

    def damaged(self) -> Sequence[str]:
        """Where damaged files are among its end, epochs and measurements, below the run folder."""
        content = self._content()
        with suppress(Damaged):
            measured = [self._measured(one, content) for one in self.protocols()]
            places = [*content.damaged, *(place for one in measured for place in one.damaged)]
            return [*dict.fromkeys(places)]
        return [*content.damaged, self.folder.place(MEASURED)]

    def unfinished(self, planned: PlannedTrial, protocol: str | None) -> bool:
        """Whether running the sweep trains this trial.

        It does so again where what was measured under ``protocol`` (by its id, if it is known) is
        lost with the weights. Where these were pruned and nothing was measured, it does not.
        """
        content, damaged = self._training(planned)
        if damaged or content.end is None or content.end.retriable:
            return True
        if protocol is None:
            return False
        measured = self._measured(protocol, content)
        lost = set(content.epochs) - set(measured.epochs) - set(self.snapshot_epochs())
        return bool(lost and (measured.damaged or measured.epochs or lost - self.pruned()))

    def to_measure(
        self, protocol: str, epochs: Collection[int] | None = None, answers: bool = False
    ) -> list[int]:
        """Recorded epochs, of these or all, that are not measured under a protocol, ascending.

        With ``answers``, those whose answers are not recorded are among them.
        """
        content = self._content()
        done = set(self._measured(protocol, content).epochs)
        if answers:
            done &= set(self.answered(protocol))
        return [e for e in content.epochs if e not in done and (epochs is None or e in epochs)]

    def history(
        self, planned: PlannedTrial, choose_by: str, report: str | None = None
    ) -> TrialHistory:
        """All that is recorded; what is damaged is named and skipped.

        A trial whose end was recorded but whose epochs are damaged or incomplete counts as
        unfinished, so that it is run again.

        Args:
            planned: the trial.
            choose_by: id of the protocol whose selection tasks are shown.
            report: id of the protocol whose report tasks are shown; by default the same.
        """
        content, damaged = self._training(planned)
        end = None if damaged else content.end
        chosen = self._measured(choose_by, content)
        reported = chosen
        if report not in (None, choose_by):
            reported = self._measured(report, content)
            damaged += self._placed(reported.damaged)
        damaged += self._placed(chosen.damaged)
        epochs = np.array([*content.epochs], np.int64)
        tables = columns.score_tables(epochs, chosen.table, chosen.load)
        others = columns.score_tables(epochs, reported.table, reported.load)
        return TrialHistory(
            trial=planned.id,
            method=planned.method,
            configuration=planned.configuration,
            hyperparameters=planned.hyperparameters,
            seed=planned.spec.seed,
            fold=planned.fold,
            epochs=epochs,
            curves={
                name: np.array([one.curves[name] for one in content.epochs.values()])
                for name in CURVES
            },
            scores={key: (tables if key[1] == "selection" else others)[key] for key in tables},
            end=end,
            damaged=tuple(dict.fromkeys(damaged)),
            unmeasured=len(epochs) - len(chosen.epochs),
        )

    def _training(self, planned: PlannedTrial) -> tuple[_Content, list[str]]:
        """The content, and what is damaged in it or missing from it."""
        content = self._content()
        expected = planned.spec.recorded_epochs
        if content.end is None or content.end.status != "done":
            expected = expected[: len(content.epochs)]
        if not content.damaged and [*content.epochs] != expected:
            return content, [f"{planned.id}: epochs are missing from its records"]
        return content, self._placed(content.damaged)

    def _placed(self, places: Sequence[str]) -> list[str]:
        return [str(self.folder.root / place) for place in places]

    def _content(self) -> _Content:
        try:
            plain = self.folder.read_json("end.json")
            end = None if plain is None else _end_of(plain)
            if plain and "epochs" in plain:
                epochs = dict(_epoch_of(one) for one in plain["epochs"])
                if [*epochs] != sorted(epochs) or len(epochs) != len(plain["epochs"]):
                    raise ValueError("its epochs do not ascend")
                return _Content(end, epochs, _checksums_of(plain["measured"]))
        except Damaged as damage:  # perhaps a link in the place of a folder above
            return _Content(damaged=[damage.place])
        except (ValueError, KeyError, TypeError, AttributeError):
            return _Content(damaged=[self.folder.place("end.json")])
        epochs, damaged = self._epochs()
        if plain is None and not epochs and not damaged and self._was_compacted():
            damaged.append(self.folder.place("end.json"))  # it held the epochs
        return _Content(end, epochs, {}, damaged)

    def _was_compacted(self) -> bool:
        with suppress(Damaged):
            return any(name.endswith(_PARQUET) for name in (self.folder / MEASURED).names())
        return False

    def _epochs(self) -> tuple[dict[int, _Epoch], list[str]]:
        """The undamaged epochs in ``epochs/``, ascending, and where the damaged files are."""
        found: dict[int, _Epoch] = {}
        damaged: list[str] = []
        try:
            for number in self.record_epochs():
                try:
                    plain = self.folder.read_json(record_name(number)) or {}
                    epoch, one = _epoch_of(plain)
                    if epoch != number:
                        raise ValueError("it is another epoch's")
                    found[number] = one
                except (Damaged, ValueError, KeyError, TypeError):
                    damaged.append(self.folder.place(record_name(number)))
        except Damaged as damage:  # no folder
            return {}, [damage.place]
        return found, damaged

    def _measured(self, protocol: str, content: _Content) -> _Measured:
        """What was measured of the recorded weights under a protocol.

        Where the compacted file is damaged, that is what was measured again since.
        """
        compacted = _Measured()
        if protocol in content.compacted:
            compacted = self._compacted(protocol, content)
            if not compacted.damaged:
                return compacted
        rows, damaged = self._rows(protocol)
        table = pa.concat_tables(rows) if rows else _EMPTY
        measured = _Measured(table, table.select, damaged).of_weights(content.epochs)
        if measured.epochs == [*content.epochs]:
            return measured
        return measured._replace(damaged=[*compacted.damaged, *damaged])

    def _is_compacted(self, protocol: str, content: _Content) -> bool:
        """Whether what was measured is in one file, without damage."""
        return protocol in content.compacted and not self._compacted(protocol, content).damaged

    def _compacted(self, protocol: str, content: _Content) -> _Measured:
        name, checksum = compacted_name(protocol), content.compacted[protocol]
        try:
            file = _parquet(self.folder, name, checksum)
            table = columns.read_columns(file, columns.SUMMARY_COLUMNS)
            if not {*columns.SCHEMA.names} <= {*file.schema_arrow.names}:
                raise ValueError("it lacks columns")
            if not _about(table, content.epochs):
                raise ValueError("it is not about the recorded weights")
        except (Damaged, ValueError):
            return _Measured(damaged=[self.folder.place(name)])

        def load(names: list[str]) -> pa.Table:
            # Read each time: the tasks of a thousand trials do not fit in memory.
            try:
                return columns.read_columns(
                    _last_parquet(self.folder, name, checksum), names, table
                )
            except ValueError as failure:
                raise Damaged(self.folder.place(name), str(failure)) from failure

        return _Measured(table, load)

    def _rows(self, protocol: str) -> tuple[list[pa.Table], list[str]]:
        """The undamaged files of measurements, ascending, and where the damaged ones are."""
        rows: list[pa.Table] = []
        damaged: list[str] = []
        try:
            for epoch in self.measured_files(protocol):
                try:
                    if (row := self._row(protocol, epoch)) is not None:
                        rows.append(row)
                except Damaged as damage:
                    damaged.append(damage.place)
            if rows:
                columns.check_values(pa.concat_tables(rows))
        except Damaged as damage:  # no folder
            return [], [damage.place]
        except ValueError:  # epochs that were not measured alike
            return [], [self.folder.place(f"{MEASURED}/{protocol}")]
        return rows, damaged

    def _row(self, protocol: str, epoch: int) -> pa.Table | None:
        """What was measured of an epoch; None where there is no file. Raises Damaged."""
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


def _about(table: pa.Table, epochs: Mapping[int, _Epoch]) -> bool:
    """Whether a table's rows are about exactly the recorded weights, in the same order."""
    named = zip(columns.values(table["epoch"]).tolist(), table["snapshot"].to_pylist(), strict=True)
    return [*named] == [(epoch, one.snapshot) for epoch, one in epochs.items()]


def _parquet(folder: Folder, name: str, checksum: str) -> pq.ParquetFile:
    """A file of compacted measurements. Raises Damaged."""
    data = folder.read(name) or b""
    if hashlib.sha256(data).hexdigest() != checksum:
        raise Damaged(folder.place(name), "it is not what was recorded")
    try:
        return pq.ParquetFile(pa.BufferReader(data))
    except (pa.ArrowException, OSError) as failure:
        raise Damaged(folder.place(name), "it is not a Parquet file") from failure


_last_parquet = lru_cache(maxsize=2)(_parquet)
"""The last files are kept: a trial's columns are read in turn, perhaps under two protocols."""


def _end_of(plain: Mapping[str, Any]) -> TrialEnd:
    status, reason, retriable = (plain[key] for key in ("status", "reason", "retriable"))
    if status not in STATUSES or not isinstance(reason, str) or not isinstance(retriable, bool):
        raise ValueError(f"{status!r} is not how a trial ends")
    return TrialEnd(status, reason, retriable)


def _epoch_of(plain: Mapping[str, Any]) -> tuple[int, _Epoch]:
    epoch, snapshot = plain["epoch"], plain["snapshot"]
    if type(epoch) is not int or epoch < 1 or not _SHA256.fullmatch(snapshot):
        raise ValueError("it is not the record of an epoch")
    curves = {name: math.nan if plain[name] is None else float(plain[name]) for name in CURVES}
    return epoch, _Epoch(curves, snapshot)


def _checksums_of(plain: Mapping[str, Any]) -> dict[str, str]:
    for protocol, checksum in plain.items():
        if not PROTOCOL_ID.fullmatch(protocol) or not _SHA256.fullmatch(checksum):
            raise ValueError("it does not hold checksums of measurements")
    return dict(plain)
