"""What is shown while a sweep runs: a live view on a terminal, plain lines elsewhere.

And what the snapshots of a run take on the disk, as soon as the first one is there.
"""

import math
import sys
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import IO, Any, Self

from rich.cells import cell_len, set_cell_size
from rich.console import Console, ConsoleOptions, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, Task, TaskID, TextColumn
from rich.table import Column, Table
from rich.text import Text

from fsl_sweep.orchestrator.ledger.ledger import Ledger
from fsl_sweep.orchestrator.records.measures import MEASURES, SHOWN_AS, EpochRecord, TrialEnd
from fsl_sweep.orchestrator.records.plan import Plan
from fsl_sweep.orchestrator.report import wording
from fsl_sweep.orchestrator.sweep.listener import SweepListener
from fsl_sweep.orchestrator.text.console import SafeConsole
from fsl_sweep.orchestrator.text.durations import duration
from fsl_sweep.orchestrator.text.printed import counted, on_disk, one_line, say
from fsl_sweep.orchestrator.upkeep.remaining import Todo


class PlainProgress(SweepListener):
    """At most one line an epoch, for logs and pipes; and how long the rest may take.

    Epochs are trained epochs, whether or not each is measured; where trials are only measured, they
    are the snapshots in ``todo``. Trials go on after the epochs in ``resumed``, by default from the
    first.
    """

    def __init__(
        self,
        plan: Plan,
        pending: Sequence[str],
        stream: IO[str],
        todo: Mapping[str, Todo] | None = None,
        resumed: Mapping[str, int] = {},
    ) -> None:
        self._stream, self._todo = stream, todo
        self._labels = {
            t.id: trial_label(t.method, t.hyperparameters, t.spec.seed, t.fold) for t in plan.trials
        }
        self._recorded = {trial: plan.specs[trial].recorded_epochs for trial in pending}
        self._epochs = {
            trial: plan.specs[trial].epochs if todo is None else len(todo[trial])
            for trial in pending
        }
        self._reached = {trial: resumed.get(trial, 0) for trial in pending}
        self._snapshots: set[tuple[str, int]] = set()
        self._total, self._ended = len(pending), Counter[str]()
        self._trained = 0  # in this run: a trial may continue an earlier one
        self._begun: float | None = None

    def __enter__(self) -> Self:
        trials = f"{counted(self._total, 'trial')} to run; epoch, training loss, accuracy in %:"
        self._note(trials if self._todo is None else f"{_snapshots(self._todo)}:")
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def started(self, trial: str) -> None:  # noqa: ARG002
        """Show that a trial runs now."""
        if self._begun is None:
            self._begun = time.monotonic()  # without the time that Ray takes to start

    def measured(self, trial: str, record: EpochRecord) -> None:
        """Show the loss and the generalisation measures of an epoch."""
        self.started(trial)
        before = max((epoch for epoch in self._recorded[trial] if epoch < record.epoch), default=0)
        self._trained += record.epoch - before
        self._reached[trial] = record.epoch
        loss, *measures = (scores := _scores(record)).items()
        text = " ".join(f"{name} {mean}" for name, mean in measures)
        self._show(trial, f"{' '.join(loss)}  {text}", scores)

    def measured_again(self, trial: str, epoch: int) -> None:
        """Count a snapshot that was measured; perhaps once more, after a failure."""
        self.started(trial)
        if (trial, epoch) not in self._snapshots:
            self._snapshots.add((trial, epoch))
            self._trained += 1
            self._reached[trial] += 1
        self._show(trial, f"epoch {epoch} measured", {"measured": f"epoch {epoch}"})

    def failed_once(self, trial: str, reason: str) -> None:
        """Show why a trial failed that is tried again."""
        self._note(f"{self._labels[trial]}  failed, trying again: {reason}")

    def paused(self, trial: str) -> None:
        """Say nothing: the trial waits at a rung."""

    def ended(self, trial: str, end: TrialEnd) -> None:
        """Show how a trial ended, and what is left."""
        self._ended[end.status] += 1
        self._epochs[trial] = self._reached[trial]  # no more epochs of it follow
        reason = f": {end.reason}" if end.reason else ""
        self._close(trial, end, f"{self._labels[trial]}  {end.status}{reason}")

    def _show(self, trial: str, text: str, latest: Mapping[str, str]) -> None:  # noqa: ARG002
        reached = f"{self._reached[trial]}/{self._epochs[trial]}"
        self._note(f"{self._labels[trial]}  {reached}  {text}")

    def _note(self, text: str) -> None:
        say(one_line(text), self._stream)

    def _close(self, trial: str, end: TrialEnd, text: str) -> None:  # noqa: ARG002
        self._note(f"{text}  ({self._ended.total()}/{self._total} trials{self._left()})")

    def _left(self) -> str:
        """``, about 3 min 20 s left``, at the pace so far; empty before the second epoch."""
        left = sum(self._epochs.values()) - sum(self._reached.values())
        if self._begun is None or self._trained < 2 or not left:
            return ""
        seconds = left * (time.monotonic() - self._begun) / self._trained
        return f", about {duration(seconds)} left"


