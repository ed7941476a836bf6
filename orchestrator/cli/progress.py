"""What is shown while a sweep runs: a live view on a terminal, plain lines elsewhere."""

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TextIO

from rich.console import Group, RenderableType
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from fsl_sweep.orchestrator.records.measures import (
    MEASURES,
    SHOWN_AS,
    EpochRecord,
    Measure,
    TrialEnd,
)
from fsl_sweep.orchestrator.records.plan import Plan
from fsl_sweep.orchestrator.report import wording
from fsl_sweep.orchestrator.report.formats.console import SafeConsole
from fsl_sweep.orchestrator.text.printed import counted, one_line, say

_ROWS = 12


@dataclass
class _Running:
    label: str
    epochs: int
    record: EpochRecord | None = None

    @property
    def reached(self) -> str:
        """``12/60``: the epoch of the last record, of how many."""
        return f"{0 if self.record is None else self.record.epoch}/{self.epochs}"


class _Progress:
    """Which trials run, what is left, how long it may take.

    Epochs are trained epochs, whether or not each is measured.
    """

    def __init__(self, plan: Plan, pending: list[str]) -> None:
        self._labels = {
            t.id: trial_label(t.method, t.hyperparameters, t.spec.seed, t.fold) for t in plan.trials
        }
        self._recorded = {trial: plan.specs[trial].recorded_epochs for trial in pending}
        self._epochs = {trial: plan.specs[trial].epochs for trial in pending}
        self._reached = dict.fromkeys(pending, 0)
        self._total, self._ended, self._failed = len(pending), 0, 0
        self._running: dict[str, _Running] = {}
        self._trained = 0  # in this run: a trial may continue an earlier one
        self._begun = time.monotonic()

    def started(self, trial: str) -> None:
        """A trial runs now."""
        if not self._running and not self._trained:
            self._begun = time.monotonic()  # without the time that Ray takes to start
        self._running.setdefault(trial, _Running(self._labels[trial], self._epochs[trial]))

    def measured(self, trial: str, record: EpochRecord) -> None:
        """An epoch was measured: show its loss and generalisation measures."""
        self.started(trial)
        self._running[trial].record = record
        before = max((epoch for epoch in self._recorded[trial] if epoch < record.epoch), default=0)
        self._trained += record.epoch - before
        self._reached[trial] = record.epoch

    def ended(self, trial: str, end: TrialEnd) -> None:
        """A trial ended: show how, and what is left."""
        self._running.pop(trial, None)
        self._ended += 1
        self._failed += end.status == "failed"
        self._epochs[trial] = self._reached[trial]  # no further epoch of it is to come

    def _left(self) -> str | None:
        """The time left at the pace so far; None before the second epoch, and after the last."""
        left = sum(self._epochs.values()) - sum(self._reached.values())
        if self._trained < 2 or not left:
            return None
        return _clock(max(0.0, left * (time.monotonic() - self._begun) / self._trained))


class PlainProgress(_Progress):
    """One line an epoch at most, for logs and pipes."""

    def __init__(self, plan: Plan, pending: list[str], stream: TextIO) -> None:
        super().__init__(plan, pending)
        self._stream = stream

    def __enter__(self) -> "PlainProgress":
        self._say(f"{counted(self._total, 'trial')} to run; epoch, training loss, accuracy in %:")
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def measured(self, trial: str, record: EpochRecord) -> None:
        """Print the epoch's loss and generalisation measures."""
        super().measured(trial, record)
        running = self._running[trial]
        # One decimal, so that a line with a short label has room in 80 columns.
        scores = "  ".join(f"{SHOWN_AS[m]} {_percent(record, m, 1)}" for m in MEASURES)
        self._say(f"{running.label}  {running.reached}  loss {_loss(record)}  {scores}")

    def failed_once(self, trial: str, reason: str) -> None:
        """Print the reason."""
        self._say(f"{self._labels[trial]}  failed, trying again: {reason}")

    def ended(self, trial: str, end: TrialEnd) -> None:
        """Print how it ended, and how many trials are left."""
        super().ended(trial, end)
        reason = f": {end.reason}" if end.reason else ""
        left = self._left()
        counts = f"{self._ended}/{self._total} trials" + (f", about {left} left" if left else "")
        self._say(f"{self._labels[trial]}  {end.status}{reason}  ({counts})")

    def _say(self, line: str) -> None:
        say(one_line(line), self._stream)


