"""The view as a whole: rebuilt from the records, then appended to while trials run.

A view is never the only copy of anything. It is rebuilt into a new folder that takes the old
one's place, so that the next rebuild repairs what a kill left; and it is rebuilt before anything is
appended, so that an incomplete event at a file's end cannot spoil later ones.
"""

# TensorBoard's generated protocol modules define their classes at run time.
# pyright: reportAttributeAccessIssue=false

import os
import shutil
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
from tensorboard.compat.proto.event_pb2 import Event

from fsl_sweep.datasets.files.plain_file import kind_of
from fsl_sweep.orchestrator.errors import MachineFailure, RunFolderError, folder_error
from fsl_sweep.orchestrator.ledger.training import record_name
from fsl_sweep.orchestrator.ledger.trial_ledger import snapshot_name
from fsl_sweep.orchestrator.records.measures import EpochRecord, TrialEnd, TrialHistory
from fsl_sweep.orchestrator.report.figures.figures import Figure
from fsl_sweep.orchestrator.selection.select import Selected
from fsl_sweep.orchestrator.tensorboard import curves, hparams, images
from fsl_sweep.orchestrator.tensorboard.events import FILE, append, scalars
from fsl_sweep.orchestrator.tensorboard.names import REPORT, Place, of_method, places


def rebuild(
    folder: Path,
    histories: Sequence[TrialHistory],
    selected: Selected | None = None,
    figures: Sequence[Figure] = (),
) -> None:
    """Write the view anew.

    Args:
        folder: the view's folder in the run's; what it holds is replaced.
        histories: one for each planned trial; those without a record get no run.
        selected: strategies' choices for the HParams tab, if they are to be shown.
        figures: the report's, for the Images tab.

    Raises:
        RunFolderError: the folder holds other files than a view's, or cannot be written.
    """
    new, old = (folder.with_name(f"{folder.name}.{suffix}") for suffix in ("new", "old"))
    with _writing(folder):
        for ours in (folder, new, old):
            _check_ours(ours)
        for leftover in (new, old):
            shutil.rmtree(leftover, ignore_errors=True)
        _write(new, histories, selected, figures)
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
        self._shown: dict[str, list[tuple[TrialHistory, Place]]] = {}
        for trial, place in zip(histories, places(histories), strict=True):
            self._shown.setdefault(trial.trial, []).append((trial, place))
        self._last: dict[str, tuple[int, float, float]] = {
            trial.trial: _last(trial, _dates(folder.parent, trial))
            for trial in histories
            if len(trial.epochs)
        }
        """The last epoch shown of each trial, NovelGen there, and its date."""

    def started(self, trial: str) -> None:
        """Show nothing before the first epoch."""

    def measured(self, trial: str, record: EpochRecord) -> None:
        """Append one epoch of a trial, unless the view holds it already.

        Raises:
            RunFolderError: the view cannot be written.
            MachineFailure: the disk is full or fails, or the run folder has vanished.
        """
        last = self._last.get(trial)
        if last and record.epoch <= last[0]:
            return
        written = _recorded_at(self._folder.parent, trial, record.epoch)
        spent = record.train_seconds + record.evaluation_seconds
        date = (last[2] if last else 0.0) + spent if written is None else written
        for planned, place in self._shown[trial]:
            event = curves.live_event(record, place.cards, date)
            begins = last is None and _is_full(planned)
            start = [Event(summary=hparams.session(planned))] if begins else []
            self._append(place.run, [*start, event])
        self._last[trial] = record.epoch, record.scores["novel", "selection"].mean, date

    def measured_again(self, trial: str, epoch: int) -> None:
        """Show nothing: the view is of the main protocol only."""

    def failed_once(self, trial: str, reason: str) -> None:
        """Show nothing: what was measured stays."""

    def remark(self, text: str) -> None:
        """Show nothing of what is not about a trial."""

    def ended(self, trial: str, end: TrialEnd) -> None:
        """Mark the end of a trial in the HParams tab."""
        if trial in self._last:
            for planned, place in self._shown[trial]:
                if _is_full(planned):
                    self._append(place.run, hparams.session_end(end, *self._last[trial]))

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
) -> None:
    dated = [_dates(folder.parent, trial) for trial in histories]
    groups: dict[str, str] = {}
    means: dict[str, list[int]] = {}
    for i, (trial, place) in enumerate(zip(histories, places(histories), strict=True)):
        groups[place.cards] = curves.TRIALS
        if place.mean:
            means.setdefault(place.mean, []).append(i)
        if len(trial.epochs):
            append(folder / place.run, _trial_events(trial, place.cards, dated[i], selected))
    for run, planned in means.items():
        complete = [i for i in planned if histories[i].complete and not histories[i].diverged]
        count, total = len(complete), len(planned)
        if count > 1:
            trials = [histories[i] for i in complete]
            cards = of_method(trials[0])
            groups[cards] = curves.MEANS
            part = f" ({count} of {total} seeds)" if count < total else ""
            events = curves.mean_events(trials, cards, [dated[i] for i in complete])
            append(folder / f"{run}{part}", events)
    newest = max((float(dates[-1]) for dates in dated if len(dates)), default=0.0)
    append(
        folder / REPORT,
        [
            Event(summary=curves.layout(dict(sorted(groups.items())))),
            Event(summary=hparams.experiment([t for t in histories if _is_full(t)], selected)),
            *(Event(summary=picture, wall_time=newest) for picture in images.pictures(figures)),
        ],
    )


