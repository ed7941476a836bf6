"""Worlds: the same methods and strategies on several benchmarks, a source of records for each."""

import json
from collections.abc import Sequence
from pathlib import Path

from fsl_sweep.orchestrator.errors import RunFolderError
from fsl_sweep.orchestrator.replay.folder import FolderSource
from fsl_sweep.orchestrator.replay.merged import as_one, check_distinct
from fsl_sweep.orchestrator.replay.source import Source


def has_worlds(paths: Sequence[Path]) -> bool:
    """Whether the tables among ``paths`` name two worlds or more; only that column is read."""
    from fsl_sweep.orchestrator.replay.table import worlds_in  # needs pandas

    return len({world for path in paths if path.is_file() for world in worlds_in(path)}) > 1


def open_worlds(paths: Sequence[Path]) -> dict[str, Source]:
    """A source for each world, by name, in the order of ``paths``.

    The worlds of a table are the values of its column ``world``; without one it is a world by the
    name of its file. Run folders are a world by the names of their sweeps, those of one benchmark
    and episode shape together, since the same tasks must not count twice. What several of
    ``paths`` hold of one world is joined as by ``open_sources``.

    Raises:
        RunFolderError: there are fewer than two worlds, there is no run, its plan is damaged, or
            the records of a world were not measured alike.
        BadData: a table cannot be used; the message names the world and the row.
    """
    check_distinct(paths)
    folders = {path: FolderSource(path) for path in paths if not path.is_file()}
    names = _names(list(folders.values()))
    found: dict[str, list[Source]] = {}
    for path in paths:
        own = {names[path]: folders[path]} if path in folders else _tables(path)
        for world, source in own.items():
            found.setdefault(world, []).append(source)
    if len(found) < 2:
        shown = ", ".join(map(str, paths))
        raise RunFolderError(
            f"{shown}: this is one world, '{next(iter(found))}', and worlds are compared over two "
            "or more. Give runs of other benchmarks as well, or report it as one run."
        )
    return {world: as_one(sources) for world, sources in found.items()}


def _tables(path: Path) -> dict[str, Source]:
    from fsl_sweep.orchestrator.replay.table import TableSource, tables_in  # needs pandas

    return {
        path.stem if world is None else world: TableSource(path, rows, world)
        for world, rows in tables_in(path).items()
    }


def _names(folders: Sequence[FolderSource]) -> dict[Path, str]:
    """The world of each run folder; its path is added where two of them have one name."""
    groups: dict[str, list[FolderSource]] = {}
    for one in folders:
        groups.setdefault(_benchmark(one), []).append(one)
    joined = [" + ".join(dict.fromkeys(s.facts.name for s in own)) for own in groups.values()]
    return {
        one.places[0]: name if joined.count(name) == 1 else f"{name} ({own[0].places[0]})"
        for name, own in zip(joined, groups.values(), strict=True)
        for one in own
    }


def _benchmark(folder: FolderSource) -> str:
    """What runs of one world have in common: the data, and all of the tasks but their number."""
    facts = folder.facts
    tasks = {key: value for key, value in (facts.measured or {}).items() if key != "tasks"}
    return json.dumps([facts.fingerprint or facts.name, tasks], sort_keys=True)
