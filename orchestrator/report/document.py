"""The report as plain blocks, for the formats that are written to be read."""

from collections.abc import Iterable

from fsl_sweep.orchestrator.comparison import MethodComparison
from fsl_sweep.orchestrator.records import SHOWN_AS
from fsl_sweep.orchestrator.report import notes, over_methods, rows, wording
from fsl_sweep.orchestrator.report.blocks import (
    Block,
    Bullets,
    Document,
    Group,
    Paragraph,
    Row,
    Section,
    Table,
    numbers,
    words,
)
from fsl_sweep.orchestrator.report.content import Problem, Report
from fsl_sweep.orchestrator.report.groups import best_of, one_line, same_choices, same_everywhere
from fsl_sweep.orchestrator.statistics.ties import comparable


def document(report: Report) -> Document:
    """Everything that the terminal shows, in its order."""
    by = wording.by_metric(report.base_weight)
    sections = (
        ("strategies", "Methods and strategies", _strategies(report)),
        (over_methods.KEY, over_methods.TITLE, _over_methods(report)),
        ("curves", "Learning curves", _curves(report)),
        ("rank", "Rank correlation with NovelGen (Kendall's tau-b)", _rank_correlation(report)),
        ("comparisons", f"{notes.COMPARISONS}{by}", _comparisons(report)),
        ("stability", f"Stability of conclusions{by}", _stability(report)),
        ("budget", "Regret against novel evaluations", _budgets(report)),
        ("fronts", "Fronts of BaseGen and NovelGen", _fronts(report)),
        ("cautions", "Cautions", _cautions(report)),
        ("cost", "Cost", _cost(report)),
        ("provenance", "Provenance", [Bullets(tuple(notes.provenance(report)))]),
    )
    built = [Section(key, title, tuple(blocks)) for key, title, blocks in sections]
    complete = report.completeness.complete
    return Document(
        headline=f"{report.info.name}: {'complete' if complete else 'INCOMPLETE'}",
        complete=complete,
        banner=tuple(_banner(report)),
        sections=tuple(section for section in built if section.blocks),
    )


def _banner(report: Report) -> Iterable[Block]:
    counts = notes.counts(report)
    if report.completeness.complete:
        yield Paragraph(f"{counts}.", "good")
        return
    yield Paragraph(f"{counts}. What depends on them is left out:", "alarm")
    yield Bullets(tuple(_problem(one) for one in report.completeness.problems))


def _problem(one: Problem) -> str:
    place = f"seed {one.seed}" + ("" if one.fold is None else f", fold {one.fold}")
    values = wording.values(one.hyperparameters)
    name = " ".join(part for part in (one.method, values, f"({place}, {one.trial})") if part)
    return f"{name}: {one.reason}"


def _strategies(report: Report) -> Iterable[Block]:
    if not report.summaries:
        if report.selected.strategies:
            yield Paragraph(notes.NO_METHOD, "alarm")
        yield from (Paragraph(line, "alarm") for line in notes.left_out(report))
        return
    there = {summary.method for summary in report.summaries}
    titles = list(rows.of_strategies(report, report.summaries[:1]))
    groups = [_method(report, method) for method in report.selected.methods if method in there]
    columns = words("snapshot / config") + numbers(titles) + words("chosen (epoch of each seed)")
    yield Table(columns, tuple(groups))
    for method in report.selected.methods:
        if method not in there:
            yield Paragraph(f"{method} is left out: its replicates are not all usable.", "alarm")
    yield from (Paragraph(line, "alarm") for line in notes.left_out(report))
    yield Paragraph(notes.strategies(report), "note")


def _method(report: Report, method: str) -> Group:
    own = [one for one in report.summaries if one.method == method]
    best = best_of(own)
    lines: list[Row] = []
    for group in same_choices(own):
        first = group[0]
        cells = rows.of_strategies(report, group).values()
        oracle = first.strategy.oracle
        leads = comparable(first.reported.mean) == best
        look = "reference" if oracle else "best" if leads else ""
        name = "\n".join(one_line(group))
        lines.append(Row((name, *cells, wording.choices(first.choices)), look))
    return Group(method, tuple(lines))


def _over_methods(report: Report) -> Iterable[Block]:
    groups = same_everywhere(report.over_methods.results)
    lines: list[Row] = []
    for group in groups:
        first = group[0]
        leads = over_methods.leads(report, first)
        look = "reference" if first.strategy.oracle else "best" if leads else ""
        cells = over_methods.cells(report, first).values()
        lines.append(Row(("\n".join(one_line(group)), *cells), look))
    if lines:
        titles = list(over_methods.cells(report, groups[0][0]))
        yield Table(words("snapshot / config") + numbers(titles), (Group("", tuple(lines)),))
        yield Paragraph(over_methods.note(report), "note")
    yield from (Paragraph(line) for line in over_methods.left_out(report))


