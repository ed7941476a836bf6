"""What diverged, in words: which configurations, and in which seeds nothing else was left."""

from collections.abc import Iterable

from fsl_sweep.orchestrator.report import wording
from fsl_sweep.orchestrator.report.content import RunContent
from fsl_sweep.orchestrator.report.wording import some
from fsl_sweep.orchestrator.selection.completeness import Divergence
from fsl_sweep.orchestrator.selection.results import Strategy
from fsl_sweep.orchestrator.text.printed import counted

EACH = 2
"""Of so many methods the configurations that diverged are named; of more, how many."""


def what_diverged(report: RunContent, strategy: Strategy | None) -> Iterable[str]:
    """Yield a sentence of each method with lost seeds, then of the configurations of the others."""
    divergence, selected = report.completeness.divergence, report.selected
    lost = dict.fromkeys(divergence, 0)
    for (method, by), seeds in selected.diverged.items():
        if by == strategy or strategy is None:
            lost[method] = len(seeds)
    without = [method for method in divergence if lost[method] == _seeds(report, method)]
    if without:
        have = "has no result" if len(without) == 1 else "have no result"
        yield f"{some(without)} diverged in every seed and {have}."
    for method, count in lost.items():
        if count and method not in without:
            of = counted(_seeds(report, method), "seed")
            yield (
                f"{method} diverged in {count} of {of}: its numbers are of the others, which "
                "flatters it."
            )
    rest = {method: each for method, each in divergence.items() if not lost[method]}
    if len(rest) <= EACH:
        yield from (_configurations(report, method, each) for method, each in rest.items())
    else:
        rates = [f"{name} ({each.trials} of {each.of} trials)" for name, each in rest.items()]
        yield f"Configurations of {len(rest)} methods diverged and lose: {some(rates)}."


def lost_everywhere(report: RunContent, strategy: Strategy) -> list[str]:
    """Return the methods that diverged in every seed under a strategy."""
    diverged = report.selected.diverged
    return [
        method
        for method in report.completeness.seeds
        if len(diverged.get((method, strategy), ())) == _seeds(report, method)
    ]


def _seeds(report: RunContent, method: str) -> int:
    return report.completeness.seeds[method][1]


def _configurations(report: RunContent, method: str, divergence: Divergence) -> str:
    """Say ``1 of 12 configurations of PN diverged (lr=1e+30); it is a candidate that loses.``."""
    count, every = len(divergence.configurations), divergence.of_configurations
    text, named = f"{method} diverged", ""
    if every > 1:
        text = f"{count} of {counted(every, 'configuration')} of {text}"
        named = f" ({some(list(map(wording.values, divergence.configurations)))})"
    partly = len(divergence.seeds) < _seeds(report, method)
    if partly:
        text += f" in {len(divergence.seeds)} of {counted(_seeds(report, method), 'seed')}"
    loses = "it is a candidate that loses" if count == 1 else "they are candidates that lose"
    if divergence.snapshots:
        its = "its" if count == 1 else "their"
        return f"{text}{named}; only strategies that read scores may choose {its} snapshots."
    return f"{text}{named}; {'there ' if partly else ''}{loses}."
