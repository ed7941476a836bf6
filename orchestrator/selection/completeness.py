"""How much of a plan is there."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from fsl_sweep.orchestrator.records.measures import TrialHistory
from fsl_sweep.orchestrator.selection.results import LeftOut, why_unusable
from fsl_sweep.orchestrator.text.printed import counted


class Stopped(NamedTuple):
    """A trial that its time budget stopped.

    Attributes:
        method, seed, trial: which one.
        epoch: of its last snapshot; 0 where it has none.
        planned: how many epochs were planned; None where that is not known.
    """

    method: str
    seed: int
    trial: str
    epoch: int
    planned: int | None


@dataclass(frozen=True)
class Completeness:
    """How much of the plan is there. A trial that two methods share counts once.

    Attributes:
        planned, done, failed, missing: numbers of trials; missing ones are neither done nor
            failed: not run, unfinished, or damaged.
        stopped: those that their time budget stopped, of each method.
        stopped_early: how many of these have no snapshot: neither done, failed nor missing.
        problems: all trials that are not done, and why.
        unmeasured: how many chosen snapshots are not measured under the protocol of the report.
        seeds: of each method, how many seeds are whole, and how many are planned.
        trials: of each method, how many trials are done, and how many are planned.
    """

    planned: int
    done: int
    failed: int
    missing: int
    stopped: tuple[Stopped, ...]
    stopped_early: int
    problems: tuple[LeftOut, ...]
    unmeasured: int
    seeds: Mapping[str, tuple[int, int]]
    trials: Mapping[str, tuple[int, int]]

    @property
    def budget(self) -> int:
        """Return how many trials their time budget stopped."""
        return len({trial.trial for trial in self.stopped})

    def named(self, method: str) -> str:
        """Return the method, with its whole seeds unless all are whole: ``PN (2 of 3 seeds)``."""
        whole, planned = self.seeds[method]
        return method if whole == planned else f"{method} ({whole} of {counted(planned, 'seed')})"

    @property
    def trained(self) -> bool:
        """Return whether every planned trial is done."""
        return self.done == self.planned

    @property
    def complete(self) -> bool:
        """Return whether nothing is missing from the report."""
        return self.trained and not self.unmeasured


def complete_replicates(histories: Sequence[TrialHistory]) -> list[TrialHistory]:
    """Return the trials of each method and seed that has all of its configurations, and folds.

    A report of an unfinished run is of these: an unfinished trial's early peak never wins.
    """
    incomplete = {
        (trial.method, trial.seed)
        for trial in histories
        if trial.fold is None and why_unusable(trial) is not None
    }
    return [trial for trial in histories if (trial.method, trial.seed) not in incomplete]


def completeness_of(histories: Sequence[TrialHistory], unmeasured: int) -> Completeness:
    """Count planned trials by what became of them."""
    distinct = {trial.trial: trial for trial in histories}.values()
    problems = tuple(
        LeftOut.of(trial, reason)
        for trial in distinct
        if (reason := why_unusable(trial)) is not None
    )
    failed = sum(gap.reason.startswith("failed") for gap in problems)
    early = sum(trial.stopped_early for trial in distinct)
    return Completeness(
        planned=len(distinct),
        done=len(distinct) - len(problems),
        failed=failed,
        missing=len(problems) - failed - early,
        stopped=tuple(
            Stopped(t.method, t.seed, t.trial, int(max(t.epochs, default=0)), t.planned_epochs)
            for t in histories
            if t.end is not None and t.end.status == "budget"
        ),
        stopped_early=early,
        problems=problems,
        unmeasured=unmeasured,
        seeds=_counts(
            {(t.method, t.seed) for t in complete_replicates(histories)},
            dict.fromkeys((t.method, t.seed) for t in histories),
        ),
        trials=_counts(
            [(t.method, t) for t in histories if why_unusable(t) is None],
            [(t.method, t) for t in histories],
        ),
    )


def _counts(
    done: Iterable[tuple[str, Any]], planned: Iterable[tuple[str, Any]]
) -> dict[str, tuple[int, int]]:
    """Of each method, how many of what is planned are done, and how many are planned."""
    there = Counter(method for method, _ in done)
    return {m: (there[m], n) for m, n in Counter(method for method, _ in planned).items()}
