"""What a run is asked to measure after its sweep: protocols that it knows, or new ones.

The run folder's plan has all that is needed: specifications, protocols, and where the data are.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fsl_sweep.datasets.benchmark import Benchmark
from fsl_sweep.learners.catalogue import LEARNERS
from fsl_sweep.orchestrator.errors import ConfigError, UnknownName
from fsl_sweep.orchestrator.ledger.ledger import Ledger
from fsl_sweep.orchestrator.planning.feasibility import check_protocols
from fsl_sweep.orchestrator.planning.part import Part, resolved
from fsl_sweep.orchestrator.planning.prepare import (
    check_same_data,
    fingerprint_of,
    open_benchmarks,
)
from fsl_sweep.orchestrator.planning.protocols import check_suitable, further, stem
from fsl_sweep.orchestrator.records.model import Named, canonical_json
from fsl_sweep.orchestrator.records.plan import Plan
from fsl_sweep.orchestrator.records.protocol import MAIN, PlannedProtocol, of_today
from fsl_sweep.orchestrator.sweepfile.grammar import MeasureConfig, protocol_name
from fsl_sweep.orchestrator.sweepfile.messages import validated
from fsl_sweep.orchestrator.sweepfile.reading import located, path_keys

SECTION = "measure"
"""What key paths begin with, in the errors about a request."""


@dataclass(frozen=True)
class MeasureRequest:
    """What to measure.

    Attributes:
        ledger: the run folder.
        plan: its plan, with ``protocols`` and ``places``.
        protocols: those to measure.
        places: where data are now, of those that are new or were moved.
        benchmarks: as of `open_benchmarks`.
        cautions: about the protocols.
    """

    ledger: Ledger
    plan: Plan
    protocols: Sequence[PlannedProtocol]
    places: Mapping[str, str | None]
    benchmarks: Mapping[str, Benchmark]
    cautions: Sequence[str] = ()


def measure_request(
    folder: Path,
    name: str | None = None,
    section: Mapping[str, Any] | None = None,
    root: str | None = None,
) -> MeasureRequest:
    """Check what a run is asked to measure; nothing is written.

    Args:
        folder: the run folder.
        name: of a protocol that the run knows; or of a new one, by default made from ``section``.
        section: a new protocol as under ``measure`` in a sweep file; of a known one only
            ``snapshots`` may be written.
        root: where the files of the benchmark that was trained on are now.

    Raises:
        ConfigError: a value cannot be used, the name has another meaning in this run, or a learner
            cannot be measured so; key paths begin with ``SECTION``.
        UnknownName: the run has no protocol of that name, and ``section`` makes none.
        RunFolderError: it is not a run folder, or its data has changed.
        MissingData, BadData: as of `open_benchmarks` and `check_protocols`.
    """
    ledger = Ledger(folder)
    plan = ledger.planned()
    config = validated(MeasureConfig, dict(section or {}), SECTION)
    places: dict[str, str | None] = {}
    if config.model_fields_set <= {"snapshots"}:
        protocols = _known(plan, name)
    else:
        config = _located(config)
        place = config.benchmark and config.benchmark.options.get("root")
        protocols = [*_written(plan, name and _checked_name(name), config, place)]
        moved = [p.name for p in protocols if place or p.name not in plan.places]
        places = dict.fromkeys(moved if config.benchmark else (), place)
    if root is not None:
        places[MAIN] = located(root, "--root")
    check_suitable(protocols, _learners(plan), SECTION)
    if "snapshots" in config.model_fields_set:
        protocols = [replace(protocol, snapshots=config.snapshots) for protocol in protocols]
    return _opened(ledger, plan, protocols, places)


def _learners(plan: Plan) -> list[tuple[str, Part]]:
    """Look up the learners of a plan, each once for each method."""
    learners = {
        (trial.method, canonical_json(trial.spec.learner.model_dump())): trial.spec.learner
        for trial in plan.trials
    }
    return [
        (method, resolved(LEARNERS, named.model_dump(), f"methods.{method}.learner"))
        for (method, _), named in learners.items()
    ]


def _located(config: MeasureConfig) -> MeasureConfig:
    """Make the paths of its benchmark absolute, from the current folder."""
    if config.benchmark is None:
        return config
    benchmark, section = config.benchmark.model_dump(), f"{SECTION}.benchmark"
    for key in path_keys(benchmark):
        if (value := benchmark.get(key)) is not None:
            benchmark[key] = located(value, f"{section}.{key}")
    return config.model_copy(update={"benchmark": Named.model_validate(benchmark)})


def _known(plan: Plan, name: str | None) -> list[PlannedProtocol]:
    """Find the protocols of a name or id; several where it stands for several mixtures."""
    names = list(dict.fromkeys(part for p in plan.protocols for part in (p.name, stem(p.name))))
    if name is None:
        problem = "say what to measure: the name of a protocol of this run"
        raise ConfigError("", "", f"{problem} ({', '.join(names)}), or options such as --shot 5")
    written = {name, of_today(name)}
    protocols = [p for p in plan.protocols if written & {p.name, stem(p.name), p.id}]
    if not protocols:
        raise UnknownName("protocol", name, names)
    return protocols


def _written(
    plan: Plan, name: str | None, config: MeasureConfig, place: str | None
) -> Iterator[PlannedProtocol]:
    """Resolve the protocols of a section; those that the run knows, as it knows them.

    ``name`` may be shared by mixtures; ``place`` is where the benchmark that they name is.
    """
    known = {protocol.name: protocol for protocol in plan.protocols}
    for new in further(name or _default_name(config), config, plan.main.protocol, SECTION):
        same = [p for p in plan.protocols if p.protocol == new.protocol]
        if new.name in known:
            if known[new.name] not in same:
                ours = known[new.name].protocol.described
                problem = f"this run has another protocol '{new.name}' ({ours})"
                advice = "another name, or leave the options out to go on with that one"
                this = f"Give this one ({new.protocol.described})"
                raise ConfigError("", "", f"{problem}. {this} {advice}")
            yield known[new.name]
        elif same and place in (None, plan.places.get(same[0].name)):
            if name is not None:
                raise _same(new, same[0])
            yield same[0]
        else:
            yield replace(new, asked=False)


def _same(new: PlannedProtocol, before: PlannedProtocol) -> ConfigError:
    problem = f"'{new.name}' is the same protocol as '{before.name}' of this run"
    return ConfigError("", "", f"{problem}: name that one, and leave the options out")


def _opened(
    ledger: Ledger,
    plan: Plan,
    protocols: Sequence[PlannedProtocol],
    places: Mapping[str, str | None],
) -> MeasureRequest:
    """Open the data, and check that they are what the run knows and suffice."""
    by_name = {protocol.name: protocol for protocol in (*plan.protocols, *protocols)}
    names = [protocol.name for protocol in protocols]
    plan = replace(plan, protocols=tuple(by_name.values()), places={**plan.places, **places})
    benchmarks = open_benchmarks(plan, names)
    for protocol in protocols:
        if not protocol.fingerprint:
            fingerprint = fingerprint_of(protocol.name, benchmarks)
            by_name[protocol.name] = replace(protocol, fingerprint=fingerprint)
    plan = replace(plan, protocols=tuple(by_name.values()))
    check_same_data(plan, benchmarks)
    opened = [by_name[name] for name in names]
    for protocol in opened:  # a copy of the data may be in another place
        for other in plan.protocols:
            if other.id == protocol.id and other.name != protocol.name:
                raise _same(protocol, other)
    cautions = check_protocols(plan, opened, benchmarks)
    return MeasureRequest(ledger, plan, opened, places, benchmarks, cautions)


def _checked_name(name: str) -> str:
    try:
        return protocol_name(name)
    except ValueError as failure:
        raise ConfigError("", "NAME", str(failure)) from None


def _default_name(config: MeasureConfig) -> str:
    """Make a name that says what differs: ``5-shot``, ``10000-tasks``, ``cifar-fs``."""
    parts = [config.preset] if config.preset else []
    parts += [f"{value}-{key}" for key, value in config.episode.items()]
    for key, value in config.evaluation.items():
        if key == "replacement":
            parts.append("with-replacement" if value else "without-replacement")
        elif key == "seed":
            parts.append(f"seed-{value}")
        else:
            count = "tasks" if key == "report_tasks" else key.replace("_", "-")
            parts.append(f"{value}-{count}")
    if config.benchmark is not None:
        parts.append(config.benchmark.name)
    if config.classes is not None:
        parts.append(Path(config.classes).stem if isinstance(config.classes, str) else "classes")
    if config.mixture is not None:
        parts.append("lambda")
    return _checked_name(re.sub(r"[^A-Za-z0-9._-]+", "-", "-".join(parts)).lstrip("-."))
