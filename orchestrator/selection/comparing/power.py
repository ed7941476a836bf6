"""What would decide which of two methods is better: seeds, tasks or classes, and what they cost."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import isfinite, nan
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from fsl_sweep.orchestrator.records.measures import TrialHistory
from fsl_sweep.orchestrator.selection.comparing.comparison import (
    between_seeds,
    by_strategy,
    common_draws,
    compare_over_seeds,
    draws_of,
    flattered,
    parts_of,
    rank_methods,
)
from fsl_sweep.orchestrator.selection.methods import Summary, summarise
from fsl_sweep.orchestrator.selection.resample import ResampledCell
from fsl_sweep.orchestrator.selection.results import Selected, Strategy
from fsl_sweep.orchestrator.statistics.comparison import Comparison
from fsl_sweep.orchestrator.statistics.components import (
    PairComponents,
    drawing_nothing,
    pair_components,
)
from fsl_sweep.orchestrator.statistics.intervals import IDENTICAL, Interval
from fsl_sweep.orchestrator.statistics.over_seeds import SeedPair
from fsl_sweep.orchestrator.statistics.power import required_classes, required_seeds, required_tasks

PLAUSIBLE = 0.8
"""The confidence of the differences that a number is given for beside the observed one."""


@dataclass(frozen=True)
class SampleSize:
    """One way to decide a pair.

    Attributes:
        what: what there would be more of, the rest staying as it is. ``classes`` decides for other
            classes as well, which the present comparison does not speak of.
        have: how many there are, for a and for b; of classes, those that the tasks drew.
        required: how many each needs, or None if no number is enough, or nothing can be predicted.
        between: how many it takes if the true difference lies at the upper and at the lower end of
            ``PowerAnalysis.plausible``; empty where the effect is given, or nothing can be said.
        seconds: of training and measuring on one device, by what was recorded; None if unknown. A
            seed costs the whole grid, because selection needs every configuration; tasks cost
            measuring every snapshot again.
    """

    what: Literal["seeds", "tasks", "classes"]
    have: tuple[int, int]
    required: int | None
    seconds: float | None
    between: tuple[int | None, ...] = ()

    @property
    def more(self) -> tuple[int, int] | None:
        """Return how many more a and b need."""
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
        plausible: the ends of its 80 % interval, the larger first, where it is the observed one;
            below 0 if the sign is open. Empty if it is given.
        power: with which chance.
        ways: cheapest first; those that cannot decide last. None of a pair that is decided, where
            no other effect is to be found.
    """

    strategy: Strategy
    a: str
    b: str
    leading: bool
    now: Comparison
    components: PairComponents
    effect: float
    power: float
    plausible: tuple[float, ...] = ()
    ways: tuple[SampleSize, ...] = ()

    @property
    def caution(self) -> str | None:
        """Return why not to trust it, or None."""
        return self.components.caution


def plan_next(
    histories: Sequence[TrialHistory],
    selected: Selected,
    effect: float | None = None,
    *,
    resampled: Sequence[ResampledCell] = (),
    classes: ArrayLike | None = None,
    power: float = 0.8,
    timed: bool = True,
    complete: bool = True,
    of_best: bool = False,
) -> tuple[PowerAnalysis, ...]:
    """Plan what tells each pair of methods apart under each strategy; leading pairs first.

    Without pairs of which one answers among all base classes, or which favour a method that
    diverged in some seed: no number makes them comparable.
    Every pair is planned at the level that Holm's correction gives the first of all pairs.

    Args:
        histories: one for each planned trial, as given to ``select``.
        selected: what was selected from them.
        effect: true difference to find, positive; by default each pair's observed one, which is
            biased upwards (winner's curse).
        resampled: the cells with the selection repeated.
        classes: of each novel report task, int ``[T, ways]``.
        power: in (0, 1).
        timed: whether the recorded seconds of measuring are of these report tasks.
        complete: as of ``compare_over_seeds``.
        of_best: whether to plan only the pairs of each strategy's best method.

    Raises:
        ValueError: an argument is out of its range.
    """
    if not (effect is None or effect > 0):
        raise ValueError(f"An effect to find is above 0, not {effect}.")
    summaries = summarise(selected)
    cells = {(cell.method, cell.strategy): cell for cell in summaries}
    best = {ranking.strategy: ranking.methods[:2] for ranking in rank_methods(summaries)}
    comparisons = compare_over_seeds(summaries, resampled, complete=complete)
    count = Counter(pair.strategy for pair in comparisons)
    seconds, draws, plans = _seconds(histories), draws_of(resampled), list[PowerAnalysis]()
    betweens = {s: between_seeds(row) for s, row in by_strategy(summaries).items()}
    for pair in comparisons:
        strategy, names, now = pair.strategy, (pair.a, pair.b), pair.result
        a, b = (cells[name, strategy] for name in names)
        if a.among_all != b.among_all or flattered(now, a.lost_seeds, b.lost_seeds):
            continue
        if of_best and best[strategy][0] not in names:
            continue
        tuples, again = _of_tasks(a, classes), common_draws(draws, a, b)
        parts, pilot = parts_of(a, b), betweens[strategy](a, b)
        components = pair_components(parts, again, tuples, pilot)
        goal = abs(now.effect.mean) if effect is None else effect
        around = () if effect else _about(SeedPair(parts, again, pilot).interval(PLAUSIBLE))
        leading = {*best[strategy]} == {*names}
        plan = PowerAnalysis(strategy, *names, leading, now, components, goal, power, around)
        if effect is not None or now.verdict == "undecided":
            confidence = 1 - (1 - now.confidence) / count[strategy]
            spent = [seconds[name] for name in names]
            plan = replace(plan, ways=_ways(plan, confidence, spent, timed, tuples))
        plans.append(plan)
    return tuple(sorted(plans, key=lambda plan: not plan.leading))


