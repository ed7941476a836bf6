"""A table is the same table whatever types its columns have, and whatever file it is in."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fsl_sweep.orchestrator.errors import BadData
from fsl_sweep.orchestrator.replay.merged import open_sources

Rows = list[tuple[object, ...]]


def natural() -> pd.DataFrame:
    """A table as it comes out of pandas: ``fold`` and ``task`` are float64, for they lack some."""
    rows: Rows = []
    for seed in (0, 1):
        for fold in (None, 0, 1):
            for epoch in (1, 2):
                key = ("PN", "0.5", seed, fold, epoch)
                rows.append((*key, "train_loss", 1 / epoch, None))
                for measure in ("base", "val", "novel"):
                    for task in (0, 1, 10):
                        accuracy = (1 + seed + epoch + 2 * task / 7) / 11
                        rows.append((*key, measure, accuracy, task))
    names = ["method", "configuration", "seed", "fold", "epoch", "measure", "accuracy", "task"]
    return pd.DataFrame(rows, columns=names)


def told(path: Path) -> list[object]:
    """All that a report is made from."""
    source = open_sources([path])
    found: list[object] = [source.info.tasks]
    for one in source.histories():
        found += [one.trial, one.method, one.configuration, one.seed, one.fold, one.epochs.tolist()]
        found += [(pair, table.load().tolist()) for pair, table in one.scores.items()]
    return found


WHOLE = ("seed", "epoch")
GAPS = ("fold", "task")
TYPES = {
    "as it is": {},
    "nullable integers": dict.fromkeys((*WHOLE, *GAPS), "Int64"),
    "small integers": {"seed": "int8", "epoch": "uint16", "fold": "Int32", "task": "UInt8"},
    "floats": dict.fromkeys((*WHOLE, *GAPS), "float64"),
    "small floats": dict.fromkeys((*WHOLE, *GAPS), "float32"),
    "nullable floats": dict.fromkeys((*WHOLE, *GAPS), "Float64"),
    "strings": dict.fromkeys(("method", "measure", *WHOLE, *GAPS), "string"),
    "categories": dict.fromkeys(("method", "configuration", "measure", *WHOLE, *GAPS), "category"),
    "a number as a configuration": {"configuration": "float64"},
    "objects": dict.fromkeys(("method", "configuration", "measure"), "object"),
}


@pytest.mark.parametrize("types", TYPES.values(), ids=TYPES)
def test_both_readers_tell_the_same_whatever_the_types(
    tmp_path: Path, types: dict[str, str]
) -> None:
    natural().to_csv(tmp_path / "plain.csv", index=False)
    expected = told(tmp_path / "plain.csv")
    frame = natural().astype(types)
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet")
    assert told(tmp_path / "t.csv") == expected
    assert told(tmp_path / "t.parquet") == expected


@pytest.mark.parametrize(
    "encoded",
    [
        lambda column: column.cast(pa.large_string()),
        lambda column: column.cast(pa.string_view()),
    ],
    ids=["large", "view"],
)
def test_every_encoding_of_texts(
    tmp_path: Path, encoded: Callable[[pa.ChunkedArray], pa.ChunkedArray]
) -> None:
    frame = natural().astype({"fold": "Int64", "task": "Int64"}).astype({"task": "string"})
    table = pa.Table.from_pandas(frame, preserve_index=False)
    for name in ("method", "configuration", "measure", "task"):
        at = table.schema.get_field_index(name)
        table = table.set_column(at, name, encoded(table[name].cast(pa.string())))
    pq.write_table(table, tmp_path / "t.parquet")
    frame.to_csv(tmp_path / "t.csv", index=False)
    assert told(tmp_path / "t.parquet") == told(tmp_path / "t.csv")


def test_two_values_of_a_switch_are_two_configurations(tmp_path: Path) -> None:
    off, on = natural(), natural()
    off["configuration"], on["configuration"] = False, True
    frame = pd.concat([off, on], ignore_index=True)
    assert frame["configuration"].dtype == bool
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet")
    assert told(tmp_path / "t.parquet") == told(tmp_path / "t.csv")
    configurations = {one.configuration for one in open_sources([tmp_path / "t.csv"]).histories()}
    assert configurations == {"False", "True"}


def test_accuracies_are_read_digit_for_digit(tmp_path: Path) -> None:
    frame = natural()
    rng = np.random.default_rng(0)
    frame["accuracy"] = rng.random(len(frame))
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet")
    (trial,) = [
        t for t in open_sources([tmp_path / "t.csv"]).histories() if (t.seed, t.fold) == (1, None)
    ]
    of = (frame["seed"] == 1) & frame["fold"].isna() & (frame["measure"] == "novel")
    expected = frame[of].sort_values(["epoch", "task"])["accuracy"].to_numpy().reshape(2, 3)
    assert (trial.scores["novel", "report"].load() == expected).all()
    assert told(tmp_path / "t.parquet") == told(tmp_path / "t.csv")


@pytest.mark.parametrize("write", ["to_csv", "to_parquet"])
@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("seed", True, "row {}: seed 'True' must be a whole number, 0 or above."),
        ("fold", 0.5, "row {}: fold '0.5' must be a whole number, 0 or above."),
        ("epoch", float("nan"), "row {}: epoch must be a whole number, 0 or above."),
        ("accuracy", 9.0, "row {}: accuracy '9.0' is outside 0 to 1"),
        ("accuracy", float("nan"), "row {}: accuracy"),
        ("method", "P\x1b[31mN", r"row {}: method 'P\x1b[31mN' holds the control character \x1b."),
        ("configuration", "a\nb", r"row {}: configuration 'a\nb' holds the control character \n."),
        ("task", "\u202e7", r"row {}: task '\u202e7' holds the control character \u202e."),
    ],
)
def test_what_does_not_fit_is_told_alike(
    tmp_path: Path, write: str, column: str, value: object, message: str
) -> None:
    frame = natural()
    frame[column] = value
    if column == "task":
        frame.loc[frame["measure"] == "train_loss", "task"] = None
    path = tmp_path / f"t.{write.removeprefix('to_')}"
    getattr(frame, write)(path, index=False)
    with pytest.raises(BadData) as caught:
        open_sources([path])
    row = (2 if write == "to_csv" else 1) + (column in ("accuracy", "task") and value == value)
    assert message.format(row) in str(caught.value)


def test_a_column_that_is_there_twice_is_named(tmp_path: Path) -> None:
    table = pa.Table.from_pandas(natural(), preserve_index=False)
    pq.write_table(table.append_column("seed", table["seed"]), tmp_path / "t.parquet")
    with pytest.raises(BadData, match="column 'seed' is there twice"):
        open_sources([tmp_path / "t.parquet"])
