"""The shapes of tasks that a sweep file asks for, and which learners can be given them."""

from fsl_sweep.datasets.episodes import EpisodeShape, VaryingShape
from fsl_sweep.learners.base import ProgramLearner
from fsl_sweep.learners.catalogue import LEARNERS
from fsl_sweep.orchestrator.config import (
    BatchTraining,
    Episode,
    EpisodicTraining,
    Named,
    StagedTraining,
)


def wrong_way(
    learner: Named, tasks: EpisodicTraining | BatchTraining | StagedTraining | Episode
) -> str | None:
    """What is wrong with giving the learner tasks of this many ways, or None."""
    only = _only_way(learner)
    way = tasks.meta.way if isinstance(tasks, StagedTraining) else getattr(tasks, "way", only)
    if only is None or way == only:
        return None
    if way == "all":
        return (
            f"{learner.name} is built for {only}-way tasks, and the tasks of 'way: all' differ in "
            "their number of classes; make the learner's way, train.way and episode.way one "
            "number, leave the method out, or choose a learner that answers any number of ways"
        )
    return (
        f"{learner.name} is built for {only}-way tasks, which these {way}-way tasks are not; "
        "make the learner's way, train.way and episode.way equal"
    )


def cannot_vary(
    learner: Named, train: EpisodicTraining | BatchTraining | StagedTraining
) -> str | None:
    """What is wrong with training the learner on episodes that differ in shape, or None."""
    episodes = train.meta if isinstance(train, StagedTraining) else train
    if isinstance(episodes, BatchTraining) or of_one_shape(episodes):
        return None
    if LEARNERS.find(learner.name).cls.takes_ragged:
        return None
    only = f"{learner.name} trains on episodes of one shape, and"
    if episodes.query_counts == "multinomial":
        return f"{only} 'query_counts: multinomial' makes episodes that differ; leave it out"
    return f"{only} 'way: all' and 'query: rest' make episodes that differ; give numbers"


def of_one_shape(train: EpisodicTraining) -> bool:
    """Whether all classes of all training tasks have equally many examples."""
    return train.query_counts == "equal" and isinstance(episode_shape(train), EpisodeShape)


def of_classes_only(train: EpisodicTraining) -> str | None:
    """What of a training episode is for tasks of class tuples only, or None."""
    if train.fixed_support:
        return "fixed_support"
    return None if train.query_counts == "equal" else f"query_counts: {train.query_counts}"


def cannot_be_measured(learner: Named, episode: Episode) -> str | None:
    """What is wrong with measuring the learner on these episodes, or None."""
    program = issubclass(LEARNERS.find(learner.name).cls, ProgramLearner)
    if not program or isinstance(episode_shape(episode), EpisodeShape):
        return None
    return (
        f"{learner.name} is measured on tasks of one shape, and 'way: all' and 'query: rest' make "
        "tasks that differ; give numbers"
    )


def episode_shape(episode: Episode | EpisodicTraining) -> EpisodeShape | VaryingShape:
    """The shape that a sweep file asks for."""
    way = None if episode.way == "all" else episode.way
    query = None if episode.query == "rest" else episode.query
    if way is None or query is None:
        return VaryingShape(way, episode.shot, query)
    return EpisodeShape(way, episode.shot, query)


def _only_way(learner: Named) -> int | None:
    cls = LEARNERS.find(learner.name).cls
    return cls.fixed_way(cls.Options.model_validate(learner.options))
