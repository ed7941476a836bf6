"""How much work a plan has left: gradient steps, and the expected time."""

from collections.abc import Mapping, Sequence
from itertools import chain
from operator import mul
from statistics import mean

from fsl_sweep.datasets.benchmark import Benchmark
from fsl_sweep.datasets.tasks.episodes import EpisodeShape
from fsl_sweep.orchestrator.measuring.common_tasks import novel_tasks
from fsl_sweep.orchestrator.records.measures import MEASURES, TrialHistory
from fsl_sweep.orchestrator.records.plan import Plan
from fsl_sweep.orchestrator.records.protocol import MAIN, PlannedProtocol
from fsl_sweep.orchestrator.records.spec import TrialSpec
from fsl_sweep.orchestrator.text.printed import counted


def summary(pending: Mapping[str, TrialSpec], resumed: Mapping[str, int] = {}) -> str:
    """Say ``1,200 gradient steps, 50% of them in class folds``, and how many train nothing.

    ``resumed`` gives the epochs that need no training.
    """
    untrained = sum(spec.train is None for spec in pending.values())
    if untrained == len(pending) > 0:
        return "nothing: there are no weights to train, and each trial is measured once, as it is"
    steps = {t: (spec.epochs - resumed.get(t, 0)) * spec.batches for t, spec in pending.items()}
    count = sum(steps.values())
    in_folds = sum(steps[trial] for trial, spec in pending.items() if spec.fold is not None)
    share = f", {in_folds / count:.0%} of them in class folds" if in_folds else ""
    apart = f"; trials that have nothing to train: {untrained:,}" if untrained else ""
    return f"{counted(count, 'gradient step')}{share}{apart}"


def expected_seconds(
    plan: Plan,
    histories: Sequence[TrialHistory],
    pending: Mapping[str, TrialSpec],
    resumed: Mapping[str, int],
) -> float | None:
    """Estimate the trial-seconds left; None before a trial is done, or where none is left.

    An epoch takes as long as those of its method's trials that are done, or of all where none is.

    Args:
        plan: what was planned.
        histories: one for each of its trials, in plan order.
        pending: the trials that are left.
        resumed: the epochs of each that need no training.
    """
    paces: dict[str, list[float]] = {}
    for history in histories:
        if history.complete and not history.diverged:
            spent = history.curves["train_seconds"] + history.curves["evaluation_seconds"]
            paces.setdefault(history.method, []).append(float(spent.sum() / history.epochs[-1]))
    if not paces or not pending:
        return None
    usual, methods = [*chain(*paces.values())], {trial.id: trial.method for trial in plan.trials}
    return sum(
        (spec.epochs - resumed[trial]) * mean(paces.get(methods[trial], usual))
        for trial, spec in pending.items()
    )


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
    return mean(taken) * sum(map(mul, left.values(), longer))


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
