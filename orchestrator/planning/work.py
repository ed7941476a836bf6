"""How much work a plan has left: gradient steps, images, and the expected time."""

from collections.abc import Iterable, Mapping, Sequence
from operator import mul

from fsl_sweep.datasets.benchmark import Benchmark
from fsl_sweep.datasets.tasks.episodes import EpisodeShape, VaryingShape
from fsl_sweep.orchestrator.measuring.common_tasks import novel_tasks
from fsl_sweep.orchestrator.records.measures import MEASURES, TrialHistory
from fsl_sweep.orchestrator.records.plan import Plan
from fsl_sweep.orchestrator.records.protocol import MAIN, PlannedProtocol, episode_shape
from fsl_sweep.orchestrator.records.spec import (
    BatchTraining,
    EpisodicTraining,
    StagedTraining,
    TrialSpec,
)
from fsl_sweep.orchestrator.text.printed import counted


def steps(specs: Iterable[TrialSpec]) -> int:
    """Count the gradient steps of all trials together."""
    return sum(spec.epochs * spec.batches for spec in specs)


def images(specs: Iterable[TrialSpec]) -> int | None:
    """Count the training images of all trials; None where their number differs between tasks."""
    total = 0
    for spec in specs:
        for stage, epochs in _stages(spec):
            each = _images_a_step(stage)
            if each is None:
                return None
            total += epochs * spec.batches * each
    return total


def summary(pending: Mapping[str, TrialSpec]) -> str:
    """Say ``1,200 gradient steps over 90,000 images``, the share in folds, and untrained trials."""
    untrained = sum(spec.train is None for spec in pending.values())
    if untrained == len(pending) > 0:
        return "nothing: there are no weights to train, and each trial is measured once, as it is"
    count, seen = steps(pending.values()), images(pending.values())
    over = "" if seen is None else f" over {counted(seen, 'image')}"
    in_folds = steps(spec for spec in pending.values() if spec.fold is not None)
    share = f", {in_folds / count:.0%} of them in class folds" if in_folds else ""
    apart = f"; trials that have nothing to train: {untrained:,}" if untrained else ""
    return f"{counted(count, 'gradient step')}{over}{share}{apart}"


def expected_seconds(
    plan: Plan, histories: Sequence[TrialHistory], pending: Mapping[str, TrialSpec]
) -> float | None:
    """Estimate the trial-seconds left, at the pace of those done; None where that is unknown.

    The pace is per image, or per step where the images of some steps cannot be counted.

    Args:
        plan: what was planned.
        histories: one for each of its trials, in plan order.
        pending: the trials that are left.
    """
    finished = {
        trial.id: history
        for trial, history in zip(plan.trials, histories, strict=True)
        if history.complete
    }
    done = [plan.specs[trial] for trial in finished]
    left = list(pending.values())
    taken, to_do = images(done), images(left)
    if taken is None or to_do is None:
        taken, to_do = steps(done), steps(left)
    if not taken or not to_do:
        return None
    seconds = sum(
        float(history.curves["train_seconds"].sum() + history.curves["evaluation_seconds"].sum())
        for history in finished.values()
    )
    return to_do * seconds / taken


def measuring_seconds(
    plan: Plan,
    benchmarks: Mapping[str, Benchmark],
    histories: Sequence[TrialHistory],
    left: Mapping[str, int],
) -> float | None:
    """Estimate the trial-seconds to measure so many snapshots under each protocol, by its name.

    A snapshot takes as long as in training, where the images are embedded as well, or longer by as
    much as its tasks have more images, or where ways or queries vary by as many tasks as there are
    more. None before any was measured.
    """
    taken = [float(t) for history in histories for t in history.curves["evaluation_seconds"]]
    if not taken:
        return None
    protocols = [plan.main, *map(plan.protocol, left)]
    shapes = (planned.protocol.shape(measure) for planned in protocols for measure in MEASURES)
    sized = all(isinstance(shape, EpisodeShape) for shape in shapes)
    main, *others = (_most(planned, benchmarks, sized) for planned in protocols)
    longer = (max(1.0, other / main) for other in others)
    return sum(taken) / len(taken) * sum(map(mul, left.values(), longer))


def _most(planned: PlannedProtocol, benchmarks: Mapping[str, Benchmark], sized: bool) -> int:
    """Count the tasks of all measures and task sets; where all are ``sized``, their images.

    Without replacement they are at most what the examples fill.
    """
    protocol, benchmark, total = planned.protocol, benchmarks[MAIN], 0
    counts = protocol.tasks.selection_tasks, protocol.tasks.report_tasks
    for measure in MEASURES:
        most, shape = max(counts), protocol.shape(measure)
        if not protocol.tasks.replacement and isinstance(shape, EpisodeShape):
            other = benchmarks.get(planned.name)
            instead = novel_tasks(benchmark, protocol, other) if measure == "novel" else None
            examples = (instead or benchmark.distribution(measure)).examples
            most = len(examples) // (shape.way * shape.per_class)
        each = shape.way * shape.per_class if sized and isinstance(shape, EpisodeShape) else 1
        total += each * sum(min(count, most) for count in counts)
    return total


def _stages(spec: TrialSpec) -> list[tuple[EpisodicTraining | BatchTraining, int]]:
    """List what the trial trains on, and for how many epochs each."""
    if spec.train is None:
        return []
    if not isinstance(spec.train, StagedTraining):
        return [(spec.train, spec.epochs)]
    last = spec.train.meta.epochs
    return [(spec.stage(1), spec.epochs - last), (spec.stage(spec.epochs), last)]


def _images_a_step(train: EpisodicTraining | BatchTraining) -> int | None:
    if isinstance(train, BatchTraining):
        return train.batch_size
    shape = episode_shape(train)
    if isinstance(shape, VaryingShape):
        return None
    return train.tasks_per_batch * shape.way * shape.per_class
