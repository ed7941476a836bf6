"""The report as plain blocks: every format shows this document, in this order.

A new table is a function that gives blocks, and a line in ``document``.
"""

from collections.abc import Iterable, Sequence
from math import isfinite

from fsl_sweep.orchestrator.records.measures import MEASURES, SHOWN_AS
from fsl_sweep.orchestrator.report import wording
from fsl_sweep.orchestrator.report.answer.forest import TWO_SEEDS, Bar, forest_of
from fsl_sweep.orchestrator.report.cautions import grave_cautions
from fsl_sweep.orchestrator.report.content import Report
from fsl_sweep.orchestrator.report.document import by_strategy, conclusions, protocols
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
from fsl_sweep.orchestrator.report.document.worlds import worlds_document
from fsl_sweep.orchestrator.report.over_worlds import WorldsReport
from fsl_sweep.orchestrator.selection.completeness import Completeness
from fsl_sweep.orchestrator.selection.results import LeftOut
from fsl_sweep.orchestrator.text.printed import counted


def document(report: Report | WorldsReport, full: bool = True) -> Document:
    """The report without its figures; unless ``full``, without sections too, whatever it has."""
    if isinstance(report, WorldsReport):
        return worlds_document(report)
    found = report.completeness
    return Document(
        headline=headline(report.info.name, found.complete),
        answer=tuple(_answer(report)),
        sections=tuple(_sections(report)) if full else (),
        banner=(*progress(found), *_unmeasured(report), *protocols.named(report)),
        warnings=grave_cautions(report),
        complete=found.complete,
    )


def _sections(report: Report) -> Iterable[Section]:
    by = wording.by_metric(report.base_weight)
    sections = (
        ("strategies", "Methods and strategies", by_strategy.methods_and_strategies(report)),
        ("differences", f"Methods, trained again{by}", conclusions.differences(report)),
        ("trust", "Strategies over all methods", by_strategy.over_methods(report)),
        (
            "protocols",
            "The chosen snapshots under all protocols",
            protocols.over_protocols(report),
        ),
        ("curves", "Learning curves on the selection tasks", _curves(report)),
        ("response", "Response to hyperparameters", ()),  # a figure only
        ("rank", "Rank correlation with NovelGen (Kendall's tau-b)", ranks({"": report})),
        ("comparisons", f"These snapshots{by}", conclusions.comparisons(report)),
        ("stability", f"Stability of conclusions{by}", conclusions.stability(report)),
        ("budget", "Regret against novel looks", conclusions.budgets(report)),
        ("ensembles", "Votes of the best snapshots by ValGen", conclusions.ensembles(report)),
        ("fronts", "Fronts of BaseGen and NovelGen", conclusions.fronts(report)),
        ("cautions", "Cautions", _cautions(report)),
        ("cost", "Cost", _cost(report)),
        ("provenance", "Provenance", [Bullets(tuple(_provenance(report)))]),
    )
    return (Section(key, title, tuple(blocks)) for key, title, blocks in sections)


def headline(name: str, complete: bool) -> str:
    """What every format begins with."""
    return f"{name}: {'complete' if complete else 'INCOMPLETE'}"


def progress(found: Completeness) -> Iterable[Block]:
    """How much of the plan is done, and what is missing."""
    text = f"{counted(found.planned, 'trial')} planned, {found.done} done"
    if late := found.budget - found.stopped_early:
        text += f" ({late} stopped by {'its' if late == 1 else 'their'} budget)"
    text += f", {found.failed} failed"
    if found.stopped_early:
        text += f", {found.stopped_early} stopped by budget before the first snapshot"
    if found.trained:
        yield Paragraph(f"{text}.", "" if found.unmeasured else "good")
    else:
        missing = f"{found.missing} missing. Only whole seeds are shown; not done:"
        yield Paragraph(f"{text}, {missing}", "alarm")
        yield Bullets(tuple(map(_problem, found.problems)))


def _answer(report: Report) -> Iterable[Block]:
    """What a reader wants to know first."""
    for sentence in report.answer.sentences:
        yield Paragraph(sentence)
    if bars := forest_of(report):
        title = f"{wording.metric(report.base_weight)}, %"
        marks = tuple(_mark(report, bar) for bar in bars)
        yield Forest(title, marks, " ".join(_note(report, bars)))


def _mark(report: Report, bar: Bar) -> Mark:
    percents = (100 * value for value in (bar.mean, bar.low, bar.high))
    both = tuple(100 * value for value in bar.seeds) if len(bar.seeds) == 2 else ()
    name = str(bar.strategies[0])
    return Mark(report.named(bar.method), name, *percents, reference=bar.oracle, seeds=both)


