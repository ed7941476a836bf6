"""The sentences under the report's tables, whatever the format."""

from fsl_sweep.orchestrator.printed import counted
from fsl_sweep.orchestrator.report import wording
from fsl_sweep.orchestrator.report.content import Report
from fsl_sweep.orchestrator.report.groups import ORACLE
from fsl_sweep.orchestrator.report.rows import chances_known, several_methods
from fsl_sweep.orchestrator.statistics.intervals import FEW_SEEDS

COMPARISONS = "Comparisons of these snapshots"
"""Title of the comparisons of methods: the verdicts are no claims about the methods."""

NO_METHOD = "No strategy can use the trials that are there, so there is nothing to compare."

BUDGETS = (
    "Regret in percentage points against oracle / oracle, mean over seeds, after at most so "
    "many novel evaluations of each seed. One evaluation is one snapshot on all novel "
    "selection tasks."
)

BOLD = (
    " Bold: the highest of those that are no oracles, as seen afterwards; to choose a strategy by "
    "it would be an oracle too."
)

FRONTS = (
    "Configurations that for a seed no other beats in one of the two without losing in the other, "
    "as seen on the selection tasks; percent on the report tasks, mean over all seeds. seeds: how "
    "many of them have it on their front."
)


def strategies(report: Report, bold: bool = True) -> str:
    """What the columns of the table of strategies mean, and its bold rows where it has some."""
    seeds = max(summary.novel.n for summary in report.summaries)
    weight = report.base_weight
    metric = "" if weight is None else f"{wording.mixture(weight)}: {_mixture(weight)}. "
    of = "" if weight is None else "its "
    return (
        f"Percent on the report tasks, mean over {counted(seeds, 'seed')}. "
        f"{metric}seeds, tasks: half-widths of {of}95 % intervals{_two(report)}. "
        + _select(report, seeds)
        + "regret: NovelGen of oracle / oracle minus "
        "this. evals: snapshots whose novel scores the strategy looked at. "
        "* oracle: reads novel scores. Each seed's configuration and epoch are chosen apart."
        + (BOLD if bold else "")
    )


def _two(report: Report) -> str:
    two = any(len(summary.choices) == 2 for summary in report.summaries)
    return "; of two seeds both values, which are too few for an interval" if two else ""


def _select(report: Report, seeds: int) -> str:
    """What ``select`` is, and that claims about methods need it."""
    claims = "" if seeds == 1 else f"{wording.claims(report.summaries, bool(report.resampled))} "
    if not report.resampled:
        return claims
    classes = any(one.result.over == "classes" for one in report.resampled)
    over = "tasks and classes" if classes else "tasks"
    both = f"seeds and {over}" if seeds > 1 else over
    return (
        f"select: half-width of the interval over {both} that resamples {over} and selects again "
        f"each time, least to most where strategies that chose alike share a row. {claims}"
    )


def comparisons(report: Report) -> str:
    """What the verdicts are."""
    paired = "paired on the common report tasks, in percentage points; "
    if report.base_weight is not None:
        paired = (
            f"by {_mixture(report.base_weight)}: differences are paired on the common report tasks "
            "of each of the two, whose tasks were sampled apart, and their variances add (degrees "
            "of freedom are Welch's); in percentage points; "
        )
    return (
        "Whether these snapshots differ, those chosen of the first method from those of the "
        f"second, {paired}verdicts at 95 % after Holm's correction over the pairs of a strategy. "
        f"They say nothing about training the methods again: {_again(report)}."
    )


def _again(report: Report) -> str:
    """Where to read about training again."""
    if max(summary.novel.n for summary in report.summaries) == 1:
        return "that takes more than one seed"
    return "`select` above does" if report.resampled else "`select` does, with `--bootstrap 1000`"


