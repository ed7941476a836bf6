"""The report as plain blocks: every format shows this document, in this order.

A new table is a function that gives blocks, and a line in ``document``.
"""

from collections.abc import Iterable

from fsl_sweep.orchestrator.records.measures import MEASURES, SHOWN_AS
from fsl_sweep.orchestrator.report import wording
from fsl_sweep.orchestrator.report.answer.answer import answer_of
from fsl_sweep.orchestrator.report.cautions import cautions_of, grave_cautions
from fsl_sweep.orchestrator.report.content import BenchmarksContent, Content, RunContent
from fsl_sweep.orchestrator.report.document import blocks, by_strategy, conclusions
from fsl_sweep.orchestrator.report.document.benchmarks import benchmarks_document
from fsl_sweep.orchestrator.report.document.forest import forest
from fsl_sweep.orchestrator.report.document.glossary import WORDS
from fsl_sweep.orchestrator.selection.completeness import Completeness
from fsl_sweep.orchestrator.selection.results import LeftOut
from fsl_sweep.orchestrator.text.commands import on_all
from fsl_sweep.orchestrator.text.durations import duration
from fsl_sweep.orchestrator.text.printed import counted

LISTED = 200
"""Classes of a split that provenance names; of more it gives the number."""


def document(report: Content, full: bool = True) -> blocks.Document:
    """Return the report without its figures; unless ``full``, without sections too."""
    if isinstance(report, BenchmarksContent):
        return benchmarks_document(report)
    return blocks.Document(
        headline=headline(report.name, report.complete),
        answer=(*map(blocks.Paragraph, answer_of(report).sentences), *forest(report)),
        sections=tuple(_sections(report)) if full else (),
        banner=(
            *progress(report.completeness),
            *_unmeasured(report),
            *by_strategy.measured_under(report),
        ),
        warnings=grave_cautions(report),
        complete=report.complete,
        words=WORDS,
    )


def _sections(report: RunContent) -> Iterable[blocks.Section]:
    by = wording.by_metric(report.base_weight)
    sections = (
        ("strategies", "Methods and strategies", by_strategy.methods_and_strategies(report)),
        ("differences", f"Methods, trained again{by}", conclusions.differences(report)),
        ("trust", "Strategies over all methods", by_strategy.over_methods(report)),
        (
            "protocols",
            "The chosen snapshots under all protocols",
            by_strategy.under_protocols(report),
        ),
        ("curves", "Learning curves on the selection tasks", _curves(report)),
        ("response", "Response to hyperparameters", ()),  # a figure only
        (
            "rank",
            "Rank correlation with NovelGen (Kendall's tau-b)",
            conclusions.ranks({"": report}),
        ),
        ("comparisons", f"These snapshots{by}", conclusions.comparisons(report)),
        ("stability", f"Stability of conclusions{by}", conclusions.stability(report)),
        ("budget", "Regret against novel looks", conclusions.budgets(report)),
        ("ensembles", "Votes of the best snapshots by ValGen", conclusions.ensembles(report)),
        ("fronts", "Fronts of BaseGen and NovelGen", conclusions.fronts(report)),
        ("cautions", "Cautions", _cautions(report)),
        ("cost", "Cost", _cost(report)),
        ("provenance", "Provenance", [blocks.Bullets(tuple(_provenance(report)))]),
    )
    return (blocks.Section(key, title, tuple(inside)) for key, title, inside in sections)


def headline(name: str, complete: bool) -> str:
    """Return what every format begins with."""
    return f"{name}: {'complete' if complete else 'INCOMPLETE'}"


def progress(completeness: Completeness) -> Iterable[blocks.Block]:
    """Say how much of the plan is done, and what is missing."""
    text = f"{counted(completeness.planned, 'trial')} planned, {completeness.done} done"
    if late := completeness.budget - completeness.stopped_early:
        text += f" ({late} stopped by {'its' if late == 1 else 'their'} budget)"
    text += f", {completeness.diverged} diverged" if completeness.diverged else ""
    text += f", {completeness.failed} failed"
    if completeness.stopped_by_rule:
        text += f", {completeness.stopped_by_rule} stopped early"
    if completeness.stopped_early:
        text += f", {completeness.stopped_early} stopped by budget before the first snapshot"
    if completeness.searching:
        search = f"The search is not finished: {completeness.searching} proposed so far."
        yield blocks.Paragraph(search, "alarm")
    if completeness.ended + completeness.stopped_by_rule == completeness.planned:
        yield blocks.Paragraph(f"{text}.", "good" if completeness.complete else "")
    else:
        missing = f"{completeness.missing} missing. Only complete seeds are shown; not done:"
        yield blocks.Paragraph(f"{text}, {missing}", "alarm")
        yield blocks.Bullets(tuple(map(_problem, completeness.problems)))
    if completeness.early:
        yield blocks.Paragraph(wording.early_stopping(completeness.early))


