"""From paths to the source of a report."""

import os
from collections.abc import Sequence
from pathlib import Path

from fsl_sweep.orchestrator.errors import RunFolderError
from fsl_sweep.orchestrator.replay import Source
from fsl_sweep.orchestrator.replay_folder import FolderSource
from fsl_sweep.orchestrator.replay_merged import MergedSource


def open_source(path: Path) -> Source:
    """A run folder, or a table of records in a ``.csv`` or ``.parquet`` file.

    Raises:
        RunFolderError: it is neither, or a run's plan is damaged.
        BadData: the table cannot be used.
    """
    if path.is_file():
        # Here, because it needs pandas and a run folder does not.
        from fsl_sweep.orchestrator.replay_table import TableSource

        return TableSource(path)
    return FolderSource(path)


def open_sources(paths: Sequence[Path]) -> Source:
    """One source of all records under ``paths``.

    Raises:
        RunFolderError: a path is given twice; and as ``open_source`` and ``MergedSource``.
        BadData: as ``open_source``.
    """
    seen: set[str] = set()
    for path in paths:
        if (place := os.path.realpath(path)) in seen:
            raise RunFolderError(f"{path} is given twice; name each run or table once.")
        seen.add(place)
    if len(paths) == 1:
        return open_source(paths[0])
    return MergedSource([open_source(path) for path in paths])
