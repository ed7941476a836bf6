import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from made import flip, forge
from recorded import protocol, run_folder

import fsl_sweep
from fsl_sweep.orchestrator.errors import ConfigError, RunFolderError, UnknownName
from fsl_sweep.orchestrator.ledger.ledger import Ledger
from fsl_sweep.orchestrator.records.measures import MEASURES, TASK_SETS
from fsl_sweep.orchestrator.report import FORMATS

TUPLES = f"tasks/{protocol(20).id}"
CHECKED = "fsl_sweep.orchestrator.replay.folder.CHECKED"


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("finished") / "run"
    run_folder(path, (0.1, 0.01), (0, 1), tasks=20, cautions=("The plan warns.",))
    note = {"machines": [{"packages": {"torch": "2.13.0"}}]}
    Ledger(path).folder.write_json("environment.json", note)
    return path


@pytest.fixture
def folder(tmp_path: Path, finished: Path) -> Path:
    return Path(shutil.copytree(finished, tmp_path / "run"))


@pytest.fixture(scope="module")
def run(finished: Path):
    return fsl_sweep.load_run(finished)


def damaged_in(folder: Path, trial: str):
    """A copy of the run with a damaged file of tasks, and the name of that file."""
    copy = Path(shutil.copytree(folder, folder.with_name(trial)))
    (path,) = copy.glob(f"trials/{trial}/measured/*.parquet")
    flip(path)
    return fsl_sweep.load_run(copy), path.name


@pytest.mark.parametrize("large", [True, False])
def test_a_damaged_file_of_tasks_is_named(folder: Path, monkeypatch, large: bool) -> None:
    """Of a large run, only where a number needs it: the means of a trial are in its end."""
    monkeypatch.setattr(CHECKED, 0 if large else 4)
    by = ["val", "base"], ["val", "base"]
    complete = fsl_sweep.load_run(folder).report(*by, bootstrap=0)
    as_json = FORMATS["json"](complete)
    used = {one.trial for one in complete.selected.selections}
    lead = {one.trial for one in complete.selected.selections if one.strategy == complete.lead}
    assert lead < used < set(Ledger(folder).trial_ids())
    for trial in Ledger(folder).trial_ids():
        run, name = damaged_in(folder, trial)
        report = run.report(*by, bootstrap=0)
        named = trial in used or not large
        assert report.completeness.complete == run.complete == (not named)
        assert (FORMATS["json"](report) == as_json) == (not named)
        assert (name in str(report.left_out)) == named
        if trial not in lead and large:  # the answer reads only the tasks that it needs
            again = fsl_sweep.load_run(run.path).report(*by, bootstrap=0, at_once=False)
            assert again.answer == complete.answer


def test_frames(run, folder: Path) -> None:
    assert run.complete
    records = run.records()
    assert len(records) == 4 * 3
    assert set(records["optimizer.lr"]) == {0.1, 0.01}
    assert set(records["status"]) == {"done"}
    assert records["epoch"].tolist() == [1, 2, 3] * 4
    means = run.histories[0].scores["novel", "report"].means
    assert records["novel_report"].tolist()[:3] == means.tolist()
    selections = run.selections(["val", "oracle"], ["val"])
    assert len(selections) == 2 * 2
    assert selections["oracle"].tolist() == [False, True] * 2
    assert run.selections(["val", "oracle"], "val").equals(selections)
    report = run.report(["val", "oracle"], ["val"], last=2)
    assert [one.novel.mean for one in report.selected.selections] == selections["novel"].tolist()
    chosen = selections.iloc[0]
    trial = records[records["trial"] == chosen["trial"]].set_index("epoch")
    assert trial.loc[chosen["epoch"], "novel_report"] == pytest.approx(chosen["novel"])
    assert trial.loc[chosen["epoch"], "val_selection"] == trial["val_selection"].max()
    # Frames without rows have their columns.
    none = run.selections(["val"], ["pareto"])
    assert (len(none), none.columns.tolist()) == (0, selections.columns.tolist())
    shutil.rmtree(folder / "trials")
    none = fsl_sweep.load_run(folder).records()
    assert (len(none), none.columns.tolist()) == (0, records.columns.tolist())


