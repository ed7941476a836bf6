"""The answer of a report: who wins, which strategy to choose by, and what would decide it.

All of it is about methods, trained again: over seeds, with tasks and the selection inside. What
trained snapshots alone say is called so, and never best or decided.
"""

from collections.abc import Iterable

from fsl_sweep.orchestrator.records.paper_names import TEST_MEASURE
from fsl_sweep.orchestrator.records.protocol import MAIN
from fsl_sweep.orchestrator.report.answer.chance import at_chance
from fsl_sweep.orchestrator.report.answer.deciding import would_decide
from fsl_sweep.orchestrator.report.answer.divergence import what_diverged
from fsl_sweep.orchestrator.report.answer.leader import Leader
from fsl_sweep.orchestrator.report.answer.over_benchmarks import answer_over_benchmarks
from fsl_sweep.orchestrator.report.answer.strategies import which_strategy
from fsl_sweep.orchestrator.report.content import Answer, BenchmarksContent, Content, RunContent
from fsl_sweep.orchestrator.report.wording import some
from fsl_sweep.orchestrator.selection.comparing.power import PowerAnalysis
from fsl_sweep.orchestrator.selection.completeness import Completeness
from fsl_sweep.orchestrator.selection.evidence import USUAL
from fsl_sweep.orchestrator.statistics.intervals import SATURATED
from fsl_sweep.orchestrator.text.commands import on_all
from fsl_sweep.orchestrator.text.printed import counted


def answer_of(report: Content, timed: bool = True) -> Answer:
    """Return what the records answer. Unless ``timed``, it depends on no recorded time."""
    if isinstance(report, BenchmarksContent):
        return answer_over_benchmarks(report)
    if report.lead is None:
        left = _unfinished(report.completeness)
        sentences = (_nothing(report), *what_diverged(report, None), left)
        return Answer(tuple(filter(None, sentences)))
    leader = Leader(report, report.lead)
    pair = {leader.methods[0], leader.rival}
    needs = tuple(need for need in report.needs if {need.a, need.b} == pair)
    sentences = (
        leader.sentence(),
        *what_diverged(report, report.lead),
        *at_chance(report, leader.order),
        *_saturated(leader),
        which_strategy(leader),
        _next(leader, needs, timed),
    )
    return Answer(
        sentences=tuple(filter(None, sentences)),
        best=None if len(leader.tied) > 1 or report.lead.oracle else leader.methods[0],
        decided=leader.decided,
        strategy=report.lead,
        needs=needs,
    )


def _nothing(report: RunContent) -> str:
    if not report.completeness.trained:
        return "Nothing can be said: no method has a seed with all of its trials done."
    if report.completeness.diverged and not report.selected.left_out:
        return "Nothing can be said: no configuration of any method is left."
    if report.selected.fronts:
        return "Nothing can be said of methods: a front keeps several snapshots of each seed."
    return "Nothing can be said: no strategy could choose, or what it chose is not measured."


def _saturated(leader: Leader) -> Iterable[str]:
    means = [cell.reported.mean for cell in leader.order]
    if len(means) > 1 and min(means) >= SATURATED and not leader.decided:
        yield (
            f"All methods are above {100 * SATURATED:g} %, so these tasks are too easy to tell "
            "them apart: try more ways or fewer shots."
        )


def _next(leader: Leader, needs: tuple[PowerAnalysis, ...], timed: bool) -> str:
    """Say what would decide it."""
    report = leader.report
    if not report.complete:
        return _unfinished(report.completeness)
    if len(leader.order) < 2 or leader.strategy.oracle:
        return ""
    if leader.decided:
        return f"No further run is needed to decide it under {leader.strategy}."
    if leader.order[0].lost_seeds:
        best = leader.methods[0]
        return (
            f"{best} needs a configuration that does not diverge: while it has lost seeds, no "
            "number of others decides in its favour."
        )
    few = leader.single
    if leader.seeds != 1:
        few = [method for method in leader.undecided if leader.against[method].effect.n == 1]
    if few:
        return (
            f"Add a second seed of {some(few)}: then the report can say how many would decide it."
        )
    if leader.copied or leader.mixed:
        return ""
    if len(leader.tied) > 1:
        return f"{_plan_next(leader)} says what would show 1 point."
    return would_decide(needs[0], timed) if needs and leader.undecided else ""


def _plan_next(leader: Leader) -> str:
    """Return the command that plans for what this report compares, in the way that it does."""
    info = leader.report.info
    options = {
        "--metric": None if info.metric == TEST_MEASURE else info.metric,
        "--protocol": info.protocol and info.protocol.name,
        "--choose-by": info.chosen_by and info.chosen_by.name,
    }
    if str(leader.strategy) != USUAL:
        options["--snapshot"] = leader.strategy.snapshot
        options["--hyperparameter"] = leader.strategy.hyperparameter
    words = [word for option in options.items() if option[1] not in (None, MAIN) for word in option]
    return on_all(info.places, "plan-next", *words, "--effect", "0.01")


def _unfinished(completeness: Completeness) -> str:
    """Say what an incomplete run still needs, and which methods have nothing to report."""
    if completeness.searching and completeness.ended == completeness.planned:
        return f"Finish the run first: {completeness.searching} are proposed and trained so far."
    if completeness.trained:
        return "Measure what is missing first." if completeness.unmeasured else ""
    done = f"{completeness.ended} of {counted(completeness.planned, 'trial')} are done"
    if completeness.missing:
        text = f"Finish the run first: {done}"
    elif completeness.failed:
        text = f"Seeds with a failed trial are left out: {done}"
    else:
        text = f"Seeds with a trial that its budget stopped too early are left out: {done}"
    without = [
        f"{method} ({done} of {counted(planned, 'trial')})"
        for method, (done, planned) in completeness.trials.items()
        if not completeness.seeds[method][0]
    ]
    return f"{text}. Without a complete seed: {some(without)}." if without else f"{text}."
