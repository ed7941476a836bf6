"""The same methods and strategies on several benchmarks: a source of records for each."""

import json
from collections.abc import Sequence
from pathlib import Path

from fsl_sweep.orchestrator.errors import RunFolderError
from fsl_sweep.orchestrator.replay.folder import FolderSource
from fsl_sweep.orchestrator.replay.merged import as_one, check_distinct
from fsl_sweep.orchestrator.replay.source import Source


def has_several_benchmarks(paths: Sequence[Path]) -> bool:
    """Tell whether the tables name two benchmarks or more, reading no other column."""
    from fsl_sweep.orchestrator.replay.table import benchmarks_in  # needs pandas

    return len({name for path in paths if path.is_file() for name in benchmarks_in(path)}) > 1


def sources_by_benchmark(paths: Sequence[Path]) -> dict[str, Source]:
    """Return a source for each benchmark, by name, in the order of ``paths``.

    The benchmarks of a table are the values of its column ``benchmark``; a table without one is a
    benchmark by the name of its file. Run folders are benchmarks by the names of their sweeps,
    those of the same data and episode shape together, so that the same tasks do not count twice.
    What several of ``paths`` hold of one benchmark is joined as by ``open_sources``.

    Raises:
        RunFolderError: there are fewer than two benchmarks, there is no run, its plan is damaged,
            or the records of a benchmark were not measured alike.
        BadData: a table cannot be used; the message names the benchmark and the row.
    """
    check_distinct(paths)
    folders = {path: FolderSource(path) for path in paths if not path.is_file()}
    names = _names(list(folders.values()))
    sources: dict[str, list[Source]] = {}
    for path in paths:
        held = {names[path]: folders[path]} if path in folders else _tables(path)
        for benchmark, source in held.items():
            sources.setdefault(benchmark, []).append(source)
    if len(sources) < 2:
        shown = ", ".join(map(str, paths))
        raise RunFolderError(
            f"{shown}: this is one benchmark, '{next(iter(sources))}', and a comparison over "
            "benchmarks needs two or more. Give runs of other benchmarks as well, or report it as "
            "one run."
        )
    return {benchmark: as_one(joined) for benchmark, joined in sources.items()}


def _tables(path: Path) -> dict[str, Source]:
    from fsl_sweep.orchestrator.replay.table import TableSource, tables_in  # needs pandas

    return {
        path.stem if benchmark is None else benchmark: TableSource(path, rows, benchmark)
        for benchmark, rows in tables_in(path).items()
    }


def _names(folders: Sequence[FolderSource]) -> dict[Path, str]:
    """Name the benchmark of each run folder; its path is added where two have one name."""
    groups: dict[str, list[FolderSource]] = {}
    for folder in folders:
        groups.setdefault(_data_and_tasks(folder), []).append(folder)
    joined = [" + ".join(dict.fromkeys(f.info.name for f in group)) for group in groups.values()]
    return {
        folder.places[0]: name if joined.count(name) == 1 else f"{name} ({group[0].places[0]})"
        for name, group in zip(joined, groups.values(), strict=True)
        for folder in group
    }


def _data_and_tasks(folder: FolderSource) -> str:
    """Return what runs of one benchmark share: the data, and all of the tasks but their number."""
    info = folder.info
    tasks = {key: value for key, value in (info.measured or {}).items() if key != "tasks"}
    return json.dumps([info.fingerprint or info.name, tasks], sort_keys=True)
