"""A run, opened for reading: all that the terminal does, from a notebook.

Neither torch nor Ray is imported.
"""

import json
from collections.abc import Sequence
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fsl_sweep.orchestrator.errors import ConfigError, RunFolderError, UnknownName
from fsl_sweep.orchestrator.ledger import Ledger
from fsl_sweep.orchestrator.plan import Plan
from fsl_sweep.orchestrator.records import (
    CURVES,
    MEASURES,
    TASK_SETS,
    Measure,
    TaskSet,
    TrialHistory,
)

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from fsl_sweep.orchestrator.report import Report, RunInfo
    from fsl_sweep.orchestrator.selection import Selection


def load_run(path: str | PathLike[str]) -> "Run":
    """Open a run folder for reading.

    Raises:
        RunFolderError: there is no run in that folder, or its plan is damaged.
    """
    ledger = Ledger(Path(path).expanduser())
    if not ledger.path.is_dir():
        raise RunFolderError(f"{ledger.path} is not a folder; give the folder of a run.")
    plan = ledger.read_plan()
    if plan is None:
        raise RunFolderError(
            f"{ledger.path} holds no plan.json, so it is not a run folder. "
            "`fsl-sweep run SWEEP -o FOLDER` makes one."
        )
    return Run(ledger, plan)


class Run:
    """One run's records and what follows from them.

    Records are read on first use and kept; open the run again to see what was added since.
    """

    def __init__(self, ledger: Ledger, plan: Plan) -> None:
        self._ledger, self.plan = ledger, plan

    @property
    def path(self) -> Path:
        """The run folder."""
        return self._ledger.path

    @property
    def name(self) -> str:
        """The sweep's name."""
        return self.plan.name

    @cached_property
    def histories(self) -> list[TrialHistory]:
        """One history for each planned trial, in plan order, recorded or not."""
        return self._ledger.histories(self.plan)

    @property
    def complete(self) -> bool:
        """Whether every planned trial is done and whole."""
        return all(trial.complete and not trial.damaged for trial in self.histories)

    def info(
        self,
        snapshot: Sequence[str] | None = None,
        hyperparameter: Sequence[str] | None = None,
        metric: str | None = None,
    ) -> "RunInfo":
        """What a report needs to know beside the records.

        Args:
            snapshot: names of snapshot selectors to compare; those of the sweep file by default.
            hyperparameter: names of hyperparameter selectors, likewise.
            metric: what methods are compared by, ``novel`` or ``mixture(w)``, likewise.
        """
        from fsl_sweep.orchestrator.report import RunInfo

        planned = self.plan.selectors
        return RunInfo(
            name=self.plan.name,
            sweep_hash=self.plan.sweep,
            fingerprint=self.plan.fingerprint,
            snapshot=tuple(snapshot or planned.snapshot),
            hyperparameter=tuple(hyperparameter or planned.hyperparameter),
            parts=self.plan.parts,
            versions=self._versions(),
            cautions=self.plan.cautions,
            metric=metric or planned.metric,
        )

    def report(
        self,
        snapshot: Sequence[str] | None = None,
        hyperparameter: Sequence[str] | None = None,
        *,
        last: int | None = None,
        rope: float = 0.0,
        metric: str | None = None,
        bootstrap: int | None = None,
        classes: bool = False,
    ) -> "Report":
        """The selector comparison. Arguments and exceptions as ``info`` and ``report.build``.

        With ``classes``, resampling draws classes in place of tasks.

        Raises:
            ConfigError: so many resamples cannot be made.
            RunFolderError: classes are to be resampled, but the run recorded no class tuples, or
                tuples that cannot be resampled.
        """
        from fsl_sweep.orchestrator.report import build

        if bootstrap is not None and bootstrap not in range(2, 10**6) and bootstrap != 0:
            problem = f"{bootstrap} resamples cannot be made: give 0 for none, or 2 to 1,000,000"
            raise ConfigError("", "--bootstrap", problem)
        info = self.info(snapshot, hyperparameter, metric)
        tuples = self.class_tuples() if classes else None
        try:
            return build(
                info, self.histories, last=last, rope=rope, bootstrap=bootstrap, classes=tuples
            )
        except ValueError as failure:
            if tuples is None:
                raise
            raise RunFolderError(f"{self.path} cannot be resampled: {failure}") from None

    def class_tuples(self) -> "dict[tuple[Measure, TaskSet], np.ndarray]":
        """Classes of the common tasks by measure and task set, int64 ``[tasks, ways]``.

        Raises:
            RunFolderError: they were not recorded, or tasks differ in their ways.
        """
        import numpy as np

        found: dict[tuple[Measure, TaskSet], np.ndarray] = {}
        for measure in MEASURES:
            for task_set in TASK_SETS:
                name = f"tasks/{measure}-{task_set}.json"
                try:
                    plain = json.loads(self._ledger.folder.read(name) or b"{}")
                    found[measure, task_set] = np.array(plain["classes"], dtype=np.int64)
                except (ValueError, KeyError, TypeError):
                    raise RunFolderError(
                        f"{self.path / name} holds no class tuples of equal ways, so classes "
                        "cannot be resampled; leave out --classes to resample tasks."
                    ) from None
        return found

    def records(self) -> "pd.DataFrame":
        """One row for each recorded epoch of each planned trial.

        Columns: method, trial, configuration, seed, fold, status, the hyperparameters by dotted
        key, epoch, the curves, and the mean accuracies ``base_selection`` to ``novel_report`` in
        [0, 1].
        """
        import pandas as pd

        frames = [_frame(trial) for trial in self.histories if len(trial.epochs)]
        return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()

    def selections(
        self, snapshot: Sequence[str] | None = None, hyperparameter: Sequence[str] | None = None
    ) -> "pd.DataFrame":
        """One row for each method, seed and strategy: what was chosen, and its report scores.

        Raises:
            UnknownName, PluginError, ConfigError: a selector cannot be had.
        """
        import pandas as pd

        from fsl_sweep.orchestrator.selection import select

        info = self.info(snapshot, hyperparameter)
        selected = select(self.histories, info.snapshot, info.hyperparameter)
        return pd.DataFrame([_row(one) for one in selected.selections])

    def snapshot_path(self, trial: str, epoch: int) -> Path:
        """The weights of a snapshot, in safetensors format.

        Raises:
            UnknownName: no planned trial has that id.
            RunFolderError: the snapshot is not there.
        """
        if trial not in self.plan.specs:
            raise UnknownName("trial", trial, self.plan.specs)
        path = self.path / "trials" / trial / "snapshots" / f"{epoch:04d}.safetensors"
        if not path.is_file():
            raise RunFolderError(f"{path} does not exist: epoch {epoch} has no snapshot.")
        return path

    def _versions(self) -> dict[str, str | None]:
        """Versions of the packages that the run was made with; several where they changed."""
        data = self._ledger.folder.read("environment.json")
        versions: dict[str, list[str]] = {}
        try:
            for machine in json.loads(data or b"{}").get("machines", []):
                for package, version in machine["packages"].items():
                    if version and version not in versions.setdefault(package, []):
                        versions[package].append(version)
        except (ValueError, AttributeError, KeyError, TypeError):
            return {}  # a damaged note about versions must not stop a report
        return {package: ", ".join(found) for package, found in versions.items()}


