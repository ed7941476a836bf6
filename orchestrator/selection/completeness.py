"""How much of a plan is there: which trials, class folds and seeds are complete.

What is reported is of complete seeds: an unfinished trial's early peak never wins.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import Any, final

from fsl_sweep.orchestrator.records.measures import TrialHistory
from fsl_sweep.orchestrator.records.scheduler import Scheduler
from fsl_sweep.orchestrator.records.search import searching
from fsl_sweep.orchestrator.selection.results import LeftOut
from fsl_sweep.orchestrator.text.printed import counted


def why_unusable(trial: TrialHistory) -> str | None:
    """Return why a trial takes no part in any selection, or None if it does."""
    if trial.damaged:
        # Only names: the path of a run folder must not change its report.
        names = ", ".join(PurePath(name).name for name in trial.damaged)
        return f"damaged records: {names}"
    if trial.end is None:
        count = len(trial.epochs)
        return f"unfinished: {counted(count, 'snapshot')} recorded" if count else "not run"
    if trial.end.status == "failed":
        return f"failed: {trial.end.reason or 'no reason recorded'}"
    if trial.stopped:
        return f"stopped after epoch {max(trial.epochs, default=0)}: {trial.end.reason}"
    if trial.stopped_early:
        return "stopped by its budget before its first snapshot"
    if len(trial.epochs) == 0 and not trial.diverged:
        return "ended before its first snapshot was measured"
    if trial.unmeasured:
        count = f"{trial.unmeasured} of {counted(len(trial.epochs), 'snapshot')}"
        return f"{count} are not measured under the protocol that chooses"
    return None if trial.complete else f"ended as '{trial.end.status}'"


def gaps_of(trials: Iterable[TrialHistory]) -> list[LeftOut]:
    """Return the trials that take no part in any selection, and why.

    Those that a rule stopped are no candidates, and nothing lacks without them.
    """
    left = (trial for trial in trials if not trial.stopped)
    return [LeftOut.of(trial, why) for trial in left if (why := why_unusable(trial))]


Replicate = tuple[str, int]
"""A method and a seed."""


def replicates_of(histories: Iterable[TrialHistory]) -> dict[Replicate, list[TrialHistory]]:
    """Return full trials by replicate: methods in plan order, seeds ascending."""
    groups: dict[Replicate, list[TrialHistory]] = defaultdict(list)
    for trial in histories:
        if trial.fold is None:
            groups[trial.method, trial.seed].append(trial)
    order = list(dict.fromkeys(method for method, _ in groups))
    return dict(sorted(groups.items(), key=lambda item: (order.index(item[0][0]), item[0][1])))


@final
class FoldTrials:
    """The trials of class folds among ``histories``, one for each planned trial.

    An average over folds is over all folds of the method, or is not made.
    """

    def __init__(self, histories: Iterable[TrialHistory]) -> None:
        self._trials: dict[tuple[str, str, int], dict[int, TrialHistory]] = defaultdict(dict)
        self._folds: dict[str, set[int]] = defaultdict(set)
        for trial in histories:
            if trial.fold is not None:
                self._trials[_key(trial)][trial.fold] = trial
                self._folds[trial.method].add(trial.fold)

    def of(self, trial: TrialHistory) -> tuple[TrialHistory, ...]:
        """Return the fold trials of a full trial, in order; none unless each ended as planned."""
        if self.gaps(trial) or self.diverged(trial):
            return ()
        return tuple(history for _, history in sorted(self._trials.get(_key(trial), {}).items()))

    def diverged(self, trial: TrialHistory) -> bool:
        """Return whether a fold of a full trial diverged."""
        return any(fold.diverged for fold in self._trials.get(_key(trial), {}).values())

    def gaps(self, trial: TrialHistory) -> list[LeftOut]:
        """Return the incomplete folds of a full trial, and why."""
        trials = self._trials.get(_key(trial), {})
        gaps: list[LeftOut] = []
        for fold in sorted(self._folds.get(trial.method, ())):
            history = trials.get(fold)
            reason = "not planned" if history is None else why_unusable(history)
            if reason is not None:
                gap = LeftOut.of(trial, f"fold {fold}: {reason}")
                gaps.append(replace(gap, trial=history.trial if history else None, fold=fold))
        return gaps


def complete_replicates(histories: Sequence[TrialHistory]) -> list[TrialHistory]:
    """Return the trials of each method and seed that has all of its configurations, and folds."""
    full = (trial for trial in histories if trial.fold is None)
    incomplete = {(gap.method, gap.seed) for gap in gaps_of(full)}
    whole = [trial for trial in histories if (trial.method, trial.seed) not in incomplete]
    return [trial for trial in whole if not trial.stopped]


def _key(trial: TrialHistory) -> tuple[str, str, int]:
    return trial.method, trial.configuration, trial.seed


@dataclass(frozen=True)
class Divergence:
    """What diverged of a method, class folds included.

    Attributes:
        trials, of: how many trials diverged, and how many have an outcome.
        configurations: the hyperparameters of those of which a trial diverged, in plan order.
        of_configurations: how many configurations have an outcome.
        seeds: in which a trial diverged, ascending.
        snapshots: whether some of the trials recorded snapshots before.
    """

    trials: int
    of: int
    configurations: tuple[Mapping[str, Any], ...]
    of_configurations: int
    seeds: tuple[int, ...]
    snapshots: bool


def divergence_of(outcomes: Iterable[TrialHistory]) -> dict[str, Divergence]:
    """Return what diverged of each method, in plan order, from the trials that have an outcome."""
    methods: dict[str, list[TrialHistory]] = defaultdict(list)
    for trial in outcomes:
        methods[trial.method].append(trial)
    return {
        method: Divergence(
            trials=len(lost),
            of=len(trials),
            configurations=tuple({t.configuration: t.hyperparameters for t in lost}.values()),
            of_configurations=len({trial.configuration for trial in trials}),
            seeds=tuple(sorted({trial.seed for trial in lost})),
            snapshots=any(len(trial.epochs) for trial in lost),
        )
        for method, trials in methods.items()
        if (lost := [trial for trial in trials if trial.diverged])
    }


@dataclass(frozen=True)
class EarlyStopping:
    """What a scheduler's rule stopped, class folds included.

    Attributes:
        scheduler: the rule.
        configurations, of: how many it stopped, of how many.
        trials: of these configurations.
        epochs, planned: of all trials, how many were trained, and how many the whole grid has.
        saved: how many were left of the stopped trials; others may be unfinished.
        rungs: the first and the last epoch after which it stopped some.
    """

    scheduler: Scheduler
    configurations: int
    of: int
    trials: int
    epochs: int
    planned: int
    saved: int
    rungs: tuple[int, int]


def early_stopping_of(
    histories: Iterable[TrialHistory], scheduler: Scheduler | None
) -> EarlyStopping | None:
    """Return what a scheduler's rule stopped; None where it stopped nothing."""
    distinct = {trial.trial: trial for trial in histories}.values()
    stopped = [trial for trial in distinct if trial.stopped]
    if scheduler is None or not stopped:
        return None
    last = [int(trial.epochs[-1]) for trial in stopped if len(trial.epochs)]
    return EarlyStopping(
        scheduler=scheduler,
        configurations=len({(t.method, t.configuration) for t in stopped}),
        of=len({(t.method, t.configuration) for t in distinct}),
        trials=len(stopped),
        epochs=sum(int(trial.epochs[-1]) for trial in distinct if len(trial.epochs)),
        planned=sum(trial.planned_epochs or 0 for trial in distinct),
        saved=sum(t.planned_epochs or 0 for t in stopped) - sum(last),
        rungs=(min(last, default=0), max(last, default=0)),
    )


