"""Ensembles of snapshots, from their recorded answers: the vote of the k best by ValGen."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fsl_sweep.orchestrator.records.measures import (
    MEASURES,
    Measure,
    TaskScores,
    TaskSet,
    TrialHistory,
)
from fsl_sweep.orchestrator.selection.completeness import replicates_of, why_unusable
from fsl_sweep.orchestrator.statistics import Interval, mean_interval
from fsl_sweep.orchestrator.statistics.ties import comparable

Answers = Callable[[str, int], Mapping[tuple[Measure, TaskSet], TaskScores]]
"""Reads the results of a trial's snapshot, with the answer to each query."""


@dataclass(frozen=True)
class Ensemble:
    """The vote of a method's ``size`` best snapshots by ValGen, of all its configurations.

    Attributes:
        members: trial and epoch of those that vote, best first, for each seed.
        base, val, novel: mean over seeds on the report tasks, with intervals over seeds.
        gain: NovelGen minus that of the best member, which is what ``val / val`` chooses; mean over
            seeds, with its interval over seeds.
        by_seed: NovelGen and gain of each seed.
    """

    method: str
    size: int
    members: tuple[tuple[tuple[str, int], ...], ...]
    base: Interval
    val: Interval
    novel: Interval
    gain: Interval
    by_seed: tuple[tuple[float, float], ...]


def ensembles_of(
    histories: Sequence[TrialHistory], sizes: Sequence[int], answers: Answers
) -> tuple[Ensemble, ...]:
    """Ensembles of every method whose replicates are whole, by method and size.

    Each seed votes for itself; snapshots are ranked on the selection tasks. A method with fewer
    snapshots than a size is left out of that size.
    """
    replicates: dict[str, list[Sequence[TrialHistory]]] = {}
    for (method, _), trials in replicates_of(histories).items():
        replicates.setdefault(method, []).append(trials)
    return tuple(
        _ensemble(method, size, parts, answers)
        for method, parts in replicates.items()
        if not any(why_unusable(trial) for trials in parts for trial in trials)
        for size in dict.fromkeys(sizes)
        if all(size <= sum(len(trial.epochs) for trial in trials) for trials in parts)
    )


def vote(answers: np.ndarray) -> np.ndarray:
    """Return the answer that most snapshots give to each query.

    Of answers with equally many votes it is the one that the best-ranked snapshot gives; the first
    row is the best.

    Args:
        answers: of each snapshot, int ``[k, queries]``; the result is ``[queries]``.
    """
    votes = (answers[:, None] == answers[None]).sum(axis=1)
    return np.take_along_axis(answers, votes.argmax(axis=0)[None], axis=0)[0]


def _ensemble(
    method: str, size: int, replicates: Sequence[Sequence[TrialHistory]], answers: Answers
) -> Ensemble:
    members = [_best(trials, size) for trials in replicates]
    means: dict[Measure, list[float]] = {measure: [] for measure in MEASURES}
    gains: list[float] = []
    for chosen in members:
        read = [answers(*member) for member in chosen]
        for measure in MEASURES:
            results = [scores[measure, "report"] for scores in read]
            cast = np.stack([x.answers for x in results if x.answers is not None])
            voted = TaskScores.of_answers(vote(cast), results[0].queries)
            means[measure].append(voted.mean)
        gains.append(means["novel"][-1] - read[0]["novel", "report"].mean)
    over = {measure: mean_interval(values, kind="seeds") for measure, values in means.items()}
    gain = mean_interval(gains, kind="seeds")
    by_seed = tuple(zip(means["novel"], gains, strict=True))
    return Ensemble(method, size, tuple(members), **over, gain=gain, by_seed=by_seed)


def _best(trials: Sequence[TrialHistory], size: int) -> tuple[tuple[str, int], ...]:
    """Return the best snapshots by ValGen; of equal ones those of the earlier trial and epoch."""
    names = [(trial.trial, int(epoch)) for trial in trials for epoch in trial.epochs]
    val = comparable(np.concatenate([t.scores["val", "selection"].means for t in trials]))
    return tuple(names[at] for at in np.argsort(-val, kind="stable")[:size])
