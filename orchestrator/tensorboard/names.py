"""Readable names of TensorBoard runs: ``PN/lr=0.1 way=5/seed-0``."""

import re
from collections.abc import Sequence

from fsl_sweep.orchestrator.records.measures import TrialHistory
from fsl_sweep.orchestrator.report.wording import values
from fsl_sweep.orchestrator.text.printed import printable

LONGEST = 120
REPORT = "report"
"""The run of what belongs to no trial; those of trials have a seed below their method."""


def run_names(histories: Sequence[TrialHistory]) -> list[str]:
    """A distinct name for each planned trial, as a relative path with ``/``.

    Where two would be equal (long values are cut), the configuration's id is added.
    """
    names: list[str] = []
    taken: set[str] = set()
    for trial in histories:
        name = _name(trial, "")
        if name in taken:
            name = _name(trial, f" {trial.configuration}")
        taken.add(name)
        names.append(name)
    return names


def group_name(trial: TrialHistory) -> str:
    """The group of the HParams tab that all seeds of a configuration (and fold) share."""
    fold = "" if trial.fold is None else f"fold-{trial.fold}"
    parts = trial.method, values(trial.hyperparameters)[:LONGEST], trial.configuration, fold
    return printable(" ".join(part for part in parts if part))


def _name(trial: TrialHistory, addition: str) -> str:
    seed = f"seed-{trial.seed}" + ("" if trial.fold is None else f"-fold-{trial.fold}")
    configuration = safe(values(trial.hyperparameters)[:LONGEST] + addition)
    return "/".join(part for part in (safe(trial.method), configuration, seed) if part)


def safe(text: str) -> str:
    """A text as a part of a path: letters, digits and a few marks, with no leading dot."""
    # A leading dot would hide the run's folder, or climb out of the view.
    return re.sub(r"[^\w .,=+()@-]", "_", text).strip().lstrip(".")
