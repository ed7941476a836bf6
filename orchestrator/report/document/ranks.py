"""Kendall's tau with NovelGen by method, of one run or of several worlds."""

from collections.abc import Iterable, Mapping
from math import isnan

from fsl_sweep.orchestrator.records.measures import SHOWN_AS
from fsl_sweep.orchestrator.report.content import Report
from fsl_sweep.orchestrator.report.document.blocks import (
    Block,
    Group,
    Paragraph,
    Row,
    Table,
    grouped,
    numbers,
    words,
)
from fsl_sweep.orchestrator.selection.methods import PREDICTORS, MethodRankCorrelation, by_method


def ranks(reports: Mapping[str, Report]) -> Iterable[Block]:
    """A row for each world, method and window; ``reports`` are by the name of the world."""
    worlds = len(reports) > 1
    lines: list[Row] = []
    for world, report in reports.items():
        found = by_method(report.rank_correlations)
        for (method, last), own in (
            ((one[0].method, one[0].last), {cell.measure: cell for cell in one})
            for one in grouped(found, lambda cell: (cell.method, cell.last))
        ):
            cells = [report.named(method), "all" if last is None else f"last {last}"]
            for measure in PREDICTORS:
                cells += _cells(own.get(measure))
            cells.append(str(max(cell.trials for cell in own.values())))
            lines.append(Row((world, *cells) if worlds else tuple(cells)))
    if not lines:
        return
    names = [SHOWN_AS[measure] for measure in PREDICTORS]
    heads = [f"{name}: {which}" for name in names for which in ("mean", "+- seeds", "trials from")]
    columns = words(*["world"] * worlds, "method", "epochs") + numbers([*heads, "trials"])
    yield Table(columns, (Group("", tuple(lines)),))
    yield Paragraph(
        "Mean over seeds of the mean over configurations; of two seeds both values. A trial in "
        "which a measure never changes has no rank correlation.",
        "note",
    )


def _cells(found: MethodRankCorrelation | None) -> list[str]:
    """Mean, half of the interval or the values of two seeds, and the range over trials."""
    if found is None:
        return ["-"] * 3
    tau, seeds = found.tau, found.by_seed
    half = (tau.high - tau.low) / 2
    shown = "-" if isnan(half) else f"{half:.2f}" if half <= 1 else "> 1"
    if len(seeds) == 2:
        shown = ", ".join(f"{one:+.2f}" for one in seeds)
    return [f"{tau.mean:+.2f}", shown, f"{found.least:+.2f} to {found.most:+.2f}"]
