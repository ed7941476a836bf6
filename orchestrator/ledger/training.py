"""What a trial's training recorded: its epochs, the weights after each, and how it ended.

An epoch has a file ``epochs/0001.json``, until the trial ends: ``end.json`` then holds them all,
and the checksums of what was measured.
"""

import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from fsl_sweep.orchestrator.errors import Damaged
from fsl_sweep.orchestrator.ledger import columns
from fsl_sweep.orchestrator.ledger.measured import Measurements, numbers
from fsl_sweep.orchestrator.ledger.storage import Folder
from fsl_sweep.orchestrator.records.measures import CURVES, STATUSES, EpochRecord, TrialEnd
from fsl_sweep.orchestrator.records.plan import PROTOCOL_ID
from fsl_sweep.orchestrator.records.spec import TrialSpec

END, EPOCHS = "end.json", "epochs"
_SHA256 = re.compile(r"[0-9a-f]{64}")
_DIVERGED = re.compile(
    r"the training loss became (nan|-?inf) in epoch \d+"
    r"|epoch \d+ could not be measured: the learner's answers to .+ are not numbers"
)
"""Why a trial failed that diverged, before there was a status for it."""


def record_name(epoch: int) -> str:
    """Name an epoch's record in a trial's folder."""
    return f"{EPOCHS}/{epoch:04d}.json"


class Training(NamedTuple):
    """What a trial recorded of its training, undamaged, and where the damaged files are.

    Attributes:
        end: how it ended.
        weights: the SHA-256 of the weights after each recorded epoch, ascending.
        curves: by name ``[E]``.
        environments: the different ones of the epochs, as of ``TrialHistory``.
        compacted: the checksums of files of compacted measurements, by protocol.
        summaries: what these files amount to, where that is recorded.
        damaged: below the run folder.
    """

    end: TrialEnd | None = None
    weights: Mapping[int, str] = {}
    curves: Mapping[str, np.ndarray] = {name: np.empty(0) for name in CURVES}
    environments: tuple[Mapping[str, str], ...] = ()
    compacted: Mapping[str, str] = {}
    summaries: Mapping[str, columns.Measured] = {}
    damaged: Sequence[str] = ()

    def up_to(self, spec: TrialSpec) -> "Training":
        """Return what a training of so many epochs records of it, and how that ends.

        Epochs beyond are not read. What ended there does not concern it; what was done after fewer
        has not ended.
        """
        expected, end, curves = spec.recorded_epochs, self.end, self.curves
        weights = {epoch: self.weights[epoch] for epoch in expected if epoch in self.weights}
        whole = [*weights] == expected
        if len(weights) < len(self.weights):  # for most there is nothing beyond
            rows = np.isin([*self.weights], expected)
            curves = {name: values[rows] for name, values in curves.items()}
        if end is not None and end.status == "done":
            end = end if whole else None
        elif end is not None and not end.retriable and spec.epochs <= (end.trained or 0):
            end = TrialEnd("done") if whole else None
        return self._replace(end=end, weights=weights, curves=curves)


