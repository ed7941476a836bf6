"""The losses of a run's snapshots on base training tasks: the objectives of ML and FIX-ML.

"Lessons from Chasing Few-Shot Learning Benchmarks", table 8 and figures 4 and 5. This needs torch.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, final

import numpy as np

from fsl_sweep.datasets.tasks.fixed_support import QueriesFrom
from fsl_sweep.orchestrator.errors import RunFolderError, TrialFailure
from fsl_sweep.orchestrator.records.protocol import Which
from fsl_sweep.orchestrator.report import wording
from fsl_sweep.orchestrator.report.document import blocks
from fsl_sweep.orchestrator.report.figures.studies.losses import (
    GROUP,
    OBJECTIVES,
    losses_figure,
)
from fsl_sweep.orchestrator.selection.chosen import wanted
from fsl_sweep.orchestrator.selection.evidence import Evidence
from fsl_sweep.orchestrator.statistics import mean_interval
from fsl_sweep.orchestrator.studies.base import Drawings, Progress, Study, option
from fsl_sweep.orchestrator.studies.trained_on import ShapedOptions, evaluated
from fsl_sweep.orchestrator.text.printed import counted

if TYPE_CHECKING:
    from fsl_sweep.datasets.tasks.distribution import TaskDistribution
    from fsl_sweep.datasets.tasks.episodes import Episodes
    from fsl_sweep.orchestrator.planning.measure_request import MeasureRequest
    from fsl_sweep.orchestrator.records.plan import PlannedTrial
    from fsl_sweep.orchestrator.records.protocol import Episode
    from fsl_sweep.orchestrator.records.spec import TrialSpec
    from fsl_sweep.orchestrator.trial.objectives import FixedSupport


class LossesOptions(ShapedOptions):
    """Which snapshots, and which tasks."""

    snapshots: Which = option("Which snapshots.", "last")
    tasks: int = option("Tasks of each objective.", 1000, ge=2)
    queries_from: QueriesFrom | None = option(
        "Of FIX-ML: examples that are not its support, or all. [as trained]", None
    )
    seed: int = option("Of the tasks.", 0, ge=0)
    root: str | None = option("Where the run's data are now.", None, "PATH")


@dataclass(frozen=True, eq=False)
class SnapshotLosses:
    """The losses (nats) of one snapshot on the same tasks as of others: by objective, ``[T]``.

    ``losses`` has ``ml`` and, where there is a fixed support, ``fix_ml``.
    """

    planned: "PlannedTrial" = field(repr=False)
    epoch: int
    episode: "Episode"
    support: "FixedSupport | None"
    losses: Mapping[str, np.ndarray] = field(repr=False)

    @property
    def group(self) -> tuple[str, str, str]:
        """Return method, hyperparameters and episode: equal but for seed and epoch."""
        shape = self.episode
        text = f"{shape.way}-way {shape.shot}-shot {shape.query}-query"
        return self.planned.method, wording.values(self.planned.hyperparameters), text


@dataclass(frozen=True, eq=False, repr=False)
class Losses:
    """The losses of the snapshots of a run.

    Attributes:
        options: which snapshots and tasks.
        snapshots: trial by trial.
    """

    options: LossesOptions
    snapshots: tuple[SnapshotLosses, ...]

    @property
    def means(self) -> list[dict[str, Any]]:
        """Return the mean over the seeds of each group and epoch, with its interval over tasks."""
        rows: list[dict[str, Any]] = []
        for group in dict.fromkeys(snapshot.group for snapshot in self.snapshots):
            alike = [snapshot for snapshot in self.snapshots if snapshot.group == group]
            for epoch in sorted({snapshot.epoch for snapshot in alike}):
                at = [snapshot for snapshot in alike if snapshot.epoch == epoch]
                means = {key: _interval(at, key) for key in OBJECTIVES}
                named = dict(zip(GROUP, group, strict=True))
                rows.append({**named, "epoch": epoch, "trials": len(at), **means})
        return rows


@final
class LossesStudy(Study[LossesOptions, Losses]):
    """Compute the losses of snapshots on base training tasks, with random and fixed support.

    Without augmentation, in evaluation mode. The fixed support is that of the trial, or of its
    FIX-ML counterpart in this run. Needs torch, the weights and the data.
    """

    name = "losses"
    Options = LossesOptions
    heeds = ("method", "configuration")
    needs = frozenset({"snapshots", "data"})

    def result(self, evidence: Evidence, options: LossesOptions, progress: Progress) -> Losses:
        """Measure each snapshot. torch then uses as many threads as a trial of the run.

        Raises:
            RunFolderError: no snapshot was trained on tasks, or weights are gone.
            ConfigError: a learner answers tasks of another number of classes only.
            BadData: there are too few classes or examples.
            MissingData: the data are not there.
            TrialFailure: a loss is not a number.
        """
        from fsl_sweep.orchestrator.planning.measure_request import measure_request
        from fsl_sweep.orchestrator.records.protocol import MAIN
        from fsl_sweep.orchestrator.trial.trial import use_threads

        opened = measure_request(evidence.source.places[0], MAIN, root=options.root)
        use_threads(opened.plan.resources.cpu)
        epochs = wanted(opened.ledger, opened.plan, options.snapshots)
        part = {(trial.method, trial.trial) for trial in evidence.histories}
        done = [
            planned
            for planned in opened.plan.trials
            if (planned.method, planned.id) in part and planned.fold is None
            if epochs.get(planned.id)
        ]
        # A program and what trains nothing have no optimizer.
        trials = [planned for planned in done if planned.spec.episodic and planned.spec.optimizer]
        for method in dict.fromkeys(planned.method for planned in done if planned not in trials):
            progress(f"{method} is left out: it is not trained by a loss on tasks.")
        if pending := len(opened.ledger.pending(opened.plan)):
            count = counted(pending, "trial")
            progress(f"{count} must still be trained and take no part: `fsl-sweep run`.")
        if not trials:
            raise RunFolderError(f"{opened.ledger.path} has no snapshot that was trained on tasks.")
        snapshots: list[SnapshotLosses] = []
        for planned in trials:
            measured = list(_of_trial(opened, planned, sorted(epochs[planned.id]), options))
            snapshots += measured
            which = ", ".join(filter(None, (*measured[-1].group[:2], f"seed {planned.spec.seed}")))
            progress(f"{which}: {counted(len(measured), 'snapshot')} measured")
        return Losses(options, tuple(snapshots))

    def document(self, result: Losses) -> blocks.Document:
        """Show a row for each method, configuration and epoch."""
        means, tasks = result.means, counted(result.options.tasks, "base training task")
        text = (
            f"Loss of snapshots on {tasks} without augmentation, nats: mean over seeds, +- 95 % "
            "over tasks. ML: random support. FIX-ML: fixed support. "
            f"{_row(means[0])[2]}: {means[0]['episode']} tasks."
        )
        notes = [blocks.Paragraph(note, "note") for note in _notes(means)]
        section = blocks.Section("losses", "Losses", (_table([_row(row) for row in means]), *notes))
        return blocks.Document(
            "The objectives of ML and FIX-ML", (blocks.Paragraph(text),), (section,)
        )

    def plain(self, result: Losses) -> dict[str, Any]:
        """Return the means, and each snapshot's own losses."""
        return {
            "tasks": result.options.tasks,
            "seed": result.options.seed,
            "means": result.means,
            "snapshots": [_plain(snapshot) for snapshot in result.snapshots],
        }

    def figures(self, result: Losses) -> Drawings:
        """Draw both objectives over epochs."""
        return {"losses": [losses_figure(result.means)]}


