"""What would decide which of two methods is better: seeds, tasks or classes, and what they cost."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isfinite, nan
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from fsl_sweep.orchestrator.records.measures import TrialHistory
from fsl_sweep.orchestrator.selection.comparing.comparison import rank_methods
from fsl_sweep.orchestrator.selection.comparing.over_seeds import (
    compare_over_seeds,
    parts_of,
    same_draws,
)
from fsl_sweep.orchestrator.selection.methods import Summary, summarise
from fsl_sweep.orchestrator.selection.resample import ResampledCell
from fsl_sweep.orchestrator.selection.results import Selected, Strategy
from fsl_sweep.orchestrator.statistics.components import PairComponents, pair_components
from fsl_sweep.orchestrator.statistics.intervals import IDENTICAL
from fsl_sweep.orchestrator.statistics.over_seeds import SeedDifference
from fsl_sweep.orchestrator.statistics.power import required_classes, required_seeds, required_tasks


@dataclass(frozen=True)
class SampleSize:
    """One way to decide a pair.

    Attributes:
        what: what there would be more of, the rest staying as it is. ``classes`` decides for other
            classes as well, which the present comparison does not speak of.
        have: how many there are, for a and for b; of classes, those that the tasks drew.
        required: how many each needs, or None if no number is enough, or nothing can be predicted.
        seconds: of training and measuring on one device, by what was recorded; None if unknown. A
            seed costs the whole grid, because selection needs every configuration; tasks cost
            measuring every snapshot again.
    """

    what: Literal["seeds", "tasks", "classes"]
    have: tuple[int, int]
    required: int | None
    seconds: float | None

    @property
    def more(self) -> tuple[int, int] | None:
        """How many more a and b need."""
        if self.required is None:
            return None
        return max(0, self.required - self.have[0]), max(0, self.required - self.have[1])


@dataclass(frozen=True)
class PowerAnalysis:
    """What would tell two methods apart.

    Attributes:
        strategy, a, b: which pair, under which strategy.
        leading: whether they are the two best.
        now: what the records say over seeds, after Holm's correction over all pairs.
        components: of the difference.
        effect: the true difference that is to be found, in units of accuracy.
        power: with which chance.
        ways: cheapest first; those that cannot decide last. None of a pair that is decided, where
            no other effect is asked for.
    """

    strategy: Strategy
    a: str
    b: str
    leading: bool
    now: SeedDifference
    components: PairComponents
    effect: float
    power: float
    ways: tuple[SampleSize, ...]

    @property
    def caution(self) -> str | None:
        """Why not to trust it, or None."""
        return self.components.caution


def plan_next(
    histories: Sequence[TrialHistory],
    selected: Selected,
    effect: float | None = None,
    *,
    resampled: Sequence[ResampledCell] | None = None,
    classes: ArrayLike | None = None,
    power: float = 0.8,
    timed: bool = True,
    complete: bool = True,
) -> tuple[PowerAnalysis, ...]:
    """What every pair of methods needs under every strategy of ``selected``; leading pairs first.

    Without pairs of which one answers among all base classes: no number makes them comparable.
    Every pair is planned at the level that Holm's correction gives the first of all pairs.

    Args:
        histories: one for each planned trial, as given to ``select``.
        selected: what was selected from them.
        effect: true difference to find, positive; by default each pair's observed one, which as
            the larger of chance and truth promises too much.
        resampled: the cells with the selection repeated.
        classes: of each novel report task, int ``[T, ways]``.
        power: in (0, 1).
        timed: whether the recorded seconds of measuring are of these report tasks.
        complete: as of ``compare_over_seeds``.

    Raises:
        ValueError: an argument is out of its range.
    """
    if not (effect is None or effect > 0):
        raise ValueError(f"An effect to find is above 0, not {effect}.")
    summaries = summarise(selected)
    cells = {(one.method, one.strategy): one for one in summaries}
    drawn = {(one.method, one.strategy): one.reported for one in resampled or ()}
    best = {one.strategy: set(one.methods[:2]) for one in rank_methods(summaries)}
    found = compare_over_seeds(summaries, resampled, complete=complete)
    family = Counter(one.strategy for one in found)
    spent, needs = _spent(histories), list[PowerAnalysis]()
    for one in found:
        names = one.a, one.b
        a, b = (cells[name, one.strategy] for name in names)
        if a.among_all != b.among_all:
            continue
        again = same_draws(*(drawn.get((name, one.strategy)) for name in names))
        tuples = _of_tasks(a, classes)
        pair = pair_components(parts_of(a, b), again, tuples)
        wanted = abs(one.result.effect) if effect is None else effect
        aim = _Aim(wanted, power, 1 - (1 - one.result.confidence) / family[one.strategy])
        decided = effect is None and one.result.verdict != "undecided"
        ways = () if decided else _ways(pair, aim, _costs(spent, names, timed), tuples)
        leading = best[one.strategy] == set(names)
        needs.append(
            PowerAnalysis(one.strategy, *names, leading, one.result, pair, wanted, power, ways)
        )
    return tuple(sorted(needs, key=lambda one: not one.leading))


def cheapest(needs: Iterable[PowerAnalysis]) -> list[tuple[PowerAnalysis, SampleSize]]:
    """All ways of all pairs, cheapest first; unknown costs next, and what cannot decide last."""
    return sorted(((one, way) for one in needs for way in one.ways), key=lambda row: _rank(row[1]))


@dataclass(frozen=True)
class _Costs:
    """Seconds of one more seed of a and of b, and of measuring all their snapshots again."""

    seeds: tuple[float, float]
    measuring: float


def _spent(histories: Iterable[TrialHistory]) -> dict[str, np.ndarray]:
    """Seconds of training and of measuring of each method, ``[seeds, 2]``; NaN if unknown."""
    spent: dict[str, dict[int, np.ndarray]] = {}
    for trial in histories:
        # A table may have no seconds.
        columns = [trial.curves.get(f"{c}_seconds") for c in ("train", "evaluation")]
        own = np.array([nan if one is None else one.sum() for one in columns])
        seeds = spent.setdefault(trial.method, {})
        seeds[trial.seed] = seeds.get(trial.seed, 0.0) + own
    return {method: np.array([*seeds.values()]) for method, seeds in spent.items()}


def _costs(spent: dict[str, np.ndarray], methods: tuple[str, str], timed: bool) -> _Costs:
    own = [spent[method] for method in methods]
    a, b = (float(one.sum(axis=1).mean()) for one in own)
    return _Costs((a, b), float(sum(one[:, 1].sum() for one in own)) if timed else nan)


class _Aim(NamedTuple):
    """Which true effect is to be found, with which chance, by which interval."""

    effect: float
    power: float
    confidence: float


def _ways(
    pair: PairComponents, aim: _Aim, costs: _Costs, tuples: np.ndarray | None
) -> tuple[SampleSize, ...]:
    own, tasks = (pair.shape[0], pair.shape[1]), pair.shape[2]
    if aim.effect == 0 or tasks < 2 or pair.caution == IDENTICAL:
        return SampleSize("seeds", own, None, None), SampleSize("tasks", (tasks, tasks), None, None)
    effect, power, confidence = aim
    seeds = required_seeds(pair, effect, power, None, confidence)
    more = required_tasks(pair, effect, power, None, confidence)
    spent = (max(0, (seeds or 0) - n) * cost for n, cost in zip(own, costs.seeds, strict=True))
    again = costs.measuring * (more or 0) / tasks if (more or 0) > tasks else 0.0
    ways = [
        SampleSize("seeds", own, seeds, _known(sum(spent), seeds)),
        SampleSize("tasks", (tasks, tasks), more, _known(again, more)),
    ]
    if tuples is not None:
        count = required_classes(pair, effect, power, confidence)
        there = len(np.unique(tuples))
        ways.append(SampleSize("classes", (there, there), count, None))
    return tuple(sorted(ways, key=_rank))


def _rank(way: SampleSize) -> tuple[bool, bool, float]:
    return way.required is None, way.seconds is None, way.seconds or 0.0


def _known(seconds: float, required: int | None) -> float | None:
    return seconds if required is not None and isfinite(seconds) else None


def _of_tasks(cell: Summary, classes: ArrayLike | None) -> np.ndarray | None:
    """The class tuples, where they are those of the compared tasks and can be drawn."""
    tuples = np.zeros((0, 0)) if classes is None else np.asarray(classes)
    tasks = len(cell.choices[0].novel_tasks)
    usable = cell.base_weight is None and tasks > 1 and len(tuples) == tasks
    return tuples if usable and tuples.shape[1] < len(np.unique(tuples)) else None
