"""The report on a terminal, or as plain text where there is none."""

import io
import sys
from collections.abc import Iterable
from dataclasses import dataclass

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from fsl_sweep.orchestrator.console import SafeConsole
from fsl_sweep.orchestrator.printed import say
from fsl_sweep.orchestrator.records import MEASURES, SHOWN_AS
from fsl_sweep.orchestrator.report import (
    notes,
    over_methods,
    sparkline,
    tables,
    uncertainty,
    wording,
)
from fsl_sweep.orchestrator.report.cautions import why_left_out
from fsl_sweep.orchestrator.report.content import Report
from fsl_sweep.orchestrator.report.curves import Curve
from fsl_sweep.orchestrator.report.figures import letters

PROBLEMS_SHOWN = 10
PAIRS_SHOWN = 15
LABEL = 10
PROSE = 100
"""Columns of sentences and curves where there is no terminal."""

_AS_WIDE_AS_NEEDED = 10**6


@dataclass(frozen=True)
class Sheet:
    """What a report is laid out for.

    Attributes:
        prose: columns for sentences and curves.
        tables: columns for tables.
        ascii_only: whether lines are drawn with ASCII.
        bold: whether bold letters can be seen.
        whole: whether long lists are shown to their end.
    """

    prose: int
    tables: int
    ascii_only: bool = False
    bold: bool = False
    whole: bool = False


def show(report: Report, console: SafeConsole | None = None) -> None:
    """Print the report on a terminal, or as ``to_text`` into a pipe or a file."""
    console = console or SafeConsole(file=sys.stdout)
    ascii_only = console.options.ascii_only
    if not console.is_terminal:
        say(to_text(report, ascii_only=ascii_only).removesuffix("\n"), console.file)
        return
    bold = console.color_system is not None
    _print(report, console, Sheet(console.width, console.width, ascii_only, bold))


def to_text(report: Report, width: int | None = None, *, ascii_only: bool = False) -> str:
    """The report as plain text without colour codes.

    Args:
        report: its content.
        width: columns that no line leaves, so that some of the content may have no room. By
            default tables are as wide as they need, and nothing is left out for want of room.
        ascii_only: draw lines with ASCII.
    """
    sheet = Sheet(width or PROSE, width or _AS_WIDE_AS_NEEDED, ascii_only, whole=width is None)
    file = io.StringIO()
    console = SafeConsole(file=file, width=sheet.tables, no_color=True, force_terminal=False)
    _print(report, console, sheet)
    return "\n".join(line.rstrip() for line in file.getvalue().splitlines()) + "\n"


def _print(report: Report, console: SafeConsole, sheet: Sheet) -> None:
    for part in _parts(report, sheet):
        width = sheet.tables if isinstance(part, Table) else sheet.prose
        console.print(part, highlight=False, width=width)


def _parts(report: Report, sheet: Sheet) -> Iterable[RenderableType]:
    yield from _banner(report, sheet)
    by = wording.by_metric(report.base_weight)
    sections = (
        ("Methods and strategies", _strategies(report, sheet)),
        (over_methods.TITLE, _over_methods(report, sheet)),
        ("Learning curves", _curves(report, sheet)),
        ("Rank correlation with NovelGen (Kendall's tau-b)", _rank_correlation(report)),
        (f"{notes.COMPARISONS}{by}", _comparisons(report, sheet)),
        (f"Stability of conclusions{by}", uncertainty.stability(report, sheet.prose)),
        ("Regret against novel evaluations", uncertainty.budgets(report)),
        ("Fronts of BaseGen and NovelGen", uncertainty.fronts(report)),
        ("Cautions", _cautions(report)),
        ("Cost", _cost(report)),
        ("Provenance", _provenance(report)),
    )
    for title, content in sections:
        body = list(content)
        if body:
            yield Text()
            yield Rule(
                Text(title, "bold"),
                align="left",
                style="dim",
                characters="-" if sheet.ascii_only else "─",
            )
            yield from body


def _banner(report: Report, sheet: Sheet) -> Iterable[RenderableType]:
    found = report.completeness
    counts = notes.counts(report)
    if found.complete:
        yield Text.assemble((f"{report.info.name}: complete. ", "bold green"), counts + ".")
        return
    yield Text(f"{report.info.name}: INCOMPLETE", "bold white on red")
    yield Text(f"{counts}. What depends on them is left out:", "red")
    shown = found.problems if sheet.whole else found.problems[:PROBLEMS_SHOWN]
    for one in shown:
        place = f"seed {one.seed}" + ("" if one.fold is None else f", fold {one.fold}")
        values = wording.values(one.hyperparameters)
        name = " ".join(part for part in (one.method, values, f"({place}, {one.trial})") if part)
        yield Padding(Text(f"{name}: {one.reason}"), (0, 0, 0, 2))
    more = len(found.problems) - len(shown)
    if more > 0:
        yield Padding(Text(f"... and {more} more; see `fsl-sweep status`."), (0, 0, 0, 2))


