"""The answer of a report: who wins, which strategy to choose by, and what would decide it.

All of it is about methods, trained again: over seeds, with tasks and the selection inside. What
trained snapshots alone say is called so, and never best or decided.
"""

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fsl_sweep.orchestrator.records.paper_names import TEST_MEASURE
from fsl_sweep.orchestrator.records.protocol import MAIN
from fsl_sweep.orchestrator.report import wording
from fsl_sweep.orchestrator.report.answer.deciding import would_decide
from fsl_sweep.orchestrator.report.answer.race import Race, some
from fsl_sweep.orchestrator.selection.comparing.comparison import Ranking, conflicting
from fsl_sweep.orchestrator.selection.comparing.power import PowerAnalysis
from fsl_sweep.orchestrator.selection.completeness import Completeness
from fsl_sweep.orchestrator.selection.evidence import USUAL
from fsl_sweep.orchestrator.selection.methods import Summary, same_choices
from fsl_sweep.orchestrator.selection.results import Strategy
from fsl_sweep.orchestrator.statistics.intervals import SATURATED
from fsl_sweep.orchestrator.statistics.sign_flips import LEAST_ROWS
from fsl_sweep.orchestrator.statistics.ties import comparable
from fsl_sweep.orchestrator.text.printed import counted

if TYPE_CHECKING:
    from fsl_sweep.orchestrator.report.content import Report


@dataclass(frozen=True)
class Answer:
    """What a reader wants to know first.

    Attributes:
        sentences: the whole answer, for a person.
        best: the method with the best mean under the strategy; None where there is none, where
            several are equal, or where only novel scores choose.
        decided: whether the run is complete and the best is better than every other method.
        strategy: the one that this is about.
        needs: what would tell the best from the next that is not decided; empty where that is not
            known.
    """

    sentences: tuple[str, ...]
    best: str | None
    decided: bool
    strategy: Strategy | None
    needs: tuple[PowerAnalysis, ...]


def answer_of(report: "Report", timed: bool = True) -> Answer:
    """The answer that the records bear. Unless ``timed``, it depends on no recorded time."""
    if report.lead is None:
        said = filter(None, (_nothing(report), _unfinished(report.completeness)))
        return Answer(tuple(said), None, False, None, ())
    race = Race(report, report.lead)
    pair = {race.order[0].method, race.rival}
    needs = tuple(one for one in report.needs if {one.a, one.b} == pair)
    said = [
        race.won(),
        *_saturated(race),
        _strategies(race),
        _next(race, needs, timed),
    ]
    return Answer(
        sentences=tuple(filter(None, said)),
        best=None if len(race.tied) > 1 or report.lead.oracle else race.order[0].method,
        decided=race.decided,
        strategy=report.lead,
        needs=needs,
    )


def _nothing(report: "Report") -> str:
    if not report.completeness.trained:
        return "Nothing can be said: no method has a seed with all of its trials done."
    if report.selected.fronts:
        return "Nothing can be said of methods: a front keeps several snapshots of each seed."
    return "Nothing can be said: no strategy could choose, or what it chose is not measured."


def _saturated(race: Race) -> Iterable[str]:
    means = [one.reported.mean for one in race.order]
    if len(means) > 1 and min(means) >= SATURATED and not race.decided:
        yield (
            f"All methods are above {100 * SATURATED:g} %, so these tasks are too easy to tell "
            "them apart: try more ways or fewer shots."
        )


def _strategies(race: Race) -> str:
    """Whether the order survives a change of strategy, what choosing cost, and how to choose."""
    report = race.report
    usual = [one for one in report.rankings if not one.strategy.oracle]
    if not usual:
        return "Every strategy here reads novel scores: none can be used where those are unknown."
    verdicts: Iterable[str] = ()
    if len(usual) == 1:
        said: Iterable[str] = [
            f"{race.strategy} is the only strategy here that reads no novel score."
        ]
    elif _chose_alike(report.summaries):
        said = [f"{_all(usual)} strategies chose the same snapshots."]
    else:
        said, verdicts = _order(usual, race), _verdicts(report) if race.complete else ()
    return " ".join([*said, *_cost(race), *verdicts])


def _order(usual: Sequence[Ranking], race: Race) -> Iterable[str]:
    ranked, best = race.report.ranked_by, race.order[0].method
    if len(race.order) == 1 or len(race.tied) > 1 or len(ranked) < 2:
        return
    first = {one: _first(race.report, one) for one in ranked if best in one.methods}
    others = {one: leaders for one, leaders in first.items() if best not in leaders}
    equal = {one: leaders for one, leaders in first.items() if leaders[1:]}
    if found := others or equal:
        names = some([str(one.strategy) for one in found])
        leaders = list(dict.fromkeys(method for own in found.values() for method in own))
        lead = "are equal" if not others else "leads" if len(leaders) == 1 else "lead"
        yield f"Who leads depends on the strategy: {some(leaders)} {lead} under {names}."
        return
    every = f"{_all(ranked)} strategies"
    if len(ranked) < len(usual):
        every += " with two methods or more"
    if conflicting(ranked):
        has = "" if len(first) == len(ranked) else f", where they have {best}"
        yield f"{every} have {best} first{has}; the order behind it differs."
    else:
        these = "the methods" if race.seeds > 1 else "these snapshots"
        partly = len({frozenset(one.methods) for one in ranked}) > 1
        yield f"{every} rank {these} alike{', as far as they have them' if partly else ''}."


def _first(report: "Report", ranking: Ranking) -> list[str]:
    """The methods with the best mean under a strategy, in plan order."""
    own = [one for one in report.summaries if one.strategy == ranking.strategy]
    means = comparable([one.reported.mean for one in own])
    return [one.method for one, mean in zip(own, means, strict=True) if mean == means.max()]


