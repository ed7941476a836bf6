"""The protocols of a sweep file: the main one, and those under ``measure``."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from fsl_sweep.datasets.catalogue import BENCHMARKS
from fsl_sweep.datasets.files.plain_file import check_plain
from fsl_sweep.orchestrator.errors import BadData, ConfigError
from fsl_sweep.orchestrator.planning.part import Part, resolved
from fsl_sweep.orchestrator.planning.suitability import check_measured
from fsl_sweep.orchestrator.records.model import Model, Named
from fsl_sweep.orchestrator.records.protocol import MAIN, MOST_TASKS, PlannedProtocol, Protocol
from fsl_sweep.orchestrator.sweepfile.grammar import MeasureConfig, SweepConfig
from fsl_sweep.orchestrator.sweepfile.messages import validated

M = TypeVar("M", bound=Model)

QUERIES = {1: 1, 5: 5, 10: 7}
"""Queries of each class, by shots, that make open intervals shortest on real data.

"Oops, I Sampled it Again: Reinterpreting Confidence Intervals in Few-Shot Learning", section 4.1.1.
"""


def planned_protocols(config: SweepConfig) -> tuple[PlannedProtocol, ...]:
    """Resolve the main protocol, then those of ``measure`` in the order of the file.

    Raises:
        ConfigError: a value cannot be used, or two protocols are the same.
    """
    main = Protocol(episode=config.episode, tasks=config.evaluation.tasks)
    planned = [PlannedProtocol(MAIN, main)]
    seen: list[tuple[Protocol, Any]] = [(main, None)]
    for name, section in config.measure.items():
        root = section.benchmark.options.get("root") if section.benchmark else None
        for protocol in further(name, section, main, f"measure.{name}"):
            if (protocol.protocol, root) in seen:
                same = planned[seen.index((protocol.protocol, root))].name
                problem = f"it is the same protocol as '{same}'; leave one out"
                raise ConfigError("", f"measure.{name}", problem)
            planned.append(protocol)
            seen.append((protocol.protocol, root))
    return tuple(planned)


def further(
    name: str, section: MeasureConfig, main: Protocol, path: str
) -> Iterator[PlannedProtocol]:
    """Resolve a further protocol: one, or one for each weight of several mixtures.

    Args:
        name: of the protocol.
        section: what differs from the main one.
        main: the main protocol.
        path: the key path of ``section``. ConfigError names it where a value cannot be used.
    """
    section = _with_preset(section, main, path)
    parts: dict[str, Any] = {
        "episode": _over(main.episode, section.episode, f"{path}.episode"),
        "tasks": _over(main.tasks, section.evaluation, f"{path}.evaluation"),
        "classes": _classes(section.classes, f"{path}.classes"),
    }
    if section.benchmark is not None:
        parts["benchmark"] = resolved_benchmark(section.benchmark, f"{path}.benchmark").named
    merged = validated(Protocol, parts, path)
    written = {"episode": section.episode, "evaluation": section.evaluation}
    weights: Sequence[float | None]
    weights = section.mixture if isinstance(section.mixture, list) else [section.mixture]
    if not weights or len(set(weights)) < len(weights):
        raise ConfigError("", f"{path}.lambda", "give each weight once, and at least one")
    for weight in weights:
        label = f"{name}({weight:.12g})" if isinstance(section.mixture, list) else name
        protocol = merged.model_copy(update={"mixture": weight})
        novel = protocol.model_dump(mode="json", include={"mixture", "classes", "benchmark"})
        yield PlannedProtocol(label, protocol, section.snapshots, written={**written, **novel})


def check_suitable(
    protocols: Sequence[PlannedProtocol],
    learners: Iterable[tuple[str, Part]],
    path: str | None = None,
) -> None:
    """Raise ConfigError if one of these methods' learners cannot be measured under a protocol.

    Key paths begin with ``path``; by default with that of the protocol in the sweep file.
    """
    for method, learner in learners:
        for protocol in protocols:
            try:
                check_measured(learner, protocol.protocol)
            except ConfigError as error:
                section = "" if protocol.name == MAIN else f"measure.{stem(protocol.name)}"
                key = ".".join(filter(None, (path or section, error.path)))
                raise ConfigError("", key, f"{method}: {error.problem}") from None


def stem(name: str) -> str:
    """Return the name that several mixtures share: ``mixtures`` of ``mixtures(0.25)``."""
    return name.partition("(")[0]


def _with_preset(section: MeasureConfig, main: Protocol, path: str) -> MeasureConfig:
    """Fill in what the preset of a protocol says, where nothing else is written.

    ``oops``: the few queries that fit the shots, on tasks without a common example until the
    examples are used up, so that intervals are open. Common tasks make every comparison paired.
    """
    if section.preset is None:
        return section
    shot = section.episode.get("shot", main.episode.shot)
    if "query" not in section.episode and shot not in [*QUERIES]:
        problem = f"'oops' knows the queries for {', '.join(map(str, QUERIES))} shots, not {shot}"
        advice = "give --query, or episode.query in a sweep file, as well"
        raise ConfigError("", f"{path}.preset", f"{problem}; {advice}")
    tasks = {"report_tasks": MOST_TASKS, "replacement": False}
    episode = {"query": QUERIES.get(shot), **section.episode}
    update = {"episode": episode, "evaluation": {**tasks, **section.evaluation}}
    return section.model_copy(update=update)


def _over(base: M, section: Mapping[str, Any], path: str) -> M:
    """Replace the values of the keys that a section has."""
    checked = validated(type(base), dict(section), path)
    return base.model_copy(update={key: getattr(checked, key) for key in section})


def _classes(listed: Sequence[str] | str | None, path: str) -> tuple[str, ...] | None:
    """Check a list of class names, or read it from the file that is named."""
    if listed is None:
        return None
    if isinstance(listed, str):
        try:
            check_plain(Path(listed))
            lines = Path(listed).read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as failure:
            reason = getattr(failure, "strerror", None) or "it is not text in UTF-8"
            problem = f"{listed} cannot be read: {reason}; give a file of class names, or the names"
            raise ConfigError("", path, problem) from None
        except BadData as failure:
            raise ConfigError("", path, str(failure).rstrip(".")) from None
        listed = [line.strip() for line in lines if line.strip()]
    twice = next((name for at, name in enumerate(listed) if name in listed[:at]), None)
    if twice is not None or not listed:
        problem = "it names no class" if twice is None else f"'{twice}' is named twice"
        raise ConfigError("", path, f"{problem}; name each class once, and at least one")
    return tuple(listed)


def resolved_benchmark(benchmark: Named, path: str) -> Part:
    """Check a benchmark's options; its ``root`` is no part of its identity and is left out.

    Raises:
        ConfigError: an unknown name or a bad option; key paths begin with ``path``.
    """
    section = {key: value for key, value in benchmark.model_dump().items() if key != "root"}
    part = resolved(BENCHMARKS, section, path, axes=False)
    if "root" in benchmark.options and part.cls.download is None:
        problem = f"'{part.name}' is generated and reads no files; leave it out"
        raise ConfigError("", f"{path}.root", problem)
    return part
