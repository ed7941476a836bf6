"""Records that no trial can have measured are refused, though every checksum fits them."""

import hashlib
import io
from collections.abc import Callable
from pathlib import Path

import made
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fsl_sweep.orchestrator.cli import invoke
from fsl_sweep.orchestrator.ledger import columns
from fsl_sweep.orchestrator.ledger.columns import check_values

Change = Callable[[pa.Table], pa.Table]
RECORDS = f"measured/{made.MAIN_ID}.parquet"


def table() -> pa.Table:
    return pa.concat_tables(
        [columns.row_of(epoch, "0" * 64, made.record(epoch).scores) for epoch in (1, 2, 3)]
    )


def put(name: str, values: Callable[[list], list]) -> Change:
    """Replace a column's values by what ``values`` makes of them."""

    def change(given: pa.Table) -> pa.Table:
        field = given.schema.field(name)
        array = pa.array(values(given[name].to_pylist()), field.type)
        return given.set_column(given.schema.get_field_index(name), field, array)

    return change


def cell(value: float) -> Callable[[list], list]:
    """The second epoch's value, or that of its third task."""

    def values(rows: list) -> list:
        if isinstance(rows[1], list):
            rows[1][2] = value
        else:
            rows[1] = value
        return rows

    return values


FORGED: dict[str, tuple[Change, str]] = {
    "a mean of 9": (put("novel_selection_mean", cell(9.0)), "is outside 0 to 1"),
    "a mean below 0": (put("base_report_mean", cell(-0.1)), "is outside 0 to 1"),
    "a mean that is no number": (put("val_selection_mean", cell(np.nan)), "is outside 0 to 1"),
    "another mean": (put("novel_report_mean", cell(0.123)), "is not the mean of its tasks"),
    "correct above queries": (put("novel_report_correct", cell(76)), "more correct answers"),
    "no queries": (put("novel_report_queries", cell(0)), "more correct answers than queries"),
    "fewer queries": (put("novel_report_queries", cell(74)), "novel_report"),
    "fewer queries of every task": (
        put("novel_report_queries", lambda rows: [[74] * len(row) for row in rows]),
        "novel_report",
    ),
    "an epoch twice": (put("epoch", cell(1)), "do not ascend"),
    "epoch 0": (put("epoch", lambda rows: [row - 1 for row in rows]), "do not ascend from 1"),
    "no tasks": (put("val_report_correct", lambda rows: [[] for _ in rows]), "different tasks"),
    "a task less": (
        put("val_report_correct", lambda rows: [row[1:] for row in rows]),
        "different tasks",
    ),
    "a task less once": (
        put("novel_report_correct", lambda rows: [rows[0], rows[1][1:], rows[2]]),
        "different tasks",
    ),
    "a task that is no number": (put("val_report_correct", cell(None)), "hold no number"),
}


def test_what_was_measured_is_believed() -> None:
    check_values(table())
    check_values(table().select(["epoch"]))
    tasks = table().select(["novel_report_correct", "novel_report_queries"])
    check_values(tasks, columns.Summary.of_table(table().select(columns.SUMMARY_COLUMNS)))


@pytest.mark.parametrize(("change", "message"), FORGED.values(), ids=FORGED)
def test_what_no_trial_measures_is_refused(change: Change, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        check_values(change(table()))


def run_with(path: Path, change: Change) -> Path:
    """A finished run of two trials, one of whose records were forged with all their checksums."""
    trials = [made.planned(made.spec(0, way), f"W{way}") for way in (5, 6)]
    ledger = made.recorded(path, *trials)
    folder = ledger.trial(trials[0].id).folder
    data = folder.read(RECORDS)
    forged = columns.compacted([change(columns.read_columns(pq.ParquetFile(io.BytesIO(data))))])
    folder.write(RECORDS, forged)
    end = folder.read_json("end.json")
    checksum = hashlib.sha256(forged).hexdigest()
    # Without a summary, as in folders of format 3: the file's means are those that are used.
    end = {**end, "measured": {made.MAIN_ID: checksum}, "summaries": {}}
    folder.write_json("end.json", end)
    return path


SHAPES: dict[str, Change] = {
    "no means": lambda given: given.drop_columns(["novel_report_mean"]),
    "no tasks at all": lambda given: given.drop_columns(["novel_report_correct"]),
    "no epochs": lambda given: given.drop_columns(["epoch"]),
    "means as text": lambda given: given.set_column(
        given.schema.get_field_index("novel_report_mean"),
        "novel_report_mean",
        given["novel_report_mean"].cast(pa.string()),
    ),
    "no rows": lambda given: given.slice(0, 0),
    "one row less": lambda given: given.slice(1),
}


SOME = (
    "another mean",
    "fewer queries",
    "fewer queries of every task",
    "an epoch twice",
    "a task less once",
)


@pytest.mark.parametrize(
    "change", [*(FORGED[name][0] for name in SOME), *SHAPES.values()], ids=[*SOME, *SHAPES]
)
def test_a_forged_file_is_neither_believed_nor_a_traceback(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], change: Change
) -> None:
    run = run_with(tmp_path / "run", change)
    codes = [
        invoke(["report", str(run), "--bootstrap", "2", "--full"]),
        invoke(["status", str(run)]),
    ]
    out, err = capsys.readouterr()
    assert "Traceback" not in err
    # Damage of the summary is in the banner; that of tasks, which are read later, is one line.
    assert codes[0] in (1, 2), out
    assert RECORDS in out + err or "epochs are missing" in out
    assert err.count("\n") == (codes[0] == 2)