def _all(ranked: Sequence[Ranking]) -> str:
    return "Both" if len(ranked) == 2 else f"All {len(ranked)}"


def cost(strategy: Strategy, regrets: Mapping[Strategy, float], mixture: bool) -> str:
    """What choosing by the strategy cost against the oracle, and by the others of ``regrets``.

    Regrets are of NovelGen: it is named where methods are compared by a ``mixture``.
    """
    own, points = regrets[strategy], "points of NovelGen" if mixture else "points"
    if own < 0:
        lower = f"the oracle's own choice scored {wording.points(-own)} {points} lower"
        return f"Choosing by {strategy} cost nothing: {lower}"
    text = f"Choosing by {strategy} cost {wording.points(own)} {points} against the oracle"
    if others := [regret for other, regret in regrets.items() if other != strategy]:
        low, high = (wording.points(f(others)) for f in (min, max))
        if {low, high} != {wording.points(own)}:
            text += f" (by others {low if low == high else f'{low} to {high}'})"
    return text


def _cost(race: Race) -> Iterable[str]:
    """What choosing cost, and whether that is more than the methods differ."""
    results = race.report.over_methods.results
    regrets = {one.strategy: one.regret.mean for one in results if not one.strategy.oracle}
    if race.strategy not in regrets:
        return
    mixture, own = race.order[0].base_weight is not None, regrets[race.strategy]
    text = cost(race.strategy, regrets, mixture)
    if not mixture and own > race.ahead > 0 and len(race.tied) == 1:
        text += f", more than {' and '.join(one.method for one in race.order[:2])} differ"
    yield f"{text}."


def _verdicts(report: "Report") -> Iterable[str]:
    """Which strategy to choose by, or that the records do not tell."""
    found = report.over_methods
    usual = [one for one in found.results if not one.strategy.oracle]
    if not usual:
        return
    worse = [one for one in usual if one.against_least and one.against_least.verdict == "worse"]
    if worse:
        least = next(one for one in usual if one.least)
        if any(one.strategy == report.lead and one.regret == least.regret for one in usual):
            least = next(one for one in usual if one.strategy == report.lead)
        others = some([str(one.strategy) for one in worse])
        more = f"which cost more than {least.strategy}, by more than chance"
        rest = len(usual) - len(worse) > 1
        open_ = "; the other strategies are not told apart" if rest else ""
        yield f"Do not choose by {others}, {more}{open_}."
        return
    count = len(found.methods)
    if count < LEAST_ROWS:
        these = f"these are {count}" if count > 1 else "this is one"
        text = f"It takes {LEAST_ROWS} methods to tell which strategy is better, and {these}"
    else:
        text = f"These {count} methods do not show that one strategy is better than another"
    yield f"{text}; {report.lead} reads no novel score."


def _chose_alike(summaries: Sequence[Summary]) -> bool:
    usual = [one for one in summaries if not one.strategy.oracle]
    return len(same_choices(usual)) == len({one.method for one in usual})


def _next(race: Race, needs: Sequence[PowerAnalysis], timed: bool) -> str:
    """What would decide it."""
    if not race.complete:
        return _unfinished(race.report.completeness)
    if len(race.order) < 2 or race.strategy.oracle:
        return ""
    if race.decided:
        return f"No further run is needed to decide it under {race.strategy}."
    few = race.few if race.seeds == 1 else [m for m in race.open if race.against[m].effect.n == 1]
    first = (one.method for one in race.order[:2])
    if seedless := [m for m in dict.fromkeys((*first, *few)) if m in race.report.seedless]:
        return (
            f"Nothing of {some(seedless)} is trained: more seeds change at most what a learner "
            "draws itself. More tasks tell these snapshots apart, and other data say whether that "
            "holds elsewhere."
        )
    if few:
        return (
            f"Add a second seed of {some(few)}: then the report can say how many would decide it."
        )
    if race.copied or race.mixed:
        return ""
    if len(race.tied) > 1:
        return f"`{_planning(race)}` says what would show 1 point."
    return would_decide(needs[0], timed) if needs and race.open else ""


def _planning(race: Race) -> str:
    """The command that plans for what this report compares, in the way that it does."""
    info = race.report.info
    given = {
        "--metric": None if info.metric == TEST_MEASURE else info.metric,
        "--protocol": info.protocol and info.protocol.name,
        "--choose-by": info.chosen_by and info.chosen_by.name,
    }
    if str(race.strategy) != USUAL:
        given |= {"--snapshot": race.strategy.snapshot}
        given |= {"--hyperparameter": race.strategy.hyperparameter}
    words = [x for key, one in given.items() if one not in (None, MAIN) for x in (key, one)]
    return shlex.join(["fsl-sweep", "plan-next", "RUN", *words, "--effect", "0.01"])


def _unfinished(found: Completeness) -> str:
    """What an incomplete run still needs, and which methods have nothing to report."""
    if found.trained:
        return "Measure what is missing first." if found.unmeasured else ""
    done = f"{found.done} of {counted(found.planned, 'trial')} are done"
    if found.missing:
        text = f"Finish the run first: {done}"
    elif found.failed:
        text = f"Seeds with a failed trial are left out: {done}"
    else:
        text = f"Seeds with a trial that its budget stopped too early are left out: {done}"
    none = [
        f"{method} ({done} of {counted(planned, 'trial')})"
        for method, (done, planned) in found.trials.items()
        if not found.seeds[method][0]
    ]
    return f"{text}. Without a whole seed: {some(none)}." if none else f"{text}."
