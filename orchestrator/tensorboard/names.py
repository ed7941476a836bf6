"""Readable names of TensorBoard's runs and cards: a card holds few lines, whatever was planned.

TensorBoard draws one line in a card for each run that has the card's tag. So the tags of a trial
name its configuration: a card holds the seeds of one configuration, or, with one seed, a method's
configurations. Means over seeds are runs of their own, with a card for all of a method.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from fsl_sweep.orchestrator.records.measures import TrialHistory
from fsl_sweep.orchestrator.report.wording import values
from fsl_sweep.orchestrator.text.printed import printable

LONGEST = 120
REPORT = "report"
"""The run of what belongs to no trial; those of trials have a seed below their method."""

MEANS = "mean"
"""The folder of the runs that are means over seeds, and what shows them in the run filter."""


@dataclass(frozen=True)
class Place:
    """Where TensorBoard shows a trial.

    Attributes:
        run: as a relative path with ``/``: ``PN/lr=0.1 way=5/seed-0``.
        mean: the run of the mean over seeds, of which its configuration is one.
        cards: the first part of its tags, a group of cards.
    """

    run: str
    mean: str
    cards: str


def places(histories: Sequence[TrialHistory]) -> list[Place]:
    """Return the place of each planned trial; runs are distinct."""
    labels = _labels(histories)
    seeds = Counter((trial.method, trial.configuration, trial.fold) for trial in histories)
    every: list[Place] = []
    for trial in histories:
        method, label = safe(trial.method), labels[trial.method, trial.configuration]
        configuration = "/".join(part for part in (method, label) if part)
        of = " ".join(part for part in (method, label) if part)
        run = f"{configuration}/seed-{trial.seed}"
        if trial.fold is not None:
            place = Place(f"{run}-fold-{trial.fold}", "", f"seeds and folds of {of}")
        elif seeds[trial.method, trial.configuration, None] > 1:
            place = Place(run, f"{MEANS}/{configuration}", f"seeds of {of}")
        else:
            place = Place(run, "", of_method(trial))
        every.append(place)
    return every


def of_method(trial: TrialHistory) -> str:
    """Name the group of cards that hold a line for each configuration of the trial's method."""
    return f"configurations of {safe(trial.method)}"


def group_name(trial: TrialHistory) -> str:
    """Name the group of the HParams tab that all seeds of a configuration share."""
    parts = trial.method, values(trial.hyperparameters)[:LONGEST], trial.configuration
    return printable(" ".join(part for part in parts if part))


def _labels(histories: Sequence[TrialHistory]) -> dict[tuple[str, str], str]:
    """Return the values of each configuration of a method, distinct below the method's name.

    Where two would be equal (long values are cut), the configuration's id is added.
    """
    labels: dict[tuple[str, str], str] = {}
    taken: set[tuple[str, str]] = set()
    for trial in histories:
        key = trial.method, trial.configuration
        if key not in labels:
            label = values(trial.hyperparameters)[:LONGEST]
            if (safe(trial.method), safe(label)) in taken:
                label += f" {trial.configuration}"
            labels[key] = safe(label)
            taken.add((safe(trial.method), safe(label)))
    return labels


def safe(text: str) -> str:
    """Return a text as a part of a path: letters, digits and a few marks, with no leading dot."""
    # A leading dot would hide the run's folder, or climb out of the view.
    return re.sub(r"[^\w .,=+()@-]", "_", text).strip().lstrip(".")
