"""The report as JSON: for machines, and byte-identical for identical records.

Wall-clock times, hosts and dates are left out on purpose. Records are walked field by field;
``_LEFT_OUT``, ``_ADDED`` and ``_RENAMED`` say where the documented format differs from them.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

from fsl_sweep.orchestrator.records.measures import MEASURES
from fsl_sweep.orchestrator.records.model import Model
from fsl_sweep.orchestrator.records.protocol import PlannedProtocol
from fsl_sweep.orchestrator.records.snapshot import Snapshot
from fsl_sweep.orchestrator.report.answer.answer import Answer, answer_of
from fsl_sweep.orchestrator.report.answer.deciding import WAYS
from fsl_sweep.orchestrator.report.cautions import cautions_of
from fsl_sweep.orchestrator.report.content import BenchmarksContent, Content, RunContent
from fsl_sweep.orchestrator.selection.comparing.comparison import same_order
from fsl_sweep.orchestrator.selection.comparing.power import SampleSize
from fsl_sweep.orchestrator.selection.comparing.stability import Stability
from fsl_sweep.orchestrator.selection.comparing.strategies import StrategyResult
from fsl_sweep.orchestrator.selection.ensembles import Ensemble
from fsl_sweep.orchestrator.selection.methods import Summary, by_method
from fsl_sweep.orchestrator.selection.results import Front, Selection, Strategy
from fsl_sweep.orchestrator.statistics import (
    Comparison,
    Interval,
    PairComponents,
    SelectionBootstrap,
)

_LEFT_OUT: Mapping[type, set[str]] = {
    Ensemble: {"by_seed"},
    Front: {"kept"},
    SampleSize: {"seconds"},
    PairComponents: {"pilot"},
    Interval: {"confidence", "kind", "caution"},
    Selection: {"means", "scores", "base_weight", "by_score"},
    SelectionBootstrap: {"confidence"},
    Strategy: {"oracle", "cross_validated", "among_finalists"},
    StrategyResult: {"regrets", "choices"},
    Summary: {"choices"},
}
_ADDED: Mapping[type, tuple[str, ...]] = {
    Selection: ("method", "seed", "base", "val", "novel"),
    Summary: ("base", "val", "novel_tasks"),
}
_RENAMED = {
    "snapshot": "snapshot_selector",
    "hyperparameter": "hyperparameter_selector",
    "selector": "hyperparameter_selector",
    "required": "needed",
    "evaluations": "novel_evaluations",
}
_INLINE = {"strategy", "result"}
"""Fields that are replaced by their own fields."""


def to_json(report: Content) -> str:
    """Return the report as indented JSON text with sorted keys, ending in a newline.

    An interval is ``{"mean", "low", "high", "n"}``; accuracies are in [0, 1]; what cannot be
    computed is null, as are ``low``, ``high`` and ``n`` where records hold only a mean.
    """
    return json_text(to_plain(report))


def json_text(value: Any, sort_keys: bool = True) -> str:
    """Return plain data as indented JSON text, ending in a newline."""
    return json.dumps(value, indent=1, sort_keys=sort_keys, allow_nan=False) + "\n"


def to_plain(report: Content) -> dict[str, Any]:
    """Return the same as plain data."""
    if isinstance(report, BenchmarksContent):
        return _benchmarks(report)
    # What comparisons, rankings and stability are by; NovelGen, the rule, goes without saying.
    metric = {} if report.base_weight is None else {"metric": report.info.metric}
    over = report.over_methods
    protocols = sorted(report.over_protocols, key=lambda under: under.planned.id)
    measures = ("base", "val", "novel", "novel_tasks")
    snapshots, same = {"about": "these snapshots", "over": "tasks"}, same_order(report.comparisons)
    return {
        "answer": _answer(answer_of(report, timed=False)),
        "run": _run(report, metric),
        "protocols": [_protocol(under.planned) for under in protocols],
        "over_protocols": [
            {"method": cell.method, "protocol": under.planned.id, **plain(cell.strategy)}
            | {measure: plain(getattr(cell, measure)) for measure in measures}
            for under in protocols
            for cell in under.summaries
        ],
        "selections": plain(report.selected.selections),
        "summary": [_summary(report, cell) for cell in report.summaries],
        "strategies": {
            "methods": plain(over.methods),
            "without_regret": plain(over.without_regret),
            "lacking": [plain(strategy) | {"methods": [*lack]} for strategy, lack in over.lacking],
            "table": [_strategy(result) for result in over.results],
        },
        "overtuning": [plain(cell) | metric for cell in report.overtuning],
        "rank_correlation": plain(report.rank_correlations),
        "rank_correlation_by_method": plain(by_method(report.rank_correlations)),
        "differences": [plain(pair) | metric for pair in report.differences],
        "comparisons": [
            plain(pair) | {"order_survives": (pair.a, pair.b) in same} | snapshots | metric
            for pair in report.comparisons
        ],
        "cautions": list(cautions_of(report)),
        "stability": [_stability(cell, metric) for cell in report.stability],
        "ensembles": plain(report.ensembles),
        "fronts": [_front(front) for front in report.selected.fronts],
        "budget_curve": plain(report.budget_curve),
        "mixture": _mixture(report),
    }


def _benchmarks(report: BenchmarksContent) -> dict[str, Any]:
    """Return what several benchmarks say together, and the report of each."""
    keys = ("methods", "differences", "strategies", "lacking", "absent", "caution")
    together: dict[str, Any] = {key: [] for key in keys} | {"absent": {}, "caution": None}
    if (over := report.over) is not None:
        together = {key: plain(getattr(over, key)) for key in keys}
        together["differences"] = [
            {"a": pair.a, "b": pair.b, **plain(pair.result), "over": "benchmarks"}
            for pair in over.differences
        ]
        for known, cell in zip(together["strategies"], over.strategies, strict=True):
            known |= _marks(cell.strategy)
    return {
        "answer": {"sentences": list(answer_of(report).sentences)},
        "over_benchmarks": together | {"strategy": plain(report.lead)},
        "benchmarks": {name: to_plain(content) for name, content in report.reports.items()},
    }


def _answer(answer: Answer) -> dict[str, Any]:
    known = {field.name: plain(getattr(answer, field.name)) for field in fields(answer)}
    for need in known["needs"]:
        need["ways"].sort(key=lambda way: WAYS.index(way["what"]))
    return known


def _summary(report: RunContent, cell: Summary) -> dict[str, Any]:
    repeated = report.repeated.get((cell.method, cell.strategy))
    return plain(cell) | {
        **_marks(cell.strategy),
        "draws_nothing": cell.draws_nothing,
        "caution": cell.novel.caution,
        "novel_selection": plain(repeated and repeated.result),
    }


def _mixture(report: RunContent) -> dict[str, Any] | None:
    """Return the table by a mixture; null where that was not asked for."""
    if report.base_weight is None:
        return None
    summary = [
        {"method": cell.method, "seeds": plain(cell.reported), "tasks": plain(cell.reported_tasks)}
        | plain(cell.strategy)
        | {"selection": plain(report.interval_of(cell))}
        for cell in report.summaries
    ]
    rankings = plain(report.rankings)
    return {"base_weight": report.base_weight, "summary": summary, "rankings": rankings}


def _run(report: RunContent, metric: Mapping[str, str]) -> dict[str, Any]:
    info, completeness = report.info, report.completeness
    counts = ("complete", "planned", "done", "diverged", "failed", "missing", "unmeasured")
    problem = ("method", "trial", "seed", "fold", "hyperparameters", "reason")
    return {
        "name": info.name,
        **{key: getattr(completeness, key) for key in counts},
        "divergence": plain(completeness.divergence),
        **({"early_stopping": plain(completeness.early)} if completeness.early else {}),
        "stopped_by_budget": completeness.budget,
        "stopped_before_snapshot": completeness.stopped_early,
        **({"proposed": plain(completeness.proposed)} if completeness.proposed else {}),
        "protocol": info.protocol and _protocol(info.protocol),
        "chosen_by": info.chosen_by and _protocol(info.chosen_by),
        "problems": [
            {key: plain(getattr(gap, key)) for key in problem} for gap in completeness.problems
        ],
        "left_out": plain(report.left_out),
        "sweep": info.sweep_hash,
        "fingerprint": info.fingerprint,
        "methods": plain(report.selected.methods),
        "selectors": plain(report.selectors),
        "parts": plain(info.parts),
        "rankings": [plain(ranking) | metric for ranking in report.rankings],
        "ranking_survives": report.ranking_survives,
        **metric,
    }


def _protocol(planned: PlannedProtocol) -> dict[str, Any]:
    """Return id and content, not the name: after an edit of the sweep file another may have it."""
    protocol = planned.protocol
    return {"id": planned.id, "description": protocol.described, **protocol.canonical()}


def _strategy(result: StrategyResult) -> dict[str, Any]:
    verdict = plain(result.against_least)
    if verdict is not None:
        verdict = {key: verdict[key] for key in ("verdict", "effect", "p_value", "p_adjusted")}
    more = {**_marks(result.strategy), "caution": result.caution, "against_least": verdict}
    return plain(result) | more


def _marks(strategy: Strategy) -> dict[str, bool]:
    among = {"among_finalists": True} if strategy.among_finalists else {}
    return {"oracle": strategy.oracle, **among}


def _front(front: Front) -> dict[str, Any]:
    known = plain(front)
    for point, snapshot in zip(known["points"], front.points, strict=True):
        point |= {measure: plain(snapshot.mean(measure)) for measure in MEASURES}
        point["on_front"] = snapshot in front.kept
    return known


def _stability(stability: Stability, metric: Mapping[str, str]) -> dict[str, Any]:
    known = plain(stability) | metric
    for method in known["methods"]:
        method["mixture" if metric else "novel"] = method.pop("mean")
    return known


def plain(value: Any) -> Any:
    """Return a record as plain data, by its fields; null for what JSON has no number for."""
    if isinstance(value, Comparison):
        value = value.as_dict()
    if isinstance(value, Snapshot):
        names = ("trial", "configuration", "hyperparameters", "epoch")
        value = {name: getattr(value, name) for name in names}
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: plain(member) for key, member in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [plain(member) for member in value]
    if isinstance(value, Model):
        return value.model_dump(mode="json")
    if not is_dataclass(value):
        return value
    left_out = _LEFT_OUT.get(type(value), ())
    known: dict[str, Any] = {}
    for name in (*(field.name for field in fields(value)), *_ADDED.get(type(value), ())):
        if name not in left_out:
            member = plain(getattr(value, name))
            inline = name in _INLINE or isinstance(getattr(value, name), Snapshot)
            known |= member if inline else {_RENAMED.get(name, name): member}
    if isinstance(value, Interval):
        known["n"] = value.n or None
    return known
