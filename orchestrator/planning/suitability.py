"""Which learners suit which tasks. Key paths in errors begin below the method, unless noted."""

from collections.abc import Iterable, Mapping
from typing import Any

from fsl_sweep.datasets.benchmark import Benchmark
from fsl_sweep.datasets.tasks.classes import ClassTasks
from fsl_sweep.datasets.tasks.episodes import EpisodeShape
from fsl_sweep.learners.base import ClassificationLearner
from fsl_sweep.learners.catalogue import LEARNERS
from fsl_sweep.learners.metadl.learner import Metadl
from fsl_sweep.orchestrator.errors import BadData, ConfigError, UnknownName
from fsl_sweep.orchestrator.planning.part import Part
from fsl_sweep.orchestrator.records.plan import PlannedTrial
from fsl_sweep.orchestrator.records.protocol import Episode, Protocol, episode_shape
from fsl_sweep.orchestrator.records.spec import (
    BatchTraining,
    EpisodicTraining,
    StagedTraining,
    TrialSpec,
    of_classes_only,
    of_one_shape,
)

USED_UNTRAINED = ("learner", "backbone")
"""The sections of a method's settings that matter if it has nothing to train."""


def is_program(learner: Any) -> bool:
    """Return whether a method's ``learner`` section names a program; False if its name is wrong."""
    name = learner.get("name") if isinstance(learner, Mapping) else None
    try:
        return isinstance(name, str) and issubclass(LEARNERS.find(name).cls, Metadl)
    except UnknownName:
        return False


def among_all(learner: Part) -> bool:
    """Return whether a learner classifies among all base classes, and not among those of a task."""
    return issubclass(learner.cls, ClassificationLearner)


def draws_nothing(spec: TrialSpec, learner: Part) -> bool:
    """Return whether no seed changes a trial: nothing is trained, and nothing drawn."""
    start = spec.backbone.options
    drawn = start.get("frozen") and start.get("weights") is None
    return spec.train is None and not drawn and not learner.cls.draws(learner.options)


def check_in_distribution(learner: Part, benchmark: Part) -> None:
    """Raise ConfigError if a learner that answers with base classes is not measured on those."""
    if among_all(learner) and not benchmark.cls.in_distribution:
        raise ConfigError(
            "",
            "learner.name",
            f"{learner.name} answers with one of the base classes, so it can only be measured in "
            f"distribution: set benchmark.name to in-distribution:{benchmark.name}",
        )


def check_measured(learner: Part, protocol: Protocol) -> None:
    """Raise ConfigError if the learner cannot be measured under the protocol.

    The key path is below the file for the main protocol, else below the section of the protocol.
    """
    episode = protocol.episode
    _check_way(learner, episode, "episode.way")
    if issubclass(learner.cls, Metadl) and not isinstance(episode_shape(episode), EpisodeShape):
        raise ConfigError(
            "",
            "episode",
            f"{learner.name} is measured on tasks of one shape, but the shapes of tasks differ "
            "with 'way: all' and 'query: rest'; give numbers",
        )
    if among_all(learner) and protocol.replaces_novel:
        raise ConfigError(
            "",
            "",
            f"{learner.name} answers with one of the base classes, so it cannot be measured on "
            "other classes or mixtures; measure it in a sweep of its own",
        )


def check_features(learner: Part, backbone: Part | None, augment: str, benchmark: Part) -> None:
    """Raise ConfigError if the benchmark holds features and the method takes images.

    A program, which has no ``backbone``, takes images.
    """
    if not benchmark.cls.holds_features:
        return
    holds = f"benchmark '{benchmark.name}' holds features of a frozen extractor"
    if backbone is None:
        raise ConfigError("", "learner.name", f"'{learner.name}' takes images, but {holds}")
    if not backbone.cls.takes_features:
        problem = f"'{backbone.name}' takes images, but {holds}; use 'identity'"
        raise ConfigError("", "backbone.name", problem)
    if "normalisation" in backbone.named.options:
        problem = f"{holds}, which are used as they are; leave it out"
        raise ConfigError("", "backbone.normalisation", problem)
    if augment != "none":
        problem = f"'{augment}' changes images, but {holds}; write 'augment: none'"
        raise ConfigError("", "augment", problem)


def check_trained(learner: Part, train: EpisodicTraining | BatchTraining | StagedTraining) -> None:
    """Raise ConfigError if the learner cannot be trained on such episodes."""
    episodes = train.meta if isinstance(train, StagedTraining) else train
    if isinstance(episodes, BatchTraining):
        return
    _check_way(learner, episodes, "train.way")
    if of_one_shape(episodes) or learner.cls.takes_ragged:
        return
    if episodes.query_counts == "multinomial":
        differ, advice = "'query_counts: multinomial'", "leave it out"
    else:
        differ, advice = "'way: all' and 'query: rest'", "give numbers"
    problem = f"{learner.name} trains on episodes of one shape, but shapes differ with {differ}"
    raise ConfigError("", "train", f"{problem}; {advice}")


def check_training_tasks(trial: PlannedTrial, benchmark: Benchmark) -> None:
    """Raise BadData if the trial needs tasks of classes, and those of the benchmark are others.

    Batches need the labels of classes; so do fixed support sets and varying query counts.
    """
    spec, tasks = trial.spec, benchmark.train
    if not tasks.by_label and isinstance(spec.train, BatchTraining | StagedTraining):
        raise BadData(
            f"{trial.method}: {spec.learner.name} trains on batches of labelled images, but the "
            f"tasks of '{benchmark.name}' are made of {tasks.unit}: an image belongs to many of "
            "them and has no label. Leave the method out, or choose a learner that trains on "
            "episodes."
        )
    setting = None if spec.episodic is None else of_classes_only(spec.episodic)
    if setting is not None and not isinstance(tasks, ClassTasks):
        raise BadData(
            f"{trial.method}, train tasks: '{setting}' is for tasks of base classes, but the tasks "
            f"of this benchmark are made of {tasks.unit}. Leave it out of train."
        )


def in_distribution_cautions(benchmark: Part, trials: Iterable[PlannedTrial]) -> list[str]:
    """Say what to know before reading the columns of a sweep in distribution; else nothing."""
    if not benchmark.cls.in_distribution:
        return []
    cautions = [
        f"{benchmark.name} has val and novel examples of the base classes: what stands under "
        "ValGen and NovelGen is accuracy on new examples of the classes that were trained on, not "
        "on new classes"
    ]
    methods = {trial.method: trial.among_all for trial in trials}
    names = [method for method, among in methods.items() if among]
    if 0 < len(names) < len(methods):
        classify = "classifies" if len(names) == 1 else "classify"
        cautions.append(
            f"{', '.join(names)} {classify} queries among all base classes, the others only among "
            "the classes of the task; that is easier, so the accuracies cannot be compared"
        )
    return cautions


def _check_way(learner: Part, tasks: Episode | EpisodicTraining, path: str) -> None:
    only = learner.cls.fixed_way(learner.options)
    if only is not None and tasks.way != only:
        others = "tasks of 'way: all'" if tasks.way == "all" else f"{tasks.way}-way tasks"
        raise ConfigError(
            "",
            path,
            f"{learner.name} is built for {only}-way tasks, not for {others}; make the learner's "
            "way, train.way and the way of every protocol one number, or choose another learner",
        )
