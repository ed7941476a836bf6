"""What a selector may see of a trial: a view that holds only what the selector declared."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Generic, TypeVar, final

import numpy as np
from numpy.typing import ArrayLike

from fsl_sweep.orchestrator.errors import SealedMeasurement, SelectionError, did_you_mean
from fsl_sweep.orchestrator.records.measures import MEASURES, TrialHistory
from fsl_sweep.orchestrator.records.paper_names import TEST_MEASURE

SCORES = ("train_loss", *MEASURES, "cv")
"""Everything that a selector may declare in its ``needs``. ``cv`` is the accuracy on classes that a
class fold kept out of training, averaged over the folds."""

OPEN = ("", frozenset(SCORES))
"""In place of a selector's name and needs: nothing is sealed."""

V = TypeVar("V")


@final
class Measurements(Mapping[str, V], Generic[V]):
    """Values by measure; in a sealed view, only those of the declared measures.

    Arrays are read-only.

    Args:
        held: values; a function is called whenever its value is read.
        sealed_for: name and needs of the selector that reads them.

    Raises:
        SealedMeasurement: on reading a measure that the selector did not declare.
        KeyError: on reading what was not recorded, or is not a measure.
    """

    __slots__ = ("_held", "_sealed_for")

    def __init__(
        self, held: Mapping[str, Any], sealed_for: tuple[str, frozenset[str]] = OPEN
    ) -> None:
        self._held, self._sealed_for = dict(held), sealed_for

    def __getitem__(self, key: str) -> V:
        if key in self._held:
            value = self._held[key]
            return frozen(value()) if callable(value) else value  # type: ignore[return-value]
        selector, declared = self._sealed_for
        if key in SCORES and key not in declared:
            raise SealedMeasurement(selector, key)
        here = ", ".join(self._held) or "nothing"
        raise KeyError(f"'{key}' was not recorded; there is {here}.")

    def __contains__(self, key: object) -> bool:
        return key in self._held

    def __iter__(self) -> Iterator[str]:
        return iter(self._held)

    def __len__(self) -> int:
        return len(self._held)

    def __reduce__(self) -> tuple[Any, ...]:
        return Measurements, (dict(self), self._sealed_for)

    def __repr__(self) -> str:
        return f"Measurements({', '.join(self._held)})"


