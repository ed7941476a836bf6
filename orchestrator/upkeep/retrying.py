"""Trials that are run again from the beginning: which ones, and where their records go."""

from collections.abc import Collection, Iterator, Sequence

from fsl_sweep.orchestrator.errors import ConfigError, did_you_mean
from fsl_sweep.orchestrator.ledger.ledger import Ledger
from fsl_sweep.orchestrator.records.measures import TrialEnd
from fsl_sweep.orchestrator.records.plan import Plan

KINDS = ("failed", "diverged")
"""How trials ended that may be named together."""


def check_retry(names: Sequence[str], trials: Collection[str]) -> None:
    """Raise ConfigError unless each name is one of KINDS, or the id of one of these trials."""
    for name in names:
        if name not in KINDS and name not in trials:
            advice = did_you_mean(name, [*KINDS, *trials])
            problem = f"'{name}' is neither {' nor '.join(KINDS)} nor the id of a planned trial"
            raise ConfigError("", "--retry", f"{problem}; {advice}")


def to_retry(ledger: Ledger, names: Sequence[str], trials: Collection[str]) -> list[str]:
    """Return those of these trials that are named by their id, or by how they ended."""
    kinds = {*KINDS} & {*names}
    ends = {trial: ledger.trial(trial).read_end() for trial in trials} if kinds else {}
    by_end = {trial for trial, end in ends.items() if end is not None and end.status in kinds}
    return [trial for trial in trials if trial in names or trial in by_end]


def set_aside(
    ledger: Ledger, plan: Plan, names: Sequence[str], retried: Sequence[str]
) -> Iterator[str]:
    """Move the records of trials aside, so that these run from the beginning; say so of each.

    Nothing is deleted. Killed at any moment, each trial has all of its records or is not begun.
    """
    if not retried:
        yield f"--retry {' '.join(names)}: there is no such trial, so none is run again."
    methods = {trial.id: trial.method for trial in plan.trials}
    for trial in retried:
        end, place = ledger.trial(trial).read_end(), ledger.set_aside(trial)
        kept = "" if place is None else f" What it had recorded is kept in {place}."
        yield (
            f"{methods[trial]} (trial {trial}, seed {plan.specs[trial].seed}) is run again from "
            f"the beginning; it {_ended(end)}.{kept}"
        )


def _ended(end: TrialEnd | None) -> str:
    if end is None:
        return "had not ended"
    said = {"done": "was done", "budget": "was stopped", "stopped": "was stopped"}.get(
        end.status, end.status
    )
    return f"{said}: {end.reason}" if end.reason else said
