"""A table is the same table whatever types its columns have, and whatever file it is in."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from recorded import run_folder
from tables import exported, made

import fsl_sweep
from fsl_sweep.orchestrator.errors import BadData
from fsl_sweep.orchestrator.replay.benchmarks import sources_by_benchmark
from fsl_sweep.orchestrator.replay.merged import open_sources


def natural() -> pd.DataFrame:
    """A table as it comes out of pandas: ``fold`` and ``task`` are float64, for they lack some."""
    rows: list[tuple[object, ...]] = []
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


def files_of(frame, place):
    frame.to_csv(place / "t.csv", index=False)
    frame.to_parquet(place / "t.parquet", index=False)
    return [place / "t.csv", place / "t.parquet"]


def read(path) -> list[object]:
    """All that a report is made from."""
    source = open_sources([path])
    content: list[object] = [source.info.tasks]
    for trial in source.histories():
        content += [trial.trial, trial.method, trial.configuration, trial.seed, trial.fold]
        content += [trial.epochs.tolist()]
        content += [(key, table.load().tolist()) for key, table in trial.scores.items()]
    return content


NUMBERS = ("seed", "epoch", "fold", "task")
TYPES = {
    "as it is": {},
    "small integers": {"seed": "int8", "epoch": "uint16", "fold": "Int32", "task": "UInt8"},
    **{of: dict.fromkeys(NUMBERS, of) for of in ("Int64", "float64", "float32", "Float64")},
    "strings": dict.fromkeys(("method", "measure", *NUMBERS), "string"),
    "categories": dict.fromkeys(("method", "configuration", "measure", *NUMBERS), "category"),
    "a number as a configuration": {"configuration": "float64"},
    "objects": dict.fromkeys(("method", "configuration", "measure"), "object"),
}


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    natural().to_csv(plain := tmp_path_factory.mktemp("plain") / "t.csv", index=False)
    return read(plain)


@pytest.mark.parametrize("types", TYPES.values(), ids=TYPES)
def test_both_readers_read_the_same_whatever_the_types(tmp_path, types, expected) -> None:
    for path in files_of(natural().astype(types), tmp_path):
        assert read(path) == expected


@pytest.mark.parametrize("encoding", [pa.large_string(), pa.string_view()], ids=str)
def test_every_encoding_of_texts(tmp_path, encoding, expected) -> None:
    frame = natural().astype({"fold": "Int64", "task": "Int64"}).astype({"task": "string"})
    table = pa.Table.from_pandas(frame, preserve_index=False)
    for name in ("method", "configuration", "measure", "task"):
        column = table[name].cast(pa.string()).cast(encoding)
        table = table.set_column(table.schema.get_field_index(name), name, column)
    pq.write_table(table, tmp_path / "t.parquet")
    assert read(tmp_path / "t.parquet") == expected


def test_two_values_of_a_switch_are_two_configurations(tmp_path) -> None:
    frame = pd.concat([natural().assign(configuration=on) for on in (False, True)])
    assert frame["configuration"].dtype == bool
    csv, parquet = files_of(frame, tmp_path)
    assert read(parquet) == read(csv)
    configurations = {trial.configuration for trial in open_sources([csv]).histories()}
    assert configurations == {"False", "True"}


def test_accuracies_are_read_digit_for_digit(tmp_path) -> None:
    frame = natural()
    frame["accuracy"] = np.random.default_rng(0).random(len(frame))
    csv, parquet = files_of(frame, tmp_path)
    (trial,) = (t for t in open_sources([csv]).histories() if (t.seed, t.fold) == (1, None))
    of = (frame["seed"] == 1) & frame["fold"].isna() & (frame["measure"] == "novel")
    numbers = frame[of].sort_values(["epoch", "task"])["accuracy"].to_numpy().reshape(2, 3)
    assert (trial.scores["novel", "report"].load() == numbers).all()
    assert read(parquet) == read(csv)


def test_a_trial_diverged_where_its_scores_are_empty_from_there_on(tmp_path) -> None:
    """Whether all of its later rows are there and empty, or one of them."""
    frame = made()
    large = (frame["method"] == "A") & (frame["configuration"] == "large")
    late = large & (frame["seed"] == 0) & (frame["epoch"] > 0)
    never = large & (frame["seed"] == 1)
    lost = frame.assign(accuracy=frame["accuracy"].mask(late | never))
    one_row_each = lost[~(late | never) | (frame["measure"] == "val")]
    whole = open_sources(files_of(frame, tmp_path)[:1]).histories()
    for path in [path for f in (lost, one_row_each) for path in files_of(f, tmp_path)]:
        run = fsl_sweep.load_run(path)
        assert run.complete
        for trial, before in zip(run.histories, whole, strict=True):
            diverged = (trial.method, trial.configuration) == ("A", "large")
            assert (trial.trial, trial.diverged) == (before.trial, diverged)
            expected = ([0], []) if diverged else ([0, 5, 10], [0, 5, 10])
            assert trial.epochs.tolist() == expected[trial.seed]
            kept = len(trial.epochs)
            loss = trial.curves.get("train_loss", np.empty(0))
            assert loss.tolist() == before.curves["train_loss"][:kept].tolist()
            for key, table in trial.scores.items():
                assert table.means.tolist() == before.scores[key].means[:kept].tolist()
            if diverged:
                epoch = 0 if trial.seed else 5
                assert trial.end.reason == f"its scores are empty from epoch {epoch} on"


def refusals(place, frames, load=open_sources) -> str:
    """What both readers say. A CSV's rows are numbered from 2, for its header is its first row."""
    messages = []
    for frame in frames:
        for path in files_of(frame, place):
            with pytest.raises(BadData) as caught:
                load([path])
            assert str(caught.value).startswith(str(path))
            messages.append(str(caught.value).removeprefix(f"{place}/"))
    return "\n".join(messages)


