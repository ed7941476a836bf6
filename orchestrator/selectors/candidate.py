"""What a hyperparameter selector chooses among: the selected snapshot of each configuration."""

from collections.abc import Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from typing import Any, final

import numpy as np

from fsl_sweep.orchestrator.selectors.history import History, Measurements
from fsl_sweep.orchestrator.selectors.meter import Account, Meter


@final
@dataclass(frozen=True, eq=False)
class Candidate:
    """One configuration's selected snapshot.

    Attributes:
        trial: the trial id.
        hyperparameters: axis values that set this configuration apart.
        epoch: the epoch that the snapshot selector chose.
        history: all snapshots of the trial.
        fold_epochs: the epoch chosen in each of ``history.folds``; None for ``epoch`` in all.
        novel: measures the selected snapshot on novel tasks, for a selector with a budget.
    """

    trial: str
    hyperparameters: Mapping[str, Any]
    epoch: int
    history: History
    fold_epochs: tuple[int, ...] | None = None
    novel: Meter | None = None

    @property
    def scores(self) -> Measurements[float]:
        """Return scores of the selected snapshot by measure; ``cv`` of the folds' snapshots."""
        i, held = self.history.index(self.epoch), self.history.scores
        at_epoch = {measure: float(values[i]) for measure, values in held.items()}
        if self.fold_epochs is not None and "cv" in at_epoch:
            chosen = zip(self.history._folds, self.fold_epochs, strict=True)
            at_epoch["cv"] = float(np.mean([f.scores["val"][f.index(e)] for f, e in chosen]))
        return Measurements(at_epoch, held._sealed_for)

    @property
    def tasks(self) -> Measurements[np.ndarray]:
        """Return per-task accuracies ``[T]`` of the selected snapshot by measure."""
        held = self.history.tasks
        return Measurements({m: partial(self._row, m) for m in held}, held._sealed_for)

    def view(self, needs: Iterable[str], selector: str = "selector") -> "Candidate":
        """Return the same candidate with a sealed history. Raises as ``History.view``."""
        history = self.history.view(needs, selector)
        fold_epochs = self.fold_epochs if history._folds else None
        hyperparameters = deepcopy(dict(self.hyperparameters))
        return Candidate(self.trial, hyperparameters, self.epoch, history, fold_epochs)

    def metered(self, account: Account) -> Meter:
        """Return a meter of the selected snapshot's novel tasks; ``account`` pays."""
        tasks = partial(self._row, "novel") if "novel" in self.history.tasks else None
        return Meter(account, self.scores["novel"], tasks)

    def _row(self, measure: str) -> np.ndarray:
        return self.history.tasks[measure][self.history.index(self.epoch)]
