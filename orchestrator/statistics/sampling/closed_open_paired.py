"""Two methods by closed, open and paired intervals, and whether these lead to the same conclusion.

Closed intervals are about tasks drawn again from the same examples, open ones about other examples
too; a paired one removes what the tasks change for both methods alike. All of them are about the
snapshots that were measured, and not about training again (``over_seeds``).

Source: "Oops, I Sampled it Again: Reinterpreting Confidence Intervals in Few-Shot Learning".
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from numpy.typing import ArrayLike
from scipy import special

from fsl_sweep.orchestrator.statistics.intervals import (
    Interval,
    Kind,
    checked,
    differences,
    mean_interval,
    standard_error,
)

Says = Literal["better", "worse", "undecided"]
"""Of a against b."""
_SIDES: tuple[Says, Says] = ("better", "worse")
Pair = tuple[ArrayLike, ArrayLike]
"""Accuracies of a and of b, ``[T]`` each, on the same tasks in the same order."""


def open_interval(values: ArrayLike, confidence: float = 0.95, *, kind: Kind = "open") -> Interval:
    """Return the mean of ``values [T]`` on tasks without a common example, with Student's t.

    Source: "Oops, I Sampled it Again", algorithm 2. Raises as ``mean_interval``.
    """
    data = checked(values)
    usual = mean_interval(data, confidence, kind=kind)
    if len(data) < 2:
        return usual
    quantile = special.stdtrit(len(data) - 1, (1 + confidence) / 2)
    half = float(quantile) * standard_error(data)
    return replace(usual, low=usual.mean - half, high=usual.mean + half)


def by_overlap(a: Interval, b: Interval) -> Says:
    """Return what two intervals show of a: ``undecided`` if they have a point in common.

    It is a careful rule: with intervals of equal length its false positives are not one in 20 but
    about one in 180. Intervals that are not known decide nothing.

    Source: "Oops, I Sampled it Again", section 2.3, equation 4.
    """
    return "better" if a.low > b.high else "worse" if a.high < b.low else "undecided"


def by_sign(difference: Interval) -> Says:
    """Return what the interval of a - b shows of a: ``undecided`` if it holds 0."""
    return "better" if difference.low > 0 else "worse" if difference.high < 0 else "undecided"


@dataclass(frozen=True)
class ThreeIntervals:
    """Closed, open and paired intervals of two methods.

    Attributes:
        closed, open: intervals of a and of b; None without such tasks.
        paired: of a - b, on the open tasks where there are any, else on the closed ones.
        paired_on: which of the two.
        closed_paired: of a - b on the closed tasks, where ``paired`` is on open ones.
        says: what each of them says of a: ``closed``, ``closed paired``, ``open`` and ``paired``,
            as far as there are such tasks.
        cautions: why not to trust them.
    """

    closed: tuple[Interval, Interval] | None
    open: tuple[Interval, Interval] | None
    paired: Interval
    paired_on: Literal["closed", "open"]
    closed_paired: Interval | None
    says: dict[str, Says]
    cautions: tuple[str, ...]

    @property
    def agree(self) -> bool:
        """Return whether all lead to the same conclusion."""
        return len(set(self.says.values())) == 1

    @property
    def inverted(self) -> bool:
        """Return whether one shows better and another one worse."""
        return {"better", "worse"} <= set(self.says.values())

    def verdict(self, a: str = "a", b: str = "b") -> str:
        """Return the conclusion in a sentence, about snapshots with these names."""
        score = {"better": "score higher", "worse": "score lower"}
        if self.inverted:
            kinds = {side: [k for k, says in self.says.items() if says == side] for side in _SIDES}
            first, then = sorted(_SIDES, key=lambda side: [*self.says].index(kinds[side][0]))
            return (
                f"Inversion: snapshots of {a} {score[first]} than those of {b} by "
                f"{_listed(kinds[first])}, but {score[then]} by {_listed(kinds[then])}."
            )
        decided = [kind for kind, says in self.says.items() if says != "undecided"]
        if not decided:
            kinds = _listed([*self.says])
            return f"Snapshots of {a} and {b} are not told apart by {kinds} intervals."
        says = f"Snapshots of {a} {score[self.says[decided[0]]]} than those of {b}"
        if self.agree:
            return f"{says} by {_listed(decided)} intervals alike."
        others = [kind for kind in self.says if kind not in decided]
        if self.open is not None and all(kind.startswith("closed") for kind in decided):
            return (
                f"{says} on these examples ({_listed(decided)}), but open and paired "
                "intervals, which are about other examples too, do not tell them apart."
            )
        return f"{says} by {_listed(decided)} intervals; {_listed(others)} ones do not decide."


def three_intervals(
    closed: Pair | None, open_tasks: Pair | None, confidence: float = 0.95, reuse: float = 0.0
) -> ThreeIntervals:
    """Compare a and b by closed, open and paired intervals.

    Args:
        closed: accuracies on tasks drawn with replacement; None without them.
        open_tasks: on tasks without a common example, until these are used up; None without them.
        confidence: in (0, 1), of each interval.
        reuse: ``example_uses`` of the closed tasks, at most; 0 where it is not known.

    Raises:
        ValueError: as ``paired_interval``, or there are no tasks at all.
    """
    if closed is None and open_tasks is None:
        raise ValueError("Tasks drawn with or without replacement are needed.")
    pairs: dict[str, tuple[Interval, Interval]] = {}
    apart: dict[str, Interval] = {}
    for kind, tasks, over in (
        ("closed", closed, mean_interval),
        ("open", open_tasks, open_interval),
    ):
        if tasks is not None:
            pairs[kind] = over(tasks[0], confidence), over(tasks[1], confidence)
            apart[kind] = over(differences(*tasks), confidence, kind="paired")
    on = "closed" if open_tasks is None else "open"
    says: dict[str, Says] = {}
    for kind, pair in pairs.items():
        says[kind] = by_overlap(*pair)
        says["paired" if kind == on else f"{kind} paired"] = by_sign(apart[kind])
    return ThreeIntervals(
        closed=pairs.get("closed"),
        open=pairs.get("open"),
        paired=apart[on],
        paired_on=on,
        closed_paired=apart.get("closed") if on == "open" else None,
        says=says,
        cautions=_cautions(pairs, apart[on], open_tasks is None, reuse),
    )


def example_uses(tasks: int, way: int, shot: int, query: int, examples: int) -> float:
    """Return how often each of ``examples`` is used on average: T n (k + q) / examples.

    Above 1, tasks drawn with replacement have examples in common for certain.
    """
    return tasks * way * (shot + query) / examples


def _cautions(
    pairs: dict[str, tuple[Interval, Interval]], paired: Interval, closed_only: bool, reuse: float
) -> tuple[str, ...]:
    cautions = [f"{kind}: {x.caution}" for kind, pair in pairs.items() for x in pair if x.caution]
    if paired.caution:
        cautions.append(f"paired: {paired.caution}")
    elif paired.low == paired.high:
        cautions.append("paired: all tasks have the same difference")
    if reuse > 1:
        cautions.append(f"closed: an example is in up to {reuse:.3g} tasks on average")
    if closed_only:
        cautions.append("nothing is about other examples: no tasks were drawn without replacement")
    return tuple(dict.fromkeys(cautions))


def _listed(kinds: Sequence[str]) -> str:
    """Write ``closed, open and paired``."""
    *first, last = kinds
    return f"{', '.join(first)} and {last}" if first else last
