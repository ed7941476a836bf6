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
from syrupy.assertion import SnapshotAssertion

from fsl_sweep.orchestrator.cli import invoke
from fsl_sweep.orchestrator.ledger import columns
from fsl_sweep.orchestrator.ledger.columns import check_values

Change = Callable[[pa.Table], pa.Table]
RECORDS = f"measured/{made.MAIN_ID}.parquet"


def table() -> pa.Table:
    return pa.concat_tables(
        [columns.row_of(epoch, "0" * 64, made.record(epoch).scores) for epoch in (1, 2, 3)]
    )


def put(name: str, values: Callable[[list], list] | float | None) -> Change:
    """Replace a column's values, or with a number that of the second epoch or its third task."""

    def change(before: pa.Table) -> pa.Table:
        rows, field = before[name].to_pylist(), before.schema.field(name)
        if callable(values):
            rows = values(rows)
        elif isinstance(rows[1], list):
            rows[1][2] = values
        else:
            rows[1] = values
        at = before.schema.get_field_index(name)
        return before.set_column(at, field, pa.array(rows, field.type))

    return change


FORGED: dict[str, Change] = {
    "a mean of 9": put("novel_selection_mean", 9.0),
    "a mean below 0": put("base_report_mean", -0.1),
    "a mean that is no number": put("val_selection_mean", np.nan),
    "another mean": put("novel_report_mean", 0.123),
    "correct above queries": put("novel_report_correct", 76),
    "no queries": put("novel_report_queries", 0),
    "fewer queries": put("novel_report_queries", 74),
    "fewer of every task": put("novel_report_queries", lambda rows: [[74] * len(r) for r in rows]),
    "an epoch twice": put("epoch", 1),
    "epoch 0": put("epoch", lambda rows: [row - 1 for row in rows]),
    "no tasks": put("val_report_correct", lambda rows: [[] for _ in rows]),
    "a task less": put("val_report_correct", lambda rows: [row[1:] for row in rows]),
    "a task less once": put("novel_report_correct", lambda r: [r[0], r[1][1:], r[2]]),
    "a task that is no number": put("val_report_correct", None),
}
NOVEL = "novel_report_mean"
SHAPES: dict[str, Change] = {
    "no means": lambda before: before.drop_columns([NOVEL]),
    "no tasks at all": lambda before: before.drop_columns(["novel_report_correct"]),
    "no epochs": lambda before: before.drop_columns(["epoch"]),
    "means as text": lambda before: before.set_column(
        before.schema.get_field_index(NOVEL), NOVEL, before[NOVEL].cast(pa.string())
    ),
    "no rows": lambda before: before.slice(0, 0),
    "one row less": lambda before: before.slice(1),
}
SOME = "another mean", "fewer queries", "fewer of every task", "an epoch twice", "a task less once"
FILES = SHAPES | {name: FORGED[name] for name in SOME}


def test_what_was_measured_is_believed() -> None:
    check_values(table())
    check_values(table().select(["epoch"]))
    check_values(table().select(["novel_report_correct", "novel_report_queries"]))


@pytest.mark.parametrize("name", FORGED)
def test_what_no_trial_measures_is_refused(name: str, snapshot: SnapshotAssertion) -> None:
    with pytest.raises(ValueError, match=r"\w") as refused:
        check_values(FORGED[name](table()))
    assert str(refused.value) == snapshot


@pytest.mark.parametrize("change", FILES.values(), ids=FILES)
def test_a_forged_file_is_neither_believed_nor_a_traceback(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], change: Change
) -> None:
    """One of two trials of a finished run, whose end has the forged file's checksum."""
    trials = [made.planned(made.spec(0, way), f"W{way}") for way in (5, 6)]
    folder = made.recorded(tmp_path, *trials).trial(trials[0].id).folder
    recorded = columns.read_columns(pq.ParquetFile(io.BytesIO(folder.read(RECORDS))))
    forged = columns.compacted([change(recorded)])
    folder.write(RECORDS, forged)
    # Without a summary the file's means are those that are used.
    checksums = {made.MAIN_ID: hashlib.sha256(forged).hexdigest()}
    end = {**folder.read_json("end.json"), "measured": checksums, "summaries": {}}
    folder.write_json("end.json", end)
    code = invoke(["report", str(tmp_path), "--bootstrap", "2", "--full"])
    invoke(["status", str(tmp_path)])
    out, err = capsys.readouterr()
    assert "Traceback" not in err
    # Damage of the summary is in the banner; that of tasks, which are read later, is one line.
    assert code in (1, 2), out
    assert RECORDS in out + err or "epochs are missing" in out
    assert err.count("\n") == (code == 2)
