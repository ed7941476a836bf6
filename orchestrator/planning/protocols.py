"""The protocols of a sweep file: the main one, and those under ``measure``."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from fsl_sweep.datasets.catalogue import BENCHMARKS
from fsl_sweep.orchestrator.errors import ConfigError
from fsl_sweep.orchestrator.planning.configuration import resolved
from fsl_sweep.orchestrator.planning.suitability import check_measured
from fsl_sweep.orchestrator.records.model import Model, Named, canonical_json
from fsl_sweep.orchestrator.records.plan import PlannedTrial
from fsl_sweep.orchestrator.records.protocol import MAIN, MOST_TASKS, PlannedProtocol, Protocol
from fsl_sweep.orchestrator.sweepfile.grammar import MeasureConfig, SweepConfig
from fsl_sweep.orchestrator.sweepfile.messages import validated

M = TypeVar("M", bound=Model)

QUERIES = {1: 1, 5: 5, 10: 7}
"""Queries of each class, by shots, that make open intervals shortest on real data.

"Oops, I Sampled it Again: Reinterpreting Confidence Intervals in Few-Shot Learning", section 4.1.1.
"""


def planned_protocols(config: SweepConfig) -> tuple[PlannedProtocol, ...]:
    """The main protocol, then those of ``measure`` in the order of the file.

    Raises:
        ConfigError: a value cannot be used, or two protocols are the same.
    """
    main = Protocol(episode=config.episode, tasks=config.evaluation.tasks)
    found = [PlannedProtocol(MAIN, main)]
    seen: list[tuple[Protocol, Any]] = [(main, None)]
    for name, given in config.measure.items():
        root = given.benchmark.options.get("root") if given.benchmark else None
        for one in further(name, given, main, f"measure.{name}"):
            if (one.protocol, root) in seen:
                same = found[seen.index((one.protocol, root))].name
                problem = f"it is the same protocol as '{same}'; leave one out"
                raise ConfigError("", f"measure.{name}", problem)
            found.append(one)
            seen.append((one.protocol, root))
    return tuple(found)


def further(
    name: str, given: MeasureConfig, main: Protocol, path: str
) -> Iterator[PlannedProtocol]:
    """One further protocol, or one for each weight of several mixtures.

    Args:
        name: of the protocol.
        given: what differs from the main one.
        main: the main protocol.
        path: the key path of ``given``. ConfigError names it where a value cannot be used.
    """
    given = _with_preset(given, main, path)
    sections = {
        "episode": _over(main.episode, given.episode, f"{path}.episode"),
        "tasks": _over(main.tasks, given.evaluation, f"{path}.evaluation"),
        "classes": _classes(given.classes, f"{path}.classes"),
    }
    if given.benchmark is not None:
        sections["benchmark"] = resolved_benchmark(given.benchmark, f"{path}.benchmark")
    merged = validated(Protocol, sections, path)
    written = {"episode": given.episode, "evaluation": given.evaluation}
    weights: Sequence[float | None]
    weights = given.mixture if isinstance(given.mixture, list) else [given.mixture]
    if not weights or len(set(weights)) < len(weights):
        raise ConfigError("", f"{path}.mixture", "give each weight once, and at least one")
    for weight in weights:
        label = f"{name}({weight:.12g})" if isinstance(given.mixture, list) else name
        protocol = merged.model_copy(update={"mixture": weight})
        novel = protocol.model_dump(mode="json", include={"mixture", "classes", "benchmark"})
        yield PlannedProtocol(label, protocol, given.snapshots, written={**written, **novel})


def check_suitable(
    protocols: Sequence[PlannedProtocol],
    trials: Sequence[PlannedTrial],
    path: str | None = None,
) -> None:
    """Raise ConfigError if a learner of these trials cannot be measured under one of the protocols.

    Key paths begin with ``path``; by default with that of the protocol in the sweep file.
    """
    learners = {(t.method, canonical_json(t.spec.learner.model_dump())): t for t in trials}
    for trial in learners.values():
        for one in protocols:
            try:
                check_measured(trial.spec.learner, one.protocol)
            except ConfigError as error:
                section = path or ("" if one.name == MAIN else f"measure.{stem(one.name)}")
                key = ".".join(filter(None, (section, error.path)))
                raise ConfigError("", key, f"{trial.method}: {error.problem}") from None


def stem(name: str) -> str:
    """The name that several mixtures share: ``mixtures`` of ``mixtures(0.25)``."""
    return name.partition("(")[0]


def _with_preset(given: MeasureConfig, main: Protocol, path: str) -> MeasureConfig:
    """With what its preset says where nothing else is given.

    ``oops``: the few queries that fit the shots, on tasks without a common example until the
    examples are used up, so that intervals are open. Common tasks make every comparison paired.
    """
    if given.preset is None:
        return given
    shot = given.episode.get("shot", main.episode.shot)
    if "query" not in given.episode and shot not in [*QUERIES]:
        problem = f"'oops' knows the queries for {', '.join(map(str, QUERIES))} shots, not {shot}"
        raise ConfigError(
            "",
            f"{path}.preset",
            f"{problem}; give --query, or episode.query in a sweep file, as well",
        )
    tasks = {"report_tasks": MOST_TASKS, "replacement": False}
    episode = {"query": QUERIES.get(shot), **given.episode}
    update = {"episode": episode, "evaluation": {**tasks, **given.evaluation}}
    return given.model_copy(update=update)


def _over(base: M, given: Mapping[str, Any], path: str) -> M:
    """A section in which some keys are given."""
    own = validated(type(base), dict(given), path)
    return base.model_copy(update={key: getattr(own, key) for key in given})


def _classes(given: Sequence[str] | str | None, path: str) -> tuple[str, ...] | None:
    if given is None:
        return None
    if isinstance(given, str):
        try:
            lines = Path(given).read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as failure:
            reason = getattr(failure, "strerror", None) or "it is not text in UTF-8"
            problem = f"{given} cannot be read: {reason}; give a file of class names, or the names"
            raise ConfigError("", path, problem) from None
        given = [line.strip() for line in lines if line.strip()]
    twice = next((name for at, name in enumerate(given) if name in given[:at]), None)
    if twice is not None or not given:
        problem = "it names no class" if twice is None else f"'{twice}' is named twice"
        raise ConfigError("", path, f"{problem}; name each class once, and at least one")
    return tuple(given)


def resolved_benchmark(given: Named, path: str) -> Named:
    """A benchmark with its options checked, without its ``root``, which is no part of identity.

    Raises:
        ConfigError: an unknown name or a bad option; key paths begin with ``path``.
    """
    options = {key: value for key, value in given.options.items() if key != "root"}
    found = resolved(BENCHMARKS, Named(name=given.name, **options), path, axes=False)
    if "root" in given.options and BENCHMARKS.find(given.name).cls.download is None:
        problem = f"'{given.name}' is generated and reads no files; leave it out"
        raise ConfigError("", f"{path}.root", problem)
    return found
