"""Fronts: the configurations that a front selector keeps, for each method and seed."""

from collections.abc import Sequence

from fsl_sweep.orchestrator.errors import SelectionError
from fsl_sweep.orchestrator.records.measures import MEASURES, Measure, TrialHistory
from fsl_sweep.orchestrator.selection.choices import Chosen
from fsl_sweep.orchestrator.selection.results import Front, FrontPoint, LeftOut
from fsl_sweep.orchestrator.selectors import FrontSelector, SnapshotSelector, apply
from fsl_sweep.orchestrator.selectors.base import is_oracle


def fronts_of(
    trials: Sequence[TrialHistory],
    chosen: Chosen,
    first: Sequence[tuple[str, SnapshotSelector]],
    second: Sequence[tuple[str, FrontSelector]],
) -> tuple[list[Front], list[LeftOut]]:
    """The fronts of one replicate under every pair of selectors, and what could not be made."""
    fronts: list[Front] = []
    failed: list[LeftOut] = []
    for name, selector in first:
        for other_name, other in second:
            try:
                candidates = chosen.candidates(trials, name)
                kept = {id(one) for one in apply(other, candidates)}
            except SelectionError as failure:
                method, seed = trials[0].method, trials[0].seed
                failed.append(LeftOut(method, seed, str(failure), None, None, name, other_name))
                continue
            points = tuple(
                _point(trial, one.epoch, id(one) in kept)
                for trial, one in zip(trials, candidates, strict=True)
            )
            oracle = is_oracle(selector) or is_oracle(other)
            fronts.append(Front(trials[0].method, trials[0].seed, name, other_name, oracle, points))
    return fronts, failed


def _point(trial: TrialHistory, epoch: int, kept: bool) -> FrontPoint:
    at = trial.index(epoch)
    report: dict[Measure, float] = {m: float(trial.scores[m, "report"].means[at]) for m in MEASURES}
    return FrontPoint(trial.trial, trial.configuration, trial.hyperparameters, epoch, kept, report)