def _frame(trial: TrialHistory) -> "pd.DataFrame":
    import pandas as pd

    columns: dict[str, Any] = {
        "method": trial.method,
        "trial": trial.trial,
        "configuration": trial.configuration,
        "seed": trial.seed,
        "fold": trial.fold,
        "status": trial.end.status if trial.end else "unfinished",
    }
    # Lists and mappings would be taken for columns of their own.
    plain = {k: v if isinstance(v, (str, int, float)) else str(v) for k, v in _axes(trial)}
    means = {f"{m}_{s}": table.means for (m, s), table in trial.scores.items()}
    curves = {curve: trial.curves[curve] for curve in CURVES}
    return pd.DataFrame(columns | plain | {"epoch": trial.epochs} | curves | means)


def _axes(trial: TrialHistory) -> list[tuple[str, Any]]:
    return list(trial.hyperparameters.items())


def _row(one: "Selection") -> dict[str, Any]:
    row: dict[str, Any] = {
        "method": one.method,
        "seed": one.seed,
        "snapshot_selector": one.strategy.snapshot,
        "hyperparameter_selector": one.strategy.hyperparameter,
        "oracle": one.strategy.oracle,
        "trial": one.trial,
        "configuration": one.configuration,
        **one.hyperparameters,
        "epoch": one.epoch,
    }
    for measure in ("base", "val", "novel"):
        interval = getattr(one, measure)
        row |= {
            measure: interval.mean,
            f"{measure}_low": interval.low,
            f"{measure}_high": interval.high,
        }
    return row | {"regret": one.regret, "novel_evaluations": one.novel_evaluations}