def _strategies(report: Report, sheet: Sheet) -> Iterable[RenderableType]:
    if not report.summaries and report.selected.strategies:
        yield Text(notes.NO_METHOD)
    wide, hidden = sheet.tables >= tables.WIDE, dict[str, None]()
    for method in report.selected.methods:
        if any(summary.method == method for summary in report.summaries):
            table, left_off = tables.strategies(report, method, sheet.tables)
            hidden |= dict.fromkeys(left_off)
            yield Text(f"\n{method}", "bold cyan")
            yield table
        elif report.summaries:
            why = why_left_out(report.selected, method)
            yield Text(f"\n{method} is left out: {why}.", "red")
    yield from (Text(line, "red") for line in notes.left_out(report))
    if not report.summaries:
        return
    yield Text("\n" + notes.strategies(report, sheet.bold), "dim")
    if hidden:
        yield Text(
            f"There was no room for {', '.join(hidden)}: a wider terminal and the other formats "
            "show all columns.",
            "yellow",
        )
    if not wide:
        yield Text()
        yield tables.chosen(report.summaries)


def _over_methods(report: Report, sheet: Sheet) -> Iterable[RenderableType]:
    if report.over_methods.results:
        yield tables.strategies_over_methods(report, sheet.tables)
        yield Text("\n" + over_methods.note(report, sheet.bold), "dim")
    yield from (Text(line, "yellow") for line in over_methods.left_out(report))


def _curves(report: Report, sheet: Sheet) -> Iterable[RenderableType]:
    if not report.curves:
        return
    signs = letters(report.info.snapshot)
    levels = sparkline.ASCII if sheet.ascii_only else sparkline.BLOCKS
    for curve in report.curves:
        yield _curve(curve, signs, max(10, min(sheet.prose - LABEL - 22, 100)), levels)
    key = ", ".join(f"{sign} {name}" for name, sign in signs.items())
    yield Text(
        "\nOn the selection tasks; each line is drawn from its lowest to its highest point, the "
        "numbers are of the first and the last epoch. "
        f"Beneath, what was picked, the last epoch's side by side: {key}.",
        "dim",
    )
    if report.curves_total > len(report.curves):
        yield Text(
            f"{len(report.curves)} of {report.curves_total} trials are shown; "
            "`fsl-sweep tensorboard RUN` shows all.",
            "dim",
        )


def _curve(curve: Curve, signs: dict[str, str], width: int, levels: str) -> RenderableType:
    values = wording.values(curve.hyperparameters)
    title = "  ".join(part for part in (curve.method, values, f"seed {curve.seed}") if part)
    lines: list[Text] = [Text(f"\n{title}", "bold")]
    for measure in MEASURES:
        scores = curve.scores[measure]
        lines.append(
            Text.assemble(
                f"{SHOWN_AS[measure]:<{LABEL}}",
                (sparkline.sparkline(scores, width, levels), "cyan"),
                f"  {wording.percent(float(scores[0]))} to {wording.percent(float(scores[-1]))}",
                no_wrap=True,
            )
        )
    for line in sparkline.marks(curve.picks, curve.epochs, width, signs):
        lines.append(Text(" " * LABEL + line, "yellow", no_wrap=True))
    return Group(*lines)


def _rank_correlation(report: Report) -> Iterable[RenderableType]:
    if report.rank_correlations:
        yield tables.rank_correlation(report)


def _comparisons(report: Report, sheet: Sheet) -> Iterable[RenderableType]:
    if not report.comparisons:
        return
    pairs = list(dict.fromkeys((c.a, c.b) for c in report.comparisons))
    kept = set(pairs if sheet.whole else pairs[:PAIRS_SHOWN])
    shown = [c for c in report.comparisons if (c.a, c.b) in kept]
    yield from tables.verdicts(shown, sheet.prose)
    yield Text("\n" + notes.comparisons(report), "dim")
    if len(pairs) > len(kept):
        yield Text(f"{PAIRS_SHOWN} of {len(pairs)} pairs; `--format json` has all.", "dim")
    if report.ranking_survives is not False:
        yield Text(notes.same_ranking(report))
        return
    yield Text(notes.several_rankings(report), "bold yellow")
    for line in notes.other_rankings(report):
        yield Padding(Text(line), (0, 0, 0, 2))


def _cautions(report: Report) -> Iterable[RenderableType]:
    for caution in report.cautions:
        yield Text(f"- {caution}")


def _cost(report: Report) -> Iterable[RenderableType]:
    if (cost := report.cost) is not None:
        text = wording.cost(cost.train_seconds, cost.evaluation_seconds, cost.everywhere)
        yield Text(text)


def _provenance(report: Report) -> Iterable[RenderableType]:
    yield from map(Text, notes.provenance(report))
