"""The folder of one trial: its epochs, its weights, what was measured, and how it ended.

Each epoch and each measured snapshot has a file until the trial ends. Then ``end.json`` holds the
epochs, and one Parquet file for each protocol what was measured.
"""

import hashlib
import re
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from fsl_sweep.orchestrator.errors import Damaged, RunFolderError
from fsl_sweep.orchestrator.ledger import columns
from fsl_sweep.orchestrator.ledger.measured import (
    MEASURED,
    Measurements,
    compacted_name,
    measured_name,
    numbers,
)
from fsl_sweep.orchestrator.ledger.storage import Folder
from fsl_sweep.orchestrator.ledger.training import (
    END,
    EPOCHS,
    Training,
    TrainingRecords,
    record_name,
)
from fsl_sweep.orchestrator.records.measures import (
    EpochRecord,
    ScoreKey,
    TaskScores,
    TrialEnd,
    TrialHistory,
)
from fsl_sweep.orchestrator.records.plan import PlannedTrial
from fsl_sweep.orchestrator.records.spec import TrialSpec

SNAPSHOTS = "snapshots"
RESUME, PRUNED = "resume.state", "pruned.json"
GOES_ON = ("done", "stopped")
"""How trials ended that more epochs may follow."""
_HEAD = re.compile(rb"([0-9]{1,9}) ")


def _head(epoch: int, weights: Mapping[int, str]) -> bytes:
    """Return how a state after an epoch begins: with it, and the last weights up to it, if any."""
    last = max((e for e in weights if e <= epoch), default=0)
    return f"{epoch} {weights.get(last)}\n".encode()


def snapshot_name(epoch: int) -> str:
    """Name an epoch's weights in a trial's folder."""
    return f"{SNAPSHOTS}/{epoch:04d}.safetensors"