def _unmeasured(report: RunContent) -> Iterable[blocks.Block]:
    count, reported = report.completeness.unmeasured, report.info.protocol
    if count and reported is not None:
        text = wording.unmeasured(count, reported, report.info.as_planned, report.info.places)
        yield blocks.Paragraph(text, "alarm")
        yield blocks.Bullets(tuple(map(_problem, report.selected.unmeasured)))


def _problem(problem: LeftOut) -> str:
    place = f"seed {problem.seed}" + ("" if problem.fold is None else f", fold {problem.fold}")
    values = wording.values(problem.hyperparameters or {})
    name = " ".join(filter(None, (problem.method, values, f"({place}, {problem.trial})")))
    return f"{name}: {problem.reason}"


def _curves(report: RunContent) -> Iterable[blocks.Block]:
    """Show the first and the last epoch of each curve, and the epochs that were picked."""
    if not report.curves:
        return
    selectors = report.info.snapshot
    rows = []
    for trial, picks in report.curves:
        cells = [trial.method, wording.values(trial.hyperparameters), str(trial.seed)]
        for measure in MEASURES:
            ends = trial.scores[measure, "selection"].means[[0, -1]]
            cells.append(" to ".join(map(wording.percent, ends)))
        cells += [str(picks.get(name, "-")) for name in selectors]
        rows.append(cells)
    measures = [f"{SHOWN_AS[measure]}, first to last" for measure in MEASURES]
    heads = [f"epoch by {wording.snapshot_by(name)}" for name in selectors]
    columns = blocks.words("method", "configuration") + blocks.numbers(["seed", *measures, *heads])
    yield blocks.table(columns, rows)
    if report.curves_total > len(report.curves):
        text = f"{len(report.curves)} of {report.curves_total} trials are shown"
        if report.info.protocol is not None and len(report.info.places) == 1:
            text += f"; {on_all(report.info.places, 'tensorboard')} shows all"
        yield blocks.Paragraph(f"{text}.", "note")


def _cautions(report: RunContent) -> Iterable[blocks.Block]:
    if cautions := (*cautions_of(report), *by_strategy.left_out(report)):
        yield blocks.Bullets(cautions)


def _cost(report: RunContent) -> Iterable[blocks.Block]:
    if (cost := report.cost) is not None:
        train, evaluation, everywhere = cost
        over = "all trials" if everywhere else "those trials whose times were recorded"
        yield blocks.Paragraph(
            f"{duration(train)} of training and {duration(evaluation)} of measuring, over {over}."
        )


def _provenance(report: RunContent) -> Iterable[str]:
    """Name the sweep, the data, third parties' selectors, and versions of packages."""
    info = report.info
    # Records without a fingerprint are those of a table, which does not name its data.
    unknown = "not known" if report.completeness.ended else "not measured yet"
    yield f"sweep {info.sweep_hash}, data {info.fingerprint[:16] if info.fingerprint else unknown}"
    if info.protocol is not None and info.chosen_by is not None:
        reported, by = info.protocol.id, info.chosen_by.id
        yield f"protocol {reported}" + (f", chosen by protocol {by}" if by != reported else "")
    for measure, names in info.classes.items():
        many = f"{len(names):,}, in tasks/ of the run folder"
        if names:
            yield f"{measure} classes: {', '.join(names) if len(names) <= LISTED else many}"
    foreign = [
        f"{selector['name']} from {selector['source']} {selector['version']}".rstrip()
        for selectors in report.selectors.values()
        for selector in selectors
        if selector["source"] != "fsl-sweep"
    ]
    if foreign:
        yield f"selectors of third parties: {', '.join(dict.fromkeys(foreign))}"
    if report.environments.values:
        yield f"trained with {report.environments.described}"
    if info.versions:
        yield ", ".join(f"{name} {version}" for name, version in info.versions.items() if version)