def _about(interval: Interval) -> tuple[float, ...]:
    """Return the ends of an interval as sizes of the difference, the larger first."""
    if not isfinite(interval.low):
        return ()
    size, half = abs(interval.mean), (interval.high - interval.low) / 2
    return size + half, size - half


def cheapest(plans: Iterable[PowerAnalysis]) -> list[tuple[PowerAnalysis, SampleSize]]:
    """List all ways of all pairs, cheapest first; then unknown costs, and what cannot decide."""
    ways = ((plan, way) for plan in plans for way in plan.ways)
    return sorted(ways, key=lambda row: _rank(row[1]))


def _seconds(histories: Iterable[TrialHistory]) -> dict[str, np.ndarray]:
    """Return seconds of training and of measuring by method, ``[seeds, 2]``; NaN if unknown."""
    seconds: dict[str, dict[int, np.ndarray]] = {}
    for trial in histories:
        # A table may have no seconds.
        columns = [trial.curves.get(f"{c}_seconds", np.array(nan)) for c in ("train", "evaluation")]
        seeds = seconds.setdefault(trial.method, defaultdict(lambda: np.zeros(2)))
        seeds[trial.seed] += [column.sum() for column in columns]
    return {method: np.array([*seeds.values()]) for method, seeds in seconds.items()}


def _ways(
    plan: PowerAnalysis,
    confidence: float,
    seconds: Sequence[np.ndarray],
    timed: bool,
    tuples: np.ndarray | None,
) -> tuple[SampleSize, ...]:
    """Return each way to decide a pair at a confidence.

    Args:
        plan: the pair.
        confidence: of the first test of its family.
        seconds: of a and of b ``[seeds, 2]``, as of ``_seconds``.
        timed: as of ``plan_next``.
        tuples: classes of the tasks, where they can be drawn.
    """
    pair, goal = plan.components, (plan.components, plan.effect, plan.power)
    seeds, tasks = pair.shape[:2], pair.shape[2]
    if plan.effect == 0 or tasks < 2 or pair.caution == IDENTICAL:
        both = (tasks, tasks)
        return SampleSize("seeds", seeds, None, None), SampleSize("tasks", both, None, None)
    more_seeds = required_seeds(*goal, None, confidence)
    more_tasks = required_tasks(*goal, None, confidence)
    # A method that draws nothing has all the seeds that it can have.
    fixed = drawing_nothing(pair.pilot)
    have = [(more_seeds or n) if nothing else n for n, nothing in zip(seeds, fixed, strict=True)]
    costs = [float(spent.sum(axis=1).mean()) for spent in seconds]
    training = sum(max(0, (more_seeds or 0) - n) * c for n, c in zip(have, costs, strict=True))
    measuring = float(sum(spent[:, 1].sum() for spent in seconds)) if timed else nan
    again = measuring * (more_tasks or 0) / tasks if (more_tasks or 0) > tasks else 0.0
    ways = [SampleSize("tasks", (tasks, tasks), more_tasks, _known(again, more_tasks))]
    if not all(fixed):
        between = tuple(
            required_seeds(pair, effect, plan.power, None, confidence) if effect > 0 else None
            for effect in plan.plausible
        )
        spent = _known(training, more_seeds)
        ways.append(SampleSize("seeds", (have[0], have[1]), more_seeds, spent, between))
    if tuples is not None:
        drawn, count = len(np.unique(tuples)), required_classes(*goal, confidence)
        ways.append(SampleSize("classes", (drawn, drawn), count, None))
    return tuple(sorted(ways, key=_rank))


def _rank(way: SampleSize) -> tuple[bool, bool, float]:
    return way.required is None, way.seconds is None, way.seconds or 0.0


def _known(seconds: float, required: int | None) -> float | None:
    return seconds if required is not None and isfinite(seconds) else None


def _of_tasks(cell: Summary, classes: ArrayLike | None) -> np.ndarray | None:
    """Return the class tuples, where they are those of the compared tasks and can be drawn."""
    tuples = np.zeros((0, 0)) if classes is None else np.asarray(classes)
    tasks = len(cell.choices[0].novel_tasks)
    usable = cell.base_weight is None and tasks > 1 and len(tuples) == tasks
    return tuples if usable and tuples.shape[1] < len(np.unique(tuples)) else None