def _trial_events(
    trial: TrialHistory, cards: str, dated: np.ndarray, selected: Selected | None
) -> Iterator[Event]:
    if _is_full(trial):
        yield Event(summary=hparams.session(trial))
    yield from curves.recorded_events(trial, cards, dated)
    for selection in selected.selections if selected else ():
        if (selection.method, selection.trial) == (trial.method, trial.trial):
            date, tag = float(dated[trial.index(selection.epoch)]), hparams.tag(selection.strategy)
            yield scalars(selection.epoch, date, {tag: selection.means["novel"]})
    if trial.end is not None and _is_full(trial):
        yield from hparams.session_end(trial.end, *_last(trial, dated))


def _last(trial: TrialHistory, dated: np.ndarray) -> tuple[int, float, float]:
    """Return the last recorded epoch, NovelGen there on selection tasks, and its date."""
    novel = trial.scores["novel", "selection"].means[-1]
    return int(trial.epochs[-1]), float(novel), float(dated[-1])


def _recorded_at(run: Path, trial: str, epoch: int) -> float | None:
    """Return when an epoch was recorded, in seconds since 1970, by its files or the trial's end.

    They keep their dates, so that a view that is rebuilt has the same. None where there are none.
    """
    for name in (record_name(epoch), snapshot_name(epoch), "end.json"):
        with suppress(OSError, ValueError):  # an id may be any text
            return (run / "trials" / trial / name).lstat().st_mtime
    return None


def _dates(run: Path, trial: TrialHistory) -> np.ndarray:
    """Return the date of each recorded epoch, in seconds since 1970, float64 ``[E]``.

    They count back from the last one by what each epoch cost, so that differences are seconds of
    training and measuring, without the breaks. From 0 on where no file tells.
    """
    if len(trial.epochs) == 0:
        return np.empty(0)
    seconds = np.cumsum(trial.curves["train_seconds"] + trial.curves["evaluation_seconds"])
    last = _recorded_at(run, trial.trial, int(trial.epochs[-1]))
    return seconds if last is None else last - seconds[-1] + seconds


def _check_ours(folder: Path) -> None:
    """Refuse to replace a folder that holds anything but a view, or that is a link."""
    for path in (folder, *folder.rglob("*")) if os.path.lexists(folder) else ():
        mode = path.lstat().st_mode
        if not stat.S_ISDIR(mode) and (path.name != FILE or not stat.S_ISREG(mode)):
            raise RunFolderError(
                f"{path} is a {kind_of(mode)} that no TensorBoard view holds; move it away."
            )


def _is_full(trial: TrialHistory) -> bool:
    """Return whether the HParams tab has it: trials of class folds are no configurations."""
    return trial.fold is None