def _of_trial(
    opened: "MeasureRequest", planned: "PlannedTrial", epochs: list[int], options: LossesOptions
) -> Iterator[SnapshotLosses]:
    """Give the losses of a trial's snapshots."""
    from fsl_sweep.orchestrator.measuring.common_tasks import trained_benchmark
    from fsl_sweep.orchestrator.measuring.images import PoolImages
    from fsl_sweep.orchestrator.measuring.losses import losses_of
    from fsl_sweep.orchestrator.records.protocol import MAIN

    benchmark = trained_benchmark(planned.spec, opened.benchmarks[MAIN])
    episode, support, sets = _objectives(opened, planned.spec, benchmark.train, options)
    images: PoolImages | None = None
    for epoch in epochs:
        learner, device = evaluated(opened, planned.id, epoch, planned.method, episode.way)
        images = images or PoolImages(benchmark.train.pool, benchmark, device)
        try:
            losses = losses_of(learner, images, list(sets.values()))
        except TrialFailure as failure:
            raise TrialFailure(f"{planned.method}, epoch {epoch}: {failure}") from failure
        yield SnapshotLosses(planned, epoch, episode, support, dict(zip(sets, losses, strict=True)))


def _objectives(
    opened: "MeasureRequest", spec: "TrialSpec", train: "TaskDistribution", options: LossesOptions
) -> "tuple[Episode, FixedSupport | None, dict[str, Episodes]]":
    """Return shape, fixed support and tasks of a trial's objectives; without support only ML."""
    from fsl_sweep.orchestrator.trial.objectives import fixed_support_of, objective_tasks

    assert spec.episodic is not None
    episode = options.shaped(spec.episodic)
    draw = partial(objective_tasks, train, episode, options.tasks, options.seed)
    support = fixed_support_of(spec, opened.plan.specs.values())
    if support is None or support.shot != episode.shot:
        return episode, None, {"ml": draw()}
    support = replace(support, queries_from=options.queries_from or support.queries_from)
    return episode, support, {"ml": draw(), "fix_ml": draw(support)}


