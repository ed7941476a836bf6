"""Tables without a measure, and seeds that stopped early: the rest is as if it were there."""

import re

import numpy as np
import pandas as pd
import pytest
from recorded import run_folder
from tables import assert_chose_alike, exported, made, written

import fsl_sweep
from fsl_sweep.orchestrator.errors import BadData, ConfigError, RunFolderError
from fsl_sweep.orchestrator.report import FORMATS
from fsl_sweep.orchestrator.report.figures.figures import figures
from fsl_sweep.orchestrator.report.figures.response import responses_of
from fsl_sweep.orchestrator.report.formats.as_json import to_plain


@pytest.fixture(scope="module")
def complete(tmp_path_factory):
    """A run folder's records, with tasks and both task sets."""
    place = tmp_path_factory.mktemp("complete")
    run = fsl_sweep.load_run(run_folder(place / "run", (0.1, 0.01), (0, 1), methods=("A", "B")))
    return pd.read_csv(exported(run, place / "t.csv"), dtype=str, keep_default_na=False)


@pytest.fixture(scope="module")
def full(complete, tmp_path_factory):
    """The run that they are."""
    return fsl_sweep.load_run(written(complete, tmp_path_factory.mktemp("full") / "full.csv"))


@pytest.fixture
def load(tmp_path):
    return lambda frame, name="a.csv": fsl_sweep.load_run(written(frame, tmp_path / name))


def without(frame: pd.DataFrame, measure: str, task_set: str | None = None) -> pd.DataFrame:
    gone = frame["measure"] == measure
    return frame[~(gone & (frame["set"] == task_set) if task_set else gone)]


def test_without_base_all_else_is_the_same(load, complete, full) -> None:
    run = load(without(complete, "base"))
    names = ["last", "train_loss", "val", "oracle"], ["val", "oracle"]
    assert (run.question().snapshot, run.question().hyperparameter) == tuple(map(tuple, names))
    ours, theirs = run.report("all", bootstrap=20), full.report(*names, bootstrap=20)
    plain, expected = to_plain(ours), to_plain(theirs)
    for section in ("summary", "selections"):
        assert {value for cell in plain[section] for value in cell["base"].values()} == {None}
        cells = [[{**c, "base": 0} for c in report[section]] for report in (plain, expected)]
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
    no_tasks = without(complete, "base").drop(columns=["task", "set"])
    key = [name for name in no_tasks if name != "accuracy"]
    means = no_tasks.astype({"accuracy": float}).groupby(key, sort=False)["accuracy"].mean()
    assert len(load(means.reset_index()).report("all").summaries) == 2 * 8


def test_what_needs_base_is_refused(load) -> None:
    run = load(made()[lambda f: f["measure"] != "base"])
    for options, message in (
        ({"snapshot": ["base"]}, "--snapshot: 'base' needs base, which the records do not hold"),
        ({"snapshot": ["mixture(0.5)"]}, r"'mixture\(0.5\)' needs base, which"),
        ({"hyperparameter": ["pareto"]}, "--hyperparameter: 'pareto' needs base, which"),
        ({"metric": "mixture(0.5)"}, r"--metric: mixture\(0.5\) needs BaseGen"),
    ):
        with pytest.raises(ConfigError, match=message):
            run.report(**options)


def test_without_novel_strategies_choose_and_nothing_is_reported(load, complete, full) -> None:
    run = load(without(complete, "novel"))
    assert run.question().snapshot == ("last", "train_loss", "base", "val")
    assert_chose_alike(run, full, "trial", "epoch", "val", "val_low", "base")
    assert len(run.selections("all")) == 2 * 2 * 4 * 2
    rows = run.selections()
    assert len(rows) == 2 * 2 * 4
    assert rows[["novel", "novel_low", "regret"]].isna().all(axis=None)
    assert "a.csv has no rows of novel: what needs its NovelGen" in "\n".join(
        run.info(run.question()).cautions
    )
    with pytest.raises(RunFolderError, match=r"A has no rows of novel, so that nothing can be"):
        run.report()
    with pytest.raises(ConfigError, match="'oracle' needs novel"):
        run.selections(["oracle"])
    assert run.chosen("A")[0].snapshot.epoch == full.chosen("A")[0].snapshot.epoch