def test_what_cannot_be_asked_of_a_run(run) -> None:
    trial = run.histories[0].trial
    assert run.snapshot_path(trial, 2).read_bytes() == b"weights"
    for ask, error, message in (
        (lambda: run.snapshot_path(trial, 9), RunFolderError, "epoch 9"),
        (lambda: run.snapshot_path("nonsense", 1), UnknownName, "unknown trial"),
        (lambda: run.report(metric="accuracy"), UnknownName, "metric"),
    ):
        with pytest.raises(error, match=message):
            ask()
    for count in (1_000_001, 1, -1, -3):
        with pytest.raises(ConfigError, match=r"--bootstrap.*give 0 for none, or 2 to 1,000,000"):
            run.report(bootstrap=count)


def test_reading_runs_imports_no_torch_no_ray_and_matplotlib_only_to_draw(
    folder: Path, tmp_path: Path
) -> None:
    program = f"""
import sys, fsl_sweep
from pathlib import Path
assert 'pandas' not in sys.modules
sys.modules.update(dict.fromkeys(['torch', 'ray', 'tensorflow']))
run = fsl_sweep.load_run({str(folder)!r})
from fsl_sweep.orchestrator.report import to_json, to_text
to_json(run.report()), to_text(run.report())
from fsl_sweep.orchestrator.report import plots
from fsl_sweep.orchestrator.tensorboard import rebuild
rebuild(Path({str(tmp_path / "view")!r}), run.histories)
assert not {{'pandas', 'matplotlib'}} & {{*sys.modules}}
run.records(), run.selections(), run._repr_html_()
import fsl_sweep.orchestrator.testing
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert [*(tmp_path / "view").rglob("events*")]


def test_what_a_notebook_shows_of_a_run(folder: Path, snapshot) -> None:
    """Without the style; and of numbers that they are there."""
    shown = []
    end = folder / "trials" / fsl_sweep.load_run(folder).histories[0].trial / "end.json"
    for harm in (lambda: None, end.unlink):
        harm()
        run = fsl_sweep.load_run(folder)
        assert repr(run) == "<Run 'run'>"
        page = run._repr_html_()
        assert len(page) < 10_000
        page = re.sub(r"(?s)<style>.*?</style>|<svg.*?</svg>", "", page)
        shown.append(re.sub(r"-?\d+\.\d+", "N", page))
    assert re.sub(r"\b[0-9a-f]{16}\b", "ID", "\n".join(shown)) == snapshot


@pytest.mark.usefixtures("all_resamples")
def test_report_options(run, folder: Path) -> None:
    report = run.report(["val"], ["val", "pareto"], metric="mixture(0.5)", bootstrap=7)
    assert report.base_weight == 0.5
    assert report.resampled[0].result.resamples == 7
    assert len(report.selected.fronts) == 2
    assert run.report(bootstrap=0).resampled == ()
    usual = run.report()
    assert usual.resampled[0].result.resamples == 1000
    assert usual.info.snapshot == ("last", "train_loss", "base", "val", "oracle")
    assert usual.info.versions == {"torch": "2.13.0"}
    assert "The plan warns." in usual.cautions
    # The metric of the sweep file is used.
    plain = json.loads((folder / "plan.json").read_text())
    assert "metric" not in plain["selectors"]
    plain["selectors"]["metric"] = "mixture(0.75)"
    forge(folder, "plan.json", plain)
    assert fsl_sweep.load_run(folder).report(bootstrap=0).base_weight == 0.75


@pytest.mark.usefixtures("undrawn")
def test_classes_are_resampled_from_the_recorded_tuples(folder: Path) -> None:
    run = fsl_sweep.load_run(folder)
    generator = np.random.default_rng(0)

    def write(classes: int, *names: str) -> None:
        for name in names:
            tuples = [generator.permutation(classes)[:5].tolist() for _ in range(20)]
            Ledger(folder).folder.write_json(f"{TUPLES}/{name}.json", {"classes": tuples})

    def refused(message: str) -> None:
        with pytest.raises(RunFolderError, match=message):
            run.report(["val"], ["val"], bootstrap=20, classes=True)

    refused(r"base-selection\.json is missing")
    name = f"{TUPLES}/base-selection.json"
    forge(folder, name, {"classes": [[0, 1], [2]]})
    refused(r"base-selection\.json holds no class tuples")
    (folder / name).write_bytes((folder / name).read_bytes().replace(b"2", b"3"))
    refused(r"base-selection\.json is damaged: its checksum")
    write(9, *(f"{measure}-{task_set}" for measure in MEASURES for task_set in TASK_SETS))
    report = run.report(["val"], ["val"], bootstrap=20, classes=True)
    assert {cell.result.over for cell in report.resampled} == {"classes"}
    assert run.class_tuples()["novel", "report"].shape == (20, 5)
    # Whoever keeps the report can tell what was resampled, in every format.
    usual = run.report(["val"], ["val"], bootstrap=20)
    for form in ("terminal", "markdown", "latex", "html"):
        assert "resamples tasks and classes." in " ".join(FORMATS[form](report).split())
        assert "tasks and classes" not in " ".join(FORMATS[form](usual).split())
    write(5, *(f"novel-{task_set}" for task_set in TASK_SETS))  # all of the classes in each
    refused("cannot be resampled")
    forge(folder, f"{TUPLES}/novel-report.json", {"classes": [[1, 2], [1, 2, 3]]})
    refused(r"novel-report\.json")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"rope": 1}, "--rope: 1 is no difference of accuracies; 0.01 is 1 point"),
        ({"rope": "1"}, "rope: must be a number such as 0.01, not '1'"),
        ({"ensembles": 3}, "ensembles: must be a list of whole numbers, such as [3], not 3"),
        ({"rope": None}, "rope: must be a number such as 0.01, not None"),
        ({"metric": 0.5}, "metric: must be a text such as 'mixture(0.5)', not 0.5"),
        ({"snapshot": [["val"]]}, "snapshot: must be a text or a list of texts, not [['val']]"),
        ({"protocol": 5}, "protocol: must be a text, not 5"),
        ({"method": 5}, "method: must be a text or a list of texts, not 5"),
        ({"last": 1}, "last: must be a whole number from 2, not 1"),
        ({"bootstrap": 0.5}, "bootstrap: must be a whole number, not 0.5"),
    ],
)
def test_arguments_are_checked_as_those_of_the_command_line(run, arguments, message) -> None:
    with pytest.raises(ConfigError, match=f"^{re.escape(message)}$"):
        run.report(**arguments)


def test_one_snapshot_selector_chooses(run) -> None:
    message = "snapshot: must be one name, not ['val']"
    with pytest.raises(ConfigError, match=f"^{re.escape(message)}$"):
        run.chosen("PN", ["val"])


@pytest.mark.parametrize("name", ["overrides", "only", "retry"])
def test_a_text_is_no_list_of_texts(name) -> None:
    message = f"{name}: must be a list of texts.*, not 'seeds=\\[0\\]'$"
    with pytest.raises(ConfigError, match=message):
        fsl_sweep.run_sweep("quickstart", **{name: "seeds=[0]"})


def test_numbers_of_numpy_and_sets_of_names_are_arguments(run) -> None:
    asked = run.question(rope=np.float64(0.01), last=np.int64(2), method={"PN"})
    assert (asked.rope, asked.last, asked.methods) == (0.01, 2, {"PN"})
