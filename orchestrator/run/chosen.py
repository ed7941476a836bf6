"""The snapshot that a strategy chose, ready to be loaded."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fsl_sweep.learners.loaded import LoadedLearner
    from fsl_sweep.orchestrator.run.run import Run


@dataclass(frozen=True)
class ChosenSnapshot:
    """What a strategy chose for one method and seed."""

    run: "Run" = field(repr=False)
    method: str
    seed: int
    trial: str
    epoch: int
    hyperparameters: Mapping[str, Any]

    @property
    def path(self) -> Path:
        """The file, as `Run.snapshot_path`."""
        return self.run.snapshot_path(self.trial, self.epoch)

    def load(self, device: str | None = None) -> "LoadedLearner":
        """The learner, as `Run.load_learner`."""
        return self.run.load_learner(self.trial, self.epoch, device)
