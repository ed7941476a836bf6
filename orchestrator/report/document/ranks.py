"""Kendall's tau with NovelGen by method, of one run or of several benchmarks."""

from collections.abc import Iterable, Mapping
from math import isnan

from fsl_sweep.orchestrator.records.measures import SHOWN_AS
from fsl_sweep.orchestrator.report.content import RunContent
from fsl_sweep.orchestrator.report.document import blocks
from fsl_sweep.orchestrator.selection.methods import PREDICTORS, MethodRankCorrelation, by_method


def ranks(reports: Mapping[str, RunContent]) -> Iterable[blocks.Block]:
    """Return a row for each benchmark, method and window; ``reports`` are by benchmark."""
    several = len(reports) > 1
    rows: list[list[str]] = []
    for benchmark, report in reports.items():
        correlations = by_method(report.rank_correlations)
        for cells in blocks.grouped(correlations, lambda cell: (cell.method, cell.last)):
            last, by_measure = cells[0].last, {cell.measure: cell for cell in cells}
            texts = [benchmark] * several
            texts += [report.named(cells[0].method), "all" if last is None else f"last {last}"]
            for measure in PREDICTORS:
                texts += _cells(by_measure.get(measure))
            rows.append([*texts, str(max(cell.trials for cell in cells))])
    if not rows:
        return
    names = [SHOWN_AS[measure] for measure in PREDICTORS]
    heads = [f"{name}: {which}" for name in names for which in ("mean", "+- seeds", "trials from")]
    columns = blocks.words(*["benchmark"] * several, "method", "epochs") + blocks.numbers(
        [*heads, "trials"]
    )
    yield blocks.table(columns, rows)
    yield blocks.Paragraph(
        "Mean over seeds of the mean over configurations; of two seeds both values. A trial in "
        "which a measure never changes has no rank correlation.",
        "note",
    )


def _cells(correlation: MethodRankCorrelation | None) -> list[str]:
    """Write the mean, half of the interval or both seeds, and the range over trials."""
    if correlation is None:
        return ["-"] * 3
    tau, seeds = correlation.tau, correlation.by_seed
    half = (tau.high - tau.low) / 2
    shown = "-" if isnan(half) else f"{half:.2f}" if half <= 1 else "> 1"
    if len(seeds) == 2:
        shown = ", ".join(f"{value:+.2f}" for value in seeds)
    return [f"{tau.mean:+.2f}", shown, f"{correlation.least:+.2f} to {correlation.most:+.2f}"]
