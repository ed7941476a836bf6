"""What random sets showed about two snapshots, as lines of text and as plain data."""

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from fsl_sweep.orchestrator.cli.analyze.snapshot_pairs import Pair
from fsl_sweep.orchestrator.text.printed import counted, say

if TYPE_CHECKING:
    from fsl_sweep.orchestrator.measuring.class_sets import ClassSets
    from fsl_sweep.orchestrator.statistics import ConclusionStability, Frequency, Interval, Spread

Over = Literal["novel sets", "example sets"]


@dataclass(frozen=True)
class Truth:
    """The difference A - B over the whole class set, and the accuracies of both."""

    difference: "Interval"
    scores: tuple[float, float]


@dataclass(frozen=True, eq=False)
class Found:
    """What random sets of one kind and size showed."""

    over: Over
    size: int
    stability: "ConclusionStability"
    spreads: "tuple[Spread, Spread]"


def described(drawn: "ClassSets", classes: str) -> str:
    """``Class set: novel, 40 classes of 40 examples; tasks: 5-way 1-shot, 5 queries a class.``."""
    low, high = int(drawn.whole.counts.min()), int(drawn.whole.counts.max())
    each = f"{low}" if low == high else f"{low} to {high}"
    shape = drawn.shape
    trained = "; base classes were trained on, on other examples" * (classes in ("base", "all"))
    return (
        f"Class set: {classes}, {counted(drawn.whole.size, 'class', 'classes')} of {each} examples"
        f"{trained}; tasks: {shape.way}-way {shape.shot}-shot, {shape.query} queries a class."
    )


def show(truth: Truth, pair: Pair, found: "Iterable[Found]", delta: float) -> None:
    """Print the truth, then what each kind and size of sets showed as soon as it is measured."""
    names = _names(pair)
    better = names[0] if truth.difference.mean > 0 else names[1]
    sign = np.sign(truth.difference.mean)
    low, high = sorted(100 * sign * end for end in (truth.difference.low, truth.difference.high))
    scores = ", ".join(f"{n} {100 * s:.2f}" for n, s in zip(names, truth.scores, strict=True))
    say(
        f"Truth: {better} is better by {100 * sign * truth.difference.mean:.2f} points (95 %: "
        f"{low:.2f} to {high:.2f}) over {truth.difference.n:,} tasks of the whole set: {scores} %."
    )
    for one in found:
        for line in _lines(one, names, delta):
            say(line)


def _lines(one: Found, names: tuple[str, str], delta: float) -> "Iterator[str]":
    """What one kind and size of sets showed; shares with their 95 % intervals."""
    stable, what = one.stability, "classes" if one.over == "novel sets" else "examples a class"
    sign = np.sign(stable.truth.mean)
    ends = np.quantile(100 * sign * stable.differences, [0, 0.05, 0.5, 0.95, 1])
    better = names[0] if sign > 0 else names[1]
    at = zip(("least", "5 %", "median", "95 %", "most"), ends, strict=True)
    yield ""
    yield f"{stable.flips.n} random {one.over} of {one.size} {what}:"
    yield f"  conclusion flips              {_often(stable.flips)}"
    yield f"    clear ones                  {_often(stable.clear_flips)}"
    yield f"  exaggerated by > {f'{100 * delta:g} points':<12} {_often(stable.exaggerations)}"
    yield f"  lead of {better}, points: " + ", ".join(f"{name} {x:+.2f}" for name, x in at)
    for name, spread in zip(names, one.spreads, strict=True):
        ends = f"{100 * spread.low:.2f} to {100 * spread.high:.2f}"
        yield (
            f"  {name}: mean {100 * spread.mean:.2f} %, sd {100 * spread.observed:.2f} points; "
            f"{100 * spread.deviation:.2f} (95 %: {ends}) without the noise of tasks"
        )
    if stable.caution:
        yield f"  caution: {stable.caution}"


def _often(found: "Frequency") -> str:
    return f"{100 * found.share:5.1f} % ({100 * found.low:.1f} to {100 * found.high:.1f})"


def _names(pair: Pair) -> tuple[str, str]:
    a, b = pair
    if a.method == b.method:
        return f"{a.method} (A)", f"{b.method} (B)"
    return a.method, b.method


def plain(
    benchmark: str, drawn: "ClassSets", pair: Pair, truth: Truth, tasks: int, found: list[Found]
) -> dict[str, Any]:
    """All of it as plain data; differences and accuracies set by set."""
    whole = drawn.whole
    parts = [
        {
            "over": one.over,
            "size": one.size,
            "tasks": tasks,
            "paired": one.stability.paired,
            "delta": one.stability.delta,
            **{
                key: {**asdict(event), "share": event.share}
                for key in ("flips", "clear_flips", "exaggerations", "unclear")
                for event in [getattr(one.stability, key)]
            },
            "noise": one.stability.noise,
            "differences": one.stability.differences.tolist(),
            "spread": [{**asdict(s), "means": s.means.tolist()} for s in one.spreads],
            "caution": one.stability.caution,
        }
        for one in found
    ]
    return {
        "snapshots": [asdict(one) for one in pair],
        "classes": {"benchmark": benchmark, "number": whole.size, "images": len(whole.examples)},
        "episode": asdict(drawn.shape),
        "seed": drawn.seed,
        "truth": {**asdict(truth.difference), "scores": truth.scores},
        "sets": parts,
    }
