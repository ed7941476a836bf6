"""The losses of a run's snapshots on base training tasks: the objectives of ML and FIX-ML.

"Lessons from Chasing Few-Shot Learning Benchmarks", table 8 and figures 4 and 5. This needs torch.
"""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from fsl_sweep.datasets.tasks.fixed_support import QueriesFrom
from fsl_sweep.orchestrator.errors import ConfigError, RunFolderError, TrialFailure, UnknownName
from fsl_sweep.orchestrator.records.protocol import Which
from fsl_sweep.orchestrator.report import wording
from fsl_sweep.orchestrator.report.figures.studies.losses import GROUP, OBJECTIVES
from fsl_sweep.orchestrator.selection.chosen import wanted
from fsl_sweep.orchestrator.statistics import mean_interval
from fsl_sweep.orchestrator.text.printed import counted

if TYPE_CHECKING:
    from fsl_sweep.datasets.tasks.distribution import TaskDistribution
    from fsl_sweep.datasets.tasks.episodes import Episodes
    from fsl_sweep.orchestrator.planning.measure_request import MeasureRequest
    from fsl_sweep.orchestrator.records.plan import PlannedTrial
    from fsl_sweep.orchestrator.records.protocol import Episode
    from fsl_sweep.orchestrator.records.spec import TrialSpec
    from fsl_sweep.orchestrator.trial.objectives import FixedSupport


@dataclass(frozen=True)
class LossStudy:
    """Which snapshots, and which tasks.

    Attributes:
        snapshots: all of them, the last of each trial, or those that strategies chose.
        tasks: of each objective, at least 2.
        way, shot, query: of a task; by default as trained.
        queries_from: of FIX-ML: examples that are not its support, or all; by default as trained.
        seed: of the tasks.
        root: where the run's data are now, if they were moved.
    """

    snapshots: Which = "last"
    tasks: int = 1000
    way: int | None = None
    shot: int | None = None
    query: int | None = None
    queries_from: QueriesFrom | None = None
    seed: int = 0
    root: str | None = None

    def __post_init__(self) -> None:
        """Raises UnknownName or ConfigError for what cannot be asked."""
        for name, known in (("snapshots", Which), ("queries_from", QueriesFrom)):
            if (value := getattr(self, name)) not in (None, *get_args(known)):
                raise UnknownName(name, str(value), get_args(known))
        if self.tasks < 2:
            raise ConfigError("", "tasks", f"an interval needs 2 tasks or more, not {self.tasks}")


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
        """Method, hyperparameters and episode: equal for snapshots that differ by seed or epoch."""
        one = self.episode
        shape = f"{one.way}-way {one.shot}-shot {one.query}-query"
        return self.planned.method, wording.values(self.planned.hyperparameters), shape


@dataclass(frozen=True, eq=False, repr=False)
class Losses:
    """The losses of the snapshots of a run.

    Attributes:
        asked: which snapshots and tasks.
        left_out: methods that are not trained by a loss on tasks.
        pending: trials that must still be trained, and take no part.
        found: trial by trial.
    """

    asked: LossStudy
    left_out: tuple[str, ...]
    pending: int
    found: tuple[SnapshotLosses, ...] = ()

    def __repr__(self) -> str:
        count = counted(len(self.found), "snapshot")
        return f"<Losses of {count} on {counted(self.asked.tasks, 'task')}>"

    @property
    def means(self) -> list[dict[str, Any]]:
        """The mean over the seeds of each group and epoch, with its interval over the tasks."""
        rows: list[dict[str, Any]] = []
        for group in dict.fromkeys(one.group for one in self.found):
            own = [one for one in self.found if one.group == group]
            for epoch in sorted({one.epoch for one in own}):
                at = [one for one in own if one.epoch == epoch]
                means = {key: _interval(at, key) for key in OBJECTIVES}
                named = dict(zip(GROUP, group, strict=True))
                rows.append({**named, "epoch": epoch, "trials": len(at), **means})
        return rows

    def to_plain(self) -> dict[str, Any]:
        """The means, and each snapshot's own, as plain data."""
        snapshots = [
            {
                "method": one.planned.method,
                "trial": one.planned.id,
                "seed": one.planned.spec.seed,
                "hyperparameters": dict(one.planned.hyperparameters),
                "epoch": one.epoch,
                "episode": one.group[2],
                "support": one.support and asdict(one.support),
                **{key: _interval([one], key) for key in OBJECTIVES},
            }
            for one in self.found
        ]
        tasks, seed = self.asked.tasks, self.asked.seed
        return {"tasks": tasks, "seed": seed, "means": self.means, "snapshots": snapshots}


