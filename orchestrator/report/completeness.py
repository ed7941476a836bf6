"""How much of a plan is there."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fsl_sweep.orchestrator.records.measures import TrialHistory
from fsl_sweep.orchestrator.selection.results import why_unusable
from fsl_sweep.orchestrator.text.printed import counted


@dataclass(frozen=True)
class Problem:
    """A planned trial that is not done, and why."""

    method: str
    trial: str
    seed: int
    fold: int | None
    hyperparameters: Mapping[str, Any]
    reason: str


@dataclass(frozen=True)
class Completeness:
    """How much of the plan is there. A trial that two methods share counts once.

    Attributes:
        planned, done, failed, missing: numbers of trials; missing ones are neither done nor
            failed: not run, unfinished, or damaged.
        budget: how many of the done ones were stopped by their time budget.
        problems: all that is not done.
        unmeasured: how many chosen snapshots are not measured under the protocol of the report.
        seeds: of each method, how many seeds are whole, and how many are planned.
        trials: of each method, how many trials are done, and how many are planned.
    """

    planned: int
    done: int
    failed: int
    missing: int
    budget: int
    problems: tuple[Problem, ...]
    unmeasured: int
    seeds: Mapping[str, tuple[int, int]]
    trials: Mapping[str, tuple[int, int]]

    def named(self, method: str) -> str:
        """The method, with its whole seeds unless all are whole: ``PN (2 of 3 seeds)``."""
        whole, planned = self.seeds[method]
        return method if whole == planned else f"{method} ({whole} of {counted(planned, 'seed')})"

    @property
    def trained(self) -> bool:
        """Whether every planned trial is done."""
        return self.done == self.planned

    @property
    def complete(self) -> bool:
        """Whether nothing is missing from the report."""
        return self.trained and not self.unmeasured


def whole_replicates(histories: Sequence[TrialHistory]) -> list[TrialHistory]:
    """The trials of each method and seed that has all of its configurations, with class folds.

    A report of an unfinished run is of these: an unfinished trial's early peak never wins.
    """
    torn = {
        (trial.method, trial.seed)
        for trial in histories
        if trial.fold is None and why_unusable(trial) is not None
    }
    return [trial for trial in histories if (trial.method, trial.seed) not in torn]


def completeness_of(histories: Sequence[TrialHistory], unmeasured: int) -> Completeness:
    """Count planned trials by what became of them."""
    distinct = {trial.trial: trial for trial in histories}.values()
    problems = tuple(
        Problem(t.method, t.trial, t.seed, t.fold, t.hyperparameters, reason)
        for t in distinct
        if (reason := why_unusable(t)) is not None
    )
    ended = [t.end.status for t in distinct if t.end and why_unusable(t) is None]
    failed = sum(one.reason.startswith("failed") for one in problems)
    return Completeness(
        planned=len(distinct),
        done=len(ended),
        failed=failed,
        missing=len(problems) - failed,
        budget=ended.count("budget"),
        problems=problems,
        unmeasured=unmeasured,
        seeds=_seeds(histories),
        trials=_trials(histories),
    )


def _seeds(histories: Sequence[TrialHistory]) -> dict[str, tuple[int, int]]:
    planned: dict[str, set[int]] = {}
    for trial in histories:
        planned.setdefault(trial.method, set()).add(trial.seed)
    whole = {(trial.method, trial.seed) for trial in whole_replicates(histories)}
    return {m: (sum((m, s) in whole for s in own), len(own)) for m, own in planned.items()}


def _trials(histories: Sequence[TrialHistory]) -> dict[str, tuple[int, int]]:
    planned: dict[str, list[bool]] = {}
    for trial in histories:
        planned.setdefault(trial.method, []).append(why_unusable(trial) is None)
    return {method: (sum(own), len(own)) for method, own in planned.items()}
