"""Strategies over all methods, in words: which to trust, and what it costs."""

from fsl_sweep.orchestrator.printed import counted
from fsl_sweep.orchestrator.report import wording
from fsl_sweep.orchestrator.report.content import Report
from fsl_sweep.orchestrator.statistics.sign_flips import LEAST_ROWS
from fsl_sweep.orchestrator.strategies import StrategyComparison, StrategyResult

KEY = "trust"
TITLE = "Strategies over all methods"

GIVE_WAY = ("p", "worst", "evals", "methods", "seeds", "training")
"""Columns without which the table may do where there is no room."""


def cells(report: Report, one: StrategyResult) -> dict[str, str]:
    """The numbers of a row by the title of their column; strategies that share it have the same."""
    found = report.over_methods
    over = "methods" if len(found.methods) > 1 else "seeds"
    row = {
        "regret": wording.percent(one.regret.mean),
        over: wording.spread(one.regret, one.regrets),
        "worst": wording.percent(one.worst),
        "evals": str(one.novel_evaluations),
        "training": f"{one.training:.1f} x",
    }
    if not _has_verdicts(found):
        return row
    against = one.against_least
    verdict = "least" if one.least else "-" if against is None else against.verdict
    p = "-" if against is None else f"{against.p_adjusted:.3g}"
    return row | {"vs least": verdict, "p": p}


def leads(report: Report, one: StrategyResult) -> bool:
    """Whether to set it off as the least: where others are compared with it."""
    return one.least and _has_verdicts(report.over_methods)


def note(report: Report, bold: bool = True) -> str:
    """What the columns mean, and what the verdicts do not say; ``bold`` is there to be named."""
    found = report.over_methods
    return (
        f"Regret in percentage points, {_mean_over(found)}; worst: of the worst seed of a method. "
        "evals: of all methods and seeds. training: epochs of the full trials, and of their class "
        "folds where the strategy reads them, against the full trials alone. "
        f"{_verdicts(found, bold)}"
    ).rstrip()


def left_out(report: Report) -> list[str]:
    """Strategies and methods that cannot be compared, and why."""
    found = report.over_methods
    lines: list[str] = []
    if found.without_regret:
        lines.append(
            "Strategies are not compared over all methods, because oracle / oracle has nothing to "
            f"choose by, so that the regret is not known: {', '.join(found.without_regret)}."
        )
    alike: dict[tuple[str, ...], list[str]] = {}
    for strategy, methods in found.lacking:
        alike.setdefault(methods, []).append(str(strategy))
    for methods, strategies in alike.items():
        without = "every method" if methods == found.methods else " and ".join(methods)
        lines.append(f"Not compared, because {without} lacks them: {', '.join(strategies)}.")
    return lines


def _has_verdicts(found: StrategyComparison) -> bool:
    return any(one.against_least is not None for one in found.results)


def _mean_over(found: StrategyComparison) -> str:
    """What the mean is over, and what is said of its spread."""
    one = found.results[0]
    if len(found.methods) > 1:
        over, column = f"{len(found.methods)} methods (each the mean over its seeds)", "methods"
    else:
        over, column = f"{counted(len(one.regrets), 'seed')} of {one.choices[0].method}", "seeds"
    return f"mean over {over}; {column}: {wording.what_spread(len(one.regrets))}"


def _verdicts(found: StrategyComparison, bold: bool) -> str:
    if _has_verdicts(found):
        return (
            "vs least: whether it is worse than the least mean regret of the strategies that are "
            f"no oracles{' (bold)' if bold else ''}, paired over methods at 95 %, with p adjusted "
            "for all pairs of strategies, because these same numbers found the least. `undecided` "
            "does not mean equally good."
        )
    usual = sum(not one.strategy.oracle for one in found.results)
    if usual < 2 or len(found.methods) >= LEAST_ROWS:
        return ""
    here = "is one" if len(found.methods) == 1 else f"are {len(found.methods)}"
    return (
        "Whether one strategy is better than another cannot be told from so few methods: seeds of "
        f"one method are no further methods, and a verdict takes {LEAST_ROWS} of them; here {here}."
    )