class LiveProgress(_Progress):
    """A bar over all trials with the time left, and a row for each running trial."""

    def __init__(self, plan: Plan, pending: list[str], console: SafeConsole) -> None:
        super().__init__(plan, pending)
        self._notes: list[str] = []
        self._bar = Progress(
            TextColumn("{task.description}", style="bold", markup=False),
            BarColumn(bar_width=30),
            MofNCompleteColumn(),
            TextColumn("epochs"),
            TimeElapsedColumn(),
            TextColumn("{task.fields[left]}"),
            console=console,
        )
        epochs = sum(self._epochs.values())
        self._task = self._bar.add_task(plan.name, total=epochs, left="starting")
        self._live = Live(console=console, get_renderable=self._view, refresh_per_second=4)

    def __enter__(self) -> "LiveProgress":
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def measured(self, trial: str, record: EpochRecord) -> None:
        """Update the trial's row and the bar."""
        super().measured(trial, record)
        self._advance()

    def failed_once(self, trial: str, reason: str) -> None:
        """Show the failure below the table."""
        self._notes.append(f"{self._labels[trial]} failed, trying again: {reason}")

    def ended(self, trial: str, end: TrialEnd) -> None:
        """Remove the row; show a failure below the table."""
        super().ended(trial, end)
        if end.status != "done":
            self._notes.append(f"{self._labels[trial]} {end.status}: {end.reason}")
        self._advance()

    def _advance(self) -> None:
        left = self._left()
        done, total = (sum(epochs.values()) for epochs in (self._reached, self._epochs))
        shown = f"{left} left" if left else ""
        self._bar.update(self._task, completed=done, total=total, left=shown)

    def _view(self) -> RenderableType:
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
        table.add_column("trial", no_wrap=True, overflow="ellipsis", ratio=1)
        for name in ("epoch", "loss", *(SHOWN_AS[m] for m in MEASURES)):
            table.add_column(name, justify="right", no_wrap=True)
        rows = list(self._running.values())
        for row in rows[:_ROWS]:
            table.add_row(*_cells(row))
        parts: list[RenderableType] = [self._bar, table]
        if len(rows) > _ROWS:
            parts.append(Text(f"and {len(rows) - _ROWS} more running", style="dim"))
        ended = f"{self._ended} of {counted(self._total, 'trial')} ended, {self._failed} failed"
        parts.append(Text(ended, "dim"))
        parts += [Text(one_line(note), style="yellow") for note in self._notes[-3:]]
        return Group(*parts)


def trial_label(
    method: str, hyperparameters: Mapping[str, Any], seed: int, fold: int | None = None
) -> str:
    """``PN way=20 seed=1 fold=0``: a trial's name on screen."""
    axes = wording.values(hyperparameters)
    number = "" if fold is None else f"fold={fold}"
    return " ".join(part for part in (method, axes, f"seed={seed}", number) if part)


def _cells(row: _Running) -> list[str]:
    if row.record is None:
        return [row.label, row.reached, "", *("" for _ in MEASURES)]
    scores = [f"{_percent(row.record, m, 2)} %" for m in MEASURES]
    return [row.label, row.reached, _loss(row.record), *scores]


def _loss(record: EpochRecord) -> str:
    # NaN: a program does not report its loss.
    return "-" if math.isnan(record.train_loss) else f"{record.train_loss:.4f}"


def _percent(record: EpochRecord, measure: Measure, decimals: int) -> str:
    return f"{100 * record.scores[measure, 'selection'].mean:.{decimals}f}"


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