class _Fitting:
    """The first of several texts that fits into the width; the last one without its middle."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = texts

    def __rich_console__(
        self,
        console: Console,
        options: ConsoleOptions,
    ) -> Iterable[RenderableType]:
        width, shortest = options.max_width, self._texts[-1]
        if cell_len(shortest) > width:
            tail = set_cell_size(shortest[::-1], width // 2)[::-1]
            shortest = f"{set_cell_size(shortest, width - width // 2 - 1)}…{tail}"
        fitting = (text for text in self._texts if cell_len(text) <= width)
        yield Text(next(fitting, shortest), no_wrap=True, overflow="crop")


class _Frame(Progress):
    """A line for the whole run, and beneath it a table of the trials that run now.

    The last line is empty: what a terminal echoes there, as ``^C``, does not begin another line,
    which would leave part of the frame behind.
    """

    def get_renderables(self) -> Iterable[RenderableType]:
        """Yield the line, the table, and the empty line."""
        tasks = self.tasks
        yield self.make_tasks_table(tasks[:1])
        if running := tasks[1:]:
            yield _table(running)
        yield Text("")


def _table(running: Sequence[Task]) -> Table:
    """Return a table of running trials, with a column for each fact of their latest epochs."""
    unit = Column(running[0].fields["unit"], justify="right")
    table = Table.grid(Column("running", ratio=1), "", unit, padding=(0, 1), expand=True)
    table.show_header = True
    names = dict.fromkeys(name for task in running for name in task.fields["latest"])
    for name in names:
        table.add_column(name, justify="right", no_wrap=True)
    bar, reached = BarColumn(bar_width=6), MofNCompleteColumn()
    for task in running:
        facts = (task.fields["latest"].get(name, "") for name in names)
        label = _Fitting(task.fields["labels"])
        table.add_row(label, bar.render(task), reached.render(task), *facts)
    return table


class LiveProgress(PlainProgress):
    """A bar over all epochs with the time left, and a bar for each running trial."""

    def __init__(
        self,
        plan: Plan,
        pending: Sequence[str],
        console: SafeConsole,
        todo: Mapping[str, Todo] | None = None,
        resumed: Mapping[str, int] = {},
    ) -> None:
        super().__init__(plan, pending, console.file, todo, resumed)
        self._short = {
            t.id: _short_labels(t.method, t.hyperparameters, t.spec.seed, t.fold)
            for t in plan.trials
        }
        self._unit = "epoch" if todo is None else "snapshot"
        name = Column(no_wrap=True, overflow="ellipsis", ratio=1)
        self._bars = _Frame(
            TextColumn("{task.description}", markup=False, table_column=name),
            BarColumn(bar_width=6),
            MofNCompleteColumn(),
            TextColumn("{task.fields[shown]}", markup=False),
            console=console,
            expand=True,
        )
        epochs = sum(self._epochs.values())
        self._all = self._bars.add_task(
            one_line(plan.title),
            total=epochs,
            completed=sum(self._reached.values()),
            shown="starting",
        )
        self._rows: dict[str, TaskID] = {}

    def __enter__(self) -> Self:
        self._bars.start()
        if self._todo is not None:
            self._bars.console.print(one_line(_snapshots(self._todo)))
        return self

    def __exit__(self, *_: object) -> None:
        self._bars.stop()

    def started(self, trial: str) -> None:
        """Add a row for it."""
        super().started(trial)
        if trial not in self._rows:
            labels = [one_line(text) for text in (self._labels[trial], *self._short[trial])]
            self._rows[trial] = self._bars.add_task(
                "",
                total=self._epochs[trial],
                completed=self._reached[trial],
                labels=labels,
                latest={},
                unit=self._unit,
            )

    def paused(self, trial: str) -> None:
        """Take away its row; it comes again where the trial goes on."""
        if trial in self._rows:
            self._bars.remove_task(self._rows.pop(trial))

    def _show(self, trial: str, text: str, latest: Mapping[str, str]) -> None:  # noqa: ARG002
        self._bars.update(self._rows[trial], completed=self._reached[trial], latest=latest)
        self._advance()

    def _note(self, text: str) -> None:
        self._bars.console.print(one_line(text), style="yellow")

    def _close(self, trial: str, end: TrialEnd, text: str) -> None:
        if trial in self._rows:
            self._bars.remove_task(self._rows.pop(trial))
        if end.status != "done":
            self._note(text)
        self._advance()

    def _advance(self) -> None:
        done, total = (sum(epochs.values()) for epochs in (self._reached, self._epochs))
        failed, diverged = self._ended["failed"], self._ended["diverged"]
        ended = f"{self._ended.total()}/{self._total} trials ended, {failed} failed"
        ended += f", {diverged} diverged" if diverged else ""
        self._bars.update(self._all, completed=done, total=total, shown=ended + self._left())


class SnapshotSize(SweepListener):
    """Says what snapshots take after the first epoch, and again when a method has larger ones.

    A method without any so far counts as if its snapshots were as large as the largest.
    """

    def __init__(self, ledger: Ledger, plan: Plan) -> None:
        self._ledger, self._plan = ledger, plan
        self._methods = {trial.id: trial.method for trial in plan.trials}
        self._sizes: dict[str, int] = {}

    def measured(self, trial: str, record: EpochRecord) -> None:
        """Look at the first snapshot of each method that `keep` has not removed already."""
        method = self._methods[trial]
        if method in self._sizes:
            return
        if size := self._ledger.trial(trial).snapshot_size(record.epoch):
            larger = size > 1.1 * max(self._sizes.values(), default=0)
            self._sizes[method] = size
            if larger:
                state = self._ledger.trial(trial).resume_size()
                say(self._sentence(method, size, state), sys.stderr)

    def _sentence(self, method: str, size: int, state: int) -> str:
        counts = {trial: len(spec.recorded_epochs) for trial, spec in self._plan.specs.items()}
        total = sum(n * self._sizes.get(self._methods[t], size) for t, n in counts.items())
        keep = self._plan.keep
        fewer = "" if keep == "all" else f", of which `keep: {keep}` leaves fewer"
        beside = f" The state that each trial goes on from takes {on_disk(state)} more."
        return (
            f"A snapshot of {method} takes {on_disk(size)} on the disk, and all "
            f"{sum(counts.values()):,} of this run about {on_disk(total)}{fewer}."
            f"{beside if state else ''}"
        )


def trial_label(
    method: str, hyperparameters: Mapping[str, Any], seed: int, fold: int | None = None
) -> str:
    """``PN way=20 seed=1 fold=0``: a trial's name on screen."""
    axes = wording.values(hyperparameters)
    number = "" if fold is None else f"fold={fold}"
    return " ".join(part for part in (method, axes, f"seed={seed}", number) if part)