def changed(row, column, value, **columns):
    """The made table with another text in a cell."""
    frame = made(**columns).astype(str)
    frame.loc[row, column] = value
    return frame.fillna("")


def test_what_does_not_fit_is_named_with_its_row(tmp_path, snapshot) -> None:
    f, loss = made(), made()["measure"] == "train_loss"
    spoilt = [
        f.rename(columns={"measure": "mesure"}),
        *(changed(1, "accuracy", value) for value in ("55.2", "-0.1", "inf")),
        changed(3, "measure", "nvel"),
        changed(1, "method", ""),
        pd.concat([f, f.iloc[[1]]]),
        pd.concat([f, f.iloc[1::4].assign(fold=0)]),
        f.drop(index=range(4, 8)),
        f[~loss | (f["method"] == "A")],
        f.assign(task=0),
        f.assign(set="test").iloc[1:4],
        changed(1, "task", "0"),
    ]
    for column, value in (
        *(("seed", True), ("fold", 0.5), ("epoch", float("nan")), ("accuracy", 9.0)),
        *(("accuracy", float("nan")), ("method", "P\x1b[31mN"), ("configuration", "a\nb")),
        ("task", "\u202e7"),
    ):
        frame = natural().assign(**{column: value})
        frame.loc[frame["measure"] == "train_loss", "task"] = None
        spoilt.append(frame)
    # An empty score is no slip only where all of its trial's are empty from that epoch on.
    last = f["epoch"] == 10
    spoilt += [
        changed(1, "accuracy", "nan"),
        f.assign(accuracy=f["accuracy"].mask(f.index == 5)),
        f.assign(accuracy=f["accuracy"].mask(last & (f["measure"] == "novel"))),
    ]
    assert refusals(tmp_path, spoilt) == snapshot


def test_what_does_not_fit_is_named_with_its_benchmark(tmp_path, snapshot) -> None:
    """Rows 0 to 3 are of one benchmark, all others of another."""
    benchmark = ["small"] * 4 + ["big"] * 92
    f = made(benchmark=benchmark).astype(str)
    cells = [("accuracy", "2"), ("epoch", "-1")]
    cells += [("benchmark", name) for name in ("", "a ", "a\x1b")]
    spoilt = [changed(7, *cell, benchmark=benchmark) for cell in cells]
    spoilt += [pd.concat([f, f.iloc[[7]]]), f.drop(index=7)]
    assert refusals(tmp_path, spoilt, sources_by_benchmark) == snapshot


LONG = 5_000_000 * "x"


