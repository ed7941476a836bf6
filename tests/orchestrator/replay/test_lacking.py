"""Tables without a measure, and seeds that stopped early: the rest is as if it were there."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from recorded import run_folder
from tables import exported, made, written

import fsl_sweep
from fsl_sweep.orchestrator.errors import BadData, ConfigError, RunFolderError
from fsl_sweep.orchestrator.report import FORMATS
from fsl_sweep.orchestrator.report.figures.figures import figures
from fsl_sweep.orchestrator.report.formats.as_json import to_plain
from fsl_sweep.orchestrator.report.response import responses_of
from fsl_sweep.orchestrator.run import Run

CHOICE = ["method", "seed", "snapshot_selector", "hyperparameter_selector", "trial", "epoch"]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    """A run folder's records, with tasks and both task sets."""
    place = tmp_path_factory.mktemp("whole")
    run = fsl_sweep.load_run(run_folder(place / "run", (0.1, 0.01), (0, 1), methods=("A", "B")))
    return pd.read_csv(exported(run, place / "t.csv"), dtype=str, keep_default_na=False)


def without(frame: pd.DataFrame, measure: str, task_set: str | None = None) -> pd.DataFrame:
    gone = frame["measure"] == measure
    return frame[~(gone & (frame["set"] == task_set) if task_set else gone)]


def load(frame: pd.DataFrame, path: Path) -> Run:
    return fsl_sweep.load_run(written(frame, path))


def told(run: Run, *more: str) -> pd.DataFrame:
    """What the strategies of the run chose, and some of the scores."""
    return run.selections()[[*CHOICE, *more]].set_index(CHOICE)


def test_without_base_all_else_is_the_same(tmp_path: Path, whole: pd.DataFrame) -> None:
    run, full = load(without(whole, "base"), tmp_path / "a.csv"), load(whole, tmp_path / "b.csv")
    names = ["last", "train_loss", "val", "oracle"], ["val", "oracle"]
    assert (run.question().snapshot, run.question().hyperparameter) == tuple(map(tuple, names))
    ours, theirs = run.report(bootstrap=20), full.report(*names, bootstrap=20)
    plain, expected = to_plain(ours), to_plain(theirs)
    for section in ("summary", "selections"):
        for one in plain[section]:
            assert set(one["base"].values()) == {None}
        cells = [[{**one, "base": 0} for one in found[section]] for found in (plain, expected)]
        assert cells[0] == cells[1]
        assert len(cells[0]) > 7
    for section in ("comparisons", "stability", "strategies"):
        assert plain[section] == expected[section]
    lines = [caution for caution in ours.cautions if "BaseGen" in caution]
    assert lines == ["a.csv has no rows of base: what needs its BaseGen is left out."]
    for form in FORMATS.values():
        assert not re.search(r"\bnan\b", form(ours).lower())
    assert set(figures(theirs)) - set(figures(ours)) == {"strategies"}  # the trade-off
    assert responses_of(ours) == responses_of(theirs) != ()
    no_tasks = without(whole, "base").drop(columns=["task", "set"])
    key = [name for name in no_tasks if name != "accuracy"]
    means = no_tasks.astype({"accuracy": float}).groupby(key, sort=False)["accuracy"].mean()
    assert len(load(means.reset_index(), tmp_path / "c.csv").report().summaries) == 2 * 8


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"snapshot": ["base"]}, r"--snapshot: 'base' needs base, which the records do not hold"),
        ({"hyperparameter": ["pareto"]}, r"--hyperparameter: 'pareto' needs base, which"),
        ({"snapshot": ["mixture(0.5)"]}, r"'mixture\(0.5\)' needs base, which"),
        ({"metric": "mixture(0.5)"}, r"--metric: mixture\(0.5\) needs BaseGen"),
    ],
)
def test_what_needs_base_is_refused(tmp_path: Path, asked: dict[str, object], message: str) -> None:
    run = load(made()[lambda f: f["measure"] != "base"], tmp_path / "a.csv")
    with pytest.raises(ConfigError, match=message):
        run.report(**asked)  # pyright: ignore[reportArgumentType]


def test_folds_need_what_the_full_trials_have(tmp_path: Path) -> None:
    frame = made()[lambda f: f["measure"] != "base"]
    folds = [frame.assign(fold=k, accuracy=k * frame["accuracy"]) for k in (0, 1)]
    run = load(pd.concat([frame, *folds]), tmp_path / "a.csv")
    assert run.question().hyperparameter == ("val", "oracle", "cv")
    assert run.report().left_out == ()


