"""The document of several benchmarks."""

from collections.abc import Iterable, Mapping
from math import isnan

from fsl_sweep.orchestrator.report import wording
from fsl_sweep.orchestrator.report.answer.answer import answer_of
from fsl_sweep.orchestrator.report.cautions import cautions_of, stopped
from fsl_sweep.orchestrator.report.content import BenchmarksContent
from fsl_sweep.orchestrator.report.document import blocks
from fsl_sweep.orchestrator.report.document.conclusions import ranks
from fsl_sweep.orchestrator.report.wording import some
from fsl_sweep.orchestrator.selection.comparing.over_benchmarks import OverBenchmarks
from fsl_sweep.orchestrator.statistics import Interval
from fsl_sweep.orchestrator.text.printed import counted


def benchmarks_document(report: BenchmarksContent) -> blocks.Document:
    """Return what several benchmarks say together, and the answer of each."""
    state = "complete" if report.complete else "INCOMPLETE"
    if report.complete and report.absent:
        state = "DIFFERENT METHODS"
    return blocks.Document(
        headline=f"{report.name}: {counted(len(report.reports), 'benchmark')}, {state}",
        answer=(*map(blocks.Paragraph, answer_of(report).sentences), *regrets(report)),
        sections=tuple(_sections(report)),
        banner=tuple(_banner(report)),
        complete=state == "complete",
    )


def _sections(report: BenchmarksContent) -> Iterable[blocks.Section]:
    if report.over is not None:
        metric = wording.metric(report.base_weight)
        strategies, methods = tuple(_strategies(report.over)), tuple(_methods(report.over))
        yield blocks.Section("strategies", "Strategies over benchmarks", strategies)
        title = f"Methods over benchmarks: {metric} under {report.lead}"
        yield blocks.Section("methods", title, methods)
    title = "Rank correlation with NovelGen (Kendall's tau-b) in each benchmark"
    yield blocks.Section("rank", title, tuple(ranks(report.reports)))
    answers = {name: answer_of(content).sentences for name, content in report.reports.items()}
    each = blocks.Bullets(tuple(f"{name}: {' '.join(texts)}" for name, texts in answers.items()))
    yield blocks.Section("benchmarks", "Each benchmark", (each,))
    if cautions := cautions_of(report):
        yield blocks.Section("cautions", "Cautions", (blocks.Bullets(cautions),))


def _banner(report: BenchmarksContent) -> Iterable[blocks.Block]:
    for benchmark, content in report.reports.items():
        completeness = content.completeness
        if not completeness.complete:
            done = f"{completeness.ended} of {counted(completeness.planned, 'trial')} done"
            yield blocks.Paragraph(f"{benchmark} is incomplete: {done}.", "alarm")
        for text in stopped(completeness):
            yield blocks.Paragraph(f"{benchmark}: {text}", "alarm")
    for benchmark, methods in report.absent.items():
        yield blocks.Paragraph(f"{benchmark} lacks {some(methods)} under {report.lead}.", "alarm")


def regrets(report: BenchmarksContent) -> Iterable[blocks.Forest]:
    """Return what choosing by each strategy costs, unless there is none to compare."""
    if report.over is None or not report.over.strategies:
        return
    first = (wording.FULL_ORACLE, str(report.lead))
    cells = sorted(report.over.strategies, key=lambda cell: str(cell.strategy) not in first)
    bars = [bar_of(str(c.strategy), c.regret, c.regrets, c.strategy.oracle) for c in cells]
    note = intervals(report)
    yield blocks.Forest("regret, points", tuple(bars), note, least=-100, each="benchmark")


def intervals(report: BenchmarksContent) -> str:
    """Say what the bars of ``bar_of`` are."""
    if len(report.reports) == 2:
        return "Means over benchmarks; two have no interval."
    return "Means and 95 % intervals over benchmarks."


def bar_of(
    name: str, interval: Interval, values: Mapping[str, float], reference: bool = False
) -> blocks.Bar:
    """Return a mean over benchmarks with its interval and the value of each benchmark."""
    mean, low, high = (100 * value for value in (interval.mean, interval.low, interval.high))
    about = ", ".join(f"{benchmark} {100 * value:.2f}" for benchmark, value in values.items())
    return blocks.Bar(
        group="",
        names=(name,),
        mean=mean,
        low=low,
        high=high,
        values=tuple(100 * value for value in values.values()),
        reference=reference,
        about=f"{name}: {mean:.2f}; {about}",
    )


def _strategies(over: OverBenchmarks) -> Iterable[blocks.Block]:
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
        rows.append(blocks.Row(tuple(texts), cell.strategy.oracle))
    heads = ["regret", "+- benchmarks", "right of two, %", "+- benchmarks"]
    heads += ["vs least", "p"] if verdicts else []
    heads += [f"regret, {benchmark}" for benchmark in over.benchmarks]
    yield blocks.table(blocks.words("snapshot / config") + blocks.numbers(heads), rows)
    yield blocks.Paragraph(
        f"Regret against {wording.FULL_ORACLE} in points, mean over methods. right of two: how "
        "often the strategy picks the better of two methods, as it picks a configuration; the "
        f"better one is the one with more NovelGen by {wording.FULL_ORACLE}, over seeds, whether "
        "or not these decide it. * reads novel scores.",
        "note",
    )
    if over.lacking:
        yield blocks.Paragraph(f"Some benchmark lacks: {', '.join(over.lacking)}.")


def _methods(over: OverBenchmarks) -> Iterable[blocks.Block]:
    if not over.methods:
        return
    rows = []
    for cell in over.methods:
        means = [wording.percent(cell.means[benchmark]) for benchmark in over.benchmarks]
        rows.append([cell.method, *_interval(cell.mean), *means])
    yield blocks.table(
        blocks.words("method") + blocks.numbers(["mean", "+- benchmarks", *over.benchmarks]), rows
    )
    if over.differences:
        pairs = []
        for pair in over.differences:
            effect = pair.result.effect
            ends = (effect.mean, effect.low, effect.high)
            shown = ["-" if isnan(end) else f"{100 * end:+.2f}" for end in ends]
            names = (f"{pair.a} - {pair.b}", pair.result.verdict)
            pairs.append([*names, *shown, wording.p_value(pair.result.p_adjusted)])
        ends = blocks.numbers(["difference", "low", "high", "p (Holm)"])
        yield blocks.table(blocks.words("methods", "over benchmarks") + ends, pairs)
    yield blocks.Paragraph(
        "Differences are paired over benchmarks. They speak of benchmarks like these, if these "
        "were not picked for what they show.",
        "note",
    )


def _interval(interval: Interval | None) -> list[str]:
    if interval is None:
        return ["-", "-"]
    return [wording.percent(interval.mean), wording.half_width(interval)]