@pytest.mark.parametrize(
    ("column", "value", "problem"),
    [
        *((name, LONG, "has more than 4,096 characters") for name in ("method", "configuration")),
        ("measure", LONG, "has more than 4,096 characters"),
        *((name, LONG, "must be a whole number") for name in ("seed", "epoch")),
        ("accuracy", LONG, "is not a finite number"),
        (LONG, "", "unknown column 'xxx"),
    ],
)
def test_a_long_cell_is_not_repeated_whole(tmp_path, column, value, problem) -> None:
    frame = made().astype({"seed": object, "epoch": object, "accuracy": object})
    frame.loc[3, column] = value
    frame.to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(BadData) as caught:
        open_sources([tmp_path / "t.csv"])
    assert problem in str(caught.value)
    assert len(str(caught.value)) < 1000


def test_other_tasks_are_refused(tmp_path, snapshot) -> None:
    run = fsl_sweep.load_run(run_folder(tmp_path / "run", (0.1,), (0, 1)))
    table = pd.read_csv(exported(run, tmp_path / "a.csv"), dtype=str)
    other = (table["seed"] == "1") & (table["measure"] == "val") & (table["task"] == "2")
    spoilt = [
        table.assign(task=table["task"].mask(other, "77")),
        table[~(other & (table["epoch"] == "2"))],
        table[table["measure"] != "val"],
    ]
    said = refusals(tmp_path, spoilt).replace(run.histories[0].configuration, "CONFIGURATION")
    assert said == snapshot


def test_a_column_that_is_there_twice_is_named(tmp_path) -> None:
    table = pa.Table.from_pandas(natural(), preserve_index=False)
    pq.write_table(table.append_column("seed", table["seed"]), tmp_path / "t.parquet")
    with pytest.raises(BadData, match='"seed" exists 2 times'):
        open_sources([tmp_path / "t.parquet"])


def drawn_once(rng, tasks: int = 0) -> pd.DataFrame:
    """Two methods that draw nothing and one with three seeds; one configuration and snapshot."""
    rows = []
    for method, level, seeds in (("NCC", 0.6, [None]), ("PT", 0.7, [None]), ("PN", 0.5, range(3))):
        for seed in seeds:
            for task in range(tasks) if tasks else [None]:
                score = np.clip(level + rng.normal(0, 0.02), 0, 1)
                rows += [(method, "x", seed, 1, m, score, task) for m in ("val", "novel")]
    names = ["method", "configuration", "seed", "epoch", "measure", "accuracy", "task"]
    return pd.DataFrame(rows, columns=names).dropna(axis=1, how="all")


@pytest.mark.parametrize("tasks", [0, 50])
def test_an_empty_seed_declares_that_a_method_draws_nothing(tmp_path, tasks) -> None:
    """With tasks two such methods are compared over them, without tasks against seeds only."""
    frame = drawn_once(np.random.default_rng(4), tasks)
    for path in files_of(frame, tmp_path):
        run = fsl_sweep.load_run(path)
        assert {t.method for t in run.histories if t.draws_nothing} == {"NCC", "PT"}
        pairs = run.report(["val"], ["val"]).differences
        verdicts = {(p.a, p.b): (p.result.verdict, p.result.effect.kind) for p in pairs}
        assert verdicts["NCC", "PT"] == ("worse" if tasks else "undecided", "paired")
        assert verdicts["PT", "PN"] == ("better", "seeds")
    frame.loc[frame.index[-1], "seed"] = None
    with pytest.raises(BadData, match=r"row \d+: seed is empty, but other rows of its method have"):
        fsl_sweep.load_run(files_of(frame, tmp_path)[0])


def test_without_tasks_what_scores_chose_decides_nothing(tmp_path) -> None:
    """All seeds share the selection tasks; the last snapshot of one configuration needs none."""
    frame = pd.concat([drawn_once(np.random.default_rng(n)).assign(epoch=n) for n in (1, 2)])
    run = fsl_sweep.load_run(files_of(frame, tmp_path)[0])
    pairs = run.report(["val", "last"], ["val"]).differences
    got = {(str(p.strategy), p.a, p.b): p.result for p in pairs}
    assert got["last / val", "PT", "PN"].verdict == "better"
    assert got["val / val", "PT", "PN"].verdict == "undecided"
    assert "chose on the same tasks" in got["val / val", "PT", "PN"].caution