def counts(report: Report) -> str:
    """How much of the plan is there, without a full stop."""
    found = report.completeness
    text = f"{counted(found.planned, 'trial')} planned, {found.done} done, {found.failed} failed"
    if not found.complete:
        return f"{text}, {found.missing} missing"
    return text + (f" ({found.budget} stopped by their budget)" if found.budget else "")


def stability(report: Report) -> str:
    """What the columns of the table of stability mean."""
    metric = wording.metric(report.base_weight)
    worst = f"worst seed: {metric} of the worst seed, by which the MetaDL challenge ranks. "
    if not several_methods(report):
        return worst.rstrip()
    counts = (
        "seeds, tasks, strategies: how many rankings by one seed alone, on resampled tasks with "
        "the selection repeated, and under the other strategies that are no oracles order the "
        "methods alike."
    )
    if not report.resampled:
        return f"{worst}{counts} No tasks were resampled; `--bootstrap 1000` does that."
    if not chances_known(report):
        return f"{worst}{counts}"
    chance = "best: chance to be the best method over resampled tasks and seeds"
    seeds = max(summary.novel.n for summary in report.summaries)
    chance += (
        "; with so few seeds, surer of itself than it should be. " if seeds < FEW_SEEDS else ". "
    )
    return worst + chance + counts


def left_out(report: Report) -> list[str]:
    """Strategies that could not choose; unusable trials stand in the banner instead."""
    found: list[str] = []
    for one in report.left_out:
        unplanned = one.fold is not None and one.trial is None
        if unplanned or one.snapshot_selector is not None:
            some = one.snapshot_selector or "cross-validated"
            strategy = f"{some} / {one.hyperparameter_selector or 'any'}"
            found.append(f"Left out: {one.method}, {strategy}, seed {one.seed}: {one.reason}")
    return found


def same_ranking(report: Report) -> str:
    """That all strategies rank the methods alike, and how many pairs of snapshots differ."""
    order = " > ".join(report.rankings[0].methods)
    decided = sum(c.result.verdict in ("better", "worse") for c in report.comparisons)
    return (
        f"Means{_of_metric(report)} rank these snapshots of the methods alike under every "
        f"strategy, {order}; in {decided} of {len(report.comparisons)} comparisons they differ."
    )


def other_rankings(report: Report) -> list[str]:
    """The orders of methods that there are, and the strategies of each."""
    return [
        f"{' > '.join(methods)}: "
        + ", ".join(
            f"{r.strategy}{ORACLE if r.strategy.oracle else ''}"
            for r in report.rankings
            if r.methods == methods
        )
        for methods in dict.fromkeys(ranking.methods for ranking in report.rankings)
    ]


def several_rankings(report: Report) -> str:
    """What ``other_rankings`` lists."""
    of = _of_metric(report)
    return f"Means{of} rank these snapshots of the methods differently from strategy to strategy:"


def provenance(report: Report) -> list[str]:
    """The sweep, the data, third parties' selectors, and versions of packages."""
    info = report.info
    # Records without a fingerprint are those of a table, which does not tell of its data.
    unknown = "not known" if report.completeness.done else "not measured yet"
    data = info.fingerprint[:16] if info.fingerprint else unknown
    lines = [f"sweep {info.sweep_hash}, data {data}"]
    foreign = [
        f"{one['name']} from {one['source']} {one['version']}".rstrip()
        for kind in report.selectors.values()
        for one in kind
        if one["source"] != "fsl-sweep"
    ]
    if foreign:
        lines.append(f"selectors of third parties: {', '.join(dict.fromkeys(foreign))}")
    if info.versions:
        lines.append(", ".join(f"{name} {v}" for name, v in info.versions.items() if v))
    return lines


def _mixture(base_weight: float) -> str:
    return f"{base_weight:g} BaseGen + {round(1 - base_weight, 10):g} NovelGen"


def _of_metric(report: Report) -> str:
    weight = report.base_weight
    return "" if weight is None else f" of {wording.mixture(weight)}"
