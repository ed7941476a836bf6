"""The plan: every trial that a sweep consists of, as recorded in ``plan.json``."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pydantic import ValidationError

from fsl_sweep.orchestrator.records.spec import Fold, Selectors, TrialSpec, configuration_of, digest
from fsl_sweep.orchestrator.text.printed import counted, unfit

FORMAT = 2
TRIAL_ID = re.compile(r"[0-9a-f]{16}")


def check_format(plain: Mapping[str, Any]) -> None:
    """Raise ValueError where plain data are not a plan of this format."""
    if plain.get("format") != FORMAT:
        raise ValueError(
            f"it has the plan format {plain.get('format')!r:.40}, and this version reads {FORMAT}; "
            "use the version of fsl-sweep that made it"
        )


@dataclass(frozen=True)
class PlannedTrial:
    """One trial as one method planned it; two methods may plan the same trial.

    Attributes:
        configuration: id of the hyperparameter configuration.
        hyperparameters: axis values by dotted path.
    """

    id: str
    method: str
    configuration: str
    hyperparameters: Mapping[str, Any]
    spec: TrialSpec

    @property
    def fold(self) -> int | None:
        """Number of the class fold, or None for the full trial."""
        return None if self.spec.fold is None else self.spec.fold.index


@dataclass(frozen=True)
class Plan:
    """A sweep's trials and what its report needs to know.

    Attributes:
        sweep: SHA-256 of the sweep's content, 16 hexadecimal digits.
        fingerprint: of the benchmark's content, once it was opened.
        trials: in the order of the file: method, configuration, seed; the full trial, then those
            of its class folds.
        selectors: the strategies that the file asks for.
        parts: name, source and version of every learner, backbone, benchmark in use.
        cautions: what a user should know before relying on the plan.
    """

    name: str
    sweep: str
    fingerprint: str | None
    trials: tuple[PlannedTrial, ...]
    selectors: Selectors
    parts: Mapping[str, Any]
    cautions: tuple[str, ...] = ()

    @cached_property
    def specs(self) -> dict[str, TrialSpec]:
        """Each distinct trial's specification by id, in plan order."""
        return {trial.id: trial.spec for trial in self.trials}

    def ids_of(self, methods: Sequence[str]) -> set[str]:
        """Ids of these methods' trials; of all where no method is named."""
        return {trial.id for trial in self.trials if not methods or trial.method in methods}

    @property
    def methods(self) -> list[str]:
        """Method names in plan order."""
        return list(dict.fromkeys(trial.method for trial in self.trials))

    @property
    def folds(self) -> list[Fold]:
        """The class folds of cross-validation, in order; none without it."""
        return list(dict.fromkeys(t.spec.fold for t in self.trials if t.spec.fold is not None))

    @property
    def counted(self) -> str:
        """``6 trials``, or ``18 trials (12 of them in 2 class folds)``."""
        specs = self.specs.values()
        in_folds = sum(spec.fold is not None for spec in specs)
        folds = counted(len(self.folds), "class fold")
        within = f" ({in_folds} of them in {folds})" if in_folds else ""
        return f"{counted(len(specs), 'trial')}{within}"

    def to_plain(self) -> dict[str, Any]:
        """Plain data for ``plan.json``."""
        trials = [{**vars(trial), "spec": trial.spec.canonical()} for trial in self.trials]
        return {
            "format": FORMAT,
            "name": self.name,
            "sweep": self.sweep,
            "fingerprint": self.fingerprint,
            "selectors": self.selectors.model_dump(mode="json"),
            "parts": dict(self.parts),
            "cautions": list(self.cautions),
            "trials": trials,
        }

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> "Plan":
        """The inverse of ``to_plain``. Raises ValueError, KeyError, TypeError on all else."""
        trials = tuple(_trial(number, trial) for number, trial in enumerate(plain["trials"]))
        if not trials:
            raise ValueError("it plans no trials")
        return cls(
            name=_text("name", plain["name"]),
            sweep=_text("sweep", plain["sweep"]),
            fingerprint=plain["fingerprint"],
            trials=trials,
            selectors=Selectors.model_validate(plain["selectors"]),
            parts=_mapping("parts", plain["parts"]),
            cautions=tuple(_text("cautions", caution) for caution in plain["cautions"]),
        )


def _trial(number: int, plain: Mapping[str, Any]) -> PlannedTrial:
    try:
        spec = TrialSpec.from_canonical(plain["spec"])
    except ValidationError as failure:
        first = failure.errors(include_url=False)[0]
        path = ".".join(map(str, first["loc"]))
        raise ValueError(f"trials.{number}.spec.{path}: {first['msg']}") from None
    if not TRIAL_ID.fullmatch(_text("id", plain["id"])):
        # It is the name of a folder, which must be inside the run folder.
        raise ValueError(f"trials.{number}.id: {plain['id']!r} is not the id of a trial")
    canonical = spec.canonical()
    ids = {"id": digest(canonical), "configuration": configuration_of(canonical)}
    for key, hashed in ids.items():
        if plain[key] != hashed:
            raise ValueError(f"trials.{number}.{key}: {plain[key]!r} is not that of its spec")
    return PlannedTrial(
        id=plain["id"],
        method=_text("method", plain["method"]),
        configuration=_text("configuration", plain["configuration"]),
        hyperparameters=_mapping("hyperparameters", plain["hyperparameters"]),
        spec=spec,
    )


def _text(key: str, value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{key}: {value!r} is not a text")
    if (character := unfit(value)) is not None:
        raise ValueError(f"{key}: {value!r} holds the control character {character}")
    return value


def _mapping(key: str, value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise TypeError(f"{key}: {value!r} is not a mapping")
    return value
