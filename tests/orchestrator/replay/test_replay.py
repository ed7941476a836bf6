"""Records from elsewhere, and several runs as one, on the same path as any run."""

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from recorded import TASKS, run_folder, spec
from tables import exported, made, written

import fsl_sweep
from fsl_sweep.orchestrator.errors import BadData, ConfigError, RunFolderError
from fsl_sweep.orchestrator.records.measures import MEASURES
from fsl_sweep.orchestrator.report import FORMATS, Report
from fsl_sweep.orchestrator.report.formats.as_json import to_plain
from fsl_sweep.orchestrator.report.formats.terminal import to_text
from fsl_sweep.orchestrator.run import Run


def selections(report: Report) -> list[tuple[object, ...]]:
    return [
        (
            *(one["method"], one["seed"], one["snapshot_selector"], one["hyperparameter_selector"]),
            *(one["epoch"], one["novel"]["mean"], one["novel"]["low"], one["regret"]),
        )
        for one in to_plain(report)["selections"]
    ]


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_a_run_told_as_a_table_gives_the_same_selections(tmp_path: Path, ending: str) -> None:
    run = fsl_sweep.load_run(run_folder(tmp_path / "run", (0.1, 0.01), (0, 1)))
    table = exported(run, tmp_path / f"records{ending}")
    replayed = fsl_sweep.load_run(table)
    report, again = run.report(bootstrap=20), replayed.report(bootstrap=20)
    for ours, theirs in zip(selections(report), selections(again), strict=True):
        assert ours == pytest.approx(theirs)
    assert len(again.resampled) == len(report.resampled) > 0
    assert not any("share tasks" in caution for caution in again.cautions)
    assert replayed.complete


Load = Callable[[pd.DataFrame], Run]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    return lambda frame: fsl_sweep.load_run(written(frame, tmp_path / "logs.csv"))


def test_without_tasks_nothing_is_said_over_tasks(load: Load) -> None:
    frame = made()
    run = load(frame)
    report = run.report(metric="mixture(0.5)")
    plain = to_plain(report)
    wide = frame.pivot_table(
        index=["method", "configuration", "seed", "epoch"], columns="measure", values="accuracy"
    ).reset_index()
    for one in plain["selections"]:
        if (one["snapshot_selector"], one["hyperparameter_selector"]) == ("val", "val"):
            own = wide[(wide["method"] == one["method"]) & (wide["seed"] == one["seed"])]
            best = own.loc[own["val"].idxmax()]
            assert one["epoch"] == best["epoch"]
            assert one["novel"]["mean"] == best["novel"]
            assert one["hyperparameters"] == {"configuration": best["configuration"]}
        for measure in ("base", "val", "novel"):
            unknown = {part: one[measure][part] for part in ("low", "high", "n")}
            assert unknown == {"low": None, "high": None, "n": None}
    # Over the two seeds there are intervals.
    assert all(cell["novel"]["n"] == 2 and cell["novel"]["low"] for cell in plain["summary"])
    rows = run.selections()
    assert rows[[f"{m}_{end}" for m in MEASURES for end in ("low", "high")]].isna().all(axis=None)
    assert all(len(s.novel_tasks) == len(s.base_tasks) == 0 for s in report.selected.selections)
    assert plain["comparisons"] == []
    assert all(cell["novel_tasks"] is None for cell in plain["summary"])
    assert all(cell["tasks"] is None for cell in plain["mixture"]["summary"])
    assert report.resampled == ()
    assert any("share tasks" in caution for caution in report.cautions)
    assert any("no per-task rows" in caution for caution in report.cautions)
    with pytest.raises(ConfigError, match="no per-task rows"):
        run.report(bootstrap=10)
    with pytest.raises(RunFolderError, match="class tuples"):
        run.report(classes=True)
    with pytest.raises(RunFolderError, match="needs one run folder"):
        _ = run.path


def test_one_task_is_a_task_but_has_no_interval(load: Load) -> None:
    frame = made(task="only")
    frame.loc[frame["measure"] == "train_loss", "task"] = ""
    plain = to_plain(load(frame).report(bootstrap=0))
    for one in plain["selections"]:
        assert (one["novel"]["low"], one["novel"]["high"], one["novel"]["n"]) == (None, None, 1)
    assert plain["comparisons"] == []
    assert all(cell["novel_tasks"] is None for cell in plain["summary"])


def test_without_training_loss_it_is_not_chosen_by(load: Load) -> None:
    run = load(made()[lambda f: f["measure"] != "train_loss"])
    assert run.question().snapshot == ("last", "base", "val", "oracle")


def test_a_missing_seed_is_named_and_left_out(load: Load) -> None:
    frame = made()
    gone = (frame["method"] == "A") & (frame["configuration"] == "large") & (frame["seed"] == 1)
    report = load(frame[~gone]).report()
    assert not report.completeness.complete
    (problem,) = report.completeness.problems
    assert (problem.method, problem.seed, problem.reason) == ("A", 1, "not run")
    # What is reported of A is of its whole seed only.
    seeds = {s.method: {c.seed for c in s.choices} for s in report.summaries}
    assert seeds["A"] == seeds["B"] - {1}


