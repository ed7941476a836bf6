"""A run folder as the source of a report."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import final

import numpy as np

from fsl_sweep.orchestrator.errors import Damaged, RunFolderError
from fsl_sweep.orchestrator.ledger.ledger import CHECKED, Ledger, tasks_folder
from fsl_sweep.orchestrator.ledger.trial_ledger import TrialLedger
from fsl_sweep.orchestrator.records.measures import SCORE_KEYS, Measure, ScoreKey, TrialHistory
from fsl_sweep.orchestrator.records.protocol import PlannedProtocol
from fsl_sweep.orchestrator.replay.source import (
    ProtocolOrMain,
    Source,
    SourceInfo,
    TrialIds,
)


@final
class FolderSource(Source):
    """What a sweep recorded. Raises RunFolderError where there is no run, or a damaged plan."""

    def __init__(self, path: Path) -> None:
        self._ledger = Ledger(path)  # which says so where the path is the address of a bucket
        if not path.is_dir():
            there = os.path.lexists(path)
            problem = f"{path} is not a folder" if there else f"There is nothing at {path}"
            raise RunFolderError(
                f"{problem}; give the folder of a run, or a .csv or .parquet file."
            )
        plan = self._ledger.read_plan()
        if plan is None:
            raise RunFolderError(
                f"{path} holds no plan.json, so it is not a run folder. "
                "`fsl-sweep run SWEEP -o FOLDER` makes one."
            )
        self._plan, self.places = plan, (path,)
        self.checked = len(plan.trials) <= CHECKED
        self._kept: dict[str, TrialLedger] = {}
        versions, problems = _versions(self._ledger)
        self.info = SourceInfo(
            name=plan.title,
            sweep=plan.sweep,
            fingerprint=plan.fingerprint,
            measured=plan.main.protocol.canonical(),
            selectors=plan.selectors,
            parts=plan.parts,
            versions=versions,
            cautions=(*plan.cautions, *problems),
            stands_in=plan.stands_in,
            scheduler=plan.scheduler,
            proposed=plan.proposed,
        )

    def protocols(self) -> tuple[PlannedProtocol, ...]:
        """Return the protocols of the plan."""
        return self._plan.protocols

    def histories(
        self, reported: ProtocolOrMain = None, by: ProtocolOrMain = None, /, only: TrialIds = None
    ) -> list[TrialHistory]:
        """Return a history for each planned trial, in plan order; damaged records are skipped."""
        main, kept = self._plan.main, self._kept
        ids = (by or main).id, (reported or main).id
        if only is None:
            return self._ledger.histories(self._plan, *ids, checked=self.checked)
        trials = [trial for trial in self._plan.trials if trial.id in only]
        for trial in trials:  # a few, perhaps under several protocols in turn
            if trial.id not in kept:
                kept[trial.id] = TrialLedger(self._ledger.trial(trial.id).folder, once=True)
        return [kept[trial.id].history(trial, *ids, self.checked) for trial in trials]

    def check(self) -> None:
        """Check as `Source.check` does, and read all records again."""
        super().check()
        self._kept.clear()

    def class_tuples(self, protocol: ProtocolOrMain, /) -> dict[ScoreKey, np.ndarray]:
        """Read the class tuples in ``tasks/``. Raises as ``Source.class_tuples``."""
        folder = tasks_folder((protocol or self._plan.main).id)
        return {(m, s): self._tuples(f"{folder}/{m}-{s}.json") for m, s in SCORE_KEYS}

    def class_names(self, measure: Measure, protocol: ProtocolOrMain = None, /) -> tuple[str, ...]:
        """Read the names beside the class tuples. Raises as ``Source.class_names``."""
        folder = tasks_folder((protocol or self._plan.main).id)
        plain = self._ledger.folder.read_json(f"{folder}/{measure}-report.json")
        if plain is None or "names" not in plain:  # of a run of an earlier version
            return super().class_names(measure, protocol)
        return tuple(map(str, plain["names"].values()))

    def trials(self) -> Mapping[str, TrialLedger]:
        """Return what is recorded of each planned trial, whether it has begun or not."""
        return {trial: self._ledger.trial(trial) for trial in self._plan.specs}

    def _tuples(self, name: str) -> np.ndarray:
        plain = self._ledger.folder.read_json(name)
        problem = "is missing, so that the classes of tasks are not known"
        try:
            if plain is not None:
                return np.array(plain["classes"], dtype=np.int64)
        except (ValueError, KeyError, TypeError):
            problem = "holds no class tuples of equal ways, so classes cannot be resampled"
        raise RunFolderError(
            f"{self._ledger.path / name} {problem}; leave out --classes to resample tasks."
        )


def _versions(ledger: Ledger) -> tuple[dict[str, str | None], tuple[str, ...]]:
    """Read the versions of packages that made the run, all where they changed; and cautions."""
    versions: dict[str, list[str]] = {}
    try:
        note = ledger.folder.read_json("environment.json")
        if note is None:
            caution = "environment.json is missing: which versions made the records is not known."
            return {}, (caution,) if ledger.trial_ids() else ()
        for machine in note.get("machines", []):
            for package, version in machine["packages"].items():
                if version and version not in versions.setdefault(package, []):
                    versions[package].append(version)
    except (Damaged, AttributeError, KeyError, TypeError):
        caution = "environment.json is damaged: which versions made the records is not known."
        return {}, (caution,)
    return {package: ", ".join(seen) for package, seen in versions.items()}, ()
