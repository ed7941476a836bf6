"""The folder of one trial: its epochs, its weights, what was measured, and how it ended.

Each epoch and each measured snapshot has a file until the trial ends. Then ``end.json`` holds the
epochs, and one Parquet file for each protocol what was measured.
"""

import hashlib
import math
import re
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fsl_sweep.orchestrator.errors import Damaged, RunFolderError
from fsl_sweep.orchestrator.ledger import columns
from fsl_sweep.orchestrator.ledger.measured import (
    MEASURED,
    Measured,
    Measurements,
    measured_name,
    numbers,
)
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

EPOCHS, SNAPSHOTS = "epochs", "snapshots"
RESUME, PRUNED = "resume.state", "pruned.json"
_SHA256 = re.compile(r"[0-9a-f]{64}")


def record_name(epoch: int) -> str:
    """The name of an epoch's record in a trial's folder."""
    return f"{EPOCHS}/{epoch:04d}.json"


def snapshot_name(epoch: int) -> str:
    """The name of an epoch's weights in a trial's folder."""
    return f"{SNAPSHOTS}/{epoch:04d}.safetensors"


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

    @property
    def weights(self) -> dict[int, str]:
        """The SHA-256 of each epoch's weights."""
        return {epoch: one.snapshot for epoch, one in self.epochs.items()}


class TrialLedger:
    """Reads and writes the folder of one trial."""

    def __init__(self, folder: Folder) -> None:
        self.folder = folder
        self.measurements = Measurements(folder)

    def begin(self, spec: TrialSpec) -> None:
        """Record the specification, and remove a failure that is being tried again."""
        self.folder.write_json("spec.json", spec.canonical())
        self.folder.remove("end.json")
        for name in self.measurements.compacted():  # their checksums were in the end that is gone
            self.folder.remove(name)

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
        self.measurements.write(protocol, record.epoch, digest, record.scores, answers)
        curves = {name: getattr(record, name) for name in CURVES}
        plain = {name: None if math.isnan(value) else value for name, value in curves.items()}
        content = {"epoch": record.epoch, **plain, "snapshot": digest}
        self.folder.write_json(record_name(record.epoch), content)

    def write_measured(
        self, epoch: int, protocol: str, scores: columns.Scores, answers: bool = False
    ) -> None:
        """Record what was measured of a snapshot. Raises KeyError if its epoch is not recorded."""
        self.measurements.write(protocol, epoch, self.snapshots()[epoch], scores, answers)

    def read_answers(
        self, epoch: int, protocol: str
    ) -> dict[tuple[Measure, TaskSet], TaskScores] | None:
        """As `Measurements.read_answers`."""
        return self.measurements.read_answers(protocol, epoch, self.snapshots())

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
        content, plain = self._content(), self.folder.read_json("end.json")
        if plain is None:
            return
        checksum = content.compacted.get(protocol)
        whole = self.measurements.compact(protocol, content.weights, checksum)
        if whole is None:
            return
        if whole != checksum:
            plain["measured"] = dict(sorted({**plain["measured"], protocol: whole}.items()))
            self.folder.write_json("end.json", plain)
        for epoch in self.measurements.files(protocol):
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
        return self._content().weights

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
        return numbers(self.folder / SNAPSHOTS, "safetensors")

    def snapshot_size(self, epoch: int) -> int:
        """The bytes of the weights after an epoch; 0 where they are not there."""
        return self.folder.size(snapshot_name(epoch))

    def record_epochs(self) -> list[int]:
        """Epochs that have a file of records, damaged or not, ascending. Raises Damaged."""
        return numbers(self.folder / EPOCHS, "json")

    def read_epoch(self, epoch: int, protocol: str) -> EpochRecord:
        """One recorded epoch. Raises KeyError if it is missing, damaged, or was not measured."""
        with suppress(Damaged, ValueError, KeyError):
            row = self.measurements.row(protocol, epoch)
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
            measured = [self._measured(one, content) for one in self.measurements.protocols()]
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
            done &= set(self.measurements.answered(protocol))
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

    def _measured(self, protocol: str, content: _Content) -> Measured:
        checksum = content.compacted.get(protocol)
        return self.measurements.read(protocol, content.weights, checksum)

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
        if plain is None and not epochs and not damaged and self.measurements.compacted():
            damaged.append(self.folder.place("end.json"))  # it held the epochs
        return _Content(end, epochs, {}, damaged)

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
