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

from fsl_sweep.orchestrator.console import SafeConsole
from fsl_sweep.orchestrator.plan import Plan
from fsl_sweep.orchestrator.printed import counted, one_line, say
from fsl_sweep.orchestrator.records import MEASURES, SHOWN_AS, EpochRecord, Measure, TrialEnd
from fsl_sweep.orchestrator.report import wording

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


class _Counts:
    """What both displays show: which trials run, what is left, how long it may take.

    Epochs are trained epochs, whether or not each is measured.
    """

    def __init__(self, plan: Plan, pending: list[str]) -> None:
        self.labels = {
            t.id: trial_label(t.method, t.hyperparameters, t.spec.seed, t.fold) for t in plan.trials
        }
        self.recorded = {trial: plan.specs[trial].recorded_epochs for trial in pending}
        self.epochs = {trial: plan.specs[trial].epochs for trial in pending}
        self.reached = dict.fromkeys(pending, 0)
        self.total, self.ended, self.failed = len(pending), 0, 0
        self.running: dict[str, _Running] = {}
        self.trained = 0  # in this run: a trial may continue an earlier one
        self.begun = time.monotonic()

    def start(self, trial: str) -> None:
        if not self.running and not self.trained:
            self.begun = time.monotonic()  # without the time that Ray takes to start
        self.running.setdefault(trial, _Running(self.labels[trial], self.epochs[trial]))

    def measure(self, trial: str, record: EpochRecord) -> None:
        self.start(trial)
        self.running[trial].record = record
        before = max((epoch for epoch in self.recorded[trial] if epoch < record.epoch), default=0)
        self.trained += record.epoch - before
        self.reached[trial] = record.epoch

    def end(self, trial: str, end: TrialEnd) -> None:
        self.running.pop(trial, None)
        self.ended += 1
        self.failed += end.status == "failed"
        self.epochs[trial] = self.reached[trial]  # no further epoch of it is to come

    def eta(self) -> float | None:
        """Seconds left at the pace so far; None before the second epoch."""
        if self.trained < 2:
            return None
        left = sum(self.epochs.values()) - sum(self.reached.values())
        return max(0.0, left * (time.monotonic() - self.begun) / self.trained)


class PlainProgress:
    """One line an epoch at most, for logs and pipes."""

    def __init__(self, plan: Plan, pending: list[str], stream: TextIO) -> None:
        self._counts, self._stream = _Counts(plan, pending), stream

    def __enter__(self) -> "PlainProgress":
        self._say(
            f"{counted(self._counts.total, 'trial')} to run; epoch, training loss, accuracy in %:"
        )
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def started(self, trial: str) -> None:
        """Note that the trial runs."""
        self._counts.start(trial)

    def measured(self, trial: str, record: EpochRecord) -> None:
        """Print the epoch's loss and generalisation measures."""
        self._counts.measure(trial, record)
        running = self._counts.running[trial]
        # One decimal, so that a line with a short label has room in 80 columns.
        scores = "  ".join(f"{SHOWN_AS[m]} {_percent(record, m, 1)}" for m in MEASURES)
        self._say(f"{running.label}  {running.reached}  loss {_loss(record)}  {scores}")

    def failed_once(self, trial: str, reason: str) -> None:
        """Print the reason."""
        self._say(f"{self._counts.labels[trial]}  failed, trying again: {reason}")

    def ended(self, trial: str, end: TrialEnd) -> None:
        """Print how it ended, and how many trials are left."""
        self._counts.end(trial, end)
        reason = f": {end.reason}" if end.reason else ""
        counts = f"{self._counts.ended}/{self._counts.total} trials"
        eta = self._counts.eta()
        left = f", about {_clock(eta)} left" if eta else ""
        self._say(f"{self._counts.labels[trial]}  {end.status}{reason}  ({counts}{left})")

    def _say(self, line: str) -> None:
        say(one_line(line), self._stream)


class LiveProgress:
    """A bar over all trials with the time left, and a row for each running trial."""

    def __init__(self, plan: Plan, pending: list[str], console: SafeConsole) -> None:
        self._counts = _Counts(plan, pending)
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
        epochs = sum(self._counts.epochs.values())
        self._task = self._bar.add_task(plan.name, total=epochs, left="starting")
        self._live = Live(console=console, get_renderable=self._view, refresh_per_second=4)

    def __enter__(self) -> "LiveProgress":
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def started(self, trial: str) -> None:
        """Show a row for the trial."""
        self._counts.start(trial)

    def measured(self, trial: str, record: EpochRecord) -> None:
        """Update the trial's row and the bar."""
        self._counts.measure(trial, record)
        self._advance()

    def failed_once(self, trial: str, reason: str) -> None:
        """Show the failure below the table."""
        self._notes.append(f"{self._counts.labels[trial]} failed, trying again: {reason}")

    def ended(self, trial: str, end: TrialEnd) -> None:
        """Remove the row; show a failure below the table."""
        self._counts.end(trial, end)
        if end.status != "done":
            self._notes.append(f"{self._counts.labels[trial]} {end.status}: {end.reason}")
        self._advance()

    def _advance(self) -> None:
        eta = self._counts.eta()
        left = "" if eta is None else f"{_clock(eta)} left"
        done, total = (sum(n.values()) for n in (self._counts.reached, self._counts.epochs))
        self._bar.update(self._task, completed=done, total=total, left=left)

    def _view(self) -> RenderableType:
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
        table.add_column("trial", no_wrap=True, overflow="ellipsis", ratio=1)
        for name in ("epoch", "loss", *(SHOWN_AS[m] for m in MEASURES)):
            table.add_column(name, justify="right", no_wrap=True)
        rows = list(self._counts.running.values())
        for row in rows[:_ROWS]:
            table.add_row(*_cells(row))
        parts: list[RenderableType] = [self._bar, table]
        if len(rows) > _ROWS:
            parts.append(Text(f"and {len(rows) - _ROWS} more running", style="dim"))
        done, total = self._counts.ended, self._counts.total
        parts.append(
            Text(f"{done} of {counted(total, 'trial')} ended, {self._counts.failed} failed", "dim")
        )
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
