"""The parts of the JSON report on uncertainty: resampling, stability, fronts and budgets."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from fsl_sweep.orchestrator.budget_curve import BudgetPoint
from fsl_sweep.orchestrator.report.content import Report
from fsl_sweep.orchestrator.resampled import ResampledCell
from fsl_sweep.orchestrator.selected import Front, Strategy
from fsl_sweep.orchestrator.stability import Agreement, Stability
from fsl_sweep.orchestrator.statistics import Interval, SelectionBootstrap


def interval(one: Interval | None) -> dict[str, Any] | None:
    """``{"mean", "low", "high", "n"}``; null for what there is not or is not known."""
    if one is None:
        return None
    return {
        "mean": number(one.mean),
        "low": number(one.low),
        "high": number(one.high),
        "n": one.n or None,
    }


def number(value: float) -> float | None:
    """The number itself, or null for what JSON has no number for."""
    return value if math.isfinite(value) else None


def strategy_names(strategy: Strategy) -> dict[str, str]:
    """How every part of the report names a strategy."""
    return {
        "snapshot_selector": strategy.snapshot,
        "hyperparameter_selector": strategy.hyperparameter,
    }


def bootstrap(one: SelectionBootstrap | None) -> dict[str, Any] | None:
    """The interval that includes the selection; null where nothing was resampled."""
    if one is None:
        return None
    return {
        "mean": number(one.mean),
        "low": number(one.low),
        "high": number(one.high),
        "n": one.n,
        "standard_error": number(one.standard_error),
        "resamples": one.resamples,
        "over": one.over,
        "changed": one.changed,
        "caution": one.caution,
    }


def stability(one: Stability, accuracy: str) -> dict[str, Any]:
    """What one strategy's ranking survives; ``accuracy`` names what it is by."""
    return {
        **strategy_names(one.strategy),
        "methods": [
            {
                "method": method.method,
                accuracy: method.mean,
                "worst": method.worst,
                "worst_seed": method.worst_seed,
                "probability_best": method.probability_best,
            }
            for method in one.methods
        ],
        "by_worst": list(one.by_worst),
        "seeds": _agreement(one.seeds),
        "tasks": _agreement(one.tasks),
        "strategies": _agreement(one.strategies),
    }


def front(one: Front) -> dict[str, Any]:
    """All configurations of a replicate, and which are on the front."""
    return {
        "method": one.method,
        "seed": one.seed,
        "snapshot_selector": one.snapshot,
        "hyperparameter_selector": one.selector,
        "oracle": one.oracle,
        "points": [
            {
                "trial": point.trial,
                "configuration": point.configuration,
                "hyperparameters": dict(point.hyperparameters),
                "epoch": point.epoch,
                "on_front": point.kept,
                **{measure: number(value) for measure, value in point.report.items()},
            }
            for point in one.points
        ],
    }


def budget(one: BudgetPoint) -> dict[str, Any]:
    """The regret that one budget leaves."""
    return {
        "method": one.method,
        "snapshot_selector": one.snapshot,
        "allocation": one.allocation,
        "budget": one.budget,
        "novel_evaluations": one.evaluations,
        "regret": interval(one.regret),
    }


def mixed(
    report: Report, resampled: Mapping[tuple[str, Strategy], ResampledCell]
) -> dict[str, Any] | None:
    """The table by a mixture; null where that was not asked for."""
    if report.base_weight is None:
        return None
    again = {of: cell.mixed for of, cell in resampled.items()}
    return {
        "base_weight": report.base_weight,
        "summary": [
            {
                "method": one.method,
                **strategy_names(one.strategy),
                "seeds": interval(one.reported),
                "tasks": interval(one.reported_tasks),
                "selection": bootstrap(again.get((one.method, one.strategy))),
            }
            for one in report.summaries
        ],
        "rankings": [
            {**strategy_names(one.strategy), "methods": list(one.methods)}
            for one in report.rankings
        ],
    }


def by_cell(cells: Sequence[ResampledCell]) -> Mapping[tuple[str, Strategy], ResampledCell]:
    """Resampled cells by method and strategy."""
    return {(cell.method, cell.strategy): cell for cell in cells}


def _agreement(one: Agreement | None) -> dict[str, Any] | None:
    return None if one is None else {"same": one.same, "of": one.of, "tau": number(one.tau)}