def test_without_novel_strategies_choose_and_nothing_is_reported(
    tmp_path: Path, whole: pd.DataFrame
) -> None:
    run, full = load(without(whole, "novel"), tmp_path / "a.csv"), load(whole, tmp_path / "b.csv")
    assert run.question().snapshot == ("last", "train_loss", "base", "val")
    ours, theirs = told(run, "val", "val_low", "base"), told(full, "val", "val_low", "base")
    assert len(ours) == 2 * 2 * 4 * 2
    pd.testing.assert_frame_equal(ours, theirs.loc[ours.index])
    assert told(run, "novel", "novel_low", "regret").isna().all(axis=None)
    assert "a.csv has no rows of novel: what needs its NovelGen" in "\n".join(run.info(run.question()).cautions)
    with pytest.raises(RunFolderError, match=r"A has no rows of novel, so that nothing can be"):
        run.report()
    with pytest.raises(ConfigError, match="'oracle' needs novel"):
        run.selections(["oracle"])
    assert run.chosen("A")[0].snapshot == full.chosen("A")[0].snapshot


def test_novel_classes_that_were_measured_to_report_only(
    tmp_path: Path, whole: pd.DataFrame
) -> None:
    frame = without(without(whole, "novel", "selection"), "val", "report")
    run, full = load(frame, tmp_path / "a.csv"), load(whole, tmp_path / "b.csv")
    report = run.report(bootstrap=20)
    ours, theirs = told(run, "novel", "novel_low"), told(full, "novel", "novel_low")
    pd.testing.assert_frame_equal(ours, theirs.loc[ours.index])
    assert not any(strategy.oracle for strategy in report.selected.strategies)
    assert all(one["regret"] is None for one in to_plain(report)["summary"])
    (line,) = [caution for caution in report.cautions if "no rows" in caution]
    assert line.startswith("a.csv has no rows of val on report tasks and no rows of novel on sele")
    only_chosen_by = load(without(whole, "novel", "report"), tmp_path / "c.csv")
    assert only_chosen_by.question().snapshot[-1] == "oracle"
    with pytest.raises(RunFolderError, match="no rows of novel on report tasks, so that"):
        only_chosen_by.report()


def test_a_measure_is_there_for_all_trials_or_for_none(tmp_path: Path) -> None:
    frame = made()
    gone = (frame["measure"] == "base") & (frame["method"] == "B")
    with pytest.raises(BadData, match=r"B \(configuration small, seed 0\) has no base at epoch 0"):
        load(frame[~gone], tmp_path / "a.csv")
    with pytest.raises(BadData, match=r"A \(configuration small, seed 0\) has no val at epoch 0"):
        load(frame[frame["measure"] != "val"], tmp_path / "b.csv")


def test_two_tables_that_know_different_measures_complete_each_other(
    tmp_path: Path, whole: pd.DataFrame
) -> None:
    full = load(whole, tmp_path / "whole.csv")
    first = written(without(whole, "base"), tmp_path / "a.csv")
    second = written(without(whole, "novel"), tmp_path / "b.csv")
    both = fsl_sweep.load_run([first, second])
    for ours, theirs in zip(both.histories, full.histories, strict=True):
        for pair, table in theirs.scores.items():
            assert np.array_equal(ours.scores[pair].load(), table.load())
    names = ["last", "base", "oracle"], ["val"]
    assert both.report(*names, bootstrap=0).summaries == full.report(*names, bootstrap=0).summaries
    changed = without(whole, "novel").assign(accuracy="0.5")
    with pytest.raises(RunFolderError, match="different records of the same trial"):
        _ = fsl_sweep.load_run([first, written(changed, tmp_path / "c.csv")]).histories
    other = without(whole[whole["method"] == "A"], "base").assign(method="Other")
    beside = fsl_sweep.load_run([tmp_path / "whole.csv", written(other, tmp_path / "d.csv")])
    report = beside.report(["base", "val"], ["val"], bootstrap=0)
    assert [(s.method, str(s.strategy)) for s in report.summaries] == [
        *(("A", "base / val"), ("A", "val / val")),
        *(("B", "base / val"), ("B", "val / val")),
        ("Other", "val / val"),
    ]
    with pytest.raises(ConfigError, match="needs BaseGen"):
        beside.report(metric="mixture(0.5)")


def test_seeds_may_stop_at_epochs_of_their_own(tmp_path: Path) -> None:
    frame = made()
    early = (frame["seed"] == 1) & (frame["configuration"] == "large")
    stopped = frame.assign(epoch=frame["epoch"].mask(early & (frame["epoch"] == 10), 7))
    run = load(stopped, tmp_path / "a.csv")
    assert run.complete
    by_seed = [written(stopped[stopped["seed"] == s], tmp_path / f"{s}.csv") for s in (0, 1)]
    pd.testing.assert_frame_equal(
        run.selections().sort_values(CHOICE, ignore_index=True),
        fsl_sweep.load_run(by_seed).selections().sort_values(CHOICE, ignore_index=True),
    )
    last = run.selections(["last"], ["val"]).set_index(["method", "seed", "configuration"])
    ends = stopped.groupby(["method", "seed", "configuration"])["epoch"].max()
    assert set(ends) == {7, 10}
    assert (last["epoch"] == ends[last.index]).all()
    report = run.report()
    lines = [line for line in report.cautions if "different epochs" in line]
    assert [line.split(" have")[0] for line in lines] == ["a.csv: trials of A, B"]
    for form in FORMATS.values():
        assert form(report)
