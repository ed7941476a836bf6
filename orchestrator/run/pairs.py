"""Which two snapshots of a run to compare: what a strategy chose, or two that differ so much."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fsl_sweep.orchestrator.errors import BadData, ConfigError, RunFolderError, UnknownName
from fsl_sweep.orchestrator.records.measures import TrialHistory

if TYPE_CHECKING:
    from fsl_sweep.orchestrator.run.run import Run


@dataclass(frozen=True)
class Picked:
    """A snapshot, and how it was picked."""

    method: str
    seed: int
    trial: str
    epoch: int
    by: str

    def __str__(self) -> str:
        return f"{self.method} (trial {self.trial}, epoch {self.epoch}, seed {self.seed})"


Pair = tuple[Picked, Picked]


def pair_of(
    run: "Run",
    methods: tuple[str, str],
    epochs: tuple[int | None, int | None] = (None, None),
    seed: int | None = None,
    difference: float | None = None,
) -> Pair:
    """``chosen_pair``, or ``nearest_pair`` where a difference is given. Raises as these."""
    if difference is None:
        return chosen_pair(run, methods, epochs, seed)
    if epochs != (None, None):
        raise ConfigError("", "--difference", "it picks the epochs; leave --epoch-a and -b out")
    return nearest_pair(run, methods, difference, seed)


def chosen_pair(
    run: "Run", methods: tuple[str, str], epochs: tuple[int | None, int | None], seed: int | None
) -> Pair:
    """What the run's leading strategy chose of both methods, for one seed; or epochs of its trials.

    Raises:
        UnknownName: there is no such method.
        ConfigError: there is no such seed or epoch, or both snapshots are the same.
        RunFolderError: the strategy chose nothing of a method.
    """
    from fsl_sweep.orchestrator.selection.lead import lead_strategy
    from fsl_sweep.orchestrator.selection.select import select

    seed = _seed(run, methods, seed)
    info = run.info()
    selected = select(run.histories, info.snapshot, info.hyperparameter)
    lead = lead_strategy(selected)
    picked: list[Picked] = []
    for method, epoch, flag in zip(methods, epochs, ("--epoch-a", "--epoch-b"), strict=True):
        own = (
            s for s in selected.selections if (s.method, s.seed, s.strategy) == (method, seed, lead)
        )
        found = next(own, None)
        if found is None:
            raise RunFolderError(
                f"No strategy chose a snapshot of {method} with seed {seed}: its trials are not "
                "complete. `fsl-sweep status RUN` says why."
            )
        if epoch is not None:
            known = _trial(run, found.trial).epochs.tolist()
            if epoch not in known:
                raise ConfigError("", flag, f"{method} has epochs {known[0]} to {known[-1]}")
        by = f"{lead}" if epoch is None else f"epoch given, configuration by {lead}"
        picked.append(Picked(method, seed, found.trial, epoch or found.epoch, by))
    a, b = picked
    if (a.trial, a.epoch) == (b.trial, b.epoch):
        raise ConfigError("", "A B", f"both are {a}; give --epoch-a or --epoch-b")
    return a, b


def nearest_pair(run: "Run", methods: tuple[str, str], difference: float, seed: int | None) -> Pair:
    """The kept snapshots of two methods whose recorded NovelGen differ most nearly by so much.

    Of all configurations and epochs, one seed, in either direction; report tasks. The true
    difference is another: this is a search for candidates.

    Raises:
        UnknownName, ConfigError: as ``chosen_pair``, or the difference is not above 0.
        RunFolderError: no weights are kept.
    """
    if not 0 < difference < 1:
        problem = f"{difference} is no difference of accuracies; 0.01 is 1 point"
        raise ConfigError("", "--difference", problem)
    seed = _seed(run, methods, seed)
    (first, first_scores), (second, second_scores) = (_kept(run, m, seed) for m in methods)
    gaps = np.abs(np.abs(first_scores[:, None] - second_scores) - difference)
    same = np.array([[one == other for other in second] for one in first])
    gaps[same] = np.inf
    row, column = np.unravel_index(int(np.argmin(gaps)), gaps.shape)
    if not np.isfinite(gaps[row, column]):
        raise BadData("There is only one kept snapshot to take a pair from.")
    by = f"recorded NovelGen, nearest to a difference of {100 * difference:.2f} points"
    a, b = first[row], second[column]
    return Picked(methods[0], seed, *a, by), Picked(methods[1], seed, *b, by)


def _kept(run: "Run", method: str, seed: int) -> tuple[list[tuple[str, int]], np.ndarray]:
    """Trial and epoch of each snapshot that has weights, and its recorded NovelGen."""
    from fsl_sweep.orchestrator.ledger.ledger import Ledger

    ledger = Ledger(run.path)
    found: list[tuple[str, int]] = []
    scores: list[float] = []
    for trial in _trials(run, (method,)):
        if trial.seed == seed:
            means = trial.scores["novel", "report"].means
            for epoch in ledger.trial(trial.trial).snapshot_epochs():
                if epoch in trial.epochs and np.isfinite(means[trial.index(epoch)]):
                    found.append((trial.trial, epoch))
                    scores.append(means[trial.index(epoch)])
    if not found:
        raise RunFolderError(
            f"No snapshot of {method} with seed {seed} has weights: they were pruned, or nothing "
            "was recorded. Train with `keep: all`."
        )
    return found, np.array(scores)


def _trial(run: "Run", trial: str) -> TrialHistory:
    return next(one for one in run.histories if one.trial == trial)


def _trials(run: "Run", methods: Sequence[str]) -> list[TrialHistory]:
    """Full trials of these methods. Raises UnknownName."""
    known = dict.fromkeys(one.method for one in run.histories)
    for method in methods:
        if method not in known:
            raise UnknownName("method", method, known)
    return [one for one in run.histories if one.method in methods and one.fold is None]


def _seed(run: "Run", methods: tuple[str, str], seed: int | None) -> int:
    """The seed, by default the first that both methods have."""
    seeds = [{t.seed for t in _trials(run, (method,))} for method in methods]
    both = sorted(seeds[0] & seeds[1])
    if not both or (seed is not None and seed not in both):
        known = ", ".join(map(str, both)) or "none"
        raise ConfigError("", "--trial-seed", f"both methods have the seeds: {known}")
    return both[0] if seed is None else seed