@pytest.mark.parametrize(
    ("measures", "name"),
    [
        (["val"], "cv(aligned)"),
        (["base", "val", "novel"], "cv(aligned)"),
        (["train_loss", "base", "val", "novel"], "cv"),
    ],
)
def test_folds_select_by_cv(load: Load, measures: list[str], name: str) -> None:
    """Without every measure no snapshot can be selected within a fold."""
    frame = made()
    own = frame[frame["measure"].isin(measures)]
    folds = [own.assign(fold=k, accuracy=k * own["accuracy"]) for k in (0, 1)]
    run = load(pd.concat([frame, *folds]))
    assert run.question().hyperparameter[-1] == name
    assert run.report().left_out == ()
    # The folds' accuracies are the trial's own, times a constant: cv must choose as val does.
    chosen = run.report(["val"], ["val", "cv"]).selected.selections
    by_val, by_cv = (
        [(one.trial, one.epoch) for one in chosen if one.strategy.hyperparameter == step]
        for step in ("val", "cv")
    )
    assert len(by_val) == 4
    assert by_val == by_cv


def test_what_a_table_does_not_tell_is_not_told_as_nothing(tmp_path: Path) -> None:
    table = written(made(), tmp_path / "logs.csv")
    report = fsl_sweep.load_run(table).report(bootstrap=0)
    assert report.cost is None
    for form in FORMATS.values():
        text = form(report)
        assert "of measuring" not in text
        assert "not measured yet" not in text
    assert f"sweep {report.info.sweep_hash}, data not known" in to_text(report)
    # Next to a run, whose times are known, the sum is over that run's trials.
    folder = run_folder(tmp_path / "run", (0.1,), (0, 1), methods=("Other",))
    both = to_text(fsl_sweep.load_run([folder, table]).report(bootstrap=0))
    assert "6.0 s of training and 3.0 s of measuring, over those trials whose times were" in both
    alone = to_text(fsl_sweep.load_run(folder).report(bootstrap=0))
    assert "6.0 s of training and 3.0 s of measuring, over all trials." in alone


def change(row: int, column: str, value: object) -> Callable[[pd.DataFrame], pd.DataFrame]:
    def changed(frame: pd.DataFrame) -> pd.DataFrame:
        frame = frame.astype(object)
        frame.loc[row, column] = value
        return frame

    return changed


BAD: list[tuple[Callable[[pd.DataFrame], pd.DataFrame], str]] = [
    (lambda f: f.rename(columns={"measure": "mesure"}), "unknown column 'mesure'; did you mean"),
    (change(3, "measure", "nvel"), r"row 5: measure 'nvel' is not known; did you mean 'novel'\?"),
    (change(1, "accuracy", "55.2"), r"row 3: accuracy '55.2' .*percentages: divide them by 100"),
    (change(1, "accuracy", "-0.1"), r"row 3: accuracy '-0.1' is outside 0 to 1\.$"),
    (change(0, "accuracy", "inf"), "row 2: accuracy 'inf' is not a finite number"),
    (change(1, "method", ""), "row 3: method is empty"),
    (lambda f: pd.concat([f, f.iloc[[1]]]), "row 98 repeats row 3"),
    (lambda f: pd.concat([f, f.iloc[1::4].assign(fold=0)]), r"fold 0\) has no val at epoch 0"),
    (lambda f: f.drop(index=range(4, 8)), "different epochs: epoch 5 is in only one of them, and"),
    (
        lambda f: f[(f["measure"] != "train_loss") | (f["method"] == "A")],
        "some trials have rows of train_loss",
    ),
    (lambda f: f.assign(task=0), "row 2: task '0' must be empty: it is a row of train_loss"),
    (lambda f: f.assign(set="test").iloc[1:4], "row 2: set 'test' is not known"),
    (change(1, "task", "0"), "row 4: task is empty, but other rows have one"),
]


@pytest.mark.parametrize(("spoil", "message"), BAD, ids=[message for _, message in BAD])
def test_what_does_not_fit_is_told_with_its_row(
    tmp_path: Path, spoil: Callable[[pd.DataFrame], pd.DataFrame], message: str
) -> None:
    path = written(spoil(made()), tmp_path / "logs.csv")
    with pytest.raises(BadData, match=message) as caught:
        fsl_sweep.load_run(path)
    assert str(path) in str(caught.value)


