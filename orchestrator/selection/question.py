"""What is asked of the records: by which strategies and tasks, and of which trials."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, final

from fsl_sweep.orchestrator.errors import ConfigError
from fsl_sweep.orchestrator.records.measures import Measure, TrialHistory
from fsl_sweep.orchestrator.records.protocol import MAIN, PlannedProtocol
from fsl_sweep.orchestrator.selectors.mixture import base_weight


@final
@dataclass(frozen=True)
class Question:
    """What is asked of the records; its names were checked when it was made.

    Attributes:
        snapshot, hyperparameter: names of the selectors to compare, in order; each pair of them is
            a strategy.
        metric: what methods are compared by: ``novel``, or ``mixture(w)``.
        protocol: the protocol of the report tasks; None for the records of a table.
        chosen_by: that of the selection tasks.
        as_planned: whether no choices but those of the sweep file are asked for: its selectors,
            under the main protocol, among all of its trials.
        methods: those that take part; all where there are none.
        configurations: ids or hyperparameters of the configurations that take part, as ``lr=0.1``;
            all where there are none.
        last: how many last snapshots are rank-correlated too.
        rope: difference in accuracy up to which two methods count as equivalent, in [0, 1).
        few: whether only the pairs of selectors that papers report are strategies (`few_of`).
        resamples: for intervals that include the selection; 0 for none. None leaves their number,
            and of a large run the strategies that have them, to ``Evidence``.
    """

    snapshot: tuple[str, ...]
    hyperparameter: tuple[str, ...]
    metric: str = "novel"
    protocol: PlannedProtocol | None = None
    chosen_by: PlannedProtocol | None = None
    as_planned: bool = True
    methods: frozenset[str] = frozenset()
    configurations: tuple[str, ...] = ()
    last: int | None = None
    rope: float = 0.0
    resamples: int | None = None
    few: bool = False

    @property
    def pairs(self) -> frozenset[tuple[str, str]]:
        """Return the pairs of selectors that are strategies."""
        pairs = few_of if self.few else product
        return frozenset(pairs(self.snapshot, self.hyperparameter))

    @property
    def base_weight(self) -> float | None:
        """Return the weight of BaseGen in what methods are compared by; None for NovelGen."""
        return base_weight(self.metric)

    @property
    def scope(self) -> str:
        """Return which methods and configurations take part, as a sentence; empty for all."""
        parts = ["methods " + ", ".join(sorted(self.methods))] if self.methods else []
        if self.configurations:
            parts.append("configurations with " + " or ".join(self.configurations))
        return f"Only {' and '.join(parts)} take part." if parts else ""

    @property
    def apart(self) -> tuple[Measure, ...]:
        """Return the measures whose selection and report tasks are of other classes."""
        both = [planned and planned.protocol.novel for planned in (self.protocol, self.chosen_by)]
        return ("novel",) if both[0] != both[1] else ()

    @property
    def timed(self) -> bool:
        """Return whether the recorded seconds of measuring are of the report tasks."""
        return self.protocol is None or self.protocol.name == MAIN

    def asks_for(self, trial: TrialHistory) -> bool:
        """Return whether a trial takes part."""
        if self.methods and trial.method not in self.methods:
            return False
        return not self.configurations or any(
            is_configuration(trial.configuration, trial.hyperparameters, name)
            for name in self.configurations
        )


def few_of(snapshot: Sequence[str], hyperparameter: Sequence[str]) -> Collection[tuple[str, str]]:
    """Return the pairs of selectors that papers report, and one oracle; all pairs without any.

    They are the snapshots at the end of training and of the least training loss, with the
    configuration by ValGen; both by BaseGen; both by ValGen; both by class folds, where there are
    any; and both by NovelGen, the reference. By BaseGen where there is no ValGen.

    Source: "Two Sides of Meta-Learning Evaluation", section 5.1 and appendix F.1.
    """
    by = next((name for name in ("val", "base") if name in hyperparameter), "")
    folds = [name for name in hyperparameter if name.split("(")[0] == "cv"]
    in_folds = next((name for name in ("cv-epoch", by) if name in snapshot), "")
    wanted = [("last", by), ("train_loss", by), ("base", "base"), ("val", "val")]
    wanted += [(in_folds, name) for name in folds[:1]]
    every = {*product(snapshot, hyperparameter)}
    known = [pair for pair in wanted if pair in every]
    return [*known, *({("oracle", "oracle")} & every)] if known else every


MOST_RESAMPLES = 10**6
"""The most resamples: more would change no digit that is shown."""


def checked_resamples(count: int | None, per_task: bool) -> int | None:
    """Return how many resamples to make; None leaves it to ``Evidence``. Raises ConfigError."""
    problem = None
    if count and not 2 <= count <= MOST_RESAMPLES:
        problem = f"give 0 for none, or 2 to {MOST_RESAMPLES:,}"
    elif count and not per_task:
        problem = "there are no per-task rows to resample"
    if problem is not None:
        raise ConfigError("", "--bootstrap", f"{count} resamples cannot be made: {problem}")
    return count if per_task else 0


def checked_rope(rope: float) -> float:
    """Return the difference up to which methods are equivalent. Raises ConfigError."""
    if not 0 <= rope < 1:
        problem = f"{rope} is no difference of accuracies; 0.01 is 1 point"
        raise ConfigError("", "--rope", problem)
    return rope


def is_configuration(configuration: str, values: Mapping[str, Any], name: str) -> bool:
    """Return whether a name is that of a configuration: its id, or some of its hyperparameters.

    Hyperparameters are written ``lr=0.1`` or ``optimizer.lr=0.1,train.way=5``.
    """
    if name == configuration:
        return True
    # A comma within a value, as in `steps=[1, 2]`, has no key after it.
    pairs = [part.partition("=") for part in re.split(r",(?=[^,=\[\]]+=)", name)]
    return all(
        any(_is_key(known, key.strip()) and _is_value(values[known], text) for known in values)
        for key, _, text in pairs
    )


def described_configurations(trials: Collection[TrialHistory]) -> list[str]:
    """Return what may be written for the configurations of trials, each once."""
    rows = (
        ",".join(f"{key}={value}" for key, value in trial.hyperparameters.items())
        or trial.configuration
        for trial in trials
    )
    return list(dict.fromkeys(rows))


def _is_key(known: str, key: str) -> bool:
    return bool(key) and (known == key or known.endswith(f".{key}"))


def _is_value(value: Any, text: str) -> bool:
    text = text.strip()
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            return float(text) == value
        except ValueError:
            return False
    return str(value).lower() == text.lower()