def losses(folder: Path, asked: LossStudy) -> Iterator[Losses]:
    """What is known so far: who is left out first, then with one more trial each time.

    Without augmentation, in evaluation mode. The fixed support is that of the trial, or of its
    FIX-ML counterpart in this run. torch then uses as many threads as a trial of the run.

    Raises:
        RunFolderError: no snapshot was trained on tasks, or weights are gone.
        UnknownName, ConfigError: as ``LossStudy``, or a learner answers tasks of another number of
            classes only.
        BadData: there are too few classes or examples.
        MissingData: the data are not there.
        TrialFailure: a loss is not a number.
    """
    from fsl_sweep.orchestrator.planning.measure_request import measure_request
    from fsl_sweep.orchestrator.records.protocol import MAIN
    from fsl_sweep.orchestrator.trial.trial import use_threads

    opened = measure_request(folder, MAIN, root=asked.root)
    use_threads(opened.plan.resources.cpu)
    epochs = wanted(opened.ledger, opened.plan, asked.snapshots)
    done = [one for one in opened.plan.trials if one.fold is None and epochs.get(one.id)]
    # A program and what trains nothing have no optimizer.
    trials = [one for one in done if one.spec.episodic and one.spec.optimizer]
    left_out = dict.fromkeys(one.method for one in done if one not in trials)
    known = Losses(asked, tuple(left_out), len(opened.ledger.pending(opened.plan)))
    yield known
    if not trials:
        raise RunFolderError(f"{opened.ledger.path} has no snapshot that was trained on tasks.")
    for planned in trials:
        found = _of_trial(opened, planned, sorted(epochs[planned.id]), asked)
        known = replace(known, found=(*known.found, *found))
        yield known


def _of_trial(
    opened: "MeasureRequest", planned: "PlannedTrial", epochs: list[int], asked: LossStudy
) -> Iterator[SnapshotLosses]:
    """The losses of a trial's snapshots."""
    import torch

    from fsl_sweep.learners.snapshot import restored
    from fsl_sweep.orchestrator.measuring.common_tasks import trained_benchmark
    from fsl_sweep.orchestrator.measuring.images import PoolImages
    from fsl_sweep.orchestrator.measuring.losses import losses_of
    from fsl_sweep.orchestrator.records.protocol import MAIN

    benchmark = trained_benchmark(planned.spec, opened.benchmarks[MAIN])
    episode, support, sets = _objectives(opened, planned.spec, benchmark.train, asked)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    images = PoolImages(benchmark.train.pool, benchmark, device)
    for epoch in epochs:
        path = opened.ledger.trial(planned.id).check_snapshot(epoch)
        learner, _ = restored(path.read_bytes(), str(path))
        if (fixed := learner.fixed_way(learner.options)) not in (None, episode.way):
            problem = f"{planned.method} answers tasks of {fixed} classes only"
            raise ConfigError("", "--way", f"{problem}; write {fixed}, or leave it out")
        try:
            found = losses_of(learner.to(device).eval(), images, list(sets.values()))
        except TrialFailure as failure:
            raise TrialFailure(f"{planned.method}, epoch {epoch}: {failure}") from failure
        found = dict(zip(sets, found, strict=True))
        yield SnapshotLosses(planned, epoch, episode, support, found)


def _objectives(
    opened: "MeasureRequest", spec: "TrialSpec", train: "TaskDistribution", asked: LossStudy
) -> "tuple[Episode, FixedSupport | None, dict[str, Episodes]]":
    """Shape, fixed support and tasks of the objectives of a trial; without the support only ML."""
    from fsl_sweep.orchestrator.trial.objectives import fixed_support_of, objective_tasks

    assert spec.episodic is not None
    given = {key: getattr(asked, key) for key in ("way", "shot", "query")}
    written = {key: value for key, value in given.items() if value is not None}
    episode = spec.episodic.model_copy(update=written)
    draw = partial(objective_tasks, train, episode, asked.tasks, asked.seed)
    support = fixed_support_of(spec, opened.plan.specs.values())
    if support is None or support.shot != episode.shot:
        return episode, None, {"ml": draw()}
    support = replace(support, queries_from=asked.queries_from or support.queries_from)
    return episode, support, {"ml": draw(), "fix_ml": draw(support)}


def _interval(found: "list[SnapshotLosses]", key: str) -> dict[str, Any] | None:
    """None unless every one of the snapshots has this objective."""
    if not all(key in one.losses for one in found):
        return None
    mean = mean_interval(np.mean([one.losses[key] for one in found], axis=0))
    return {"mean": mean.mean, "low": mean.low, "high": mean.high, "n": mean.n}
