"""How numbers and hyperparameters are written for a person."""

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from fsl_sweep.orchestrator.records.measures import SHOWN_AS
from fsl_sweep.orchestrator.records.protocol import MAIN, PlannedProtocol
from fsl_sweep.orchestrator.selection.completeness import EarlyStopping
from fsl_sweep.orchestrator.selection.methods import Summary
from fsl_sweep.orchestrator.selection.select import Selection, Strategy
from fsl_sweep.orchestrator.selectors import hyperparameter_selector, snapshot_selector
from fsl_sweep.orchestrator.selectors.base import AnySelector, is_oracle
from fsl_sweep.orchestrator.selectors.budgeted_oracle import BudgetedOracle
from fsl_sweep.orchestrator.selectors.mixture import Mixture
from fsl_sweep.orchestrator.selectors.names import parse
from fsl_sweep.orchestrator.statistics import Interval, SelectionBootstrap
from fsl_sweep.orchestrator.statistics.comparison import LEVEL
from fsl_sweep.orchestrator.text.commands import on_each
from fsl_sweep.orchestrator.text.printed import counted

ORACLE = "*"
"""What follows the name of a strategy that reads novel scores."""

FINALISTS = " \N{DAGGER}"
"""What follows the name of a strategy that chose among finalists (`Strategy.among_finalists`)."""

FULL_ORACLE = "oracle / oracle"
"""The strategy that regret is measured against."""

SELECTION = "+- with selection"
"""The column of the interval over seeds and tasks that repeats the selection."""

NAMES_SHOWN = 3
"""Of many names, in a sentence."""

_CHOSEN_BY = {
    "last": "last epoch",
    "train_loss": "training loss",
    "base": "BaseGen",
    "val": "ValGen",
    "oracle": "NovelGen",
    "cv": "class folds",
    "cv-epoch": "class folds",
}


def some(names: Sequence[str]) -> str:
    """Return the first few names, and how many more there are."""
    shown, left = [*names[:NAMES_SHOWN]], len(names) - NAMES_SHOWN
    if left == 1:
        shown, left = [*names[: NAMES_SHOWN - 1]], 2
    if left > 0:
        return f"{', '.join(shown)} and {left} more"
    return " and ".join(filter(None, (", ".join(shown[:-1]), *shown[-1:])))


def percent(value: float) -> str:
    """Write an accuracy in [0, 1] as a percentage with two decimals; a dash for NaN."""
    return "-" if math.isnan(value) else f"{100 * value:.2f}"


def points(difference: float) -> str:
    """Write a difference of accuracies in percentage points, with two significant digits."""
    shown = 100 * difference
    return f"{shown:.1f}" if abs(shown) >= 0.95 else f"{shown:.2f}"


def bounded(difference: float) -> float:
    """Return an end of a difference's interval, cut at 1: no two accuracies are further apart."""
    return min(max(difference, -1.0), 1.0)


def over_seeds(seeds: Mapping[str, int], drawing_nothing: Collection[str]) -> str:
    """Write ``3 seeds``, ``3 and 2 seeds``, or ``3 seeds; NCC draws nothing`` of two methods."""
    counts = [*dict.fromkeys(n for name, n in seeds.items() if name not in drawing_nothing)]
    if not counts:
        return "tasks of these classes; neither draws anything"
    text = f"{' and '.join(map(str, counts))} seed{'' if counts == [1] else 's'}"
    return "; ".join(
        [text, *(f"{name} draws nothing" for name in seeds if name in drawing_nothing)]
    )


def p_value(p: float) -> str:
    """Write a p value with three decimals, or as many as tell it from the level."""
    if p < 0.001:
        return "< 0.001"
    if round(p, 6) == LEVEL != p:
        return f"{'<' if p < LEVEL else '>'} {LEVEL:g}"
    return next(text for d in range(3, 7) if float(text := f"{p:.{d}f}") != LEVEL or p == LEVEL)