def _curves(report: Report) -> Iterable[Block]:
    if not report.curves:
        return
    selectors = report.info.snapshot
    lines = []
    for curve in report.curves:
        scores = [curve.scores[measure] for measure in ("base", "val", "novel")]
        ends = [f"{wording.percent(s[0])} to {wording.percent(s[-1])}" for s in map(list, scores)]
        picks = [str(curve.picks.get(name, "-")) for name in selectors]
        values = wording.values(curve.hyperparameters)
        lines.append(Row((curve.method, values, str(curve.seed), *ends, *picks)))
    measures = [SHOWN_AS[measure] for measure in ("base", "val", "novel")]
    columns = words("method", "configuration") + numbers(["seed", *measures, *selectors])
    yield Table(columns, (Group("", tuple(lines)),))
    text = (
        "On the selection tasks, percent at the first and the last epoch, and the epoch that each "
        "snapshot selector picks."
    )
    if report.curves_total > len(report.curves):
        text += (
            f" {len(report.curves)} of {report.curves_total} trials are shown; "
            "`fsl-sweep tensorboard RUN` shows all."
        )
    yield Paragraph(text, "note")


def _rank_correlation(report: Report) -> Iterable[Block]:
    if report.rank_correlations:
        lines = tuple(Row(cells) for cells in rows.of_rank_correlations(report))
        yield Table(words("method", "epochs") + numbers(rows.TAUS), (Group("", lines),))


def _comparisons(report: Report) -> Iterable[Block]:
    if not report.comparisons:
        return
    pairs: dict[tuple[str, str], list[MethodComparison]] = {}
    for one in report.comparisons:
        pairs.setdefault((one.a, one.b), []).append(one)
    groups = [Group(f"{a} vs {b}", tuple(_pair(own))) for (a, b), own in pairs.items()]
    columns = words("snapshot / config", "these snapshots")
    columns += numbers(["difference", "low", "high", "p (Holm)"])
    yield Table(columns, tuple(groups))
    yield Paragraph(notes.comparisons(report), "note")
    if report.ranking_survives is not False:
        yield Paragraph(notes.same_ranking(report))
        return
    yield Paragraph(notes.several_rankings(report), "alarm")
    yield Bullets(tuple(notes.other_rankings(report)))


def _pair(own: list[MethodComparison]) -> Iterable[Row]:
    """Strategies with the same result share a row; oracles have their own."""
    alike: dict[tuple[object, ...], list[MethodComparison]] = {}
    for one in own:
        found = one.result
        cells = found.verdict, *(f"{100 * v:+.2f}" for v in _ends(one)), f"{found.p_adjusted:.3g}"
        alike.setdefault((one.strategy.oracle, *cells), []).append(one)
    for (oracle, *cells), group in alike.items():
        yield Row(("\n".join(one_line(group)), *map(str, cells)), "reference" if oracle else "")


def _ends(one: MethodComparison) -> tuple[float, float, float]:
    effect = one.result.effect
    return effect.mean, effect.low, effect.high


def _stability(report: Report) -> Iterable[Block]:
    found = rows.of_stability(report)
    if not found:
        return
    several = rows.several_methods(report)
    columns = words("snapshot / config", "methods, best first" if several else "method")
    lines = [
        Row(
            ("\n".join(one.strategies), one.order, *one.cells.values()),
            "reference" if one.oracle else "",
        )
        for one in found
    ]
    yield Table(columns + numbers(list(found[0].cells)), (Group("", tuple(lines)),))
    yield Paragraph(notes.stability(report), "note")


def _budgets(report: Report) -> Iterable[Block]:
    for method in dict.fromkeys(point.method for point in report.budget_curve):
        own = [point for point in report.budget_curve if point.method == method]
        curves, cells = rows.of_budgets(own)
        columns = numbers(["budget", *(f"{one}, {allocation}" for one, allocation in curves)])
        yield Table(columns, (Group(method, tuple(Row(tuple(row)) for row in cells)),))
    if report.budget_curve:
        yield Paragraph(notes.BUDGETS, "note")


def _fronts(report: Report) -> Iterable[Block]:
    found = rows.fronts_alike(report.selected.fronts)
    if not found:
        return
    groups = [
        Group(title, tuple(Row(cells) for cells in rows.of_front(own)))
        for title, own in found.items()
    ]
    yield Table(words("configuration") + numbers(["BaseGen", "NovelGen", "seeds"]), tuple(groups))
    yield Paragraph(notes.FRONTS, "note")


def _cautions(report: Report) -> Iterable[Block]:
    if report.cautions:
        yield Bullets(report.cautions)


def _cost(report: Report) -> Iterable[Block]:
    if (cost := report.cost) is not None:
        text = wording.cost(cost.train_seconds, cost.evaluation_seconds, cost.everywhere)
        yield Paragraph(text)
