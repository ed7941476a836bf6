"""A table of records from elsewhere as the source of a report: one number a row.

    method,configuration,seed,fold,epoch,measure,accuracy
    PN,lr=0.1,0,,1,train_loss,1.20
    PN,lr=0.1,0,,1,val,0.55

``docs/replay.md`` describes its columns. Anything that does not fit is refused with its row.
"""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, final

import numpy as np

from fsl_sweep.orchestrator.errors import BadData, RunFolderError
from fsl_sweep.orchestrator.ledger.trial_ledger import TrialLedger
from fsl_sweep.orchestrator.records.measures import MEASURES, ScoreKey, TrialHistory
from fsl_sweep.orchestrator.records.protocol import PlannedProtocol
from fsl_sweep.orchestrator.records.spec import Selectors
from fsl_sweep.orchestrator.replay.lacking import caution, lacking, lacks_of, usable
from fsl_sweep.orchestrator.replay.source import (
    ProtocolOrMain,
    Source,
    SourceInfo,
    TrialIds,
)
from fsl_sweep.orchestrator.replay.table_checks import FORMER, by_benchmark, checked_table
from fsl_sweep.orchestrator.replay.table_trials import trials_of

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

MOST_BYTES = 2**31
"""The size of a table, also once it is unpacked: thirty million rows."""


@final
class TableSource(Source):
    """Rows of a ``.csv`` or ``.parquet`` file, as of ``tables_in``: one benchmark's, or all.

    Raises BadData where they do not fit.
    """

    def __init__(self, path: Path, rows: "pd.DataFrame", benchmark: str | None = None) -> None:
        where = str(path) if benchmark is None else f"{path}: benchmark '{benchmark}'"
        table = checked_table(where, rows)
        self._trials, self.places = trials_of(where, table), (path,)
        of = "" if benchmark is None else f" ({benchmark})"
        lacks = lacks_of(self._trials)
        self.info = SourceInfo(
            name=f"{path.stem}{of}",
            sweep=_digest(path)[:16],
            fingerprint=None,
            measured=None,
            selectors=_selectors(self._trials, lacks),
            cautions=_cautions(f"{path.name}{of}", table, self._trials, lacks),
            per_task="task" in table,
            tasks=_tasks(table),
            benchmark=benchmark,
        )

    def protocols(self) -> tuple[PlannedProtocol, ...]:
        """Return none: how a table's numbers were measured is not known."""
        return ()

    def histories(
        self, _reported: ProtocolOrMain = None, _by: ProtocolOrMain = None, /, only: TrialIds = None
    ) -> list[TrialHistory]:
        """Return the trials of the table, an empty one for each missing from a method's grid."""
        return [trial for trial in self._trials if only is None or trial.trial in only]

    def class_tuples(self, _: ProtocolOrMain, /) -> dict[ScoreKey, np.ndarray]:
        """Raise RunFolderError: there are none in a table."""
        raise RunFolderError(
            f"{self.places[0]} is a table, which holds no class tuples, so classes cannot be "
            "resampled; leave out --classes."
        )

    def trials(self) -> Mapping[str, TrialLedger]:
        """Return none: a table comes without snapshots."""
        return {}


def tables_in(path: Path) -> "dict[str | None, pd.DataFrame]":
    """Read the rows of a file by benchmark; under None where it has no column ``benchmark``.

    Raises:
        BadData: it cannot be read, or a column does not fit.
        RunFolderError: it is neither a ``.csv`` nor a ``.parquet`` file.
    """
    return by_benchmark(path, _read(path))


def benchmarks_in(path: Path) -> list[str]:
    """Read the values of the column ``benchmark`` only; none without it, or on failure."""
    try:
        table = _read(path, only=["benchmark", FORMER])
    except (BadData, RunFolderError):
        return []  # reading all of the table raises it again
    return [name for column in table for name in table[column].unique()]


