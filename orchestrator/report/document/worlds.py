"""The document of several worlds."""

from collections.abc import Iterable
from math import isnan

from fsl_sweep.orchestrator.report import wording
from fsl_sweep.orchestrator.report.answer.race import some
from fsl_sweep.orchestrator.report.cautions import stopped
from fsl_sweep.orchestrator.report.document.blocks import (
    Block,
    Bullets,
    Document,
    Forest,
    Group,
    Mark,
    Paragraph,
    Row,
    Section,
    Table,
    numbers,
    words,
)
from fsl_sweep.orchestrator.report.document.ranks import ranks
from fsl_sweep.orchestrator.report.over_worlds import WorldsReport
from fsl_sweep.orchestrator.selection.comparing.over_benchmarks import (
    OverBenchmarks,
    StrategyOverBenchmarks,
)
from fsl_sweep.orchestrator.statistics import Interval
from fsl_sweep.orchestrator.text.printed import counted


def worlds_document(report: WorldsReport) -> Document:
    """What several worlds say together, and the answer of each."""
    count = counted(len(report.reports), "world")
    state = "DIFFERENT METHODS" if report.absent else "complete"
    state = state if report.complete else "INCOMPLETE"
    sections: list[tuple[str, str, Iterable[Block]]] = []
    if (over := report.over) is not None:
        metric = wording.metric(report.base_weight)
        sections += [
            ("strategies", "Strategies over worlds", _strategies(over)),
            ("methods", f"Methods over worlds: {metric} under {report.lead}", _methods(over)),
        ]
    title = "Rank correlation with NovelGen (Kendall's tau-b) in each world"
    sections.append(("rank", title, ranks(report.reports)))
    sections.append(("worlds", "Each world", _worlds(report)))
    if report.cautions:
        sections.append(("cautions", "Cautions", [Bullets(report.cautions)]))
    return Document(
        headline=f"{report.name}: {count}, {state}",
        answer=tuple(_answer(report)),
        sections=tuple(Section(key, title, tuple(blocks)) for key, title, blocks in sections),
        banner=tuple(_banner(report)),
        complete=state == "complete",
    )


def _banner(report: WorldsReport) -> Iterable[Block]:
    for world, one in report.reports.items():
        found = one.completeness
        if not found.complete:
            done = f"{found.done} of {counted(found.planned, 'trial')} done"
            yield Paragraph(f"{world} is incomplete: {done}.", "alarm")
        yield from (Paragraph(f"{world}: {text}", "alarm") for text in stopped(found))
    for world, methods in report.absent.items():
        yield Paragraph(f"{world} lacks {some(methods)} under {report.lead}.", "alarm")


def _answer(report: WorldsReport) -> Iterable[Block]:
    yield from map(Paragraph, report.sentences)
    if report.over is None or not report.over.strategies:
        return
    references = ("oracle / oracle", str(report.lead))
    shown = sorted(report.over.strategies, key=lambda one: str(one.strategy) not in references)
    marks = tuple(map(_mark, shown))
    note = "Means and 95 % intervals over worlds."
    if len(report.reports) == 2:
        note = "Means over worlds; two have no interval."
    yield Forest("regret, points", marks, note, least=-100)


def _mark(one: StrategyOverBenchmarks) -> Mark:
    mean, low, high = (100 * x for x in (one.regret.mean, one.regret.low, one.regret.high))
    return Mark("", str(one.strategy), mean, low, high, reference=one.strategy.oracle)


def _strategies(over: OverBenchmarks) -> Iterable[Block]:
    if not over.strategies:
        return
    verdicts = any(one.against_least is not None for one in over.strategies)
    rows = []
    for one in over.strategies:
        cells = [wording.starred(one.strategy), *_interval(one.regret)]
        cells += ["-", "-"] if one.accuracy is None else _interval(one.accuracy)
        if verdicts:
            against = one.against_least
            cells += (
                ["-", "-"]
                if against is None
                else [against.verdict, wording.p_value(against.p_adjusted)]
            )
        cells += [wording.percent(one.regrets[world]) for world in over.benchmarks]
        rows.append(Row(tuple(cells), one.strategy.oracle))
    heads = ["regret", "+- worlds", "right of two, %", "+- worlds"]
    heads += ["vs least", "p"] if verdicts else []
    heads += [f"regret, {world}" for world in over.benchmarks]
    yield Table(words("snapshot / config") + numbers(heads), (Group("", tuple(rows)),))
    yield Paragraph(
        "Regret against oracle / oracle in points, mean over methods. right of two: how often the "
        "strategy picks the better of two methods, as it picks a configuration; the better one is "
        "the one with more NovelGen by oracle / oracle, over seeds, whether or not these decide "
        "it. * reads novel scores.",
        "note",
    )
    if over.lacking:
        yield Paragraph(f"Some world lacks: {', '.join(over.lacking)}.")


def _methods(over: OverBenchmarks) -> Iterable[Block]:
    if not over.methods:
        return
    rows = [
        Row(
            (
                one.method,
                *_interval(one.mean),
                *(wording.percent(one.means[world]) for world in over.benchmarks),
            )
        )
        for one in over.methods
    ]
    heads = numbers(["mean", "+- worlds", *over.benchmarks])
    yield Table(words("method") + heads, (Group("", tuple(rows)),))
    if over.differences:
        pairs = []
        for one in over.differences:
            effect = one.result.effect
            ends = (effect.mean, effect.low, effect.high)
            shown = ["-" if isnan(end) else f"{100 * end:+.2f}" for end in ends]
            names = (f"{one.a} - {one.b}", one.result.verdict)
            pairs.append(Row((*names, *shown, wording.p_value(one.result.p_adjusted))))
        columns = words("methods", "over worlds") + numbers(
            ["difference", "low", "high", "p (Holm)"]
        )
        yield Table(columns, (Group("", tuple(pairs)),))
    yield Paragraph(
        "Differences are paired over worlds. They speak of worlds like these, if these were not "
        "picked for what they show.",
        "note",
    )


def _worlds(report: WorldsReport) -> Iterable[Block]:
    yield Bullets(
        tuple(f"{world}: {' '.join(one.answer.sentences)}" for world, one in report.reports.items())
    )


def _interval(one: Interval) -> list[str]:
    return [wording.percent(one.mean), wording.half_width(one)]
