"""The records of a trial that has not ended: one file an epoch, each in its envelope."""

import re
from typing import final

import pyarrow as pa

from fsl_sweep.orchestrator import columns
from fsl_sweep.orchestrator.errors import Damaged
from fsl_sweep.orchestrator.record_values import check_values
from fsl_sweep.orchestrator.storage import Folder

FOLDER = "epochs"
_NAME = re.compile(r"([0-9]{4}|[1-9][0-9]{4,8})\.record")


def name_of(epoch: int) -> str:
    """The name of an epoch's record in a trial's folder."""
    return f"{FOLDER}/{epoch:04d}.record"


@final
class EpochRecords:
    """Reads and writes them in the folder of one trial."""

    def __init__(self, trial: Folder) -> None:
        self._trial = trial

    def write(self, epoch: int, row: pa.Table) -> None:
        """Record an epoch, a row of ``columns.SCHEMA``."""
        self._trial.write_sealed(name_of(epoch), columns.stream(row))

    def remove(self) -> None:
        """Delete all of them, whole or not, and nothing else."""
        for epoch in self.epochs():
            self._trial.remove(name_of(epoch))

    def epochs(self) -> list[int]:
        """Those that have a record, whole or not, ascending. Raises Damaged."""
        found = map(_NAME.fullmatch, (self._trial / FOLDER).names())
        return sorted(int(name[1]) for name in found if name)

    def row(self, epoch: int) -> pa.Table | None:
        """The record of an epoch; None where there is none. Raises Damaged."""
        payload = self._trial.read_sealed(name_of(epoch))
        if payload is None:
            return None
        try:
            row = columns.checked(columns.streamed(payload), columns.SCHEMA)
            check_values(row)
            if row["epoch"].to_pylist() != [epoch]:
                raise ValueError("it is another epoch's")
        except ValueError as failure:
            raise Damaged(self._trial.place(name_of(epoch)), str(failure)) from failure
        return row

    def whole(self) -> tuple[list[pa.Table], list[str]]:
        """The rows of all that are whole, ascending, and the names of what is damaged."""
        rows: list[pa.Table] = []
        damaged: list[str] = []
        try:
            for epoch in self.epochs():
                try:
                    rows += [row for row in [self.row(epoch)] if row is not None]
                except Damaged:
                    damaged.append(name_of(epoch))
            if rows:
                check_values(pa.concat_tables(rows))
        except (Damaged, ValueError):  # no folder, or epochs that were not measured alike
            return [], [FOLDER]
        return rows, damaged
