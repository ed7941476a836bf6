"""How much of a plan is there."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fsl_sweep.orchestrator.records.measures import TrialHistory
from fsl_sweep.orchestrator.selection.results import why_unusable


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
    """

    planned: int
    done: int
    failed: int
    missing: int
    budget: int
    problems: tuple[Problem, ...]
    unmeasured: int

    @property
    def trained(self) -> bool:
        """Whether every planned trial is done."""
        return self.done == self.planned

    @property
    def complete(self) -> bool:
        """Whether nothing is missing from the report."""
        return self.trained and not self.unmeasured


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
    )
