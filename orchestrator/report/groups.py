"""Strategies that come to the same thing: shown once, with all of their names."""

from collections.abc import Sequence

from fsl_sweep.orchestrator.comparison import MethodComparison
from fsl_sweep.orchestrator.selected import Strategy
from fsl_sweep.orchestrator.statistics.ties import comparable
from fsl_sweep.orchestrator.strategies import StrategyResult
from fsl_sweep.orchestrator.summary import Summary

ORACLE = "*"

Alike = Sequence[Summary] | Sequence[MethodComparison] | Sequence[StrategyResult]


def same_choices(summaries: Sequence[Summary]) -> list[tuple[Summary, ...]]:
    """Cells of a method in groups, in order, that chose alike for every seed at the same cost.

    Their numbers are equal but for those of the repeated selection. An oracle never shares a group
    with what is none.
    """
    groups: dict[object, list[Summary]] = {}
    for one in summaries:
        chosen = tuple((choice.seed, choice.trial, choice.epoch) for choice in one.choices)
        key = (one.method, chosen, one.novel_evaluations, one.strategy.oracle)
        groups.setdefault(key, []).append(one)
    return [tuple(group) for group in groups.values()]


def best_of(summaries: Sequence[Summary]) -> float | None:
    """The best of the strategies that are no oracles, as ``comparable``; None without any."""
    usual = [one.reported.mean for one in summaries if not one.strategy.oracle]
    return float(comparable(usual).max()) if usual else None


def same_results(comparisons: Sequence[MethodComparison]) -> list[tuple[MethodComparison, ...]]:
    """Strategies in groups, in order, that come to the same result for every pair of methods.

    Each stands for itself by its first comparison. An oracle never shares a group with what is
    none.
    """
    own: dict[Strategy, list[MethodComparison]] = {}
    for one in comparisons:
        own.setdefault(one.strategy, []).append(one)
    groups: dict[object, list[MethodComparison]] = {}
    for strategy, found in own.items():
        key = (strategy.oracle, *((one.a, one.b, one.result) for one in found))
        groups.setdefault(key, []).append(found[0])
    return [tuple(group) for group in groups.values()]


def same_everywhere(results: Sequence[StrategyResult]) -> list[tuple[StrategyResult, ...]]:
    """Strategies in groups, in order, that chose alike for every replicate at the same cost.

    An oracle never shares a group with what is none.
    """
    groups: dict[object, list[StrategyResult]] = {}
    for one in results:
        chosen = tuple((choice.method, choice.trial, choice.epoch) for choice in one.choices)
        cost = one.novel_evaluations, one.training
        groups.setdefault((chosen, cost, one.strategy.oracle), []).append(one)
    return [tuple(group) for group in groups.values()]


def names(group: Alike, width: int) -> tuple[list[str], list[str]]:
    """Snapshot and hyperparameter selectors of a group, as lines of two columns.

    One snapshot selector a line, with all of its hyperparameter selectors beside it; the second
    column is broken so that it stays within ``width`` where single names do.
    """
    first: list[str] = []
    second: list[str] = []
    mark = ORACLE if group[0].strategy.oracle else ""
    for snapshot in dict.fromkeys(one.strategy.snapshot for one in group):
        own = [one.strategy.hyperparameter for one in group if one.strategy.snapshot == snapshot]
        lines = _broken([name + mark for name in own], width)
        first += [snapshot] + [""] * (len(lines) - 1)
        second += lines
    return first, second


def one_line(group: Alike) -> list[str]:
    """The strategies of a group, a line for each snapshot selector: ``val / base, val``."""
    first, second = names(group, 10**6)
    return [f"{one} / {other}" for one, other in zip(first, second, strict=True)]


def _broken(parts: Sequence[str], width: int) -> list[str]:
    lines = [parts[0]]
    for part in parts[1:]:
        if len(lines[-1]) + len(part) + 2 <= width:
            lines[-1] += f", {part}"
        else:
            lines[-1] += ","
            lines.append(part)
    return lines
