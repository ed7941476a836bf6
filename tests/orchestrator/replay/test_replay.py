"""Records from elsewhere, and several runs as one, on the same path as any run."""

import pandas as pd
import pytest
from recorded import TASKS, run_folder, spec
from tables import CHOICE, exported, made, written

import fsl_sweep
from fsl_sweep.orchestrator.errors import ConfigError, RunFolderError
from fsl_sweep.orchestrator.records.measures import MEASURES
from fsl_sweep.orchestrator.records.spec import configuration_of
from fsl_sweep.orchestrator.report import FORMATS
from fsl_sweep.orchestrator.report.formats.as_json import to_plain
from fsl_sweep.orchestrator.report.formats.terminal import to_text


@pytest.fixture
def load(tmp_path):
    return lambda frame: fsl_sweep.load_run(written(frame, tmp_path / "logs.csv"))


@pytest.fixture
def folder(tmp_path):
    """Make a run of one or two learning rates in a folder of that name."""
    return lambda name, *arguments, **options: run_folder(tmp_path / name, *arguments, **options)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_run_as_a_table_gives_the_same_selections(tmp_path, folder, ending) -> None:
    run = fsl_sweep.load_run(folder("run", (0.1, 0.01), (0, 1)))
    replayed = fsl_sweep.load_run(exported(run, tmp_path / f"records.{ending}"))
    names = [*CHOICE, "epoch", "novel", "novel_low", "regret"]
    ours, theirs = run.selections(few=True)[names], replayed.selections()[names]
    pd.testing.assert_frame_equal(ours, theirs, rtol=1e-6)
    report, again = run.report(few=True, bootstrap=20), replayed.report(bootstrap=20)
    assert len(again.resampled) == len(report.resampled) > 0
    assert not any("share tasks" in caution for caution in again.cautions)
    assert replayed.complete


def test_without_tasks_nothing_is_said_over_tasks(load, snapshot) -> None:
    frame = made()
    run = load(frame)
    report = run.report(metric="mixture(0.5)")
    plain = to_plain(report)
    key = ["method", "seed", "configuration", "epoch"]
    best = frame.pivot_table("accuracy", key, "measure").reset_index()
    best = best.loc[best.groupby(["method", "seed"])["val"].idxmax()]
    by_val = [s for s in report.selected.selections if str(s.strategy) == "val / val"]
    expected = best[["method", "seed", "epoch", "novel"]].itertuples(index=False, name=None)
    assert [(s.method, s.seed, s.epoch, s.novel.mean) for s in by_val] == [*expected]
    assert [s.hyperparameters for s in by_val] == best[["configuration"]].to_dict("records")
    for cell in plain["selections"]:
        assert {cell[m][part] for m in MEASURES for part in ("low", "high", "n")} == {None}
    rows = run.selections()
    assert rows[[f"{m}_{end}" for m in MEASURES for end in ("low", "high")]].isna().all(axis=None)
    # Over the two seeds there are intervals.
    assert all(cell["novel"]["n"] == 2 and cell["novel"]["low"] for cell in plain["summary"])
    assert all(len(s.novel_tasks) == len(s.base_tasks) == 0 for s in report.selected.selections)
    assert {cell["novel_tasks"] for cell in plain["summary"]} == {None}
    assert {cell["tasks"] for cell in plain["mixture"]["summary"]} == {None}
    assert (plain["comparisons"], report.resampled) == ([], ())
    ours = [caution for caution in report.cautions if caution.startswith("logs.csv")]
    assert "\n".join(ours) == snapshot
    for options, error, message in (
        ({"bootstrap": 10}, ConfigError, "no per-task rows"),
        ({"classes": True}, RunFolderError, "class tuples"),
    ):
        with pytest.raises(error, match=message):
            run.report(**options)
    with pytest.raises(RunFolderError, match="needs one run folder"):
        _ = run.path


def test_one_task_is_a_task_but_has_no_interval(load) -> None:
    frame = made(task="only")
    frame.loc[frame["measure"] == "train_loss", "task"] = ""
    plain = to_plain(load(frame).report(bootstrap=0))
    novel = [cell["novel"] for cell in plain["selections"]]
    assert {(one["low"], one["high"], one["n"]) for one in novel} == {(None, None, 1)}
    assert plain["comparisons"] == []
    assert {cell["novel_tasks"] for cell in plain["summary"]} == {None}


def test_a_missing_seed_is_named_and_left_out(load) -> None:
    frame = made()
    gone = (frame["method"] == "A") & (frame["configuration"] == "large") & (frame["seed"] == 1)
    report = load(frame[~gone]).report()
    assert not report.completeness.complete
    (problem,) = report.completeness.problems
    assert (problem.method, problem.seed, problem.reason) == ("A", 1, "not run")
    # What is reported of A is of its complete seed only.
    seeds = {s.method: {c.seed for c in s.choices} for s in report.summaries}
    assert seeds["A"] == seeds["B"] - {1}


ALL = "train_loss base val novel"


