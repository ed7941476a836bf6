"""How numbers and hyperparameters are written for a person."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from fsl_sweep.orchestrator.records.protocol import MAIN, PlannedProtocol
from fsl_sweep.orchestrator.selection.methods import Summary
from fsl_sweep.orchestrator.selection.select import Selection, Strategy
from fsl_sweep.orchestrator.statistics import Interval, SelectionBootstrap
from fsl_sweep.orchestrator.text.printed import counted

ORACLE = "*"
"""What follows the name of a strategy that reads novel scores."""


def percent(value: float) -> str:
    """An accuracy in [0, 1] as a percentage with two decimals; a dash for NaN."""
    return "-" if math.isnan(value) else f"{100 * value:.2f}"


def points(difference: float) -> str:
    """A difference of accuracies in percentage points, with two digits that count."""
    shown = 100 * difference
    return f"{shown:.1f}" if abs(shown) >= 0.95 else f"{shown:.2f}"


def half_width(interval: Interval | SelectionBootstrap | None) -> str:
    """Half of an interval's width in percentage points; a dash where there is none.

    An interval that is wider than the scale of accuracies says that nothing is known.
    """
    if interval is None or math.isnan(interval.low):
        return "-"
    half = 50 * (interval.high - interval.low)
    return "> 50" if half > 50 else f"{half:.2f}"


def spread(interval: Interval, values: Sequence[float] | np.ndarray) -> str:
    """Half of the interval's width over ``values [n]``, in percentage points; of two, both.

    Student's t with one degree of freedom says of two values what they say themselves, in numbers
    that nobody reads. A dash for identical replicates, which are not a sample of seeds.
    """
    if len(values) == 2 and not math.isnan(interval.low):
        return ", ".join(f"{100 * value:.1f}" for value in values)
    return half_width(interval)


def mixture(base_weight: float) -> str:
    """The weights of BaseGen and NovelGen, as ``0.3 B + 0.7 N``."""
    return f"{base_weight:g} B + {round(1 - base_weight, 10):g} N"


def full_mixture(base_weight: float) -> str:
    """``0.3 BaseGen + 0.7 NovelGen``."""
    return f"{base_weight:g} BaseGen + {round(1 - base_weight, 10):g} NovelGen"


def metric(base_weight: float | None) -> str:
    """What methods are compared by: NovelGen, or a mixture."""
    return "NovelGen" if base_weight is None else mixture(base_weight)


def by_metric(base_weight: float | None) -> str:
    """What to add to a title: nothing for NovelGen, the default."""
    return "" if base_weight is None else f" by {mixture(base_weight)}"


def protocol(planned: PlannedProtocol) -> str:
    """``5-way 1-shot, 15 queries, 1000 + 600 tasks``, after a name of its own in quotes.

    The main protocol has none: the file may make another the main one.
    """
    described = planned.protocol.described
    return described if planned.name in (MAIN, planned.id) else f"'{planned.name}' ({described})"


def measuring(planned: PlannedProtocol, every: bool = False) -> str:
    """The command that measures what is not measured, ``every`` snapshot or those of the plan."""
    if planned.name == MAIN:
        return "`fsl-sweep run`"
    which = "all" if every else "chosen" if planned.snapshots == "last" else ""
    return f"`fsl-sweep measure RUN {planned.name}{which and f' --snapshots {which}'}`"


def unmeasured(count: int, planned: PlannedProtocol, as_planned: bool) -> str:
    """How many chosen snapshots a protocol lacks, and how to measure them."""
    are = "is" if count == 1 else "are"
    return (
        f"{counted(count, 'chosen snapshot')} {are} not measured under {protocol(planned)}, and "
        "what depends on them is left out: "
        f"{measuring(planned, not as_planned)} measures them."
    )


def duration(seconds: float) -> str:
    """Seconds as ``42 s``, ``3 min 20 s`` or ``5 h 02 min``."""
    whole = round(seconds)
    if whole < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    return f"{minutes // 60} h {minutes % 60:02d} min"


def claims(
    summaries: Sequence[Summary], resampled: bool, partly: PlannedProtocol | None = None
) -> str:
    """Which of the intervals a claim about a method needs, and how to get it.

    ``partly`` is a protocol of the report under which not every snapshot is measured.
    """
    where = ""
    if not resampled and partly is not None:
        where = f", which needs every snapshot measured ({measuring(partly, every=True)})"
    elif not resampled:
        possible = any(summary.novel_tasks is not None for summary in summaries)
        where = ", which " + ("`--bootstrap 1000` adds" if possible else "needs scores by task")
    return (
        f"A claim about a method, trained again, needs `select`{where}: `seeds` leaves out tasks "
        "and selection, and is too narrow."
    )


def short_keys(keys: Iterable[str]) -> dict[str, str]:
    """The last part of each dotted key; the whole key for a ``name``, or where two look alike."""
    distinct = list(dict.fromkeys(keys))
    count = Counter(key.rpartition(".")[2] for key in distinct) + Counter(["name"])
    return {key: last if count[last := key.rpartition(".")[2]] == 1 else key for key in distinct}


def values(hyperparameters: Mapping[str, Any]) -> str:
    """``lr=0.1 way=5``; empty where a method has only one configuration."""
    short = short_keys(hyperparameters)
    return " ".join(f"{short[key]}={value(one)}" for key, one in hyperparameters.items())


def choices(selections: Sequence[Selection]) -> str:
    """What a strategy chose, seeds together: ``lr=0.1 @ 12, 14; lr=0.01 @ 9``."""
    epochs: dict[str, list[int]] = defaultdict(list)
    for one in selections:
        epochs[values(one.hyperparameters)].append(one.epoch)
    return "; ".join(
        f"{name} @ {at}".lstrip()
        for name, found in epochs.items()
        for at in [", ".join(map(str, found))]
    )


def starred(strategy: Strategy) -> str:
    """The strategy's name, marked if it is an oracle."""
    return f"{strategy}{ORACLE if strategy.oracle else ''}"


def strategies(group: Sequence[Strategy]) -> str:
    """Strategies by name, a line for each snapshot selector: ``val / base, val``."""
    own: dict[str, list[str]] = defaultdict(list)
    for one in group:
        own[one.snapshot].append(one.hyperparameter + (ORACLE if one.oracle else ""))
    return "\n".join(f"{snapshot} / {', '.join(names)}" for snapshot, names in own.items())


def value(given: Any) -> str:
    """A hyperparameter's value."""
    if isinstance(given, Mapping):
        return "{" + ", ".join(f"{k}: {value(v)}" for k, v in given.items()) + "}"
    return f"{given:g}" if isinstance(given, float) else str(given)
