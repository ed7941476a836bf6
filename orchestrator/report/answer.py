"""The answer of a report: who wins, which strategy to choose by, and what would decide it.

All of it is about methods, trained again: over seeds, with tasks and the selection inside. What
trained snapshots alone say is never called best or decided.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isnan
from typing import TYPE_CHECKING

from fsl_sweep.orchestrator.report import wording
from fsl_sweep.orchestrator.selection.comparison import Ranking
from fsl_sweep.orchestrator.selection.methods import Summary
from fsl_sweep.orchestrator.selection.needs import Needs
from fsl_sweep.orchestrator.selection.over_seeds import MethodDifference
from fsl_sweep.orchestrator.selection.results import Strategy
from fsl_sweep.orchestrator.selection.strategies import StrategyResult
from fsl_sweep.orchestrator.statistics.intervals import SATURATED
from fsl_sweep.orchestrator.statistics.sign_flips import LEAST_ROWS
from fsl_sweep.orchestrator.text.printed import counted

if TYPE_CHECKING:
    from fsl_sweep.orchestrator.report.content import Report

NAMES_SHOWN = 3


@dataclass(frozen=True)
class Answer:
    """What a reader wants to know first.

    Attributes:
        sentences: the whole answer, for a person.
        best: the method with the best mean under the strategy; None where there is none, or
            several are equal.
        decided: whether the run is complete and the best is better than every other method.
        strategy: the one that this is about.
        needs: what would tell the best two apart under it; empty where that is not known.
    """

    sentences: tuple[str, ...]
    best: str | None
    decided: bool
    strategy: Strategy | None
    needs: tuple[Needs, ...]


def answer_of(report: "Report") -> Answer:
    """The answer that the records bear."""
    if report.lead is None:
        return Answer((_nothing(report),), None, False, None, ())
    race = _Race.of(report, report.lead)
    needs = tuple(one for one in report.needs if {one.a, one.b} == {*race.first_two})
    sentences = [race.won(), *_saturated(race), _strategies(report, race), *_next(race, needs)]
    if not report.completeness.trained:
        sentences[0] = f"So far: {sentences[0]}"
    return Answer(
        sentences=tuple(filter(None, sentences)),
        best=None if race.tied else race.order[0].method,
        decided=race.decided and report.completeness.complete,
        strategy=report.lead,
        needs=needs,
    )


def _nothing(report: "Report") -> str:
    found = report.completeness
    if not found.trained:
        return (
            "Nothing can be said yet: no method has a seed with all of its trials done "
            f"({found.done} of {counted(found.planned, 'trial')})."
        )
    return "Nothing can be said: no strategy could choose, or what it chose is not measured."


@dataclass(frozen=True)
class _Race:
    """The methods under the leading strategy, best first, and the best against each other one."""

    order: Sequence[Summary]
    against: Sequence[MethodDifference]
    metric: str
    planned: int
    complete: bool

    @classmethod
    def of(cls, report: "Report", lead: Strategy) -> "_Race":
        ranking = next(one for one in report.rankings if one.strategy == lead)
        cells = {s.method: s for s in report.summaries if s.strategy == lead}
        best = ranking.methods[0]
        own = [d for d in report.differences if d.strategy == lead and best in (d.a, d.b)]
        place = {method: i for i, method in enumerate(ranking.methods)}
        own.sort(key=lambda d: max(place[d.a], place[d.b]))
        return cls(
            order=[cells[method] for method in ranking.methods],
            against=own,
            metric=wording.metric(report.base_weight),
            planned=len(report.completeness.seeds),
            complete=report.completeness.trained,
        )

    @property
    def first_two(self) -> tuple[str, ...]:
        return tuple(one.method for one in self.order[:2])

    @property
    def tied(self) -> bool:
        """Whether the best two have the same mean."""
        return len(self.order) > 1 and round(self.lead, 9) == 0

    @property
    def lead(self) -> float:
        """By how much the best is above the second, in accuracy."""
        return self.order[0].reported.mean - self.order[1].reported.mean

    @property
    def open(self) -> list[MethodDifference]:
        """The comparisons of the best that are not decided for it, the closest first."""
        return [one for one in self.against if one.result.verdict not in ("better", "worse")]

    @property
    def decided(self) -> bool:
        others = len(self.order) - 1
        return others > 0 and len(self.against) == others and not self.open

    def won(self) -> str:
        """The first sentence."""
        best = self.order[0]
        if len(self.order) == 1:
            return self._single(best)
        second, seeds = self.order[1].method, self._seeds()
        if self.tied:
            return f"{best.method} and {second} score the same, over {seeds}."
        ahead = f"{wording.points(self.lead)} points"
        fewest = min(len(one.choices) for one in self.order[:2])
        if fewest < 2:
            return (
                f"{best.method}'s snapshots score {ahead} above {second}'s, but one seed says "
                "nothing about training the methods again."
            )
        if len(self.against) < len(self.order) - 1:
            return (
                f"{best.method} leads {second} by {ahead} over {seeds}, but they have no tasks in "
                "common, and cannot be compared."
            )
        if self.decided:
            again = f"{best.method} is best: {ahead} above {second}"
            return f"{again} ({self._range(self.against[0])}), over {seeds}."
        return self._undecided(best.method, second, ahead, seeds)

    def _undecided(self, best: str, second: str, ahead: str, seeds: str) -> str:
        closest = self.open[0]
        other = closest.b if closest.a == best else closest.a
        if closest.result.verdict == "equivalent":
            rope = wording.points(closest.result.rope)
            text = (
                f"{best} leads {second} by {ahead}, and {other} is equivalent to it within {rope}"
            )
            return f"{text} points, over {seeds}."
        if isnan(closest.result.low):
            return f"{best} leads {second} by {ahead}; no claim is possible about {other}."
        text = f"{best} leads {second} by {ahead}, but {seeds} cannot decide it"
        if other != second:
            gap = wording.points(abs(closest.result.effect))
            text = f"{best} leads; {seeds} cannot decide it against {other} ({gap} points behind"
            text += f"; {self._range(closest)})"
        else:
            text += f" ({self._range(closest)})"
        rest = len(self.order) - 1 - len(self.open)
        return f"{text}; it is better than {counted(rest, 'other method')}." if rest else f"{text}."

    def _single(self, best: Summary) -> str:
        seeds = counted(len(best.choices), "seed")
        text = f"{best.method} reaches {wording.percent(best.reported.mean)} % {self.metric}"
        why = (
            "there is no other method to compare it with"
            if self.planned == 1
            else "no other method has a whole seed that can be compared"
        )
        return f"{text} over {seeds}; {why}."

    def _seeds(self) -> str:
        """``2 seeds``, or ``2 and 3 seeds`` where the best two have different numbers."""
        counts = list(dict.fromkeys(len(one.choices) for one in self.order[:2]))
        return f"{' and '.join(map(str, counts))} seed{'' if counts == [1] else 's'}"

    def _range(self, one: MethodDifference) -> str:
        """The interval of the best minus the other."""
        low, high = one.result.low, one.result.high
        low, high = (low, high) if one.a == self.order[0].method else (-high, -low)
        return f"95 %: {100 * low:.1f} to {100 * high:.1f}"


def _saturated(race: _Race) -> Iterable[str]:
    means = [one.reported.mean for one in race.order]
    if len(means) > 1 and min(means) >= SATURATED:
        yield (
            f"All methods are above {100 * SATURATED:g} %: these tasks are too easy to tell them "
            "apart; more ways or fewer shots would."
        )


def _strategies(report: "Report", race: _Race) -> str:
    """Whether the order survives a change of strategy, and what choosing cost."""
    lead = report.lead
    usual = [one for one in report.rankings if not one.strategy.oracle]
    if lead is None or lead.oracle:
        return "Every strategy reads novel scores: these are references, and no result."
    if len(usual) == 1:
        return f"{lead} is the only strategy that is no oracle.{_cost(report, race)}"
    if _chose_alike(report.summaries):
        return f"All {len(usual)} strategies chose the same snapshots.{_cost(report, race)}"
    return _order(usual, race) + _cost(report, race) + _verdicts(report)


def _order(usual: Sequence[Ranking], race: _Race) -> str:
    if len(race.order) == 1:
        return ""
    best = race.order[0].method
    others = [one for one in usual if one.methods[0] != best and best in one.methods]
    if others:
        names = _some([str(one.strategy) for one in others])
        who = _some(list(dict.fromkeys(one.methods[0] for one in others)))
        return f"The winner depends on the strategy: {who} leads under {names}."
    if len({one.methods for one in usual}) == 1:
        return f"All {len(usual)} strategies rank the methods alike."
    return f"{best} leads under all {len(usual)} strategies; the order behind it differs."


def _cost(report: "Report", race: _Race) -> str:
    """What choosing cost against the oracle, and whether that is more than the methods differ."""
    usual = [one for one in report.over_methods.results if not one.strategy.oracle]
    own = next((one for one in usual if one.strategy == report.lead), None)
    if own is None:
        return ""
    costs = [one.regret.mean for one in usual]
    low, high = (wording.points(f(costs)) for f in (min, max))
    text = f" Choosing cost {low if low == high else f'{low} to {high}'} points against the oracle"
    if len(race.order) > 1 and own.regret.mean > abs(race.lead):
        text += (
            f" ({wording.points(own.regret.mean)} by {own.strategy}, more than the best two differ)"
        )
    return text + "."


def _verdicts(report: "Report") -> str:
    """Whether some strategy is better than another."""
    found = report.over_methods
    usual: list[StrategyResult] = [one for one in found.results if not one.strategy.oracle]
    if not usual:
        return ""
    worse = [one for one in usual if one.against_least and one.against_least.verdict == "worse"]
    reads = f" {report.lead}, used here, reads no novel score."
    if worse:
        least = next(one.strategy for one in usual if one.least)
        return (
            f" {least} cost least, and less than {_some([str(o.strategy) for o in worse])}.{reads}"
        )
    if len(found.methods) < LEAST_ROWS:
        methods = counted(len(found.methods), "method")
        few = f" {methods} cannot tell which strategy is better ({LEAST_ROWS} are needed)."
        return few + reads
    return f" These records do not tell which strategy is better.{reads}"


def _chose_alike(summaries: Sequence[Summary]) -> bool:
    chosen: dict[str, set[object]] = {}
    for one in summaries:
        if not one.strategy.oracle:
            own = tuple((choice.seed, choice.trial, choice.epoch) for choice in one.choices)
            chosen.setdefault(one.method, set()).add(own)
    return all(len(ways) == 1 for ways in chosen.values())


def _next(race: _Race, needs: Sequence[Needs]) -> Iterable[str]:
    """What would decide it."""
    if len(race.order) < 2:
        return
    if race.decided:
        if race.complete:
            yield "No further run is needed to decide it."
        return
    if min(len(one.choices) for one in race.order[:2]) < 2:
        yield "Add seeds: from two on, the report says how many would decide it."
        return
    if not needs or race.tied:
        return
    (found,) = needs[:1]
    ways = {one.what: one for one in found.ways}
    enough = [one for one in found.ways if one.more is not None and max(one.more)]
    if not enough:
        yield "Neither more seeds nor more tasks would decide so small a difference."
        return
    first = enough[0]
    more = first.more or (0, 0)
    number = " and ".join(f"{n:,}" for n in dict.fromkeys(more))
    each = f" of {found.a} and {found.b}" if first.what == "seeds" else ""
    spent = "" if first.seconds is None else f", about {wording.duration(first.seconds)}"
    power = f"{100 * found.power:g} %"
    text = f"{number} more {first.what}{each} would decide {wording.points(found.effect)} points"
    text += f" ({power}{spent})"
    others = [w for w in ("seeds", "tasks") if w in ways and ways[w].needed is None]
    yield f"{text}; more {others[0]} would not." if others else f"{text}."


def _some(names: Sequence[str]) -> str:
    """The first few names, and how many more there are."""
    if len(names) <= NAMES_SHOWN:
        return " and ".join(names) if len(names) < NAMES_SHOWN else ", ".join(names)
    return f"{', '.join(names[: NAMES_SHOWN - 1])} and {len(names) - NAMES_SHOWN + 1} more"