@pytest.mark.parametrize(
    ("full", "fold", "snapshot", "hyperparameter"),
    [
        (ALL, "val", "last train_loss base val oracle", "base val oracle cv(aligned)"),
        (ALL, "base val novel", "last train_loss base val oracle", "base val oracle cv(aligned)"),
        (ALL, ALL, "last train_loss base val oracle", "base val oracle cv"),
        ("base val novel", "base val novel", "last base val oracle", "base val oracle cv"),
        (*["train_loss val novel"] * 2, "last train_loss val oracle", "val oracle cv"),
    ],
)
def test_folds_select_by_cv(load, full, fold, snapshot, hyperparameter) -> None:
    """Without every measure of the full trials no snapshot can be selected within a fold."""
    full, rows = (made()[lambda f, m=m: f["measure"].isin(m.split())] for m in (full, fold))
    folds = [rows.assign(fold=k, accuracy=k * rows["accuracy"]) for k in (0, 1)]
    run = load(pd.concat([full, *folds]))
    assert run.question().snapshot == tuple(snapshot.split())
    assert run.question().hyperparameter == tuple(hyperparameter.split())
    assert run.report().left_out == ()
    # The folds' accuracies are the trial's, times a constant: cv must choose as val does.
    chosen = run.report(["val"], ["val", "cv"]).selected.selections
    by_val, by_cv = (
        [(one.trial, one.epoch) for one in chosen if one.strategy.hyperparameter == step]
        for step in ("val", "cv")
    )
    assert len(by_val) == 4
    assert by_val == by_cv


@pytest.mark.usefixtures("undrawn")
def test_what_a_table_does_not_hold_is_not_reported_as_nothing(tmp_path, folder) -> None:
    table = written(made(), tmp_path / "logs.csv")
    report = fsl_sweep.load_run(table).report(bootstrap=0)
    assert report.cost is None
    for form in FORMATS.values():
        text = form(report)
        assert "of measuring" not in text
        assert "not measured yet" not in text
    assert f"sweep {report.info.sweep_hash}, data not known" in to_text(report)
    # Next to a run, whose times are known, the sum is over that run's trials.
    run = folder("run", (0.1,), (0, 1), methods=("Other",))
    for paths, trials in ((run, "all trials."), ([run, table], "those trials whose times were")):
        text = to_text(fsl_sweep.load_run(paths).report(bootstrap=0))
        assert f"6.0 s of training and 3.0 s of measuring, over {trials}" in text


@pytest.mark.slow
def test_runs_with_other_seeds_join_into_what_one_run_gives(folder) -> None:
    complete = fsl_sweep.load_run(folder("complete", (0.1, 0.01), (0, 1, 2)))
    first, second = folder("first", (0.1, 0.01), (2, 0)), folder("second", (0.1, 0.01), (1,))
    merged = fsl_sweep.load_run([first, second])
    ours, theirs = (to_plain(run.report(bootstrap=20)) for run in (merged, complete))
    for part in ("summary", "selections", "comparisons"):
        assert ours[part] == theirs[part]
    assert ours["run"]["name"] == "first + second"
    other_way = fsl_sweep.load_run([second, first]).report(bootstrap=20)
    assert to_plain(other_way)["summary"] == theirs["summary"]
    trial = merged.histories[1].trial
    assert merged.snapshot_path(trial, 2) == second / f"trials/{trial}/snapshots/0002.safetensors"


def test_a_trial_that_two_runs_hold_is_taken_once(folder) -> None:
    first, second = folder("first", (0.1, 0.01), (0,)), folder("second", (0.1,), (0,))
    merged = fsl_sweep.load_run([second, first])
    assert {one.hyperparameters["optimizer.lr"] for one in merged.histories} == {0.1, 0.01}
    assert len(merged.histories) == 2
    (first / "trials" / spec(0.1, 0).id / "end.json").unlink()
    assert fsl_sweep.load_run([first, second]).complete


def test_what_cannot_be_reported_as_one_is_refused(tmp_path, folder) -> None:
    first, conflict = folder("first", (0.1,), (0,)), folder("second", (0.1,), (0,), shift=1)
    other_tasks = folder("tasks", (0.1,), (1,), tasks=7)
    table = exported(fsl_sweep.load_run(first), tmp_path / "t.csv")
    for other, message in (
        (conflict, r"different records of the same trial .*epoch 1"),
        (other_tasks, r"\(evaluation\.selection_tasks: 6 and 7\)"),
        (table, "has tasks of its own"),
    ):
        with pytest.raises(RunFolderError, match=message):
            _ = fsl_sweep.load_run([first, other]).histories


def test_configurations_of_two_runs_are_distinguished_and_missing_trials_named(folder) -> None:
    merged = fsl_sweep.load_run([folder("a", (0.1,), (0, 1)), folder("b", (0.01,), (0,))])
    assert len({repr(one.hyperparameters) for one in merged.histories}) == 2
    assert not merged.complete
    (missing,) = [one for one in merged.histories if one.end is None]
    assert (missing.seed, missing.configuration) == (1, configuration_of(spec(0.01, 0).canonical()))


def test_methods_are_paired_where_their_tasks_are_known_to_be_the_same(tmp_path, folder) -> None:
    run = folder("run", (0.1, 0.01), (0, 1))
    table = exported(fsl_sweep.load_run(run), tmp_path / "a.csv")
    other = pd.read_csv(table, dtype=str, keep_default_na=False).assign(method="B")
    merged = fsl_sweep.load_run([table, written(other, tmp_path / "b.csv")])
    assert len(merged.report(["val"], ["val"], bootstrap=0).comparisons) == 1
    # A run and a table without tasks are not.
    report = fsl_sweep.load_run([run, written(made(), tmp_path / "logs.csv")]).report()
    plain = to_plain(report)
    counts = {(cell["method"], cell["novel"]["n"]) for cell in plain["selections"]}
    assert counts == {("PN", TASKS), ("A", None), ("B", None)}
    assert plain["comparisons"] == []
    assert any("not known: differences between them" in c for c in report.cautions)
