"""Learners whose classifier answers one number of ways, and the tasks that they are given."""

from collections.abc import Iterable

from fsl_sweep.datasets.benchmark import Benchmark
from fsl_sweep.learners.catalogue import LEARNERS
from fsl_sweep.orchestrator.config import (
    BatchTraining,
    Episode,
    EpisodicTraining,
    Named,
    StagedTraining,
)
from fsl_sweep.orchestrator.errors import BadData
from fsl_sweep.orchestrator.plan import PlannedTrial


def wrong_way(
    learner: Named, tasks: EpisodicTraining | BatchTraining | StagedTraining | Episode
) -> str | None:
    """What is wrong with giving the learner tasks of this many ways, or None."""
    only = _only_way(learner)
    way = tasks.meta.way if isinstance(tasks, StagedTraining) else getattr(tasks, "way", only)
    if only is None or way == only:
        return None
    return (
        f"{learner.name} is built for {only}-way tasks, which these {way}-way tasks are not; "
        "make the learner's way, train.way and episode.way equal"
    )


def check_fixed_ways(trial: PlannedTrial, benchmark: Benchmark, splits: Iterable[str]) -> None:
    """Whether the splits' tasks all have the number of ways that the trial's learner answers.

    Raises:
        BadData: the tasks of a split differ in their ways, and the learner answers only one.
    """
    learner = trial.spec.learner
    only = _only_way(learner)
    varying = [split for split in splits if benchmark.distribution(split).varying_ways]
    if only is not None and varying:
        raise BadData(
            f"{trial.method}, {varying[0]} tasks: their number of classes differs from task to "
            f"task, but {learner.name} is built for {only}-way tasks alone. "
            "Leave the method out, or choose a learner that answers any number of ways."
        )


def _only_way(learner: Named) -> int | None:
    cls = LEARNERS.find(learner.name).cls
    return cls.fixed_way(cls.Options.model_validate(learner.options))