def _interval(snapshots: list[SnapshotLosses], key: str) -> dict[str, Any] | None:
    """Return the mean over snapshots; None unless every one of them has this objective."""
    if not all(key in snapshot.losses for snapshot in snapshots):
        return None
    mean = mean_interval(np.mean([snapshot.losses[key] for snapshot in snapshots], axis=0))
    return {"mean": mean.mean, "low": mean.low, "high": mean.high, "n": mean.n}


def _table(rows: Sequence[tuple[str, ...]]) -> blocks.Table:
    """Return a table of the columns that any row fills."""
    heads = ("method", "config", "episode", "epoch", "trials", "ML", "FIX-ML")
    kept = [at for at in range(len(heads)) if any(row[at] for row in rows)]
    columns = blocks.words(*(heads[at] for at in kept if at < 3))
    columns += blocks.numbers([heads[at] for at in kept if at >= 3])
    return blocks.table(columns, [[row[at] for at in kept] for row in rows])


def _row(means: Mapping[str, Any]) -> tuple[str, ...]:
    cells = [str(means[key]) for key in ("method", "hyperparameters", "episode", "epoch", "trials")]
    cells[2] = re.sub(r"-(\w)\w* ?", r"\1", cells[2])
    for key in OBJECTIVES:
        mean = means[key]
        half = mean and (mean["high"] - mean["low"]) / 2
        cells.append(f"{mean['mean']:.4f} +- {half:.4f}" if mean else "-")
    return tuple(cells)


def _notes(means: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    if any(row["fix_ml"] is None for row in means):
        yield (
            "-: no fixed support: no FIX-ML trial of this learner, seed and number of shots is in "
            "the run, or several that differ in more than the objective."
        )
    if len({row["episode"] for row in means}) > 1:
        yield "Losses on tasks of different shapes cannot be compared; --way, --query make one."


def _plain(snapshot: SnapshotLosses) -> dict[str, Any]:
    return {
        "method": snapshot.planned.method,
        "trial": snapshot.planned.id,
        "seed": snapshot.planned.spec.seed,
        "hyperparameters": dict(snapshot.planned.hyperparameters),
        "epoch": snapshot.epoch,
        "episode": snapshot.group[2],
        "support": snapshot.support and asdict(snapshot.support),
        **{key: _interval([snapshot], key) for key in OBJECTIVES},
    }