def _note(report: Report, bars: Sequence[Bar]) -> Iterable[str]:
    usual = [bar for bar in bars if not bar.oracle] or bars
    if any(isfinite(bar.low) and len(bar.seeds) > 2 for bar in usual):
        yield (
            "Intervals: 95 %, with seeds, tasks and selection; as methods share tasks, those that "
            "differ may overlap."
        )
    if any(len(bar.seeds) == 2 for bar in usual):
        yield TWO_SEEDS
    if any(isfinite(bar.low) and len(bar.seeds) == 1 for bar in usual):
        yield "Of one seed: 95 %, of these snapshots, over tasks and selection."
    if any(not isfinite(bar.low) and len(bar.seeds) != 2 for bar in usual):
        possible = bool(report.resampled) or any(
            one.novel_tasks is not None for one in report.summaries
        )
        adds = "`--bootstrap 1000` adds them."
        if report.partly:
            adds = "they need every snapshot measured."
        none = "Where there is none" if any(isfinite(bar.low) for bar in usual) else "No intervals"
        yield f"{none}: {adds if possible else 'scores by task are not known.'}"
    if any(len(bar.strategies) > 1 for bar in bars):
        yield "Strategies that chose alike share a line."


def _unmeasured(report: Report) -> Iterable[Block]:
    found = report.completeness
    if found.unmeasured and report.info.protocol is not None:
        text = wording.unmeasured(found.unmeasured, report.info.protocol, report.info.as_planned)
        yield Paragraph(text, "alarm")
        yield Bullets(tuple(map(_problem, report.selected.unmeasured)))


def _problem(one: LeftOut) -> str:
    place = f"seed {one.seed}" + ("" if one.fold is None else f", fold {one.fold}")
    values = wording.values(one.hyperparameters or {})
    name = " ".join(part for part in (one.method, values, f"({place}, {one.trial})") if part)
    return f"{name}: {one.reason}"


def _curves(report: Report) -> Iterable[Block]:
    if not report.curves:
        return
    selectors = report.info.snapshot
    lines = []
    for curve in report.curves:
        ends = [[wording.percent(x) for x in curve.scores(m)[[0, -1]]] for m in MEASURES]
        picks = [str(curve.picks.get(name, "-")) for name in selectors]
        one = curve.trial
        values = wording.values(one.hyperparameters)
        lines.append(Row((one.method, values, str(one.seed), *map(" to ".join, ends), *picks)))
    measures = [f"{SHOWN_AS[measure]}, first to last" for measure in MEASURES]
    heads = [f"epoch by {wording.snapshot_by(name)}" for name in selectors]
    columns = words("method", "configuration") + numbers(["seed", *measures, *heads])
    yield Table(columns, (Group("", tuple(lines)),))
    if report.curves_total > len(report.curves):
        text = f"{len(report.curves)} of {report.curves_total} trials are shown; "
        yield Paragraph(f"{text}`fsl-sweep tensorboard RUN` shows all.", "note")


def _cautions(report: Report) -> Iterable[Block]:
    if known := (*report.cautions, *by_strategy.left_out(report)):
        yield Bullets(known)


def _cost(report: Report) -> Iterable[Block]:
    if (cost := report.cost) is not None:
        over = "all trials" if cost.everywhere else "those trials whose times were recorded"
        yield Paragraph(
            f"{wording.duration(cost.train_seconds)} of training and "
            f"{wording.duration(cost.evaluation_seconds)} of measuring, over {over}."
        )


def _provenance(report: Report) -> Iterable[str]:
    """The sweep, the data, third parties' selectors, and versions of packages."""
    info = report.info
    # Records without a fingerprint are those of a table, which does not name its data.
    unknown = "not known" if report.completeness.done else "not measured yet"
    yield f"sweep {info.sweep_hash}, data {info.fingerprint[:16] if info.fingerprint else unknown}"
    if info.protocol is not None and info.chosen_by is not None:
        reported, by = info.protocol.id, info.chosen_by.id
        yield f"protocol {reported}" + (f", chosen by protocol {by}" if by != reported else "")
    foreign = [
        f"{one['name']} from {one['source']} {one['version']}".rstrip()
        for kind in report.selectors.values()
        for one in kind
        if one["source"] != "fsl-sweep"
    ]
    if foreign:
        yield f"selectors of third parties: {', '.join(dict.fromkeys(foreign))}"
    if info.versions:
        yield ", ".join(f"{name} {version}" for name, version in info.versions.items() if version)