def test_other_tasks_are_refused(tmp_path: Path) -> None:
    run = fsl_sweep.load_run(run_folder(tmp_path / "run", (0.1,), (0, 1)))
    table = pd.read_csv(exported(run, tmp_path / "a.csv"), dtype=str)
    other = (table["seed"] == "1") & (table["measure"] == "val") & (table["task"] == "2")
    path = written(table.assign(task=table["task"].mask(other, "77")), tmp_path / "b.csv")
    with pytest.raises(BadData, match=r"different tasks .val, .* tasks.: task (2|77)"):
        fsl_sweep.load_run(path)
    gap = other & (table["epoch"] == "2")
    with pytest.raises(BadData, match=r"has no val, .* of task 2 at epoch 2"):
        fsl_sweep.load_run(written(table[~gap], tmp_path / "c.csv"))
    with pytest.raises(BadData, match=r"has no val, selection tasks at epoch 1"):
        fsl_sweep.load_run(written(table[table["measure"] != "val"], tmp_path / "d.csv"))


@pytest.mark.slow
def test_runs_with_other_seeds_join_into_what_one_run_gives(tmp_path: Path) -> None:
    whole = fsl_sweep.load_run(run_folder(tmp_path / "whole", (0.1, 0.01), (0, 1, 2)))
    first = run_folder(tmp_path / "first", (0.1, 0.01), (2, 0))
    second = run_folder(tmp_path / "second", (0.1, 0.01), (1,))
    merged = fsl_sweep.load_run([first, second])
    ours, theirs = (to_plain(run.report(bootstrap=20)) for run in (merged, whole))
    for part in ("summary", "selections", "comparisons"):
        assert ours[part] == theirs[part]
    assert ours["run"]["name"] == "first + second"
    other_way = fsl_sweep.load_run([second, first]).report(bootstrap=20)
    assert to_plain(other_way)["summary"] == theirs["summary"]
    trial = merged.histories[1].trial
    assert (
        merged.snapshot_path(trial, 2) == second / "trials" / trial / "snapshots/0002.safetensors"
    )


def test_a_trial_that_two_runs_hold_is_taken_once(tmp_path: Path) -> None:
    first = run_folder(tmp_path / "first", (0.1, 0.01), (0,))
    second = run_folder(tmp_path / "second", (0.1,), (0,))
    merged = fsl_sweep.load_run([second, first])
    assert len(merged.histories) == 2
    assert {one.hyperparameters["optimizer.lr"] for one in merged.histories} == {0.1, 0.01}
    half = first / "trials" / spec(0.1, 0).id / "end.json"
    half.unlink()
    assert fsl_sweep.load_run([first, second]).complete


def test_a_conflict_is_an_error_and_no_average(tmp_path: Path) -> None:
    first = run_folder(tmp_path / "first", (0.1,), (0,))
    second = run_folder(tmp_path / "second", (0.1,), (0,), shift=1)
    with pytest.raises(RunFolderError, match=r"different records of the same trial .*epoch 1"):
        _ = fsl_sweep.load_run([first, second]).histories


def test_runs_that_were_measured_differently_are_refused(tmp_path: Path) -> None:
    first = run_folder(tmp_path / "first", (0.1,), (0,))
    other_tasks = run_folder(tmp_path / "tasks", (0.1,), (1,), tasks=7)
    with pytest.raises(RunFolderError, match=r"\(evaluation\.selection_tasks: 6 and 7\)"):
        fsl_sweep.load_run([first, other_tasks])
    run = fsl_sweep.load_run(first)
    with pytest.raises(RunFolderError, match="has tasks of its own"):
        fsl_sweep.load_run([first, exported(run, tmp_path / "t.csv")])


def test_methods_of_two_tables_with_the_same_tasks_are_paired(tmp_path: Path) -> None:
    run = fsl_sweep.load_run(run_folder(tmp_path / "run", (0.1,), (0, 1)))
    table = pd.read_csv(exported(run, tmp_path / "a.csv"), dtype=str, keep_default_na=False)
    other = table.assign(method="B")
    merged = fsl_sweep.load_run([tmp_path / "a.csv", written(other, tmp_path / "b.csv")])
    assert len(merged.report(["val"], ["val"], bootstrap=0).comparisons) == 1


def test_configurations_of_two_runs_are_told_apart_and_holes_are_named(tmp_path: Path) -> None:
    first = run_folder(tmp_path / "first", (0.1,), (0, 1))
    second = run_folder(tmp_path / "second", (0.01,), (0,))
    merged = fsl_sweep.load_run([first, second])
    labels = [repr(one.hyperparameters) for one in merged.histories]
    assert len(set(labels)) == 2
    assert not merged.complete
    (hole,) = [one for one in merged.histories if one.end is None]
    assert (hole.seed, hole.configuration) == (1, spec(0.01, 0).configuration)


def test_a_table_next_to_a_run_is_not_paired_with_it(tmp_path: Path) -> None:
    run = run_folder(tmp_path / "run", (0.1, 0.01), (0, 1))
    table = written(made(), tmp_path / "logs.csv")
    report = fsl_sweep.load_run([run, table]).report()
    plain = to_plain(report)
    counts = {(one["method"], one["novel"]["n"]) for one in plain["selections"]}
    assert counts == {("PN", TASKS), ("A", None), ("B", None)}
    assert plain["comparisons"] == []
    assert any("not known: differences between them" in c for c in report.cautions)