def test_novel_classes_that_were_measured_to_report_only(load, complete, full) -> None:
    run = load(without(without(complete, "novel", "selection"), "val", "report"))
    report = run.report(bootstrap=20)
    assert_chose_alike(run, full, "trial", "epoch", "novel", "novel_low")
    assert not any(strategy.oracle for strategy in report.selected.strategies)
    assert {cell["regret"] for cell in to_plain(report)["summary"]} == {None}
    (line,) = [caution for caution in report.cautions if "no rows" in caution]
    assert line.startswith("a.csv has no rows of val on report tasks and no rows of novel on sele")
    only_chosen_by = load(without(complete, "novel", "report"))
    assert only_chosen_by.question().snapshot[-1] == "oracle"
    with pytest.raises(RunFolderError, match="no rows of novel on report tasks, so that"):
        only_chosen_by.report()


def test_a_measure_is_there_for_all_trials_or_for_none(load) -> None:
    frame = made()
    gone = (frame["measure"] == "base") & (frame["method"] == "B")
    for rows, missing in ((frame[~gone], "B .*has no base"), (without(frame, "val"), "A .*no val")):
        with pytest.raises(BadData, match=rf"{missing} at epoch 0"):
            load(rows)


def test_two_tables_that_know_different_measures_complete_each_other(
    tmp_path, load, complete, full
) -> None:
    first = written(without(complete, "base"), tmp_path / "first.csv")
    second = written(without(complete, "novel"), tmp_path / "second.csv")
    both = fsl_sweep.load_run([first, second])
    for ours, theirs in zip(both.histories, full.histories, strict=True):
        for key, table in theirs.scores.items():
            assert np.array_equal(ours.scores[key].load(), table.load())
    names = ["last", "base", "oracle"], ["val"]
    assert both.report(*names, bootstrap=0).summaries == full.report(*names, bootstrap=0).summaries
    changed = written(without(complete, "novel").assign(accuracy="0.5"), tmp_path / "c.csv")
    with pytest.raises(RunFolderError, match="different records of the same trial"):
        _ = fsl_sweep.load_run([first, changed]).histories
    other = without(complete[complete["method"] == "A"], "base").assign(method="Other")
    tables = written(complete, tmp_path / "complete.csv"), written(other, tmp_path / "other.csv")
    beside = fsl_sweep.load_run(tables)
    report = beside.report(["base", "val"], ["val"], bootstrap=0)
    cells = [(method, f"{name} / val") for method in "AB" for name in ("base", "val")]
    summaries = [(s.method, str(s.strategy)) for s in report.summaries]
    assert summaries == [*cells, ("Other", "val / val")]
    with pytest.raises(ConfigError, match="needs BaseGen"):
        beside.report(metric="mixture(0.5)")


def test_seeds_may_stop_at_different_epochs(tmp_path, load) -> None:
    frame = made()
    early = (frame["seed"] == 1) & (frame["configuration"] == "large")
    stopped = frame.assign(epoch=frame["epoch"].mask(early & (frame["epoch"] == 10), 7))
    run = load(stopped)
    assert run.complete
    by_seed = [written(rows, tmp_path / f"{seed}.csv") for seed, rows in stopped.groupby("seed")]
    assert_chose_alike(run, fsl_sweep.load_run(by_seed))
    last = run.selections(["last"], ["val"]).set_index(["method", "seed", "configuration"])
    ends = stopped.groupby(["method", "seed", "configuration"])["epoch"].max()
    assert set(ends) == {7, 10}
    assert (last["epoch"] == ends[last.index]).all()
    report = run.report()
    lines = [line for line in report.cautions if "different epochs" in line]
    assert [line.split(" have")[0] for line in lines] == ["a.csv: trials of A, B"]
    for form in FORMATS.values():
        assert form(report)
