"""The document of several benchmarks."""

from collections.abc import Iterable, Mapping
from math import isnan

from fsl_sweep.orchestrator.report import wording
from fsl_sweep.orchestrator.report.answer.answer import answer_of
from fsl_sweep.orchestrator.report.cautions import cautions_of, stopped
from fsl_sweep.orchestrator.report.content import BenchmarksContent
from fsl_sweep.orchestrator.report.document.blocks import (
    Bar,
    Block,
    Bullets,
    Document,
    Forest,
    Group,
    Paragraph,
    Row,
    Section,
    Table,
    numbers,
    words,
)
from fsl_sweep.orchestrator.report.document.ranks import ranks
from fsl_sweep.orchestrator.report.wording import some
from fsl_sweep.orchestrator.selection.comparing.over_benchmarks import OverBenchmarks
from fsl_sweep.orchestrator.statistics import Interval
from fsl_sweep.orchestrator.text.printed import counted


def benchmarks_document(report: BenchmarksContent) -> Document:
    """Return what several benchmarks say together, and the answer of each."""
    state = "complete" if report.complete else "INCOMPLETE"
    if report.complete and report.absent:
        state = "DIFFERENT METHODS"
    return Document(
        headline=f"{report.name}: {counted(len(report.reports), 'benchmark')}, {state}",
        answer=(*map(Paragraph, answer_of(report).sentences), *_regrets(report)),
        sections=tuple(_sections(report)),
        banner=tuple(_banner(report)),
        complete=state == "complete",
    )


def _sections(report: BenchmarksContent) -> Iterable[Section]:
    if report.over is not None:
        metric = wording.metric(report.base_weight)
        strategies, methods = tuple(_strategies(report.over)), tuple(_methods(report.over))
        yield Section("strategies", "Strategies over benchmarks", strategies)
        title = f"Methods over benchmarks: {metric} under {report.lead}"
        yield Section("methods", title, methods)
    title = "Rank correlation with NovelGen (Kendall's tau-b) in each benchmark"
    yield Section("rank", title, tuple(ranks(report.reports)))
    answers = {name: answer_of(one).sentences for name, one in report.reports.items()}
    each = Bullets(tuple(f"{name}: {' '.join(texts)}" for name, texts in answers.items()))
    yield Section("benchmarks", "Each benchmark", (each,))
    if cautions := cautions_of(report):
        yield Section("cautions", "Cautions", (Bullets(cautions),))


def _banner(report: BenchmarksContent) -> Iterable[Block]:
    for benchmark, one in report.reports.items():
        completeness = one.completeness
        if not completeness.complete:
            done = f"{completeness.done} of {counted(completeness.planned, 'trial')} done"
            yield Paragraph(f"{benchmark} is incomplete: {done}.", "alarm")
        for text in stopped(completeness):
            yield Paragraph(f"{benchmark}: {text}", "alarm")
    for benchmark, methods in report.absent.items():
        yield Paragraph(f"{benchmark} lacks {some(methods)} under {report.lead}.", "alarm")


def _regrets(report: BenchmarksContent) -> Iterable[Block]:
    if report.over is None or not report.over.strategies:
        return
    first = (wording.FULL_ORACLE, str(report.lead))
    cells = sorted(report.over.strategies, key=lambda cell: str(cell.strategy) not in first)
    bars = [bar_of(str(c.strategy), c.regret, c.regrets, c.strategy.oracle) for c in cells]
    note = "Means and 95 % intervals over benchmarks."
    if len(report.reports) == 2:
        note = "Means over benchmarks; two have no interval."
    yield Forest("regret, points", tuple(bars), note, least=-100, each="benchmark")


def bar_of(
    name: str, interval: Interval, values: Mapping[str, float], reference: bool = False
) -> Bar:
    """Return a mean over benchmarks with its interval and the value of each benchmark."""
    mean, low, high = (100 * value for value in (interval.mean, interval.low, interval.high))
    about = ", ".join(f"{benchmark} {100 * value:.2f}" for benchmark, value in values.items())
    return Bar(
        group="",
        names=(name,),
        mean=mean,
        low=low,
        high=high,
        values=tuple(100 * value for value in values.values()),
        reference=reference,
        about=f"{name}: {mean:.2f}; {about}",
    )


def _strategies(over: OverBenchmarks) -> Iterable[Block]:
    if not over.strategies:
        return
    verdicts = any(cell.against_least is not None for cell in over.strategies)
    rows = []
    for cell in over.strategies:
        texts = [wording.starred(cell.strategy), *_interval(cell.regret), *_interval(cell.accuracy)]
        if verdicts:
            against = cell.against_least
            known = against is not None
            texts += [against.verdict, wording.p_value(against.p_adjusted)] if known else ["-", "-"]
        texts += [wording.percent(cell.regrets[benchmark]) for benchmark in over.benchmarks]
        rows.append(Row(tuple(texts), cell.strategy.oracle))
    heads = ["regret", "+- benchmarks", "right of two, %", "+- benchmarks"]
    heads += ["vs least", "p"] if verdicts else []
    heads += [f"regret, {benchmark}" for benchmark in over.benchmarks]
    yield Table(words("snapshot / config") + numbers(heads), (Group("", tuple(rows)),))
    yield Paragraph(
        f"Regret against {wording.FULL_ORACLE} in points, mean over methods. right of two: how "
        "often the strategy picks the better of two methods, as it picks a configuration; the "
        f"better one is the one with more NovelGen by {wording.FULL_ORACLE}, over seeds, whether "
        "or not these decide it. * reads novel scores.",
        "note",
    )
    if over.lacking:
        yield Paragraph(f"Some benchmark lacks: {', '.join(over.lacking)}.")


def _methods(over: OverBenchmarks) -> Iterable[Block]:
    if not over.methods:
        return
    rows = []
    for cell in over.methods:
        means = [wording.percent(cell.means[benchmark]) for benchmark in over.benchmarks]
        rows.append(Row((cell.method, *_interval(cell.mean), *means)))
    heads = numbers(["mean", "+- benchmarks", *over.benchmarks])
    yield Table(words("method") + heads, (Group("", tuple(rows)),))
    if over.differences:
        pairs = []
        for pair in over.differences:
            effect = pair.result.effect
            ends = (effect.mean, effect.low, effect.high)
            shown = ["-" if isnan(end) else f"{100 * end:+.2f}" for end in ends]
            names = (f"{pair.a} - {pair.b}", pair.result.verdict)
            pairs.append(Row((*names, *shown, wording.p_value(pair.result.p_adjusted))))
        ends = numbers(["difference", "low", "high", "p (Holm)"])
        yield Table(words("methods", "over benchmarks") + ends, (Group("", tuple(pairs)),))
    yield Paragraph(
        "Differences are paired over benchmarks. They speak of benchmarks like these, if these "
        "were not picked for what they show.",
        "note",
    )


def _interval(interval: Interval | None) -> list[str]:
    if interval is None:
        return ["-", "-"]
    return [wording.percent(interval.mean), wording.half_width(interval)]
