"""The plan: every trial that a sweep consists of, as recorded in ``plan.json``."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import Annotated, Any

from pydantic import Field, TypeAdapter, ValidationError

from fsl_sweep.orchestrator.errors import RunFolderError, UnknownName
from fsl_sweep.orchestrator.records.model import Text
from fsl_sweep.orchestrator.records.protocol import (
    MAIN,
    Kept,
    PlannedProtocol,
    Recorded,
)
from fsl_sweep.orchestrator.records.scheduler import Scheduler
from fsl_sweep.orchestrator.records.search import Search, Searched
from fsl_sweep.orchestrator.records.spec import (
    Fold,
    Resources,
    Selectors,
    TrialSpec,
    configurations_of,
    ids_of,
)
from fsl_sweep.orchestrator.text.printed import counted

FORMAT = 4
TRIAL_ID = PROTOCOL_ID = re.compile(r"[0-9a-f]{16}")


@dataclass(frozen=True)
class PlannedTrial:
    """One trial as one method planned it; two methods may plan the same trial.

    Attributes:
        configuration: id of the hyperparameter configuration.
        hyperparameters: axis values by dotted path.
        draws_nothing: whether no seed changes it, because nothing is trained and nothing drawn.
        among_all: whether its learner answers among all base classes, not among those of a task.
        round: of the search that proposed it, from 1; else 0.
    """

    id: str
    method: Text
    configuration: str
    hyperparameters: Mapping[str, Any]
    spec: TrialSpec
    # Written only where it is true.
    among_all: Annotated[bool, Field(exclude_if=lambda among: not among)] = False
    draws_nothing: Annotated[bool, Field(exclude_if=lambda nothing: not nothing)] = False
    round: Annotated[int, Field(exclude_if=lambda number: not number)] = 0

    @property
    def fold(self) -> int | None:
        """Return the number of the class fold, or None for the full trial."""
        return None if self.spec.fold is None else self.spec.fold.index

    @property
    def formerly(self) -> "PlannedTrial":
        """Return the same trial with the ids that it had while these depended on ``epochs``."""
        spec = self.spec.model_copy(update={"epochs_in_id": True})
        _, configuration = configurations_of(spec.canonical())
        return replace(self, id=spec.id, configuration=configuration, spec=spec)

    def checked(self) -> "PlannedTrial":
        """Return it as one of the kind of id that was recorded.

        Raises:
            ValueError: its id, which is the name of a folder, or its configuration is of no kind.
        """
        canonical = self.spec.canonical()
        ids = ids_of(canonical)
        current = self.id == next(ids)
        known = {"id": current or self.id in ids}
        known["configuration"] = self.configuration in configurations_of(canonical)
        for key in (key for key, right in known.items() if not right):
            raise ValueError(f"{key}: {getattr(self, key)!r} is not that of its spec")
        if current:
            return self
        return replace(self.formerly, configuration=self.configuration)


@dataclass(frozen=True, kw_only=True)
class Plan:
    """A sweep's trials and what its report needs to know.

    Attributes:
        sweep: SHA-256 of the sweep's content, 16 hexadecimal digits.
        fingerprint: of the benchmark's content, once it was opened.
        protocols: how snapshots are measured: first the main one, then those of the sweep file,
            then others that were measured in the run folder.
        keep: the snapshots whose weights stay on the disk.
        record: what is recorded of each task.
        places: where benchmarks were read from: the trained one's under ``main``, those of other
            protocols under their names; None for data that is generated or was prepared before.
        resources: what a trial reserves as it is trained or measured.
        method_resources: of the methods that ask for others.
        selectors: the strategies that the file asks for.
        parts: name, source and version of every learner, backbone, benchmark in use.
        cautions: what a user should know before relying on the plan.
        scheduler: the rule by which configurations are stopped early, if any.
        search: how configurations are proposed, if they are.
        searched: what was proposed so far, by method.
        stands_in: of a laptop variant, what stands in for what; else empty.
        trials: in the order of the file: method, configuration, seed; the full trial, then those
            of its class folds.
    """

    name: Text
    sweep: Text
    fingerprint: Text | None
    protocols: tuple[PlannedProtocol, ...]
    keep: Kept = "all"
    record: Recorded = "counts"
    places: Mapping[str, str | None] = field(default_factory=dict)
    resources: Resources = field(default_factory=Resources)
    # Written only where there are any.
    method_resources: Annotated[
        Mapping[str, Resources], Field(exclude_if=lambda some: not some)
    ] = field(default_factory=dict)
    selectors: Selectors
    parts: Mapping[str, Any]
    cautions: tuple[Text, ...] = ()
    # Written only where there is something to say.
    scheduler: Annotated[Scheduler | None, Field(exclude_if=lambda rule: rule is None)] = None
    search: Annotated[Search | None, Field(exclude_if=lambda search: search is None)] = None
    searched: Annotated[Mapping[str, Searched], Field(exclude_if=lambda methods: not methods)] = (
        field(default_factory=dict)
    )
    stands_in: Annotated[Text, Field(exclude_if=lambda text: not text)] = ""
    trials: tuple[PlannedTrial, ...]

    @property
    def title(self) -> str:
        """Return the name, with what stands in for what: ``mini-laptop (... for ...)``."""
        return f"{self.name} ({self.stands_in})" if self.stands_in else self.name

    @cached_property
    def specs(self) -> dict[str, TrialSpec]:
        """Return each distinct trial's specification by id, in plan order."""
        return {trial.id: trial.spec for trial in self.trials}

    def resources_of(self, trial: str) -> Resources:
        """Return what a trial reserves: where methods share it, as the first of them says."""
        return self.method_resources.get(self._methods[trial], self.resources)

    @cached_property
    def _methods(self) -> dict[str, str]:
        return {trial.id: trial.method for trial in reversed(self.trials)}

    @property
    def records_answers(self) -> bool:
        """Return whether the answer to each query is recorded."""
        return self.record == "predictions"

    @property
    def main(self) -> PlannedProtocol:
        """Return the protocol that is measured as training goes on."""
        return self.protocols[0]

    @property
    def requested(self) -> list[PlannedProtocol]:
        """Return the protocols that the sweep file asks for."""
        return [protocol for protocol in self.protocols if protocol.asked]

    def protocol(self, name: str) -> PlannedProtocol:
        """Return the protocol of a name or an id. Raises UnknownName."""
        for protocol in self.protocols:
            if name in (protocol.name, protocol.id):
                return protocol
        raise UnknownName("protocol", name, [protocol.name for protocol in self.protocols])

    def on(self, fingerprints: Mapping[str, str]) -> "Plan":
        """Return the plan on data with these fingerprints, by the names of protocols."""
        protocols = [replace(p, fingerprint=fingerprints[p.name]) for p in self.protocols]
        return replace(self, fingerprint=fingerprints[MAIN], protocols=tuple(protocols))

    def after(self, before: "Plan") -> "Plan":
        """Return the plan with the protocols that another of the same run folder has besides.

        One whose name is taken is named by its id, as a former main protocol is.
        """
        ids = {protocol.id for protocol in self.protocols}
        names = {protocol.name for protocol in self.protocols}
        others = [
            replace(former, name=former.id if former.name in names else former.name, asked=False)
            for former in before.protocols
            if former.id not in ids
        ]
        places = {former.name: before.places.get(former.name) for former in others}
        return replace(self, protocols=(*self.protocols, *others), places={**places, **self.places})

    def ids_of(self, methods: Sequence[str]) -> set[str]:
        """Return the ids of these methods' trials; of all where no method is named."""
        return {trial.id for trial in self.trials if not methods or trial.method in methods}

    def seed_by_seed(self, trials: Iterable[str]) -> list[str]:
        """Order trials as they are run: those of the first seed, in the given order, then others.

        An interrupted run then has whole seeds, which its report compares.
        """
        seeds = list(dict.fromkeys(spec.seed for spec in self.specs.values()))
        number = {seed: place for place, seed in enumerate(seeds)}
        return sorted(trials, key=lambda trial: number[self.specs[trial].seed])

    @property
    def kept_while_training(self) -> Kept:
        """Return the weights that trials keep as they train: those that protocols measure later."""
        measured = {protocol.snapshots for protocol in self.requested if protocol.name != MAIN}
        for kept in ("all", "chosen", "last"):
            if kept in measured or self.keep == kept:
                return kept
        return "none"

    @property
    def methods(self) -> list[str]:
        """Return the names of the methods, in plan order."""
        return list(dict.fromkeys(trial.method for trial in self.trials))

    @property
    def folds(self) -> list[Fold]:
        """Return the class folds of cross-validation, in order; none without it."""
        return list(dict.fromkeys(t.spec.fold for t in self.trials if t.spec.fold is not None))

    @property
    def proposed(self) -> dict[str, tuple[int, int]]:
        """Return how many configurations a search has proposed, and of how many, by method."""
        return {name: (len(s.planned), s.total) for name, s in self.searched.items()}

    @property
    def counted(self) -> str:
        """Say ``6 trials``, or ``18 trials (12 of them in 2 class folds)``."""
        specs = self.specs.values()
        in_folds = sum(spec.fold is not None for spec in specs)
        folds = counted(len(self.folds), "class fold")
        within = f" ({in_folds} of them in {folds})" if in_folds else ""
        return f"{counted(len(specs), 'trial')}{within}"

    def to_plain(self) -> dict[str, Any]:
        """Return plain data for ``plan.json``."""
        return {"format": FORMAT, **_adapter().dump_python(self, mode="json")}

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> "Plan":
        """Read what ``to_plain`` gave.

        Raises:
            RunFolderError: it is the plan of another version.
            ValueError: it is anything else.
        """
        if plain.get("format") != FORMAT:
            raise RunFolderError(
                f"The run folder has the format {plain.get('format')!r:.40}, and this version of "
                f"fsl-sweep reads format {FORMAT}. Report it with the version that made it, or run "
                "the sweep into another folder: trials of another format cannot be continued."
            )
        try:
            plan = _adapter().validate_python(plain, strict=False)
        except ValidationError as failure:
            first = failure.errors(include_url=False)[0]
            path = ".".join(map(str, first["loc"]))
            message = first["msg"].removeprefix("Value error, ")
            raise ValueError(": ".join(filter(None, (path, message)))) from None
        if not plan.trials or not plan.protocols or plan.main.name != MAIN:
            raise ValueError("it plans no trials, or no main protocol")
        if any(protocol.fingerprint is None for protocol in plan.protocols):
            raise ValueError("it does not say which data its protocols measure on")
        trials: list[PlannedTrial] = []
        for number, trial in enumerate(plan.trials):
            try:
                trials.append(trial.checked())
            except ValueError as failure:
                raise ValueError(f"trials.{number}.{failure}") from None
        return replace(plan, trials=tuple(trials))


@cache
def _adapter() -> TypeAdapter[Plan]:
    return TypeAdapter(Plan)
