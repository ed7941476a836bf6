"""The comparisons of methods: verdicts on the snapshots that were chosen, and rankings."""

from collections.abc import Iterable

from fsl_sweep.orchestrator.report import wording
from fsl_sweep.orchestrator.report.content import Report
from fsl_sweep.orchestrator.report.document.blocks import (
    Block,
    Bullets,
    Group,
    Paragraph,
    Row,
    Table,
    numbers,
    words,
)
from fsl_sweep.orchestrator.selection.comparison import MethodComparison


def comparisons(report: Report) -> Iterable[Block]:
    """Every pair of methods under each strategy, and how the means rank the methods."""
    if not report.comparisons:
        return
    pairs: dict[tuple[str, str], list[MethodComparison]] = {}
    for one in report.comparisons:
        pairs.setdefault((one.a, one.b), []).append(one)
    groups = [Group(f"{a} vs {b}", tuple(_pair(own))) for (a, b), own in pairs.items()]
    columns = words("snapshot / config", "these snapshots")
    columns += numbers(["difference", "low", "high", "p (Holm)"])
    yield Table(columns, tuple(groups))
    yield Paragraph(_explained(report), "note")
    of = "" if report.base_weight is None else f" of {wording.mixture(report.base_weight)}"
    ranked = f"Means{of} rank these snapshots of the methods"
    if report.ranking_survives is not False:
        order = " > ".join(report.rankings[0].methods)
        decided = sum(c.result.verdict in ("better", "worse") for c in report.comparisons)
        yield Paragraph(
            f"{ranked} alike under every strategy, {order}; in {decided} of "
            f"{len(report.comparisons)} comparisons they differ."
        )
        return
    yield Paragraph(f"{ranked} differently from strategy to strategy:", "alarm")
    orders: dict[tuple[str, ...], list[str]] = {}
    for one in report.rankings:
        mark = wording.ORACLE if one.strategy.oracle else ""
        orders.setdefault(one.methods, []).append(f"{one.strategy}{mark}")
    yield Bullets(tuple(f"{' > '.join(k)}: {', '.join(names)}" for k, names in orders.items()))


def _pair(own: list[MethodComparison]) -> Iterable[Row]:
    """Strategies with the same result share a row; oracles have their own."""
    alike: dict[tuple[bool, tuple[str, ...]], list[MethodComparison]] = {}
    for one in own:
        found, effect = one.result, one.result.effect
        points = [f"{100 * end:+.2f}" for end in (effect.mean, effect.low, effect.high)]
        cells = (found.verdict, *points, f"{found.p_adjusted:.3g}")
        alike.setdefault((one.strategy.oracle, cells), []).append(one)
    for (oracle, cells), group in alike.items():
        name = wording.strategies([one.strategy for one in group])
        yield Row((name, *cells), "reference" if oracle else "")


def _explained(report: Report) -> str:
    """What the verdicts are, and where to read about training again."""
    paired = "paired on the common report tasks, in percentage points; "
    if report.base_weight is not None:
        paired = (
            f"by {wording.full_mixture(report.base_weight)}: differences are paired on the common "
            "report tasks of each of the two, which were sampled separately, and their variances "
            "add (degrees of freedom are Welch's); in percentage points; "
        )
    if max(summary.novel.n for summary in report.summaries) == 1:
        again = "that takes more than one seed"
    else:
        again = "`select` above does"
        if not report.resampled:
            again = "`select` does, with `--bootstrap 1000`"
    return (
        "Whether these snapshots differ, those chosen of the first method from those of the "
        f"second, {paired}verdicts at 95 % after Holm's correction over the pairs of a strategy. "
        f"They say nothing about training the methods again: {again}."
    )
