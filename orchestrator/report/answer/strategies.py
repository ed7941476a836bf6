"""Which strategy to choose by: whether the order survives another one, and what choosing cost."""

from collections.abc import Iterable, Mapping, Sequence

from fsl_sweep.orchestrator.report import wording
from fsl_sweep.orchestrator.report.answer.leader import Leader
from fsl_sweep.orchestrator.report.content import RunContent
from fsl_sweep.orchestrator.report.wording import some
from fsl_sweep.orchestrator.selection.comparing.comparison import Ranking, conflicting
from fsl_sweep.orchestrator.selection.methods import same_choices
from fsl_sweep.orchestrator.selection.results import Strategy
from fsl_sweep.orchestrator.statistics.sign_flips import LEAST_ROWS
from fsl_sweep.orchestrator.statistics.ties import comparable


def which_strategy(leader: Leader) -> str:
    """Say whether a change of strategy keeps the order, what choosing cost, and how to choose."""
    report = leader.report
    usual = [ranking for ranking in report.rankings if ranking.strategy.usual]
    if not usual and any(not ranking.strategy.oracle for ranking in report.rankings):
        return (
            "No strategy here chooses configurations by the measure by which others were stopped, "
            "so that none is compared."
        )
    if not usual:
        return "Every strategy here reads novel scores: none can be used where those are unknown."
    verdicts: Iterable[str] = ()
    if len(usual) == 1:
        order: Iterable[str] = [
            f"{leader.strategy} is the only strategy here that reads no novel score."
        ]
    elif _chose_alike(report):
        order = [f"{_all(usual)} strategies chose the same snapshots."]
    else:
        order, verdicts = _order(usual, leader), _verdicts(report) if report.complete else ()
    return " ".join([*order, *_cost(leader), *verdicts])


def _order(usual: Sequence[Ranking], leader: Leader) -> Iterable[str]:
    ranked, best = leader.report.ranked_by, leader.methods[0]
    if len(leader.order) == 1 or len(leader.tied) > 1 or len(ranked) < 2:
        return
    first = {r.strategy: _first(leader.report, r) for r in ranked if best in r.methods}
    others = {strategy: leaders for strategy, leaders in first.items() if best not in leaders}
    equal = {strategy: leaders for strategy, leaders in first.items() if leaders[1:]}
    if differing := others or equal:
        leaders = list(dict.fromkeys(m for methods in differing.values() for m in methods))
        lead = "are equal" if not others else "leads" if len(leaders) == 1 else "lead"
        under = f"{some(leaders)} {lead} under {some(list(map(str, differing)))}"
        yield f"Who leads depends on the strategy: {under}."
        return
    every = f"{_all(ranked)} strategies"
    if len(ranked) < len(usual):
        every += " with two methods or more"
    if conflicting(ranked):
        has = "" if len(first) == len(ranked) else f", where they have {best}"
        yield f"{every} have {best} first{has}; the order behind it differs."
    else:
        these = "the methods" if leader.seeds != 1 else "these snapshots"
        partly = len({frozenset(ranking.methods) for ranking in ranked}) > 1
        yield f"{every} rank {these} alike{', as far as they have them' if partly else ''}."


def _first(report: RunContent, ranking: Ranking) -> list[str]:
    """Return the methods with the best mean under a strategy, in plan order."""
    cells = report.summaries_of(ranking.strategy)
    means = comparable([cell.reported.mean for cell in cells])
    best = means.max()
    return [cell.method for cell, mean in zip(cells, means, strict=True) if mean == best]


def _all(ranked: Sequence[Ranking]) -> str:
    return "Both" if len(ranked) == 2 else f"All {len(ranked)}"


def cost(
    strategy: Strategy, regrets: Mapping[Strategy, float], mixture: bool, among: str = ""
) -> str:
    """Say what choosing by the strategy cost against the oracle, and by the others of ``regrets``.

    Regrets are of NovelGen: it is named where methods are compared by a ``mixture``.
    """
    regret, points = regrets[strategy], "points of NovelGen" if mixture else "points"
    if regret < 0:
        lower = f"the oracle's own choice scored {wording.points(-regret)} {points} lower"
        return f"Choosing by {strategy} cost nothing: {lower}"
    text = f"Choosing by {strategy} cost {wording.points(regret)} {points} against the oracle"
    text += among
    if others := [regrets[other] for other in regrets if other != strategy]:
        low, high = (wording.points(end(others)) for end in (min, max))
        if {low, high} != {wording.points(regret)}:
            text += f" (by others {low if low == high else f'{low} to {high}'})"
    return text


def _cost(leader: Leader) -> Iterable[str]:
    """Say what choosing cost, and whether that is more than the methods differ."""
    results = leader.report.over_methods.results
    regrets = {r.strategy: r.regret.mean for r in results if r.strategy.usual}
    if leader.strategy not in regrets:
        return
    mixture = leader.report.base_weight is not None
    among = " among finalists" if leader.report.completeness.early else ""
    text = cost(leader.strategy, regrets, mixture, among)
    if not mixture and regrets[leader.strategy] > leader.lead > 0 and len(leader.tied) == 1:
        text += f", more than {' and '.join(leader.methods[:2])} differ"
    yield f"{text}."


def _verdicts(report: RunContent) -> Iterable[str]:
    """Say which strategy to choose by, or that the records do not tell."""
    usual = [result for result in report.over_methods.results if result.strategy.usual]
    if not usual:
        return
    worse = [r for r in usual if r.against_least and r.against_least.verdict == "worse"]
    if worse:
        least = next(result for result in usual if result.least)
        equal = {result.strategy for result in usual if result.regret == least.regret}
        by = report.lead if report.lead in equal else least.strategy
        others = some([str(result.strategy) for result in worse])
        rest = "; the other strategies are not told apart" if len(usual) - len(worse) > 1 else ""
        yield f"Do not choose by {others}, which cost more than {by}, by more than chance{rest}."
        return
    count = len(report.over_methods.methods)
    if count < LEAST_ROWS:
        these = f"these are {count}" if count > 1 else "this is one"
        text = f"It takes {LEAST_ROWS} methods to tell which strategy is better, and {these}"
    else:
        text = f"These {count} methods do not show that one strategy is better than another"
    yield f"{text}; {report.lead} reads no novel score."


def _chose_alike(report: RunContent) -> bool:
    usual = [cell for cell in report.summaries if cell.strategy.usual]
    return len(same_choices(usual)) == len({cell.method for cell in usual})