@dataclass(frozen=True)
class Completeness:
    """How much of the plan is there. A trial that two methods share counts once.

    Attributes:
        planned, done, diverged, failed, missing: numbers of trials; missing ones are none of
            these: not run, unfinished, or damaged.
        stopped_by_rule: how many a rule stopped that compares trials: none of these either.
        stopped: those that their time budget stopped, of each method.
        stopped_early: how many of these have no snapshot: neither done, failed nor missing.
        problems: all trials that are neither done nor diverged, and why.
        unmeasured: how many chosen snapshots are not measured under the protocol of the report.
        seeds: of each method, how many seeds are whole, and how many are planned.
        trials: of each method, how many trials are done or diverged, and how many are planned.
        divergence: the methods of which a trial diverged: how many, and which.
        proposed: how many configurations a search has proposed, and of how many, by method.
        early: what a scheduler's rule stopped, where it is known.
    """

    planned: int
    done: int
    diverged: int
    failed: int
    missing: int
    stopped_by_rule: int
    stopped: tuple[TrialHistory, ...] = field(repr=False, compare=False)
    stopped_early: int
    problems: tuple[LeftOut, ...]
    unmeasured: int
    seeds: Mapping[str, tuple[int, int]]
    trials: Mapping[str, tuple[int, int]]
    divergence: Mapping[str, Divergence]
    proposed: Mapping[str, tuple[int, int]]
    early: EarlyStopping | None = None

    @property
    def budget(self) -> int:
        """Return how many trials their time budget stopped."""
        return len({trial.trial for trial in self.stopped})

    def partial(self, method: str) -> bool:
        """Return whether not all seeds of a method are whole."""
        whole, planned = self.seeds[method]
        return whole < planned

    def named(self, method: str) -> str:
        """Return the method, with what is missing of it: ``PN (2 of 3 seeds, 1 of 6 diverged)``.

        Its whole seeds, unless all are whole; and how many of its trials diverged, if any.
        """
        whole, planned = self.seeds[method]
        facts = [f"{whole} of {counted(planned, 'seed')}"] if self.partial(method) else []
        if lost := self.divergence.get(method):
            facts.append(f"{lost.trials} of {lost.of} diverged")
        return f"{method} ({', '.join(facts)})" if facts else method

    @property
    def ended(self) -> int:
        """Return how many trials have an outcome: are done, or diverged."""
        return self.done + self.diverged

    @property
    def trained(self) -> bool:
        """Return whether every trial has an outcome, those too that a search is yet to propose."""
        return self.ended + self.stopped_by_rule == self.planned and not self.searching

    @property
    def complete(self) -> bool:
        """Return whether nothing is missing from the report."""
        return self.trained and not self.unmeasured

    @property
    def searching(self) -> str:
        """Say ``8 of 48 configurations of PN`` are proposed so far; empty where all are."""
        return searching(self.proposed)


