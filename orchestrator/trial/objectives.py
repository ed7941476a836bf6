"""The tasks that the ML and the FIX-ML objective of a trial are means over.

"Lessons from Chasing Few-Shot Learning Benchmarks", section 4: objective (1) draws the support of
each task of base classes at random, objective (3) takes it from the k examples a class of FIX-ML.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from fsl_sweep.datasets.randomness import named_generator
from fsl_sweep.datasets.tasks.classes import ClassTasks
from fsl_sweep.datasets.tasks.distribution import TaskDistribution
from fsl_sweep.datasets.tasks.episodes import Episodes
from fsl_sweep.datasets.tasks.fixed_support import QueriesFrom
from fsl_sweep.orchestrator.records.protocol import Episode, episode_shape
from fsl_sweep.orchestrator.records.spec import TrialSpec
from fsl_sweep.orchestrator.trial.draws import fixed_support


@dataclass(frozen=True)
class FixedSupport:
    """The trial whose fixed support tasks have, and where their queries are from."""

    trial: str
    shot: int
    queries_from: QueriesFrom


def fixed_support_of(spec: TrialSpec, others: Iterable[TrialSpec]) -> FixedSupport | None:
    """Return the support that a trial was trained on, or else that of its FIX-ML counterpart.

    The counterpart has the learner, the seed and the number of shots of the trial. One that differs
    in nothing but the objective goes first; None if there are several others, or none.
    """
    if (support := _fixed(spec)) is not None:
        return support
    alike = [other for other in others if _kind(other) == _kind(spec) and _fixed(other) is not None]
    twins = [other for other in alike if _plain(other) == _plain(spec)]
    counterparts = twins or alike
    return _fixed(counterparts[0]) if len(counterparts) == 1 else None


def objective_tasks(
    train: TaskDistribution,
    episode: Episode,
    tasks: int,
    seed: int,
    support: FixedSupport | None = None,
) -> Episodes:
    """Draw so many tasks of base training examples, the same for each trial of these arguments.

    Args:
        train: of the benchmark that was trained on.
        episode: the shape of a task; every class has equally many queries.
        tasks: how many.
        seed: of the draw.
        support: of the FIX-ML objective; that of ML has none.

    Raises:
        BadData: there are too few classes or examples, or the fixed support has other shots.
    """
    if support is not None:
        assert isinstance(train, ClassTasks)  # planning refuses others
        train = fixed_support(support.trial, train, support.shot, support.queries_from)
    return train.sample(tasks, episode_shape(episode), named_generator(seed, "objective"))


def _fixed(spec: TrialSpec) -> FixedSupport | None:
    train = spec.episodic
    if train is None or not train.fixed_support:
        return None
    return FixedSupport(spec.id, train.shot, train.queries_from)


def _kind(spec: TrialSpec) -> tuple[object, ...]:
    """Return what a trial has in common with its counterparts."""
    return spec.learner.name, spec.seed, spec.fold, spec.episodic and spec.episodic.shot


def _plain(spec: TrialSpec) -> dict[str, object]:
    """Return the specification without its objective."""
    plain = spec.canonical()
    episodic = plain["train"].get("meta", plain["train"])
    for key in ("fixed_support", "queries_from"):
        episodic.pop(key, None)
    return plain