def _short_labels(
    method: str, hyperparameters: Mapping[str, Any], seed: int, fold: int | None
) -> list[str]:
    """``PN 20 seed=1 fold=0`` and ``PN 20 s1 f0``: without the names of hyperparameters."""
    levels = [method, *map(wording.value, hyperparameters.values())]
    numbers = {"seed": seed} | ({} if fold is None else {"fold": fold})
    ends = ([f"{k}={n}" for k, n in numbers.items()], [f"{k[0]}{n}" for k, n in numbers.items()])
    return [" ".join([*levels, *end]) for end in ends]


def _snapshots(todo: Mapping[str, Todo]) -> str:
    """``12 snapshots to measure under 5-shot, precise``."""
    wanted = [names for epochs in todo.values() for names in epochs.values()]
    protocols = dict.fromkeys(name for names in wanted for name in names)
    return f"{counted(len(wanted), 'snapshot')} to measure under {', '.join(protocols)}"


def _scores(record: EpochRecord) -> dict[str, str]:
    """Training loss and accuracies; with one decimal, so that a line fits in 80 columns."""
    # NaN: a program does not report its loss.
    loss = "-" if math.isnan(record.train_loss) else f"{record.train_loss:.4f}"
    means = {SHOWN_AS[m]: record.scores[m, "selection"].mean for m in MEASURES}
    return {"loss": loss} | {name: f"{100 * mean:.1f}" for name, mean in means.items()}
