"""A snapshot: the learner after an epoch of its trial."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, final

from fsl_sweep.orchestrator.records.measures import Measure, TaskSet, TrialHistory


@final
@dataclass(frozen=True)
class Snapshot:
    """The learner after an epoch of its trial. What is known of it is asked of its history.

    Attributes:
        history: of its trial.
        epoch: after which it was taken, at least 1.
    """

    history: TrialHistory = field(repr=False, compare=False)
    epoch: int
    trial: str = field(init=False)
    method: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "trial", self.history.trial)
        object.__setattr__(self, "method", self.history.method)

    @property
    def seed(self) -> int:
        """Return the seed of its trial."""
        return self.history.seed

    @property
    def configuration(self) -> str:
        """Return the id of the configuration of its trial."""
        return self.history.configuration

    @property
    def hyperparameters(self) -> Mapping[str, Any]:
        """Return the values of the grid axes of its trial, by dotted key."""
        return self.history.hyperparameters

    def mean(self, measure: Measure, task_set: TaskSet = "report") -> float:
        """Return its mean accuracy in [0, 1]; NaN where it is not measured.

        Raises:
            KeyError: its trial has no record of its epoch.
        """
        return float(self.history.scores[measure, task_set].means[self.history.index(self.epoch)])

    def __str__(self) -> str:
        return f"{self.method} (trial {self.trial}, epoch {self.epoch}, seed {self.seed})"
