"""What a selector may see of a trial: histories, candidates, and their sealed views.

A sealed view *holds* only what its selector declared. Novel scores are not hidden in it: they
are not there, so neither attributes nor pickling nor a look into the object finds them.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, final
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike

from fsl_sweep.orchestrator.errors import SealedMeasurement, SelectionError, did_you_mean
from fsl_sweep.orchestrator.records import MEASURES, TrialHistory

SCORES = ("train_loss", *MEASURES)
"""Everything that a selector may declare in its ``needs``."""

V = TypeVar("V")


@final
class Measurements(Mapping[str, V], Generic[V]):
    """Values by measure; in a sealed view, of the declared measures alone.

    Iteration, length and membership tell of what is held. Arrays are handed out as read-only
    copies. A measure can also be read as an attribute (``scores.val``).

    Raises:
        SealedMeasurement: on reading a measure that the selector did not declare.
        KeyError: on reading what was not recorded, or is no measure.
    """

    __slots__ = ("_held", "_known", "_sealed_for")

    def __init__(
        self, held: Mapping[str, Any], known: Iterable[str], sealed_for: tuple[str, frozenset[str]]
    ) -> None:
        self._held, self._known, self._sealed_for = dict(held), tuple(known), sealed_for

    def __getitem__(self, key: str) -> V:
        if key in self._held:
            return _handed_out(self._held[key])
        selector, declared = self._sealed_for
        if key in self._known and key not in declared:
            raise SealedMeasurement(selector, key)
        here = ", ".join(self._held) or "nothing"
        raise KeyError(f"'{key}' was not recorded; there is {here}.")

    def __getattr__(self, name: str) -> V:
        # Called for what is no ordinary attribute alone; the guard keeps copying and pickling,
        # which probe for special methods on half-built objects, from looping.
        if name in SCORES:
            return self[name]
        raise AttributeError(f"Measurements have no attribute '{name}'.")

    def __contains__(self, key: object) -> bool:
        return key in self._held

    def __iter__(self) -> Iterator[str]:
        return iter(self._held)

    def __len__(self) -> int:
        return len(self._held)

    def __repr__(self) -> str:
        return f"Measurements({', '.join(self._held)})"


@final
class _Deferred:
    """A promise of an array that is read on demand, without a reference to what reads it.

    The reader of one measure could be followed to the reader of another, so it is kept outside
    of the object graph that a selector is given. Pickling delivers the array itself.
    """

    __slots__ = ("__weakref__",)

    def __init__(self, load: Callable[[], np.ndarray]) -> None:
        _READERS[self] = load

    def __reduce__(self) -> tuple[Any, ...]:
        return _owned, (_READERS[self](),)


_READERS: "WeakKeyDictionary[_Deferred, Callable[[], np.ndarray]]" = WeakKeyDictionary()


@final
class History:
    """One trial's snapshots, measured on the selection tasks.

    Attributes:
        epochs: recorded epochs, strictly ascending, int64 ``[E]``; there may be gaps.
        scores: by measure (``train_loss``, ``base``, ``val``, ``novel``), float64 ``[E]``;
            accuracies in [0, 1].
        tasks: by measure (``base``, ``val``, ``novel``), accuracy of each selection task,
            float64 ``[E, T]``.
    """

    __slots__ = ("_epochs", "scores", "tasks")

    scores: Measurements[np.ndarray]
    tasks: Measurements[np.ndarray]

    def __init__(
        self,
        epochs: np.ndarray,
        scores: Mapping[str, Any],
        tasks: Mapping[str, Any],
        sealed_for: tuple[str, frozenset[str]] = ("", frozenset(SCORES)),
    ) -> None:
        self._epochs = _owned(epochs)
        self.scores = Measurements(scores, SCORES, sealed_for)
        self.tasks = Measurements(tasks, MEASURES, sealed_for)

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
    ) -> "History":
        """A history written by hand: scores ``[E]`` and per-task accuracies ``[E, T]``.

        Raises:
            ValueError: epochs do not ascend, or shapes do not fit.
        """
        order = np.array(epochs, dtype=np.int64)
        if order.ndim != 1 or (np.diff(order) <= 0).any():
            raise ValueError(f"Epochs must be strictly ascending, not {order.tolist()}.")
        given = {"train_loss": train_loss, "base": base, "val": val, "novel": novel}
        scores = {m: np.array(v, np.float64) for m, v in given.items() if v is not None}
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
        return cls(order, scores, tables)

    @classmethod
    def from_trial(cls, trial: TrialHistory) -> "History":
        """The history of a recorded trial on its selection tasks; tasks are read on demand."""
        tables = {m: t for (m, task_set), t in trial.scores.items() if task_set == "selection"}
        scores = {m: np.array(table.means, np.float64) for m, table in tables.items()}
        if "train_loss" in trial.curves:
            scores["train_loss"] = np.array(trial.curves["train_loss"], np.float64)
        return cls(trial.epochs, scores, {m: _Deferred(t.load) for m, t in tables.items()})

    @property
    def epochs(self) -> np.ndarray:
        """Recorded epochs, ascending, int64 ``[E]``; a read-only copy."""
        return _handed_out(self._epochs)

    def index(self, epoch: int) -> int:
        """Position of an epoch in the arrays. Raises KeyError if it was not recorded."""
        found = np.flatnonzero(self._epochs == epoch)
        if len(found) != 1:
            raise KeyError(f"Epoch {epoch} was not recorded.")
        return int(found[0])

    def view(self, needs: Iterable[str], selector: str = "selector") -> "History":
        """A history that holds the declared measures alone.

        Args:
            needs: measures, of {"train_loss", "base", "val", "novel"}.
            selector: who declared them, for the message of SealedMeasurement.

        Raises:
            ValueError: a need is not a measure.
            SealedMeasurement: this is itself a view that does not hold a need.
        """
        declared = frozenset(needs)
        for need in declared - set(SCORES):
            raise ValueError(f"'{need}' is not a measure; {did_you_mean(need, SCORES)}")
        for need in sorted(declared - self.scores._sealed_for[1]):
            raise SealedMeasurement(selector, need)
        scores = {m: v.copy() for m, v in self.scores._held.items() if m in declared}
        tasks = {m: _again(v) for m, v in self.tasks._held.items() if m in declared}
        return History(self._epochs, scores, tasks, (selector, declared))

    def __getattr__(self, name: str) -> np.ndarray:
        if name in SCORES:
            return self.scores[name]
        raise AttributeError(f"History has no attribute '{name}'.")

    def __repr__(self) -> str:
        return f"History({len(self._epochs)} epochs; {', '.join(self.scores)})"


@final
@dataclass(frozen=True, eq=False)
class Candidate:
    """One configuration's selected snapshot: what a hyperparameter selector chooses among.

    Attributes:
        trial: the trial id.
        hyperparameters: axis values that set this configuration apart.
        epoch: the epoch that the snapshot selector chose.
        history: the whole trial.
    """

    trial: str
    hyperparameters: Mapping[str, Any]
    epoch: int
    history: History

    @property
    def scores(self) -> Measurements[float]:
        """Scores of the selected snapshot by measure."""
        i, held = self.history.index(self.epoch), self.history.scores
        at_epoch = {measure: float(values[i]) for measure, values in held._held.items()}
        return Measurements(at_epoch, SCORES, held._sealed_for)

    @property
    def tasks(self) -> Measurements[np.ndarray]:
        """Per-task accuracies ``[T]`` of the selected snapshot by measure."""
        i, held = self.history.index(self.epoch), self.history.tasks
        at_epoch = {measure: _row(table, i) for measure, table in held._held.items()}
        return Measurements(at_epoch, MEASURES, held._sealed_for)

    def view(self, needs: Iterable[str], selector: str = "selector") -> "Candidate":
        """The same candidate with a sealed history. Raises as ``History.view``."""
        history = self.history.view(needs, selector)
        return Candidate(self.trial, deepcopy(dict(self.hyperparameters)), self.epoch, history)


def require(history: History, needs: Iterable[str], selector: str) -> None:
    """Check that what a selector declares was recorded at all.

    Raises:
        SelectionError: it was not, or the history is empty.
    """
    if len(history.epochs) == 0:
        raise SelectionError(f"Selector '{selector}' has no snapshot to choose from.")
    missing = sorted(set(needs) - set(history.scores))
    if missing:
        raise SelectionError(
            f"Selector '{selector}' needs {', '.join(missing)}, which was not recorded."
        )


def _owned(values: np.ndarray) -> np.ndarray:
    # A copy that owns its memory: a slice would carry the whole table along in `.base`.
    return np.array(values, copy=True)


def _handed_out(value: Any) -> Any:
    if isinstance(value, _Deferred):
        value = _READERS[value]()
    if isinstance(value, np.ndarray):
        value = _owned(value)
        value.setflags(write=False)
    return value


def _again(value: Any) -> Any:
    return _Deferred(_READERS[value]) if isinstance(value, _Deferred) else _owned(value)


def _row(table: Any, i: int) -> Any:
    if not isinstance(table, _Deferred):
        return _owned(table[i])
    load = _READERS[table]
    return _Deferred(lambda: load()[i])