def completeness_of(
    histories: Sequence[TrialHistory],
    unmeasured: int,
    scheduler: Scheduler | None = None,
    proposed: Mapping[str, tuple[int, int]] | None = None,
) -> Completeness:
    """Count planned trials by what became of them; ``proposed`` as of the attribute."""
    distinct = {trial.trial: trial for trial in histories}.values()
    problems = gaps_of(distinct)
    failed = sum(gap.reason.startswith("failed") for gap in problems)
    early = sum(trial.stopped_early for trial in distinct)
    by_rule = sum(trial.stopped for trial in distinct)
    outcomes = [trial for trial in histories if why_unusable(trial) is None]
    diverged = len({trial.trial for trial in outcomes if trial.diverged})
    return Completeness(
        planned=len(distinct),
        done=len(distinct) - len(problems) - diverged - by_rule,
        diverged=diverged,
        failed=failed,
        missing=len(problems) - failed - early,
        stopped_by_rule=by_rule,
        stopped=tuple(t for t in histories if t.end is not None and t.end.status == "budget"),
        stopped_early=early,
        problems=tuple(problems),
        unmeasured=unmeasured,
        seeds=_counts(_seeds(complete_replicates(histories)), _seeds(histories)),
        trials=_counts(outcomes, histories),
        divergence=divergence_of(outcomes),
        proposed=proposed or {},
        early=early_stopping_of(distinct, scheduler),
    )


def _seeds(histories: Iterable[TrialHistory]) -> Iterable[TrialHistory]:
    """Return a trial of each method and seed."""
    return {(trial.method, trial.seed): trial for trial in histories}.values()


def _counts(
    done: Iterable[TrialHistory], planned: Iterable[TrialHistory]
) -> dict[str, tuple[int, int]]:
    """Return of each method how many of what is planned are done, and how many are planned."""
    there, every = (Counter(trial.method for trial in trials) for trials in (done, planned))
    return {method: (there[method], count) for method, count in every.items()}