class TrialLedger:
    """Reads and writes the folder of one trial.

    With ``once``, its training is read once: for who reads what several protocols measured.
    """

    def __init__(self, folder: Folder, once: bool = False) -> None:
        self.folder, self._once = folder, once
        self.training, self.measurements = TrainingRecords(folder), Measurements(folder)

    def begin(self, spec: TrialSpec) -> None:
        """Record the specification, and that the trial has not ended."""
        self.folder.write_json("spec.json", spec.canonical())
        self.reopen()

    def reopen(self) -> None:
        """Set aside how the trial ended, so that it goes on; killed at any moment, it holds all.

        What was compacted is written out before the end that vouches for it is removed.
        """
        content = self._content()
        if content.end is not None and not content.end.retriable:
            for protocol, checksum in content.compacted.items():
                self.measurements.expand(protocol, checksum, len(content.weights))
            self.training.expand()
        self.folder.remove(END)
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
        if self.training.weights(record.epoch).get(record.epoch, digest) != digest:
            for later in self.training.epochs():  # what follows is of another training, too
                if later > record.epoch:
                    self.folder.remove(record_name(later))
        if keep:
            self.folder.write(snapshot_name(record.epoch), snapshot)
        else:
            self._note_pruned({record.epoch})
        self.measurements.write(protocol, record.epoch, digest, record.scores, answers)
        self.training.write(record, digest)

    def write_measured(
        self, epoch: int, protocol: str, scores: columns.Scores, answers: bool = False
    ) -> None:
        """Record what was measured of a snapshot. Raises KeyError if its epoch is not recorded."""
        self.measurements.write(protocol, epoch, self.snapshots()[epoch], scores, answers)

    def read_answers(self, epoch: int, protocol: str) -> dict[ScoreKey, TaskScores] | None:
        """Read answers as `Measurements.read_answers`."""
        return self.measurements.read_answers(protocol, epoch, self.snapshots())

    def write_resume(self, state: bytes, epoch: int) -> None:
        """Record the state after an epoch to resume from, replacing the one before.

        It names the last recorded weights, which those of another run of the trial may not be.
        """
        last = max((e for e in self.training.epochs() if e <= epoch), default=0)
        weights = self.training.weights(last) if last else {}
        self.folder.write_sealed(RESUME, _head(epoch, weights) + state)

    def read_resume(self) -> bytes | None:
        """Read the state to resume from; None where ``check_resume`` gives none or raises."""
        with suppress(Damaged):
            state = self.check_resume()
            return state and state[1]
        return None

    def check_resume(self) -> tuple[int, bytes] | None:
        """Read the state to resume from, and after which epoch it is; None where there is none.

        Raises:
            Damaged: it is damaged, or follows other weights than the recorded ones.
        """
        payload = self.folder.read_sealed(RESUME)
        if payload is None:
            return None
        epoch = _HEAD.match(payload)
        head = _head(int(epoch[1]), self.snapshots()) if epoch else None
        if head is None or not payload.startswith(head):
            raise Damaged(self.folder.place(RESUME), "it does not follow the recorded weights")
        return int(payload.split(b" ", 1)[0]), payload.removeprefix(head)

    def resume_size(self) -> int:
        """Return the bytes of the state to resume from; 0 where there is none."""
        return self.folder.size(RESUME)

    def remove_resume(self) -> None:
        """Remove the state to resume from: what goes on after that is trained from the start."""
        self.folder.remove(RESUME)

    def end(self, end: TrialEnd, protocol: str, keep_state: bool = True) -> None:
        """Record how the trial ended, and compact its records unless it may be tried again.

        Args:
            end: what became of it.
            protocol: id of the one that was measured as it trained.
            keep_state: whether the state stays from which more epochs go on.
        """
        there, content = self.training.epochs(), self._content()
        recorded = content.end is not None and not content.end.retriable
        # Once the end is recorded with its epochs, the files left in `epochs` are not needed.
        if not (recorded and content.weights and not content.damaged):
            plain: dict[str, Any] = {**vars(end)}
            if not end.retriable:
                plain["epochs"] = self.training.as_columns(content.weights)
                plain["measured"] = plain["summaries"] = {}
            self.folder.write_json(END, plain, compact=True)
        if not end.retriable:
            for epoch in there:
                self.folder.remove(record_name(epoch))
            self.folder.remove_empty(EPOCHS)
            if end.status not in GOES_ON or not keep_state:
                self.remove_resume()
            self.compact(protocol)

    def compact(self, protocol: str) -> None:
        """Put the measurements of all snapshots of an ended trial into one file.

        Where some are missing, or the trial may be tried again, nothing changes.
        """
        content, plain = self._content(), self.folder.read_json(END)
        if plain is None or content.end is None or content.end.retriable:
            return
        checksum = content.compacted.get(protocol)
        compacted = self.measurements.compact(protocol, content.weights, checksum)
        if compacted is None:
            return
        if compacted[0] != checksum:
            plain["measured"][protocol], plain["summaries"][protocol] = compacted
            self.folder.write_json(END, plain, compact=True)
        for epoch in self.measurements.files(protocol):
            self.folder.remove(measured_name(protocol, epoch))
        self.folder.remove_empty(f"{MEASURED}/{protocol}")

    def read_end(self) -> TrialEnd | None:
        """Return how the trial ended; None if it has not, or its end or epochs are damaged."""
        return self._content().end

    def whole(self, spec: TrialSpec, protocol: str) -> bool:
        """Return whether it is done, each planned epoch recorded, and all measured in one file.

        It reads nothing but the end, and whether the file is there: so many can be asked at once.
        """
        with suppress(Damaged, KeyError, TypeError):
            plain = self.folder.read_json(END) or {}
            if plain["status"] == "done" and plain["epochs"]["epoch"] == spec.recorded_epochs:
                return protocol in plain["measured"] and self.compacted(protocol)
        return False

    def compacted(self, protocol: str) -> bool:
        """Return whether there is a file of what was measured of all its snapshots."""
        with suppress(Damaged):  # a link above it
            return self.folder.size(compacted_name(protocol)) > 0
        return False

    def planned_part(self, spec: TrialSpec) -> Training:
        """Read what it recorded of as many epochs as are planned, as of `Training.up_to`."""
        return self._content().up_to(spec)

    def resumes_after(self, spec: TrialSpec) -> int:
        """Return the epochs that need no training now; 0 where it begins from the start."""
        if [*self.planned_part(spec).weights] == spec.recorded_epochs:
            return spec.epochs
        with suppress(Damaged):
            epoch, _ = self.check_resume() or (0, b"")
            return epoch if epoch < spec.epochs else 0
        return 0

    def check_snapshot(self, epoch: int) -> Path:
        """Return the file with the weights after an epoch.

        Raises:
            RunFolderError: it is missing, or not what was recorded with the epoch.
        """
        name = snapshot_name(epoch)
        path, digest = self.folder.path / name, self.folder.digest(name)
        if digest is None:
            pruned = epoch in self.pruned()
            why = "it was pruned" if pruned else f"epoch {epoch} has no snapshot"
            raise RunFolderError(f"{path} does not exist: {why}.")
        if digest != self.snapshots().get(epoch):
            raise Damaged(self.folder.place(name), "it is not the recorded snapshot")
        return path

    def snapshots(self) -> Mapping[int, str]:
        """Return the SHA-256 of the weights after each recorded epoch, kept or not."""
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
        """Return the epochs whose weights were not kept, on purpose."""
        with suppress(Damaged, KeyError, TypeError):
            return set((self.folder.read_json(PRUNED) or {"epochs": ()})["epochs"])
        return set()

    def snapshot_epochs(self) -> list[int]:
        """Return epochs that have a file of weights, damaged or not, ascending. Raises Damaged."""
        return numbers(self.folder / SNAPSHOTS, "safetensors")

    def heard(self) -> tuple[float, float] | None:
        """Return when it was begun last, and when it recorded anything last; None if never begun.

        Both are in seconds since 1970, of a trial that has not ended.
        """
        begun, epochs = self.folder.written("spec.json"), self.training.epochs()
        recorded = self.folder.written(record_name(epochs[-1])) if epochs else None
        return None if begun is None else (begun, max(begun, recorded or begun))

    def snapshot_size(self, epoch: int) -> int:
        """Return the bytes of the weights after an epoch; 0 where they are not there."""
        return self.folder.size(snapshot_name(epoch))

    def read_epoch(self, epoch: int, protocol: str) -> EpochRecord:
        """Read an epoch of a trial that has not ended, without its environment.

        Raises:
            KeyError: it is missing, damaged, or was not measured.
        """
        with suppress(Damaged, ValueError, KeyError):
            if (row := self.measurements.row(protocol, epoch)) is not None:
                curves = {name: float(v) for name, (v,) in self.training.curves(epoch).items()}
                scores = columns.scores_of(row)
                return EpochRecord(epoch=epoch, scores=scores, environment={}, **curves)
        raise KeyError(f"{self.folder.path} has no undamaged record of epoch {epoch}")

    def recorded(self, protocol: str) -> set[int]:
        """Return the epochs that are recorded and measured under a protocol, without damage."""
        return set(self._measured(protocol, self._content()).epochs.tolist())

    def damaged(self) -> Sequence[str]:
        """Name the damaged files among its end, epochs and measurements, below the run folder."""
        content = self._content()
        with suppress(Damaged):
            places = [*content.damaged]
            for protocol in sorted({*self.measurements.protocols(), *content.compacted}):
                places += self._measured(protocol, content).damaged
            return [*dict.fromkeys(places)]
        return [*content.damaged, self.folder.place(MEASURED)]

    def unfinished(
        self, planned: PlannedTrial, protocol: str | None, until: int | None = None
    ) -> bool:
        """Return whether running the sweep trains this trial, if need be only ``until`` an epoch.

        It does so again where what was measured under ``protocol`` (by its id, if it is known) is
        lost with the weights. Where these were pruned and nothing was measured, it does not.
        """
        every = self._content()
        content, damaged = self._training(planned, every)
        if damaged or (content.end is not None and content.end.retriable):
            return True
        if content.end is None:
            return until is None or not self._reached(planned, protocol, until)
        if protocol is None:
            return False
        measured = self._measured(protocol, every).at(content.weights)
        lost = set(content.weights) - {*measured.epochs.tolist()} - {*self.snapshot_epochs()}
        return bool(lost and (measured.damaged or len(measured.epochs) or lost - self.pruned()))

    def _reached(self, planned: PlannedTrial, protocol: str | None, until: int) -> bool:
        """Return whether all epochs up to one before the last are recorded and measured."""
        due = {epoch for epoch in planned.spec.recorded_epochs if epoch <= until}
        there = self.snapshots() if protocol is None else self.recorded(protocol)
        return until < planned.spec.epochs and due <= {*there}

    def to_measure(
        self, protocol: str, epochs: Collection[int] | None = None, answers: bool = False
    ) -> list[int]:
        """Return epochs, of these or all, that are recorded and not measured under a protocol.

        With ``answers``, those whose answers are not recorded are among them, and of those whose
        answers are damaged the ones whose weights are there.
        """
        content = self._content()
        done = set(self._measured(protocol, content).epochs.tolist())
        if answers:
            done &= set(self.measurements.answered(protocol))
            there = done.intersection(content.weights if epochs is None else epochs)
            for epoch in there.intersection(self.snapshot_epochs()):
                try:
                    self.measurements.read_answers(protocol, epoch, content.weights)
                except Damaged:
                    done.remove(epoch)
        return [e for e in content.weights if e not in done and (epochs is None or e in epochs)]

    def history(
        self,
        planned: PlannedTrial,
        choose_by: str,
        report: str | None = None,
        checked: bool = True,
    ) -> TrialHistory:
        """Read all that is recorded; what is damaged is named and skipped.

        A trial whose end was recorded but whose epochs are damaged or incomplete counts as
        unfinished, so that it is run again.

        Args:
            planned: the trial.
            choose_by: id of the protocol whose selection tasks are shown.
            report: id of the protocol whose report tasks are shown; by default the same.
            checked: whether files of compacted measurements are compared with their checksums now.
                If not, their means are those in the trial's end, and ``ScoreTable.load`` raises
                Damaged where the file turns out to be.
        """
        every = self._content((choose_by, report or choose_by))
        content, damaged = self._training(planned, every)
        end = None if damaged else content.end
        chosen = self._measured(choose_by, every, checked).at(content.weights)
        reported = chosen
        if report not in (None, choose_by):
            reported = self._measured(report, every, checked).at(content.weights)
            damaged += self._placed(reported.damaged)
        damaged += self._placed(chosen.damaged)
        epochs = np.array([*content.weights], np.int64)
        tables = columns.score_tables(epochs, chosen)
        others = tables if reported is chosen else columns.score_tables(epochs, reported)
        return TrialHistory(
            trial=planned.id,
            method=planned.method,
            configuration=planned.configuration,
            hyperparameters=planned.hyperparameters,
            seed=planned.spec.seed,
            fold=planned.fold,
            epochs=epochs,
            curves=content.curves,
            scores={key: (tables if key[1] == "selection" else others)[key] for key in tables},
            end=end,
            damaged=tuple(dict.fromkeys(damaged)),
            unmeasured=len(epochs) - len(chosen.epochs),
            planned_epochs=planned.spec.epochs,
            draws_nothing=planned.draws_nothing,
            among_all=planned.among_all,
            environments=content.environments,
        )

    def _measured(self, protocol: str, content: Training, checked: bool = True) -> columns.Measured:
        checksum = content.compacted.get(protocol)
        summary = None if checked else content.summaries.get(protocol)
        return self.measurements.read(protocol, content.weights, checksum, summary)

    def _training(self, planned: PlannedTrial, every: Training) -> tuple[Training, list[str]]:
        """Return what is planned of the training; say what is damaged in it or missing from it."""
        content = every.up_to(planned.spec)
        expected = planned.spec.recorded_epochs[: len(content.weights)]
        if not content.damaged and [*content.weights] != expected:
            return content, [f"{planned.id}: epochs are missing from its records"]
        return content, self._placed(content.damaged)

    def _placed(self, places: Sequence[str]) -> list[str]:
        return [str(self.folder.root / place) for place in places]

    def _content(self, protocols: Collection[str] | None = None) -> Training:
        """Read the training with the summaries of these protocols, or all."""
        return self._kept if self._once else self.training.read(protocols)

    @cached_property
    def _kept(self) -> Training:
        return self.training.read(None)
