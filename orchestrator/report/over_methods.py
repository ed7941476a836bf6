"""Strategies over all methods, in words: which to trust, and what it costs."""

from math import isnan

from fsl_sweep.orchestrator.printed import counted
from fsl_sweep.orchestrator.report import wording
from fsl_sweep.orchestrator.report.content import Report
from fsl_sweep.orchestrator.strategies import StrategyComparison, StrategyResult

KEY = "trust"
TITLE = "Strategies over all methods"

GIVE_WAY = ("p (Holm)", "worst", "evals", "95 %", "training")
"""Columns without which the table may do where there is no room."""


def cells(one: StrategyResult) -> dict[str, str]:
    """The numbers of a row by the title of their column; strategies that share it have the same."""
    found = one.against_least
    verdict = "least" if one.least else "-" if found is None else found.verdict
    return {
        "regret": wording.percent(one.regret.mean),
        "95 %": wording.half_width(one.regret),
        "worst": wording.percent(one.worst),
        "evals": str(one.novel_evaluations),
        "training": f"{one.training:.1f} x",
        "vs least": verdict,
        "p (Holm)": "-" if found is None or isnan(found.p_adjusted) else f"{found.p_adjusted:.3g}",
    }


def note(report: Report, bold: bool = True) -> str:
    """What the columns mean, and what the verdicts do not say; ``bold`` is there to be named."""
    found = report.over_methods
    text = (
        f"Regret in percentage points, {_replicates(found)}; 95 %: half-width of its interval; "
        "worst: of the worst replicate. evals: of all replicates. training: epochs of the full "
        "trials, and of their class folds where the strategy reads them, against the full trials "
        "alone."
    )
    compared = sum(one.against_least is not None for one in found.results)
    return f"{text} {_verdicts(found, compared, bold)}" if compared else text


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


def _replicates(found: StrategyComparison) -> str:
    count = found.results[0].regret.n
    if len(found.methods) == 1:
        return f"mean over {counted(count, 'seed')} of {found.methods[0]}"
    return f"mean over {count} replicates ({len(found.methods)} methods, each with its seeds)"


def _verdicts(found: StrategyComparison, compared: int, bold: bool) -> str:
    family = f", after Holm's correction over {compared} strategies" if compared > 1 else ""
    sample = (
        "replicates of one method resemble each other, and methods are no random sample of methods"
        if len(found.methods) > 1
        else "one method says nothing about others"
    )
    return (
        "vs least: paired verdict on NovelGen against the least mean regret of the strategies that "
        f"are no oracles{' (bold)' if bold else ''}, at 95 %{family}. That one was found by these "
        f"same numbers, and {sample}: `worse` comes too easily, and `undecided`, as usual with few "
        "seeds, does not mean equally good."
    )