def half_width(interval: Interval | SelectionBootstrap | None) -> str:
    """Write half of an interval's width in percentage points; a dash where there is none.

    An interval that is wider than the scale of accuracies says that nothing is known.
    """
    if interval is None or math.isnan(interval.low):
        return "-"
    half = 50 * (interval.high - interval.low)
    return "> 50" if half > 50 else f"{half:.2f}"


def spread(interval: Interval, values: Sequence[float] | np.ndarray) -> str:
    """Write half of the interval's width over ``values [n]``, in percentage points.

    With two values the interval has one degree of freedom and is too wide to be useful, so both
    values are shown. A dash for identical replicates, which are not a sample of seeds.
    """
    if len(values) == 2 and not math.isnan(interval.low):
        return ", ".join(f"{100 * value:.1f}" for value in values)
    return half_width(interval)


def mixture(base_weight: float, other: str = "NovelGen") -> str:
    """Say what is mixed and how, as ``0.3 BaseGen + 0.7 NovelGen``."""
    return f"{base_weight:g} BaseGen + {round(1 - base_weight, 10):g} {other}"


def metric(base_weight: float | None) -> str:
    """Say what methods are compared by: NovelGen, or a mixture."""
    return "NovelGen" if base_weight is None else mixture(base_weight)


def by_metric(base_weight: float | None) -> str:
    """Return what to add to a title: nothing for NovelGen, the default."""
    return "" if base_weight is None else f" by {mixture(base_weight)}"


def protocol(planned: PlannedProtocol) -> str:
    """Write ``5-way 1-shot, 15 queries, 1000 + 600 tasks``, after the name in quotes, if any.

    The main protocol has none: the file may make another the main one.
    """
    described = planned.protocol.described
    return described if planned.name in (MAIN, planned.id) else f"'{planned.name}' ({described})"


def measuring(planned: PlannedProtocol, places: Sequence[object], every: bool = False) -> str:
    """Return the command that measures ``every`` snapshot of these runs, or those of the plan."""
    which = "all" if every else "chosen" if planned.snapshots == "last" else ""
    return on_each(places, "measure", planned.name, *(["--snapshots", which] if which else ()))


def unmeasured(
    count: int, planned: PlannedProtocol, as_planned: bool, places: Sequence[object]
) -> str:
    """Say how many chosen snapshots a protocol lacks, and how to measure them in these runs."""
    are = "is" if count == 1 else "are"
    return (
        f"{counted(count, 'chosen snapshot')} {are} not measured under {protocol(planned)}, and "
        "what depends on them is left out: "
        f"{measuring(planned, places, not as_planned)} measures them."
    )


def claims(
    summaries: Sequence[Summary],
    resampled: bool,
    partly: PlannedProtocol | None,
    places: Sequence[object],
) -> str:
    """Say which of the intervals a claim about a method needs, and how to get it.

    ``partly`` is a protocol of the report under which not every snapshot of these runs is measured.
    """
    where = ""
    if not resampled and partly is not None:
        command = measuring(partly, places, every=True)
        where = f", which needs every snapshot measured ({command})"
    elif not resampled:
        possible = any(summary.novel_tasks is not None for summary in summaries)
        where = ", which " + ("`--bootstrap 1000` adds" if possible else "needs scores by task")
    return (
        f'A claim about a method, trained again, needs "{SELECTION}"{where}: an interval over '
        "seeds only leaves out tasks and selection."
    )


def short_keys(keys: Iterable[str]) -> dict[str, str]:
    """Return the last part of each dotted key; all of it for a ``name``, or where two agree."""
    distinct = list(dict.fromkeys(keys))
    count = Counter(key.rpartition(".")[2] for key in distinct) + Counter(["name"])
    return {key: last if count[last := key.rpartition(".")[2]] == 1 else key for key in distinct}


def values(hyperparameters: Mapping[str, Any]) -> str:
    """Write ``lr=0.1 way=5``; empty where a method has only one configuration."""
    short = short_keys(hyperparameters)
    return " ".join(f"{short[key]}={value(level)}" for key, level in hyperparameters.items())