def _read(path: Path, only: list[str] | None = None) -> "pd.DataFrame":
    """Read a table as text, missing cells empty; but accuracies that are numbers stay numbers."""
    import pandas as pd
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        _check_bytes(path.stat().st_size)
        if path.suffix.lower() == ".csv":
            columns = None if only is None else lambda name: name in only
            read = pd.read_csv(
                path, dtype=str, keep_default_na=False, encoding="utf-8-sig", usecols=columns
            )
            return read.fillna("")  # the cells that a short row lacks
        if path.suffix.lower() in (".parquet", ".pq"):
            file = pq.ParquetFile(path)
            about = file.metadata
            groups = [about.row_group(i) for i in range(about.num_row_groups)]
            # A cell takes 8 bytes or more once it is read, however little it takes here.
            cells = 8 * about.num_rows * about.num_columns
            _check_bytes(max(cells, sum(group.total_byte_size for group in groups)))
            table = file.read(only, use_threads=False)
            # pandas writes the index of a frame as one more column.
            names = [n for n in table.column_names if not n.startswith("__index_level_")]
            return pd.DataFrame({name: _cells(name, table[name]) for name in names})
    except MemoryError:  # which Arrow's is too
        raise
    except (ValueError, KeyError, OSError, pa.ArrowException) as failure:
        reason = str(failure).splitlines()[0].rstrip(".")
        if isinstance(failure, UnicodeDecodeError):
            advice = "if it is compressed, unpack it first, else save it as UTF-8"
            reason = f"it is not UTF-8 text; {advice}"
        raise BadData(f"{path} cannot be read as a table: {reason}.") from None
    packed = path.suffix.lower() in (".gz", ".bz2", ".xz", ".zst", ".zip")
    advice = "; unpack it first" if packed else ""
    raise RunFolderError(f"{path} is neither a run folder nor a .csv or .parquet file{advice}.")


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _check_bytes(count: int) -> None:
    """Raise ValueError where a table is too large to be one of records."""
    if count > MOST_BYTES:
        raise ValueError(
            f"it takes {count:,} bytes or more; tables of up to {MOST_BYTES:,} are read"
        )


def _cells(name: str, column: "pa.ChunkedArray") -> np.ndarray:
    """Return a column of a Parquet file as pandas writes it into a CSV: text, "" for null or NaN.

    Accuracies that are numbers stay numbers, exact and quick to read.
    """
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_floating(column.type):
        numbers = column.to_numpy()
        if name == "accuracy":
            return numbers.astype(np.float64)
        return np.array(["" if np.isnan(x) else str(x) for x in numbers], object)
    text = column.cast(pa.string()).fill_null("").to_numpy().astype(object)
    if pa.types.is_boolean(column.type):
        return np.array([x.capitalize() for x in text], object)
    return text


def _selectors(trials: list[TrialHistory], lacks: frozenset[ScoreKey]) -> Selectors:
    """Return the usual strategies, those that the table has the measures for."""
    usual = Selectors()
    recorded = [trial for trial in trials if len(trial.epochs)]
    folds = [trial for trial in recorded if trial.fold is not None]
    with_loss = all("train_loss" in trial.curves for trial in recorded if trial.fold is None)
    snapshot = usable("snapshot", usual.snapshot, lacks)
    hyperparameter = usable("hyperparameter", usual.hyperparameter, lacks)
    if not with_loss:
        snapshot.remove("train_loss")
    if folds:
        # Selecting a snapshot in each fold takes every measure there; at the full trial's, val.
        needed = {(measure, "selection") for measure in MEASURES} - lacks
        in_each = not any(needed & lacking(fold) for fold in folds)
        with_losses = not with_loss or all("train_loss" in fold.curves for fold in folds)
        hyperparameter.append("cv" if in_each and with_losses else "cv(aligned)")
    return Selectors(snapshot=snapshot, hyperparameter=hyperparameter, show="few")


def _tasks(table: "pd.DataFrame") -> dict[str, str] | None:
    """Return a digest of the names of tasks by measure: tables of the same tasks have the same."""
    if "task" not in table:
        return None
    columns = [column for column in ("set", "task") if column in table]
    rows = table[(table["fold"] < 0) & (table["measure"] != "train_loss")]
    return {
        str(measure): hashlib.sha256(
            repr(sorted(names.drop_duplicates().itertuples(index=False, name=None))).encode()
        ).hexdigest()[:16]
        for measure, names in rows.groupby("measure")[columns]
    }


def _cautions(
    name: str, table: "pd.DataFrame", trials: list[TrialHistory], lacks: frozenset[ScoreKey]
) -> tuple[str, ...]:
    cautions = [
        f"{name} is a table: whether its trials ran to their end, and whether there were others, "
        "is not known.",
        *caution(name, lacks),
    ]
    if "set" not in table:
        cautions.append(
            f"{name} does not tell selection from report tasks: selection and reporting share "
            "tasks, and a maximum over snapshots reads too high on the tasks it was maximised on."
        )
    if "task" not in table:
        cautions.append(
            f"{name} has no per-task rows: there are no intervals over tasks, no paired "
            "comparisons and no resampling."
        )
    ran: dict[str, set[tuple[int, ...]]] = {}
    for trial in (trial for trial in trials if len(trial.epochs) and not trial.diverged):
        ran.setdefault(trial.method, set()).add(tuple(trial.epochs.tolist()))
    if differing := [method for method, epochs in ran.items() if len(epochs) > 1]:
        cautions.append(
            f"{name}: trials of {', '.join(differing)} have different epochs, as with early "
            "stopping: `last` is the last one of each. Check that none was cut short."
        )
    return tuple(cautions)
