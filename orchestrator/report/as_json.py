"""The report as JSON: for machines, and byte-identical for identical records.

Wall-clock times, hosts and dates are left out on purpose.
"""

import json
from collections.abc import Mapping
from typing import Any

from fsl_sweep.orchestrator.comparison import MethodComparison
from fsl_sweep.orchestrator.report.content import Problem, Report
from fsl_sweep.orchestrator.report.uncertainty_json import (
    bootstrap,
    budget,
    by_cell,
    front,
    interval,
    mixed,
    number,
    stability,
    strategy_names,
)
from fsl_sweep.orchestrator.resampled import ResampledCell
from fsl_sweep.orchestrator.selection import LeftOut, Selection, Strategy
from fsl_sweep.orchestrator.strategies import StrategyComparison, StrategyResult
from fsl_sweep.orchestrator.summary import Summary, TrialRankCorrelation


def to_json(report: Report) -> str:
    """The report as indented JSON text with sorted keys, ending in a newline.

    An interval is ``{"mean", "low", "high", "n"}``; accuracies are in [0, 1]; what cannot be
    computed is null, as are ``low``, ``high`` and ``n`` where records hold a mean alone.
    """
    return json.dumps(to_plain(report), indent=1, sort_keys=True, allow_nan=False) + "\n"


def to_plain(report: Report) -> dict[str, Any]:
    """The same as plain data."""
    resampled, metric = by_cell(report.resampled), _metric(report)
    return {
        "run": _run(report),
        "selections": [_selection(one) for one in report.selected.selections],
        "summary": [_summary(one, resampled) for one in report.summaries],
        "strategies": _strategies(report.over_methods),
        "rank_correlation": [_rank_correlation(one) for one in report.rank_correlations],
        "comparisons": [_comparison(one) | metric for one in report.comparisons],
        "cautions": list(report.cautions),
        "stability": [stability(one, _accuracy(report)) | metric for one in report.stability],
        "fronts": [front(one) for one in report.selected.fronts],
        "budget_curve": [budget(one) for one in report.budget_curve],
        "mixture": mixed(report, resampled),
    }


def _metric(report: Report) -> dict[str, str]:
    """What comparisons, rankings and stability are by; NovelGen, the rule, goes without saying."""
    return {} if report.base_weight is None else {"metric": report.info.metric}


def _accuracy(report: Report) -> str:
    return "novel" if report.base_weight is None else "mixture"


def _run(report: Report) -> dict[str, Any]:
    info, found, metric = report.info, report.completeness, _metric(report)
    return metric | {
        "name": info.name,
        "complete": found.complete,
        "planned": found.planned,
        "done": found.done,
        "failed": found.failed,
        "missing": found.missing,
        "stopped_by_budget": found.budget,
        "problems": [_problem(one) for one in found.problems],
        "left_out": [_left_out(one) for one in report.left_out],
        "sweep": info.sweep_hash,
        "fingerprint": info.fingerprint,
        "methods": list(report.selected.methods),
        "selectors": {kind: list(map(dict, one)) for kind, one in report.selectors.items()},
        "parts": dict(info.parts),
        "rankings": [
            {**strategy_names(one.strategy), "methods": list(one.methods), **metric}
            for one in report.rankings
        ],
        "ranking_survives": report.ranking_survives,
    }


def _problem(one: Problem) -> dict[str, Any]:
    return {
        "method": one.method,
        "trial": one.trial,
        "seed": one.seed,
        "fold": one.fold,
        "hyperparameters": dict(one.hyperparameters),
        "reason": one.reason,
    }


def _left_out(one: LeftOut) -> dict[str, Any]:
    return {
        "method": one.method,
        "seed": one.seed,
        "fold": one.fold,
        "trial": one.trial,
        "hyperparameters": None if one.hyperparameters is None else dict(one.hyperparameters),
        "snapshot_selector": one.snapshot_selector,
        "hyperparameter_selector": one.hyperparameter_selector,
        "reason": one.reason,
    }


def _selection(one: Selection) -> dict[str, Any]:
    return {
        "method": one.method,
        "seed": one.seed,
        **strategy_names(one.strategy),
        "trial": one.trial,
        "configuration": one.configuration,
        "hyperparameters": dict(one.hyperparameters),
        "epoch": one.epoch,
        "base": interval(one.base),
        "val": interval(one.val),
        "novel": interval(one.novel),
        "regret": number(one.regret),
        "novel_evaluations": one.novel_evaluations,
    }


def _summary(
    one: Summary, resampled: Mapping[tuple[str, Strategy], ResampledCell]
) -> dict[str, Any]:
    cell = resampled.get((one.method, one.strategy))
    return {
        "method": one.method,
        **strategy_names(one.strategy),
        "oracle": one.strategy.oracle,
        "base": interval(one.base),
        "val": interval(one.val),
        "novel": interval(one.novel),
        "novel_tasks": interval(one.novel_tasks),
        "novel_selection": None if cell is None else bootstrap(cell.result),
        "regret": interval(one.regret),
        "novel_evaluations": one.novel_evaluations,
        "caution": one.novel.caution,
    }


def _strategies(found: StrategyComparison) -> dict[str, Any]:
    return {
        "methods": list(found.methods),
        "without_regret": list(found.without_regret),
        "lacking": [
            {**strategy_names(strategy), "methods": list(methods)}
            for strategy, methods in found.lacking
        ],
        "table": [_strategy(one) for one in found.results],
    }


def _strategy(one: StrategyResult) -> dict[str, Any]:
    verdict = one.against_least
    return {
        **strategy_names(one.strategy),
        "oracle": one.strategy.oracle,
        "regret": interval(one.regret),
        "worst": one.worst,
        "novel_evaluations": one.novel_evaluations,
        "training": one.training,
        "least": one.least,
        "against_least": verdict
        and {
            "verdict": verdict.verdict,
            "effect": interval(verdict.effect),
            "p_value": number(verdict.p_value),
            "p_adjusted": number(verdict.p_adjusted),
        },
        "caution": one.caution,
    }


def _rank_correlation(one: TrialRankCorrelation) -> dict[str, Any]:
    return {
        "method": one.method,
        "trial": one.trial,
        "seed": one.seed,
        "measure": one.measure,
        "tau": number(one.result.tau),
        "n": one.result.n,
        "last": one.result.last,
        "caution": one.result.caution,
    }


def _comparison(one: MethodComparison) -> dict[str, Any]:
    return {
        **strategy_names(one.strategy),
        "a": one.a,
        "b": one.b,
        "verdict": one.result.verdict,
        "effect": interval(one.result.effect),
        "about": "these snapshots",
        "over": "tasks",
        "p_value": number(one.result.p_value),
        "p_adjusted": number(one.result.p_adjusted),
        "rope": one.result.rope,
        "order_survives": one.survives,
        "caution": one.result.caution,
    }
