"""What a report read of a run's finished trials, in two files: the next report reads those alone.

    RUN/report/summaries.cache    epochs, curves and mean accuracies of each trial
    RUN/report/tasks.cache        the tasks of those snapshots that a report showed

A cache of what is recorded, never of what follows from it: selections, intervals and verdicts are
made anew for each report. An entry is found by its trial and the checksum of the records that it
was taken from, so that it cannot be another trial's or an older one. What the cache saves is
reading every trial's file whole to see whether it is damaged: a file whose size, times and inode
are those of when it was last checked counts as whole. Both files may be deleted at any time.
"""

import json
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, final

import pyarrow as pa

from fsl_sweep.orchestrator import columns
from fsl_sweep.orchestrator.compacted import NAME, CompactedRecords, Row
from fsl_sweep.orchestrator.errors import MachineFailure, RunFolderError
from fsl_sweep.orchestrator.storage import Folder, Stamp

_SUMMARIES, _TASKS = "summaries.cache", "tasks.cache"
CACHES = (_SUMMARIES, _TASKS)
_LAYOUT = b"layout"
"""Where in a table's metadata it is said what its rows are."""
_ROW = pa.schema([("correct", columns.COUNTS), ("queries", columns.COUNTS)])
_SETTLED = 2 * 10**9
"""Nanoseconds that a file has to be left alone before its times can be trusted to tell a change:
those of some file systems are coarse."""

_UNUSABLE = (ValueError, KeyError, TypeError, RecursionError, RunFolderError, MachineFailure)

Key = tuple[str, str]
"""A trial id, and the checksum of its records."""


@final
class RecordCache:
    """The cache of one run folder: read once, written where something new was read."""

    def __init__(self, run: Folder) -> None:
        self._folder = run / "report"
        self._summaries: dict[Key, tuple[pa.Table, Stamp]] = {}
        self._rows: dict[Key, dict[Row, pa.Table]] = {}
        self._opened: dict[Key, tuple[CompactedRecords, Stamp | None]] = {}
        # What is damaged, or of another version, is as good as not there.
        with suppress(*_UNUSABLE):
            self._summaries = _summaries_of(self._folder.read_sealed(_SUMMARIES))
        with suppress(*_UNUSABLE):
            self._rows = _rows_of(self._folder.read_sealed(_TASKS))

    def records(self, trial: Folder, checksum: str) -> CompactedRecords | None:
        """The records in a trial's folder; None where they are damaged or missing."""
        key, stamp = (trial.path.name, checksum), trial.stamp(NAME)
        if key in self._opened and self._opened[key][1] == stamp:
            return self._opened[key][0]
        summary, checked = self._summaries.get(key, (None, None))
        if summary is not None and stamp is not None and checked == stamp:
            records = CompactedRecords(trial, checksum, summary)
        else:
            records = CompactedRecords.read(trial, checksum)
        if records is not None:
            records.known.update(self._rows.get(key, {}))
            self._opened[key] = records, stamp
        return records

    def keep(self) -> None:
        """Write what was read and not known before, unless the folder cannot be written."""
        before = time.time_ns() - _SETTLED
        settled = {
            key: (records.summary, stamp)
            for key, (records, stamp) in self._opened.items()
            if stamp is not None and stamp.changed < before
        }
        used = {
            key: {row: records.known[row] for row in records.used}
            for key, (records, _) in self._opened.items()
            if records.used
        }
        checked = {key: stamp for key, (_, stamp) in self._summaries.items()}
        with suppress(RunFolderError, MachineFailure):
            if any(checked.get(key) != stamp for key, (_, stamp) in settled.items()):
                self._folder.write_sealed(_SUMMARIES, _summary_bytes(settled))
            if any(rows.keys() - self._rows.get(key, {}).keys() for key, rows in used.items()):
                self._folder.write_sealed(_TASKS, _row_bytes(used))


def _summary_bytes(entries: Mapping[Key, tuple[pa.Table, Stamp]]) -> bytes:
    layout = [[*key, len(table), *stamp] for key, (table, stamp) in entries.items()]
    return _bytes([table for table, _ in entries.values()], layout)


def _summaries_of(data: bytes | None) -> dict[Key, tuple[pa.Table, Stamp]]:
    found: dict[Key, tuple[pa.Table, Stamp]] = {}
    start, (table, layout) = 0, _opened(data, columns.SUMMARY_SCHEMA)
    for trial, checksum, epochs, *stamp in layout:
        summary = table.slice(start, epochs)
        found[trial, checksum] = summary, Stamp(*stamp)
        start += epochs
    if start != len(table):
        raise ValueError("its layout is that of another table")
    return found


def _row_bytes(entries: Mapping[Key, Mapping[Row, pa.Table]]) -> bytes:
    rows = {(*key, *row): table for key, of in entries.items() for row, table in of.items()}
    return _bytes(list(rows.values()), list(rows))


def _rows_of(data: bytes | None) -> dict[Key, dict[Row, pa.Table]]:
    found: dict[Key, dict[Row, pa.Table]] = {}
    table, layout = _opened(data, _ROW)
    if len(layout) != len(table):
        raise ValueError("its layout is that of another table")
    for place, (trial, checksum, name, at) in enumerate(layout):
        found.setdefault((trial, checksum), {})[name, at] = table.slice(place, 1)
    return found


def _bytes(tables: list[pa.Table], layout: Any) -> bytes:
    whole = pa.concat_tables(tables).combine_chunks()
    return columns.stream(whole.replace_schema_metadata({_LAYOUT: json.dumps(layout)}))


def _opened(data: bytes | None, schema: pa.Schema) -> tuple[pa.Table, list[list[Any]]]:
    """A table and what its rows are. Raises ValueError or KeyError where there is none whole."""
    table = columns.streamed(data or b"")
    metadata = table.schema.metadata or {}
    layout = json.loads(metadata[_LAYOUT])
    return columns.checked(table.replace_schema_metadata(None), schema), layout
