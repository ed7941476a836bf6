"""``fsl-sweep analyze losses``: the objectives of ML and FIX-ML, computed from snapshots."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
import typer

from fsl_sweep.orchestrator.cli.figures import Plot, check_plot, put_figure
from fsl_sweep.orchestrator.cli.options import AsJson, RunFolder
from fsl_sweep.orchestrator.errors import ConfigError, RunFolderError, TrialFailure
from fsl_sweep.orchestrator.report.figures.studies.losses import GROUP, OBJECTIVES, losses_figure
from fsl_sweep.orchestrator.statistics import mean_interval
from fsl_sweep.orchestrator.text.printed import columns, counted, say, say_json

if TYPE_CHECKING:
    from fsl_sweep.datasets.tasks.distribution import TaskDistribution
    from fsl_sweep.datasets.tasks.episodes import Episodes
    from fsl_sweep.orchestrator.planning.asked_protocols import Asked
    from fsl_sweep.orchestrator.records.plan import PlannedTrial
    from fsl_sweep.orchestrator.records.protocol import Episode, Which
    from fsl_sweep.orchestrator.records.spec import TrialSpec
    from fsl_sweep.orchestrator.trial.objectives import FixedSupport


@dataclass(frozen=True)
class _Written:
    """What the options say of the tasks: parts of their shape, number, seed, and queries."""

    shape: Mapping[str, int]
    tasks: int
    seed: int
    queries_from: Literal["others", "all"] | None


@dataclass(frozen=True, eq=False)
class _Measured:
    """Losses of one snapshot on the same tasks as those of others: by objective, ``[T]``."""

    planned: "PlannedTrial"
    epoch: int
    episode: "Episode"
    support: "FixedSupport | None"
    losses: Mapping[str, np.ndarray]

    @property
    def group(self) -> tuple[str, str, str]:
        """Method, hyperparameters and episode: equal for snapshots that differ by seed or epoch."""
        from fsl_sweep.orchestrator.report import wording

        one = self.episode
        shape = f"{one.way}-way {one.shot}-shot {one.query}-query"
        return self.planned.method, wording.values(self.planned.hyperparameters), shape


def losses(
    run: RunFolder,
    snapshots: Annotated[
        Literal["all", "chosen", "last"], typer.Option(help="Which snapshots.")
    ] = "last",
    tasks: Annotated[int, typer.Option(min=2, help="Tasks of each objective.")] = 1000,
    way: Annotated[int | None, typer.Option(min=2, metavar="N", help="[as trained]")] = None,
    shot: Annotated[int | None, typer.Option(min=1, metavar="K", help="[as trained]")] = None,
    query: Annotated[int | None, typer.Option(min=1, metavar="Q", help="[as trained]")] = None,
    queries_from: Annotated[
        Literal["others", "all"] | None,
        typer.Option(help="Of FIX-ML: examples that are not its support, or all. [as trained]"),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of the tasks.")] = 0,
    root: Annotated[
        str | None, typer.Option(metavar="PATH", help="Where the run's data are now.")
    ] = None,
    plot: Plot = None,
    as_json: AsJson = False,
) -> int:
    """The losses of snapshots on base training tasks, with random and with fixed support.

    Without augmentation, in evaluation mode. The fixed support is that of the trial, or of its
    FIX-ML counterpart in this run.
    """
    from fsl_sweep.orchestrator.planning.asked_protocols import asked_protocols
    from fsl_sweep.orchestrator.records.protocol import MAIN
    from fsl_sweep.orchestrator.trial.trial import use_threads

    check_plot(plot)
    asked = asked_protocols(run, MAIN, root=root)
    use_threads(asked.plan.resources.cpu)
    keys = zip(("way", "shot", "query"), (way, shot, query), strict=True)
    changed = {key: value for key, value in keys if value is not None}
    written = _Written(changed, tasks, seed, queries_from)
    found: list[_Measured] = []
    for planned, epochs in _trials(asked, snapshots):
        found += _of_trial(asked, planned, epochs, written)
        done = counted(len(epochs), "snapshot")
        say(f"{planned.method}, seed {planned.spec.seed}: {done} measured", sys.stderr)
    means = _means(found)
    if as_json:
        say_json(_plain(found, means, tasks, seed))
    else:
        say("\n".join(_lines(means, tasks)))
    if plot is not None:
        put_figure(plot, losses_figure(means))
    return 0


def _trials(asked: "Asked", which: "Which") -> "list[tuple[PlannedTrial, list[int]]]":
    """The full trials whose training has a loss on tasks, with their epochs."""
    from fsl_sweep.orchestrator.sweep.remaining import wanted

    epochs = wanted(asked.ledger, asked.plan, which)
    done = [one for one in asked.plan.trials if one.fold is None and epochs.get(one.id)]
    # A program and what trains nothing have no optimizer.
    found = [one for one in done if one.spec.episodic and one.spec.optimizer]
    for method in dict.fromkeys(one.method for one in done if one not in found):
        say(f"{method} is left out: it is not trained by a loss on tasks.", sys.stderr)
    if not found:
        raise RunFolderError(f"{asked.ledger.path} has no snapshot that was trained on tasks.")
    return [(one, sorted(epochs[one.id])) for one in found]


def _of_trial(
    asked: "Asked", planned: "PlannedTrial", epochs: Sequence[int], written: _Written
) -> Iterator[_Measured]:
    """The losses of a trial's snapshots."""
    import torch

    from fsl_sweep.learners.snapshot import restored
    from fsl_sweep.orchestrator.measuring.common_tasks import trained_benchmark
    from fsl_sweep.orchestrator.measuring.images import PoolImages
    from fsl_sweep.orchestrator.measuring.losses import losses_of
    from fsl_sweep.orchestrator.records.protocol import MAIN

    benchmark = trained_benchmark(planned.spec, asked.benchmarks[MAIN])
    episode, support, sets = _objectives(asked, planned.spec, benchmark.train, written)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    images = PoolImages(benchmark.train.pool, benchmark, device)
    for epoch in epochs:
        path = asked.ledger.trial(planned.id).check_snapshot(epoch)
        learner, _ = restored(path.read_bytes(), str(path))
        if (fixed := learner.fixed_way(learner.options)) not in (None, episode.way):
            problem = f"{planned.method} answers tasks of {fixed} classes only"
            raise ConfigError("", "--way", f"{problem}; write {fixed}, or leave it out")
        try:
            found = losses_of(learner.to(device).eval(), images, list(sets.values()))
        except TrialFailure as failure:
            raise TrialFailure(f"{planned.method}, epoch {epoch}: {failure}") from failure
        yield _Measured(planned, epoch, episode, support, dict(zip(sets, found, strict=True)))