def choices(selections: Sequence[Selection]) -> str:
    """Say what a strategy chose, seeds together: ``lr=0.1 @ 12, 14; lr=0.01 @ 9``."""
    epochs: dict[str, list[str]] = defaultdict(list)
    for selection in selections:
        epochs[values(selection.hyperparameters)].append(str(selection.epoch))
    return "; ".join(f"{name} @ {', '.join(of_name)}".lstrip() for name, of_name in epochs.items())


def starred(strategy: Strategy) -> str:
    """Return the strategy's name, marked if it is an oracle."""
    return f"{strategy}{ORACLE if strategy.oracle else ''}"


def marked(strategy: Strategy) -> str:
    """Return the strategy's name, marked if it chose among finalists that are not its own."""
    return f"{strategy}{FINALISTS if strategy.among_finalists else ''}"


def early_stopping(early: EarlyStopping) -> str:
    """Say what a scheduler's rule stopped, what that saved, and what it does to the report."""
    first, last = early.rungs
    at = f"epoch {first}" if first == last else f"epochs {first} to {last}"
    saved = early.saved / early.planned if early.planned else 0.0
    configurations = f"{early.configurations} of {counted(early.of, 'configuration')}"
    return (
        f"{early.scheduler.name} by {SHOWN_AS[early.scheduler.metric]} stopped {configurations} "
        f"({counted(early.trials, 'trial')}) at {at}, and saved {percent(saved)} % of the grid's "
        "epochs. Strategies choose among the finalists, and regret is among them."
    )


def among_finalists(early: EarlyStopping) -> str:
    """Say what the mark of strategies means."""
    by = SHOWN_AS[early.scheduler.metric]
    return (
        f"{FINALISTS.strip()}: chose among what {early.scheduler.name} by {by} had left, not among "
        "all configurations: not compared with other strategies."
    )


def _chosen_by(name: str, selector: AnySelector) -> str:
    """Say what a selector chooses by, in words; a third party's has only its ``name``."""
    ours, arguments = parse(name)
    text = _CHOSEN_BY.get(ours, name)
    if isinstance(selector, Mixture):
        text = mixture(selector.base_weight, "ValGen")
    elif isinstance(selector, BudgetedOracle):
        looks = counted(selector.novel_budget or 0, "novel look")
        text = " by ".join((looks, *map(str, arguments[1:2])))
        text += " over snapshots" if selector.every_snapshot else ""
    elif ours in _CHOSEN_BY:
        text = ", ".join((text, *map(str, arguments)))
    return f"{text} (oracle)" if is_oracle(selector) else text


def snapshot_by(name: str) -> str:
    """Say what a snapshot selector chooses by, such as ``last epoch``."""
    return _chosen_by(name, snapshot_selector(name))


def configuration_by(name: str) -> str:
    """Say what a hyperparameter selector chooses by, such as ``NovelGen (oracle)``."""
    return _chosen_by(name, hyperparameter_selector(name))


def strategies(group: Sequence[Strategy]) -> list[tuple[str, str]]:
    """Say what strategies choose snapshots by, and configurations.

    A pair for all snapshot selectors that go with the same configuration selectors.
    """
    configurations: dict[str, list[str]] = defaultdict(list)
    for strategy in group:
        mark = FINALISTS if strategy.among_finalists else ""
        by = f"{configuration_by(strategy.hyperparameter)}{mark}"
        configurations[snapshot_by(strategy.snapshot)].append(by)
    pairs: dict[str, list[str]] = defaultdict(list)
    for snapshot, names in configurations.items():
        pairs[", ".join(names)].append(snapshot)
    return [(", ".join(snapshots), names) for names, snapshots in pairs.items()]


def on_one_line(group: Sequence[Strategy]) -> str:
    """Say the same as a title: ``snapshot by last epoch, ValGen; configuration by ValGen``."""
    pairs = strategies(group)
    return "; ".join(f"snapshot by {first}; configuration by {then}" for first, then in pairs)


def value(level: Any) -> str:
    """Write a hyperparameter's value."""
    if isinstance(level, Mapping):
        return "{" + ", ".join(f"{k}: {value(v)}" for k, v in level.items()) + "}"
    return f"{level:g}" if isinstance(level, float) else str(level)
