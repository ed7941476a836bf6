"""The records of a trial that has ended: a summary in memory, and tasks read on demand."""

import hashlib
from collections.abc import Sequence
from functools import lru_cache
from typing import final

import pyarrow as pa
import pyarrow.parquet as pq

from fsl_sweep.orchestrator import columns
from fsl_sweep.orchestrator.errors import Damaged, RunFolderError
from fsl_sweep.orchestrator.record_values import check_values
from fsl_sweep.orchestrator.storage import Folder

NAME = "records.parquet"

Row = tuple[str, int]
"""A measure and task set (``novel_report``), and the position of an epoch among the recorded."""


@final
class CompactedRecords:
    """One trial's Parquet file, known to be what its checksum says.

    Attributes:
        summary: its columns without the tasks.
        known: rows of tasks that are at hand without reading, each a table of one row with the
            columns ``correct`` and ``queries``.
        used: rows that were asked for.
    """

    def __init__(self, folder: Folder, checksum: str, summary: pa.Table) -> None:
        self._folder, self._checksum, self.summary = folder, checksum, summary
        self.known: dict[Row, pa.Table] = {}
        self.used: set[Row] = set()

    @classmethod
    def read(cls, folder: Folder, checksum: str) -> "CompactedRecords | None":
        """The records in ``folder``; None where there are none, or they are damaged."""
        try:
            data = folder.read(NAME)
            if data is None or hashlib.sha256(data).hexdigest() != checksum:
                return None
            file = columns.parquet(data)
            if not {*columns.SCHEMA.names} <= {*file.schema_arrow.names}:
                return None
            summary = columns.read_columns(file, columns.SUMMARY_COLUMNS)
            check_values(columns.checked(summary, columns.SUMMARY_SCHEMA))
            return cls(folder, checksum, summary)
        except (Damaged, pa.ArrowException, OSError, ValueError, KeyError):
            return None

    def load(self, names: list[str]) -> pa.Table:
        """Further columns, row for row those of ``summary``.

        They are read anew each time: the tasks of a thousand trials do not fit in memory.

        Raises:
            RunFolderError: the file is not the one that it was, holds no such columns, or what no
                trial measures.
        """
        schema = pa.schema([columns.SCHEMA.field(name) for name in names])
        try:
            table = columns.read_columns(_opened(self._folder, self._checksum), names)
            check_values(columns.checked(table, schema), self.summary)
        except (pa.ArrowException, OSError, ValueError, KeyError) as failure:
            raise Damaged(self._folder.place(NAME), str(failure)) from failure
        return table

    def rows(self, name: str, at: Sequence[int]) -> pa.Table:
        """``correct`` and ``queries`` of ``name`` in the rows ``at``. Raises as ``load``."""
        wanted = [(name, int(i)) for i in at]
        self.used.update(wanted)
        missing = list(dict.fromkeys(row for row in wanted if row not in self.known))
        if missing:
            table = self.load(columns.task_columns(name)).rename_columns(["correct", "queries"])
            self.known |= {(n, i): columns.taken(table, [i]) for n, i in missing}
        return pa.concat_tables([self.known[row] for row in wanted])


@lru_cache(maxsize=1)
def _opened(folder: Folder, checksum: str) -> pq.ParquetFile:
    """A file whose bytes are checked. The last one is kept: a trial's columns are read in turn."""
    data = folder.read(NAME) or b""
    if hashlib.sha256(data).hexdigest() != checksum:
        raise RunFolderError(
            f"{folder.path / NAME} is not what it was when it was last checked: it was damaged, or "
            "replaced while it was being read. Run the command again; it will be checked anew."
        )
    return columns.parquet(data)
