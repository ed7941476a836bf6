"""A table of records from elsewhere as the source of a report: one number a row.

    method,configuration,seed,fold,epoch,measure,accuracy
    PN,lr=0.1,0,,1,train_loss,1.20
    PN,lr=0.1,0,,1,val,0.55

``docs/replay.md`` describes its columns. Anything that does not fit is refused with its row.
"""

import hashlib
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, final

import numpy as np

from fsl_sweep.orchestrator.errors import BadData, RunFolderError
from fsl_sweep.orchestrator.records.measures import MEASURES, Measure, TaskSet, TrialHistory
from fsl_sweep.orchestrator.records.protocol import PlannedProtocol
from fsl_sweep.orchestrator.records.spec import Selectors
from fsl_sweep.orchestrator.replay.lacking import Pair, caution, lacking, lacks_of, usable
from fsl_sweep.orchestrator.replay.source import Facts, Source
from fsl_sweep.orchestrator.replay.table_checks import by_world, checked_table
from fsl_sweep.orchestrator.replay.table_trials import trials_of

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from fsl_sweep.orchestrator.ledger.trial_ledger import TrialLedger


@final
class TableSource(Source):
    """Rows of a ``.csv`` or ``.parquet`` file, as of ``tables_in``: one world's, or all.

    Raises BadData where they do not fit.
    """

    def __init__(self, path: Path, rows: "pd.DataFrame", world: str | None = None) -> None:
        where = str(path) if world is None else f"{path}: world '{world}'"
        table = checked_table(where, rows)
        self._trials, self.places = trials_of(where, table), (path,)
        of = "" if world is None else f" ({world})"
        lacks = lacks_of(self._trials)
        self.facts = Facts(
            name=f"{path.stem}{of}",
            sweep=hashlib.sha256(path.read_bytes()).hexdigest()[:16],
            fingerprint=None,
            measured=None,
            selectors=_selectors(self._trials, lacks),
            cautions=_cautions(f"{path.name}{of}", table, self._trials, lacks),
            per_task="task" in table,
            tasks=_tasks(table),
            world=world,
        )

    def protocols(self) -> tuple[PlannedProtocol, ...]:
        """None: how a table's numbers were measured is not known."""
        return ()

    def histories(
        self,
        _reported: PlannedProtocol | None = None,
        _by: PlannedProtocol | None = None,
        /,
        only: Collection[str] | None = None,
    ) -> list[TrialHistory]:
        """The trials of the table, and an empty one for each hole in a method's grid."""
        return [one for one in self._trials if only is None or one.trial in only]

    def class_tuples(
        self, _: PlannedProtocol | None, /
    ) -> dict[tuple[Measure, TaskSet], np.ndarray]:
        """There are none in a table: raises RunFolderError."""
        raise RunFolderError(
            f"{self.places[0]} is a table, which holds no class tuples, so classes cannot be "
            "resampled; leave out --classes."
        )

    def trials(self) -> "Mapping[str, TrialLedger]":
        """None: a table comes without snapshots."""
        return {}


def tables_in(path: Path) -> "dict[str | None, pd.DataFrame]":
    """The rows of a file by world; under None where it has no column ``world``.

    Raises:
        BadData: it cannot be read, or a column does not fit.
        RunFolderError: it is neither a ``.csv`` nor a ``.parquet`` file.
    """
    return by_world(path, _read(path))


def worlds_in(path: Path) -> list[str]:
    """The values of the column ``world``, which alone is read; none without it, or on failure."""
    try:
        found = _read(path, only="world")
    except (BadData, RunFolderError):
        return []  # told where the whole table is read
    return found["world"].unique().tolist() if "world" in found else []


