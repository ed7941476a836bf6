"""The view as a whole: rebuilt from the records, then appended to while trials run.

A view is never the only copy of anything. It is rebuilt into a new folder that takes the old
one's place, so that the next rebuild repairs what a kill left; and it is rebuilt before anything is
appended, so that a torn tail cannot spoil later events.
"""

# TensorBoard's generated protocol modules define their classes at run time.
# pyright: reportAttributeAccessIssue=false

import os
import shutil
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from tensorboard.compat.proto.event_pb2 import Event

from fsl_sweep.orchestrator.errors import MachineFailure, RunFolderError, folder_error
from fsl_sweep.orchestrator.ledger.storage import kind_of
from fsl_sweep.orchestrator.records.measures import EpochRecord, TrialEnd, TrialHistory
from fsl_sweep.orchestrator.report.figures.figures import Figure
from fsl_sweep.orchestrator.selection.select import Selected
from fsl_sweep.orchestrator.tensorboard import curves, hparams, images
from fsl_sweep.orchestrator.tensorboard.events import FILE, append, scalars
from fsl_sweep.orchestrator.tensorboard.names import REPORT, run_names


def rebuild(
    folder: Path,
    histories: Sequence[TrialHistory],
    selected: Selected | None = None,
    figures: Sequence[Figure] = (),
    dated: float = 0.0,
) -> None:
    """Write the whole view anew.

    Args:
        folder: the view's folder; what it holds is replaced.
        histories: one for each planned trial; those without a record get no run.
        selected: strategies' choices for the HParams tab, if they are to be shown.
        figures: the report's, for the Images tab.
        dated: when the newest of what they show was recorded, in seconds since 1970.

    Raises:
        RunFolderError: the folder holds other files than a view's, or cannot be written.
    """
    new, old = (folder.with_name(f"{folder.name}.{suffix}") for suffix in ("new", "old"))
    with _writing(folder):
        for ours in (folder, new, old):
            _check_ours(ours)
        for leftover in (new, old):
            shutil.rmtree(leftover, ignore_errors=True)
        _write(new, histories, selected, figures, dated)
        if folder.exists():
            folder.rename(old)
        new.rename(folder)
        shutil.rmtree(old, ignore_errors=True)


class LiveView:
    """Listens to a running sweep; it keeps no file open between events.

    Args:
        folder: the view's folder, rebuilt here.
        histories: one for each planned trial.

    Raises:
        RunFolderError: as ``rebuild``.
    """

    def __init__(self, folder: Path, histories: Sequence[TrialHistory]) -> None:
        rebuild(folder, histories)
        self._folder = folder
        self._runs: dict[str, list[tuple[TrialHistory, str]]] = {}
        for trial, name in zip(histories, run_names(histories), strict=True):
            self._runs.setdefault(trial.trial, []).append((trial, name))
        self._epochs = {t.trial: int(t.epochs[-1]) for t in histories if len(t.epochs)}
        self._seconds = {t.trial: float(curves.elapsed(t)[-1]) for t in histories if len(t.epochs)}

    def started(self, trial: str) -> None:
        """Nothing to show before the first epoch."""

    def measured(self, trial: str, record: EpochRecord) -> None:
        """Append one epoch of a trial, unless the view holds it already.

        Raises:
            RunFolderError: the view cannot be written.
            MachineFailure: the disk is full or fails, or the run folder has vanished.
        """
        if record.epoch <= self._epochs.get(trial, 0):
            return
        first = trial not in self._epochs
        spent = record.train_seconds + record.evaluation_seconds
        seconds = self._seconds.get(trial, 0.0) + spent
        event = curves.live_event(record, seconds, first)
        for planned, name in self._runs[trial]:
            start = [Event(summary=hparams.session(planned))] if first and _is_full(planned) else []
            self._append(name, [*start, event])
        self._epochs[trial], self._seconds[trial] = record.epoch, seconds

    def measured_again(self, trial: str, epoch: int) -> None:
        """The view shows the main protocol only."""

    def failed_once(self, trial: str, reason: str) -> None:
        """Nothing to show: what was measured stays."""

    def ended(self, trial: str, end: TrialEnd) -> None:
        """Mark the end of a trial in the HParams tab."""
        if trial in self._epochs:
            event = hparams.session_end(end, self._seconds[trial])
            for planned, name in self._runs[trial]:
                if _is_full(planned):
                    self._append(name, [event])

    def _append(self, name: str, events: Sequence[Event]) -> None:
        if not self._folder.parent.is_dir():
            raise MachineFailure(f"The run folder {self._folder.parent} is gone.")
        with _writing(self._folder / name, " The records themselves are kept."):
            append(self._folder / name, events)


@contextmanager
def _writing(path: Path, remark: str = "") -> Iterator[None]:
    try:
        yield
    except OSError as failure:
        reason = failure.strerror or failure
        message = f"The TensorBoard view {path} cannot be written: {reason}.{remark}"
        raise folder_error(failure, message) from failure


def _write(
    folder: Path,
    histories: Sequence[TrialHistory],
    selected: Selected | None,
    figures: Sequence[Figure],
    dated: float,
) -> None:
    append(
        folder / REPORT,
        [
            Event(summary=curves.layout()),
            Event(summary=hparams.experiment([t for t in histories if _is_full(t)], selected)),
            *(Event(summary=one, wall_time=dated) for one in images.pictures(figures)),
        ],
    )
    for trial, name in zip(histories, run_names(histories), strict=True):
        if len(trial.epochs):
            append(folder / name, _trial_events(trial, selected))


def _trial_events(trial: TrialHistory, selected: Selected | None) -> Iterator[Event]:
    if _is_full(trial):
        yield Event(summary=hparams.session(trial))
    yield from curves.recorded_events(trial)
    seconds = curves.elapsed(trial)
    for one in selected.selections if selected else ():
        if (one.method, one.trial) == (trial.method, trial.trial):
            at = float(seconds[np.flatnonzero(trial.epochs == one.epoch)[0]])
            yield scalars(one.epoch, at, {hparams.tag(one.strategy): one.novel.mean}, {})
    if trial.end is not None and _is_full(trial):
        yield hparams.session_end(trial.end, float(seconds[-1]))


def _check_ours(folder: Path) -> None:
    """Refuse to replace a folder that holds anything but a view, or that is a link."""
    for path in (folder, *folder.rglob("*")) if os.path.lexists(folder) else ():
        mode = path.lstat().st_mode
        if not stat.S_ISDIR(mode) and (path.name != FILE or not stat.S_ISREG(mode)):
            raise RunFolderError(
                f"{path} is a {kind_of(mode)} that no TensorBoard view holds; move it away."
            )


def _is_full(trial: TrialHistory) -> bool:
    """Whether the HParams tab has it: trials of class folds are no configurations of their own."""
    return trial.fold is None