def _objectives(
    asked: "Asked", spec: "TrialSpec", train: "TaskDistribution", written: _Written
) -> "tuple[Episode, FixedSupport | None, dict[str, Episodes]]":
    """Shape, fixed support and tasks of the objectives of a trial; without the support only ML."""
    from fsl_sweep.orchestrator.trial.objectives import fixed_support_of, objective_tasks

    assert spec.episodic is not None
    episode = spec.episodic.model_copy(update=written.shape)
    draw = partial(objective_tasks, train, episode, written.tasks, written.seed)
    support = fixed_support_of(spec, asked.plan.specs.values())
    if support is None or support.shot != episode.shot:
        return episode, None, {"ml": draw()}
    support = replace(support, queries_from=written.queries_from or support.queries_from)
    return episode, support, {"ml": draw(), "fix_ml": draw(support)}


def _means(found: Sequence[_Measured]) -> list[dict[str, Any]]:
    """The mean over the seeds of each group and epoch, with its interval over the tasks."""
    rows: list[dict[str, Any]] = []
    for group in dict.fromkeys(one.group for one in found):
        own = [one for one in found if one.group == group]
        for epoch in sorted({one.epoch for one in own}):
            at = [one for one in own if one.epoch == epoch]
            means = {key: _interval(at, key) for key in OBJECTIVES}
            named = dict(zip(GROUP, group, strict=True))
            rows.append({**named, "epoch": epoch, "trials": len(at), **means})
    return rows


def _interval(found: Sequence[_Measured], key: str) -> dict[str, Any] | None:
    """None unless every one of the snapshots has this objective."""
    if not all(key in one.losses for one in found):
        return None
    mean = mean_interval(np.mean([one.losses[key] for one in found], axis=0))
    return {"mean": mean.mean, "low": mean.low, "high": mean.high, "n": mean.n}


def _plain(
    found: Sequence[_Measured], means: Sequence[Mapping[str, Any]], tasks: int, seed: int
) -> dict[str, Any]:
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
        for one in found
    ]
    return {"tasks": tasks, "seed": seed, "means": list(means), "snapshots": snapshots}


def _lines(means: Sequence[Mapping[str, Any]], tasks: int) -> Iterator[str]:
    """A table with a row for each method, configuration and epoch."""
    yield (
        f"Loss of snapshots on {counted(tasks, 'base training task')} without augmentation, nats: "
        "mean over seeds, +- 95 % over tasks."
    )
    yield "ML: random support. FIX-ML: fixed support."
    head = ("method", "configuration", "episode", "epoch", "trials", "ML", "+-", "FIX-ML", "+-")
    rows = [head, *map(_row, means)]
    kept = [at for at in range(len(head)) if any(row[at] for row in rows[1:])]
    words = sum(at < 3 for at in kept)
    yield from (f"  {line}" for line in columns([[row[at] for at in kept] for row in rows], words))
    if any(row["fix_ml"] is None for row in means):
        yield (
            "-: no fixed support: no FIX-ML trial of this learner, seed and number of shots is in "
            "the run, or several that differ in more than the objective."
        )
    if len({row["episode"] for row in means}) > 1:
        yield "Losses on tasks of different shapes cannot be compared; --way, --query make one."


def _row(row: Mapping[str, Any]) -> tuple[str, ...]:
    cells = [str(row[key]) for key in ("method", "hyperparameters", "episode", "epoch", "trials")]
    for key in OBJECTIVES:
        one = row[key]
        cells += [f"{one['mean']:.4f}", f"{(one['high'] - one['low']) / 2:.4f}"] if one else "--"
    return tuple(cells)
