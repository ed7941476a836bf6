"""The checks of a table of records; the message names the first row that does not fit."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import numpy as np

from fsl_sweep.orchestrator.errors import BadData, did_you_mean
from fsl_sweep.orchestrator.records.measures import MEASURES, TASK_SETS
from fsl_sweep.orchestrator.records.paper_names import TEST_MEASURE, measure_name
from fsl_sweep.orchestrator.text.printed import one_line, unfit

if TYPE_CHECKING:
    import pandas as pd

REQUIRED = ("method", "configuration", "seed", "epoch", "measure", "accuracy")
KNOWN = (*REQUIRED, "fold", "task", "set", "benchmark")
FORMER = "world"
"""What the column ``benchmark`` was called; it is still read."""
_LONGEST = 4096
_SHOWN = 300
"""Characters of a name, and of a cell in a message."""
KEY = ("method", "configuration", "seed", "fold", "epoch", "measure", "set", "task")


def by_benchmark(path: Path, table: "pd.DataFrame") -> dict[str | None, "pd.DataFrame"]:
    """Split rows by the column ``benchmark``; all are under None where there is no column.

    Rows are labelled by their numbers in the file.

    Raises:
        BadData: a column does not fit, there are no rows, or one has no benchmark.
    """
    _check_columns(path, list(table.columns))
    if len(table) == 0:
        raise BadData(f"{path} holds no rows.")
    # A CSV's header is its first row, as in a spreadsheet.
    first = 2 if path.suffix.lower() == ".csv" else 1
    table = table.set_axis(range(first, first + len(table)))
    table = table.rename(columns={FORMER: "benchmark"})
    if "benchmark" not in table:
        return {None: table}
    _Rows(str(path), table).names("benchmark")
    parts = table.groupby("benchmark", sort=False)
    return {str(benchmark): rows.drop(columns="benchmark") for benchmark, rows in parts}


def checked_table(where: str, table: "pd.DataFrame") -> "pd.DataFrame":
    """Return the table with whole numbers as int64, accuracies as float64.

    ``fold`` is -1 for none, ``seed`` -1 for that of a method that draws nothing. Empty accuracies
    are NaN: their trials diverged. ``task`` and ``set`` are there only where they are filled.

    Args:
        where: the beginning of each message.
        table: rows as of ``by_benchmark``.

    Raises:
        BadData: a row does not fit; the message says which and why.
    """
    rows = _Rows(where, table.copy())
    for column in ("method", "configuration", "measure"):
        rows.names(column)
    rows.whole_numbers("seed", empty="-1")
    rows.seeds()
    rows.whole_numbers("epoch")
    rows.whole_numbers("fold", empty="-1")
    ours = {typed: measure_name(typed) for typed in rows.table["measure"].unique()}
    rows.table["measure"] = rows.table["measure"].map(ours)
    rows.one_of("measure", ("train_loss", *MEASURES))
    rows.accuracies()
    rows.tasks_and_sets()
    rows.no_repeats()
    return rows.table


def _check_columns(path: Path, columns: list[str]) -> None:
    if len(columns) == 1 and all(name in columns[0] for name in REQUIRED):
        raise BadData(f"{path} has one column, '{_cut(columns[0])}'; separate columns with commas.")
    if columns[0] == "Unnamed: 0":
        raise BadData(
            f"{path}: the first column has no name, as when pandas writes the index of a frame; "
            "leave it out (`index=False`)."
        )
    for column in columns:
        if column not in (*KNOWN, FORMER):
            shown = _cut(column)
            raise BadData(f"{path}: unknown column '{shown}'; {did_you_mean(shown, KNOWN)}")
    if "benchmark" in columns and FORMER in columns:
        raise BadData(
            f"{path}: columns 'benchmark' and '{FORMER}' mean the same; leave '{FORMER}' out."
        )
    for column in REQUIRED:
        if column not in columns:
            raise BadData(
                f"{path}: column '{column}' is missing; a table needs {', '.join(REQUIRED)}."
            )


def _cut(text: str) -> str:
    """Cut a text of the file to what a message can show."""
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def _problem(text: str) -> str:
    """Say what keeps a text from being a name; nothing where it is one."""
    if len(text) > _LONGEST:
        return f"has more than {_LONGEST:,} characters"
    character = unfit(text)
    return "" if character is None else f"holds the control character {character}"


@final
class _Rows:
    """A table that is being checked, its rows labelled by their numbers in the file."""

    def __init__(self, where: str, table: "pd.DataFrame") -> None:
        self.where, self.table = where, table

    def refuse(self, bad: Any, column: str, why: str | Callable[[Any], str]) -> None:
        """Raise BadData for the first ``bad`` row; ``why`` says what is wrong with its value."""
        if len(at := np.flatnonzero(bad)):
            value = self.table[column].iloc[at[0]]
            shown = f" '{one_line(_cut(str(value)))}'" if value != "" else ""
            problem = why if isinstance(why, str) else why(value)
            end = "" if problem.endswith("?") else "."
            row = self.table.index[at[0]]
            raise BadData(f"{self.where}: row {row}: {column}{shown} {problem}{end}")

    def names(self, column: str) -> None:
        """Allow texts that are not empty and differ in more than spaces at their ends."""
        texts = self.table[column]
        self.refuse(texts == "", column, "is empty")
        self.legible(column)
        self.refuse(texts != texts.str.strip(), column, "begins or ends with a space")

    def legible(self, column: str) -> None:
        """Allow no text that would control a terminal, break a line of a report, or fill it."""
        problems = {text: _problem(text) for text in self.table[column].unique()}
        bad = [problems[text] != "" for text in self.table[column]]
        self.refuse(bad, column, lambda text: problems[text])

    def one_of(self, column: str, known: tuple[str, ...]) -> None:
        """Allow only these values."""
        bad = ~self.table[column].isin(known)
        names = [name for name in known if name]
        self.refuse(
            bad,
            column,
            lambda text: f"is not known; {did_you_mean(_cut(text), names, [TEST_MEASURE])}",
        )

    def whole_numbers(self, column: str, empty: str = "") -> None:
        """Make a column int64, with ``empty`` in place of empty cells."""
        if column not in self.table:
            self.table[column] = int(empty)
            return
        texts = self.table[column].str.strip().replace("", empty)
        whole = texts.str.fullmatch(r"\d{1,18}(\.0+)?").to_numpy(bool) | (texts == empty).to_numpy()
        bad = ~whole | (texts == "").to_numpy()
        self.refuse(bad, column, "must be a whole number, 0 or above")
        self.table[column] = texts.str.partition(".")[0].astype(np.int64)

    def seeds(self) -> None:
        """Allow a method a seed in each row, or in none: then it draws nothing."""
        empty = self.table["seed"] < 0
        methods = self.table["method"]
        mixed = empty & methods.isin(set(methods[~empty]))
        why = (
            "is empty, but other rows of its method have one; it is empty in every row of a method "
            "that draws nothing, and else in none"
        )
        if mixed.any():
            self.table["seed"] = self.table["seed"].astype(str).where(~empty, "")
            self.refuse(mixed.to_numpy(), "seed", why)

    def accuracies(self) -> None:
        """Make accuracies float64, NaN where they are empty; allow [0, 1] but for training loss."""
        import pandas as pd

        cells = self.table["accuracy"]
        values = pd.to_numeric(cells, errors="coerce").to_numpy(np.float64)
        empty, numeric = np.isnan(values), pd.api.types.is_numeric_dtype(cells)
        if empty.any() and not numeric:
            empty = (cells.str.strip() == "").to_numpy(bool)
        advice = "; leave it empty where the trial diverged"
        self.refuse(~np.isfinite(values) & ~empty, "accuracy", f"is not a finite number{advice}")
        if empty.all():
            raise BadData(f"{self.where}: column 'accuracy' holds no number.")
        if not numeric:
            # Digit for digit: the reader above may be off by the last bit.
            values = np.array([float(text) for text in cells.mask(empty, "nan")])
        outside = (self.table["measure"] != "train_loss").to_numpy() & ((values < 0) | (values > 1))
        percent = outside.any() and values[outside].min() >= 0 and values[outside].max() <= 100
        advice = "; these look like percentages: divide them by 100" if percent else ""
        self.refuse(outside, "accuracy", f"is outside 0 to 1{advice}")
        self.table["accuracy"] = values

    def tasks_and_sets(self) -> None:
        """Allow both columns to be filled in every row of an accuracy, or in none."""
        loss = (self.table["measure"] == "train_loss").to_numpy()
        for column in ("task", "set"):
            if column not in self.table:
                continue
            # Whole numbers in a column with an empty cell are floating-point ones to pandas.
            texts = self.table[column].str.strip()
            self.table[column] = texts.str.replace(r"^(\d+)\.0+$", r"\1", regex=True)
            filled = (self.table[column] != "").to_numpy()
            self.refuse(loss & filled, column, "must be empty: it is a row of train_loss")
            if not filled.any():
                del self.table[column]
                continue
            empty = "is empty, but other rows have one: give it in every row of an accuracy"
            self.refuse(~loss & ~filled, column, empty)
        if "task" in self.table:
            self.legible("task")
        if "set" in self.table:
            self.one_of("set", ("", *TASK_SETS))

    def no_repeats(self) -> None:
        """Allow no two rows of the same number."""
        key = [column for column in KEY if column in self.table]
        repeats = np.flatnonzero(self.table.duplicated(key))
        if len(repeats):
            same = (self.table[key] == self.table[key].iloc[repeats[0]]).all(axis=1)
            row, first = self.table.index[repeats[0]], same.idxmax()
            raise BadData(
                f"{self.where}: row {row} repeats row {first}: the same {', '.join(key)}. Remove "
                "one of them."
            )
