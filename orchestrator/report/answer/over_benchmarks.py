"""What several benchmarks say together: which method, which strategy, and what they cannot tell."""

from collections.abc import Sequence
from math import isnan

from fsl_sweep.orchestrator.report import wording
from fsl_sweep.orchestrator.report.answer.strategies import cost
from fsl_sweep.orchestrator.report.content import Answer, BenchmarksContent
from fsl_sweep.orchestrator.report.wording import some
from fsl_sweep.orchestrator.selection.comparing.over_benchmarks import (
    ALL_EQUAL,
    OverBenchmarks,
    StrategyOverBenchmarks,
)
from fsl_sweep.orchestrator.selection.results import Strategy
from fsl_sweep.orchestrator.statistics import Interval
from fsl_sweep.orchestrator.statistics.sign_flips import LEAST_ROWS
from fsl_sweep.orchestrator.text.printed import counted


def answer_over_benchmarks(report: BenchmarksContent) -> Answer:
    """Return what the records of several benchmarks answer."""
    over, lead = report.over, report.lead
    if over is None or lead is None:
        return Answer(("Nothing can be said over benchmarks: no strategy chose in all of them.",))
    order = sorted(over.methods, key=lambda cell: -cell.mean.mean)
    tied = [c.method for c in order if round(order[0].mean.mean - c.mean.mean, 9) == 0]
    best = tied[0] if len(tied) == 1 else None
    against = {
        pair.b if pair.a == best else pair.a: pair.result
        for pair in over.differences
        if best in (pair.a, pair.b)
    }
    better = bool(against) and all(r.verdict in ("better", "worse") for r in against.values())
    decided = better and report.complete and not lead.oracle and not over.absent
    absent = some(list(dict.fromkeys(m for methods in over.absent.values() for m in methods)))
    benchmarks = counted(len(over.benchmarks), "benchmark")
    under = f"under {lead}, over {benchmarks}"
    so_far = "" if report.complete else "So far, "
    methods = ""
    if len(order) < 2 and over.absent:
        lacking = f"not every benchmark has {absent} under {lead}"
        methods = f"No two methods can be compared over these benchmarks: {lacking}."
    elif len(order) > 1 and best is None:
        methods = f"{so_far}{some(tied)} have the same mean {under}."
    elif len(order) > 1:
        second, effect = order[1].method, against[order[1].method].effect
        gap, ends = f"{wording.points(abs(effect.mean))} points", _ends(effect)
        if not decided:
            leads = f"{best} leads {second} by {gap} under {lead} on average over {benchmarks}"
            why = _why_not(report, lead, absent, over.diverged.get(tied[0]))
            methods = f"{so_far}{leads}{ends}{why}."
        elif len(order) == 2:
            methods = f"{best} is better than {second} by {gap} {under}{ends}."
        else:
            text = f"{best} is the best of {len(order)} methods {under}"
            methods = f"{text}: {gap} above {second}, the next{ends}."
    strategies = _strategies(over, lead, report.base_weight is not None)
    return Answer(
        sentences=tuple(filter(None, [methods, *strategies])),
        best=None if lead.oracle else best,
        decided=decided,
        strategy=lead,
    )


def _why_not(report: BenchmarksContent, lead: Strategy, absent: str, lost: str | None) -> str:
    """Say why the benchmarks do not decide which method is best."""
    if not report.complete:
        return "; incomplete benchmarks decide nothing"
    if lead.oracle:
        return ", where novel scores choose: a reference, not a result"
    if absent:
        return f"; not every benchmark has {absent}: nothing is decided"
    if lost:
        return f"; {lost}, so that nothing is decided in its favour"
    return ", which does not decide which method is best"


def _ends(effect: Interval) -> str:
    """Write the interval of the better minus the worse method; two benchmarks have none."""
    if effect.caution == ALL_EQUAL:
        return f" ({ALL_EQUAL})"
    mean, half = abs(effect.mean), (effect.high - effect.low) / 2
    ends = f"{100 * (mean - half):.1f} to {100 * (mean + half):.1f}"
    return "" if isnan(half) else f" (95 % over benchmarks: {ends})"


def _strategies(over: OverBenchmarks, lead: Strategy, mixture: bool) -> list[str]:
    usual = {cell.strategy: cell for cell in over.strategies if not cell.strategy.oracle}
    if lead not in usual:
        return []
    regrets = {s: round(cell.regret.mean, 12) + 0.0 for s, cell in usual.items()}
    text = f"{cost(lead, regrets, mixture)}.{_accuracy(over, usual[lead])}"
    return [text, "" if over.caution else _verdict(over, [*usual.values()])]


def _accuracy(over: OverBenchmarks, cell: StrategyOverBenchmarks) -> str:
    if cell.accuracy is None:
        return ""
    benchmarks = f"{len(cell.accuracies)} of {counted(len(over.benchmarks), 'benchmark')}"
    ends = [min(1.0, max(0.0, end)) for end in (cell.accuracy.low, cell.accuracy.high)]
    known = not isnan(cell.accuracy.low) and ends[0] < ends[1]
    scale = f"; 95 %: {100 * ends[0]:.0f} to {100 * ends[1]:.0f}" if known else ""
    return (
        f" Of two methods it picks the better one in {100 * cell.accuracy.mean:.0f} % of cases "
        f"(mean of the {benchmarks} with a difference{scale}); chance is 50 %."
    )


def _verdict(over: OverBenchmarks, usual: Sequence[StrategyOverBenchmarks]) -> str:
    """Say whether some strategy is worse than the one of least regret."""
    tested = {cell.strategy: cell.against_least for cell in usual if cell.against_least}
    if worse := [str(s) for s, result in tested.items() if result.verdict == "worse"]:
        return f"Do not choose by {some(worse)}: more regret than the least, by more than chance."
    if len(usual) < 2:
        return ""
    if not tested:
        benchmarks = counted(len(over.benchmarks), "benchmark")
        return f"{benchmarks} cannot tell which strategy is better ({LEAST_ROWS} are needed)."
    return "These benchmarks do not show that one strategy is better than another."
