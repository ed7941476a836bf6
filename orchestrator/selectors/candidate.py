"""What a hyperparameter selector chooses among: the selected snapshot of each configuration."""

from collections.abc import Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from typing import Any, final

import numpy as np

from fsl_sweep.orchestrator.selectors.history import History
from fsl_sweep.orchestrator.selectors.meter import Account, Meter
from fsl_sweep.orchestrator.selectors.sealing import Measurements


@final
@dataclass(frozen=True, eq=False)
class Candidate:
    """One configuration's selected snapshot.

    Attributes:
        trial: the trial id.
        hyperparameters: axis values that set this configuration apart.
        epoch: the epoch that the snapshot selector chose.
        history: the whole trial.
        fold_epochs: the epoch that it chose in each of ``history.folds``; None for ``epoch`` in
            them all.
        novel: measures the selected snapshot on novel tasks, where the selector has a budget.

    Raises:
        ValueError: there is not one of ``fold_epochs`` for each fold.
    """

    trial: str
    hyperparameters: Mapping[str, Any]
    epoch: int
    history: History
    fold_epochs: tuple[int, ...] | None = None
    novel: Meter | None = None

    def __post_init__(self) -> None:
        given, folds = self.fold_epochs, self.history._folds
        if given is not None and len(given) != len(folds):
            raise ValueError(f"{len(given)} epochs are given for {len(folds)} folds.")

    @property
    def scores(self) -> Measurements[float]:
        """Scores of the selected snapshot by measure; ``cv`` of the snapshots of the folds."""
        i, held = self.history.index(self.epoch), self.history.scores
        at_epoch = {measure: float(values[i]) for measure, values in held.items()}
        if self.fold_epochs is not None and "cv" in at_epoch:
            chosen = zip(self.history._folds, self.fold_epochs, strict=True)
            at_epoch["cv"] = float(np.mean([f.scores["val"][f.index(e)] for f, e in chosen]))
        return Measurements(at_epoch, held._sealed_for)

    @property
    def tasks(self) -> Measurements[np.ndarray]:
        """Per-task accuracies ``[T]`` of the selected snapshot by measure."""
        held = self.history.tasks
        return Measurements({m: partial(self._row, m) for m in held}, held._sealed_for)

    def view(self, needs: Iterable[str], selector: str = "selector") -> "Candidate":
        """The same candidate with a sealed history. Raises as ``History.view``."""
        history = self.history.view(needs, selector)
        fold_epochs = self.fold_epochs if history._folds else None
        hyperparameters = {key: _own(value) for key, value in self.hyperparameters.items()}
        return Candidate(self.trial, hyperparameters, self.epoch, history, fold_epochs)

    def metered(self, account: Account) -> Meter:
        """A meter of the selected snapshot's novel tasks, on ``account``."""
        mean = self.scores["novel"]
        known = "novel" in self.history.tasks
        return Meter(account, mean, partial(self._row, "novel") if known else None)

    def _row(self, measure: str) -> np.ndarray:
        return self.history.tasks[measure][self.history.index(self.epoch)]


def _own(value: Any) -> Any:
    """A copy that shares nothing; what cannot be changed needs none."""
    return value if isinstance(value, str | int | float | None) else deepcopy(value)