class TrainingRecords:
    """Reads and writes what training recorded, in the folder of one trial."""

    def __init__(self, folder: Folder) -> None:
        self.folder = folder

    def write(self, record: EpochRecord, snapshot: str) -> None:
        """Record an epoch; ``snapshot`` is the SHA-256 of its weights."""
        curves = {name: getattr(record, name) for name in CURVES}
        plain = {name: None if math.isnan(value) else value for name, value in curves.items()}
        content = {"epoch": record.epoch, **plain, "snapshot": snapshot}
        if record.environment:
            content["environment"] = record.environment
        self.folder.write_json(record_name(record.epoch), content)

    def expand(self) -> None:
        """Write a file for each epoch that a trial's end holds. Raises Damaged."""
        plain, environment = (self.folder.read_json(END) or {})["epochs"], None
        keys = [key for key in ("epoch", *CURVES, "snapshot") if key in plain]
        for at, epoch in enumerate(plain["epoch"]):
            content = {key: plain[key][at] for key in keys}
            if environment := plain.get("environment", {at: None})[at] or environment:
                content["environment"] = environment
            self.folder.write_json(record_name(epoch), content)

    def epochs(self) -> list[int]:
        """Return epochs that have a file, damaged or not, ascending. Raises Damaged."""
        return numbers(self.folder / EPOCHS, "json")

    def as_columns(self, epochs: Iterable[int]) -> dict[str, list[Any]]:
        """Read the records of epochs, for the trial's end. Raises Damaged, KeyError."""
        return _columns_of([self.folder.read_json(record_name(epoch)) or {} for epoch in epochs])

    def curves(self, epoch: int) -> dict[str, np.ndarray]:
        """Read those of one epoch ``[1]``. Raises Damaged, ValueError, KeyError or TypeError."""
        return _epochs_of(_columns_of([self._record(epoch)]))[1]

    def weights(self, epoch: int) -> dict[int, str]:
        """Read the SHA-256 of one epoch's weights; empty where its record is damaged."""
        with suppress(Damaged, ValueError, KeyError, TypeError):
            return _epochs_of(_columns_of([self._record(epoch)]))[0]
        return {}

    def read(self, protocols: Collection[str] | None = None) -> Training:
        """Read all of it, with the summaries of these protocols, or of all."""
        try:
            plain = self.folder.read_json(END)
            end = None if plain is None else _end_of(plain)
            if plain and "epochs" in plain:
                weights, curves, environments = _epochs_of(plain["epochs"])
                summaries = {
                    protocol: columns.summary_of(summary, np.array([*weights]))
                    for protocol, summary in plain["summaries"].items()
                    if protocols is None or protocol in protocols
                }
                checksums = _checksums_of(plain["measured"])
                return Training(end, weights, curves, environments, checksums, summaries)
        except Damaged as damage:  # perhaps a link in the place of a folder above
            return Training(damaged=[damage.place])
        except (ValueError, KeyError, TypeError, AttributeError):
            return Training(damaged=[self.folder.place(END)])
        records, damaged = self._undamaged()
        if plain is None and not records and not damaged and Measurements(self.folder).compacted():
            damaged.append(self.folder.place(END))  # it held the epochs
        return Training(end, *_epochs_of(_columns_of(records)), damaged=damaged)

    def _undamaged(self) -> tuple[list[dict[str, Any]], list[str]]:
        """Read undamaged records in ``epochs/``, ascending; say where the damaged files are."""
        records: list[dict[str, Any]] = []
        damaged: list[str] = []
        try:
            for epoch in self.epochs():
                try:
                    records.append(self._record(epoch))
                except (Damaged, ValueError, KeyError, TypeError):
                    damaged.append(self.folder.place(record_name(epoch)))
        except Damaged as damage:  # no folder
            return [], [damage.place]
        return records, damaged

    def _record(self, epoch: int) -> dict[str, Any]:
        """Read the record of an epoch. Raises Damaged, or what ``_epochs_of`` does."""
        plain = self.folder.read_json(record_name(epoch)) or {}
        if [*_epochs_of(_columns_of([plain]))[0]] != [epoch]:
            raise ValueError("it is another epoch's")
        return plain


def _end_of(plain: Mapping[str, Any]) -> TrialEnd:
    status, reason, retriable = (plain[key] for key in ("status", "reason", "retriable"))
    trained = plain.get("trained")
    if status not in STATUSES or not isinstance(reason, str) or not isinstance(retriable, bool):
        raise ValueError(f"{status!r} is not how a trial ends")
    if trained is not None and type(trained) is not int:
        raise ValueError(f"{trained!r} is no number of epochs")
    if status == "failed" and not retriable and _DIVERGED.fullmatch(reason):
        status = "diverged"
    return TrialEnd(status, reason, retriable, trained)


def _columns_of(records: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Return records of epochs as columns. Raises KeyError where one lacks a value.

    An epoch's environment is written where it is not that of the epoch before, else None.
    """
    plain = {key: [record[key] for record in records] for key in ("epoch", "snapshot", *CURVES)}
    recorded = [record.get("environment", {}) for record in records]
    if any(recorded):
        before = [{}, *recorded]
        plain["environment"] = [
            None if now == last else now for last, now in zip(before, recorded, strict=False)
        ]
    return plain


_Epochs = tuple[dict[int, str], dict[str, np.ndarray], tuple[Mapping[str, str], ...]]


def _epochs_of(plain: Mapping[str, Any]) -> _Epochs:
    """Return weights, curves and environments of epochs, as of ``Training``. Raises ValueError."""
    numbers, snapshots = plain["epoch"], plain["snapshot"]
    curves = {name: np.array(plain[name], np.float64) for name in CURVES}  # NaN for None
    if {*map(type, numbers)} - {int} or not all(map(_SHA256.fullmatch, snapshots)):
        raise ValueError("they are not records of epochs")
    if [0, *numbers] != sorted({0, *numbers}):
        raise ValueError("its epochs do not ascend from 1")
    environments = plain.get("environment", [None] * len(numbers))
    if {len(snapshots), len(environments), *map(len, curves.values())} != {len(numbers)}:
        raise ValueError("it has columns of different lengths")
    return dict(zip(numbers, snapshots, strict=True)), curves, _environments_of(environments)


def _environments_of(column: Sequence[Any]) -> tuple[Mapping[str, str], ...]:
    """Return the different environments of a column, in order. Raises ValueError."""
    different: list[Mapping[str, str]] = []
    for now in filter(None, column):
        if not isinstance(now, dict) or {*map(type, now.values())} - {str}:
            raise ValueError("it does not hold the environments of epochs")
        if now not in different:
            different.append(now)
    return tuple(different)


def _checksums_of(plain: Mapping[str, Any]) -> dict[str, str]:
    for protocol, checksum in plain.items():
        if not PROTOCOL_ID.fullmatch(protocol) or not _SHA256.fullmatch(checksum):
            raise ValueError("it does not hold checksums of measurements")
    return dict(plain)