def _read(path: Path, only: str | None = None) -> "pd.DataFrame":
    """The table as text, missing cells empty; but accuracies that are numbers stay numbers."""
    import pandas as pd
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        if path.suffix.lower() == ".csv":
            columns = None if only is None else lambda name: name == only
            read = pd.read_csv(
                path, dtype=str, keep_default_na=False, encoding="utf-8-sig", usecols=columns
            )
            return read.fillna("")  # the cells that a short row lacks
        if path.suffix.lower() in (".parquet", ".pq"):
            table = pq.ParquetFile(path).read(only and [only], use_threads=False)
            # pandas writes the index of a frame as one more column.
            names = [n for n in table.column_names if not n.startswith("__index_level_")]
            if repeated := [name for name in names if names.count(name) > 1]:
                raise BadData(f"{path}: column '{repeated[0]}' is there twice.")
            return pd.DataFrame({name: _cells(name, table[name]) for name in names})
    except (ValueError, OSError, pa.ArrowException) as failure:
        reason = str(failure).splitlines()[0].rstrip(".")
        if isinstance(failure, UnicodeDecodeError):
            advice = "if it is compressed, unpack it first, else save it as UTF-8"
            reason = f"it is not UTF-8 text; {advice}"
        raise BadData(f"{path} cannot be read as a table: {reason}.") from None
    packed = path.suffix.lower() in (".gz", ".bz2", ".xz", ".zst", ".zip")
    advice = "; unpack it first" if packed else ""
    raise RunFolderError(f"{path} is neither a run folder nor a .csv or .parquet file{advice}.")


def _cells(name: str, column: "pa.ChunkedArray") -> np.ndarray:
    """A column of a Parquet file as pandas writes it into a CSV: text, nothing for null or NaN.

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


def _selectors(trials: list[TrialHistory], lacks: frozenset[Pair]) -> Selectors:
    """The usual strategies, those that the table has the measures for."""
    usual = Selectors()
    recorded = [one for one in trials if len(one.epochs)]
    folds = [one for one in recorded if one.fold is not None]
    with_loss = all("train_loss" in one.curves for one in recorded if one.fold is None)
    # Selecting a snapshot in each fold takes every measure there; at the full trial's, only val.
    needed = {(measure, "selection") for measure in MEASURES} - lacks
    own = all(
        not needed & lacking(one) and (not with_loss or "train_loss" in one.curves) for one in folds
    )
    cross_validated = ["cv" if own else "cv(aligned)"] if folds else []
    return Selectors(
        snapshot=[
            name
            for name in usable("snapshot", usual.snapshot, lacks)
            if with_loss or name != "train_loss"
        ],
        hyperparameter=[*usable("hyperparameter", usual.hyperparameter, lacks), *cross_validated],
    )


def _tasks(table: "pd.DataFrame") -> dict[str, str] | None:
    """What two tables must have in common for their tasks to be the same, by measure."""
    if "task" not in table:
        return None
    columns = [column for column in ("set", "task") if column in table]
    rows = table[(table["fold"] < 0) & (table["measure"] != "train_loss")]
    return {
        str(measure): hashlib.sha256(
            repr(sorted(own.drop_duplicates().itertuples(index=False, name=None))).encode()
        ).hexdigest()[:16]
        for measure, own in rows.groupby("measure")[columns]
    }


def _cautions(
    name: str, table: "pd.DataFrame", trials: list[TrialHistory], lacks: frozenset[Pair]
) -> tuple[str, ...]:
    found = [
        f"{name} is a table: whether its trials ran to their end, and whether there were others, "
        "is not known.",
        *caution(name, lacks),
    ]
    if "set" not in table:
        found.append(
            f"{name} does not tell selection from report tasks: selection and reporting share "
            "tasks, and a maximum over snapshots reads too high on the tasks it was maximised on."
        )
    if "task" not in table:
        found.append(
            f"{name} has no per-task rows: there are no intervals over tasks, no paired "
            "comparisons and no resampling."
        )
    ran: dict[str, set[tuple[int, ...]]] = {}
    for one in (trial for trial in trials if len(trial.epochs)):
        ran.setdefault(one.method, set()).add(tuple(one.epochs.tolist()))
    if differing := [method for method, epochs in ran.items() if len(epochs) > 1]:
        found.append(
            f"{name}: trials of {', '.join(differing)} have different epochs, as with early "
            "stopping: `last` is the last one of each. Check that none was cut short."
        )
    return tuple(found)