@final
class History:
    """The snapshots of one trial, measured on the selection tasks.

    Attributes:
        epochs: recorded epochs, strictly ascending, int64 ``[E]``; there may be gaps.
        scores: by measure (``train_loss``, ``base``, ``val``, ``novel``, ``cv``), float64 ``[E]``;
            accuracies in [0, 1]. ``cv`` is NaN at epochs that not every fold recorded.
        tasks: by measure (``base``, ``val``, ``novel``), accuracy of each selection task,
            float64 ``[E, T]``.
    """

    __slots__ = ("_folds", "epochs", "scores", "tasks")

    epochs: np.ndarray
    scores: Measurements[np.ndarray]
    tasks: Measurements[np.ndarray]

    def __init__(
        self,
        epochs: np.ndarray,
        scores: Mapping[str, np.ndarray],
        tasks: Mapping[str, Any],
        sealed_for: tuple[str, frozenset[str]] = OPEN,
        folds: Sequence["History"] = (),
    ) -> None:
        averaged = {"cv": _over_folds(epochs, folds)} if folds else {}
        held = {m: frozen(values) for m, values in {**scores, **averaged}.items()}
        tables = {m: t if callable(t) else frozen(t) for m, t in tasks.items()}
        self.epochs, self._folds = frozen(epochs), tuple(folds)
        self.scores = Measurements(held, sealed_for)
        self.tasks = Measurements(tables, sealed_for)

    @classmethod
    def from_arrays(
        cls,
        *,
        epochs: ArrayLike,
        train_loss: ArrayLike | None = None,
        base: ArrayLike | None = None,
        val: ArrayLike | None = None,
        novel: ArrayLike | None = None,
        tasks: Mapping[str, ArrayLike] | None = None,
        folds: Sequence["History"] = (),
    ) -> "History":
        """Make a history by hand, of scores ``[E]`` and per-task accuracies ``[E, T]``.

        Each of ``folds`` is the history of the same configuration trained without one class fold;
        its ``val`` is the accuracy on that fold's classes. Its epochs may differ.

        Raises:
            ValueError: epochs do not ascend, shapes do not fit, or a fold has no ``val``.
        """
        order = np.array(epochs, dtype=np.int64)
        if order.ndim != 1 or (np.diff(order) <= 0).any():
            raise ValueError(f"Epochs must be strictly ascending, not {order.tolist()}.")
        columns = {"train_loss": train_loss, "base": base, "val": val, "novel": novel}
        scores = {m: np.array(v, np.float64) for m, v in columns.items() if v is not None}
        for measure, values in scores.items():
            if values.shape != order.shape:
                raise ValueError(f"'{measure}' is {values.shape}, but epochs are {order.shape}.")
        tables = {m: np.array(v, np.float64) for m, v in (tasks or {}).items()}
        for measure, table in tables.items():
            if measure not in MEASURES or table.ndim != 2 or len(table) != len(order):
                raise ValueError(
                    f"tasks['{measure}'] is {table.shape}; it must be of one of {MEASURES} and "
                    f"[{len(order)}, tasks]."
                )
        for number, fold in enumerate(folds):
            if "val" not in fold.scores:
                raise ValueError(f"folds[{number}] has no 'val': accuracy on the fold's classes.")
        return cls(order, scores, tables, folds=folds)

    @classmethod
    def from_trial(cls, trial: TrialHistory, folds: Iterable[TrialHistory] = ()) -> "History":
        """Make the history of a full trial on its selection tasks; tasks are read on demand.

        ``folds`` are the trials of all its class folds, or none.
        """
        tables = {m: t for (m, task_set), t in trial.scores.items() if task_set == "selection"}
        scores = {m: np.array(table.means, np.float64) for m, table in tables.items()}
        if "train_loss" in trial.curves:
            scores["train_loss"] = np.array(trial.curves["train_loss"], np.float64)
        tasks = {m: t.load for m, t in tables.items() if t.per_task}
        return cls(trial.epochs, scores, tasks, folds=[cls.from_trial(fold) for fold in folds])

    @property
    def folds(self) -> tuple["History", ...]:
        """Return the configuration trained without each class fold; none without cross-validation.

        In a sealed view they hold only ``val``, the accuracy on the fold's classes.

        Raises:
            SealedMeasurement: the selector did not declare ``cv``.
        """
        selector, declared = self.scores._sealed_for
        if "cv" not in declared:
            raise SealedMeasurement(selector, "cv")
        return self._folds

    def index(self, epoch: int) -> int:
        """Return the position of an epoch in the arrays. Raises KeyError if it was not recorded."""
        at = int(np.searchsorted(self.epochs, epoch))
        if at == len(self.epochs) or self.epochs[at] != epoch:
            raise KeyError(f"Epoch {epoch} was not recorded.")
        return at

    def view(self, needs: Iterable[str], selector: str = "selector") -> "History":
        """Return a history that holds only the measures that ``selector`` declared.

        Raises:
            ValueError: a need is not a measure.
            SealedMeasurement: this is itself a view that does not hold a need.
        """
        declared = frozenset(needs)
        for need in declared.difference(SCORES):
            advice = did_you_mean(need, SCORES, [TEST_MEASURE])
            raise ValueError(f"'{need}' is not a measure; {advice}")
        for need in sorted(declared - self.scores._sealed_for[1]):
            raise SealedMeasurement(selector, need)
        scores = {m: v for m, v in self.scores._held.items() if m in declared}
        tasks = {m: v for m, v in self.tasks._held.items() if m in declared}
        folds = [f.view({"val"}, selector) for f in self._folds] if "cv" in declared else []
        return History(self.epochs, scores, tasks, (selector, declared), folds)

    def __repr__(self) -> str:
        return f"History({len(self.epochs)} epochs; {', '.join(self.scores)})"


def require(history: History, needs: Iterable[str], selector: str) -> None:
    """Raise SelectionError if a declared measure was not recorded or the history is empty."""
    if len(history.epochs) == 0:
        raise SelectionError(f"Selector '{selector}' has no snapshot to choose from.")
    missing = sorted(frozenset(needs) - history.scores.keys())
    if missing == ["cv"]:
        raise SelectionError(
            f"Selector '{selector}' needs cv, but there are no trials of class folds; "
            "`cross_validation` in the sweep file plans them."
        )
    if missing:
        raise SelectionError(
            f"Selector '{selector}' needs {', '.join(missing)}, which was not recorded."
        )


def _over_folds(epochs: np.ndarray, folds: Sequence[History]) -> np.ndarray:
    """Average ``val`` over folds at each epoch ``[E]``; NaN unless every fold has the epoch."""
    table = np.full((len(folds), len(epochs)), np.nan)
    for row, fold in zip(table, folds, strict=True):
        curve = dict(zip(fold.epochs.tolist(), fold.scores["val"].tolist(), strict=True))
        row[:] = [curve.get(epoch, np.nan) for epoch in epochs.tolist()]
    return table.mean(axis=0)


def frozen(values: ArrayLike) -> np.ndarray:
    """Return a read-only copy that owns its memory: a slice would hold all of ``base``."""
    copy = np.array(values)
    copy.setflags(write=False)
    return copy
