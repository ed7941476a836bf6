import json
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


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = run_folder(
        tmp_path / "run", (0.1, 0.01), (0, 1), tasks=20, cautions=("The plan warns.",)
    )
    note = {"machines": [{"packages": {"torch": "2.13.0"}}]}
    Ledger(path).folder.write_json("environment.json", note)
    return path


def test_records(folder: Path) -> None:
    run = fsl_sweep.load_run(folder)
    frame = run.records()
    assert run.complete
    assert len(frame) == 4 * 3
    assert set(frame["optimizer.lr"]) == {0.1, 0.01}
    assert frame["epoch"].tolist() == [1, 2, 3] * 4
    first = run.histories[0]
    assert frame["novel_report"].tolist()[:3] == first.scores["novel", "report"].means.tolist()
    assert set(frame["status"]) == {"done"}


@pytest.mark.parametrize("large", [True, False])
def test_a_damaged_file_of_tasks_is_named(folder: Path, monkeypatch, large: bool) -> None:
    """Of a large run, only where a number needs it: the means of a trial are in its end."""
    monkeypatch.setattr("fsl_sweep.orchestrator.replay.folder.CHECKED", 0 if large else 4)
    whole = FORMATS["json"](fsl_sweep.load_run(folder).report(["val"], ["val"], bootstrap=0))
    used = {one["trial"] for one in json.loads(whole)["selections"]}
    assert len(used) == 2
    for trial in Ledger(folder).trial_ids():
        copy = Path(shutil.copytree(folder, folder.with_name(trial)))
        (path,) = copy.glob(f"trials/{trial}/measured/*.parquet")
        flip(path)
        run = fsl_sweep.load_run(copy)
        found = run.report(["val"], ["val"], bootstrap=0)
        named = trial in used or not large
        assert found.completeness.complete == run.complete == (not named)
        assert (FORMATS["json"](found) == whole) == (not named)
        assert (path.name in str(found.left_out)) == named


def test_the_answer_reads_only_the_tasks_that_it_needs(folder: Path, monkeypatch) -> None:
    monkeypatch.setattr("fsl_sweep.orchestrator.replay.folder.CHECKED", 0)
    by = ["val", "base"], ["val", "base"]
    whole = fsl_sweep.load_run(folder).report(*by, bootstrap=0)
    lead = {one.trial for one in whole.selected.selections if one.strategy == whole.lead}
    (other, *_) = {one.trial for one in whole.selected.selections} - lead
    copy = Path(shutil.copytree(folder, folder.with_name("copy")))
    (path,) = copy.glob(f"trials/{other}/measured/*.parquet")
    flip(path)
    run = fsl_sweep.load_run(copy)
    assert run.report(*by, bootstrap=0, at_once=False).answer == whole.answer
    assert path.name in str(run.report(*by, bootstrap=0).left_out)


def test_frames_without_rows_have_their_columns(folder: Path) -> None:
    run = fsl_sweep.load_run(folder)
    full, none = run.selections(["val"], ["val"]), run.selections(["val"], ["pareto"])
    assert len(none) == 0
    assert none.columns.tolist() == full.columns.tolist()
    full = run.records()
    shutil.rmtree(folder / "trials")
    none = fsl_sweep.load_run(folder).records()
    assert len(none) == 0
    assert none.columns.tolist() == full.columns.tolist()


def test_the_most_resamples_are_as_many_as_is_said(folder: Path, monkeypatch) -> None:
    asked: list[int] = []
    monkeypatch.setattr(
        "fsl_sweep.orchestrator.report.build", lambda *_, bootstrap, **__: asked.append(bootstrap)
    )
    fsl_sweep.load_run(folder).report(bootstrap=1_000_000, at_once=False)
    assert asked == [1_000_000]
    for count in (1_000_001, 1, -1):
        with pytest.raises(ConfigError, match="give 0 for none, or 2 to 1,000,000"):
            fsl_sweep.load_run(folder).report(bootstrap=count)


def test_selections_and_report_agree(folder: Path) -> None:
    run = fsl_sweep.load_run(folder)
    frame = run.selections(["val", "oracle"], ["val"])
    assert len(frame) == 2 * 2
    assert run.selections(["val", "oracle"], "val").equals(frame)
    report = run.report(["val", "oracle"], ["val"], last=2)
    assert [one.novel.mean for one in report.selected.selections] == frame["novel"].tolist()
    assert frame["oracle"].tolist() == [False, True] * 2
    chosen = frame.iloc[0]
    records = run.records()
    match = records[(records["trial"] == chosen["trial"]) & (records["epoch"] == chosen["epoch"])]
    assert match["novel_report"].item() == pytest.approx(chosen["novel"])
    assert (
        match["val_selection"].item()
        == records[(records["trial"] == chosen["trial"])]["val_selection"].max()
    )
    assert report.info.versions == {"torch": "2.13.0"}
    assert "The plan warns." in report.cautions
    assert run.report().info.snapshot == ("last", "train_loss", "base", "val", "oracle")


def test_snapshot_path(folder: Path) -> None:
    run = fsl_sweep.load_run(folder)
    trial = run.histories[0].trial
    assert run.snapshot_path(trial, 2).read_bytes() == b"weights"
    with pytest.raises(RunFolderError, match="epoch 9"):
        run.snapshot_path(trial, 9)
    with pytest.raises(UnknownName, match="unknown trial"):
        run.snapshot_path("nonsense", 1)


def test_a_damaged_note_stops_nothing(folder: Path) -> None:
    (folder / "environment.json").write_text("{half")
    report = fsl_sweep.load_run(folder).report()
    assert report.info.versions == {}
    assert any("environment.json is damaged" in caution for caution in report.cautions)
    (folder / "environment.json").unlink()
    report = fsl_sweep.load_run(folder).report()
    assert any("environment.json is missing" in caution for caution in report.cautions)


def test_what_is_no_run_is_said(tmp_path: Path) -> None:
    with pytest.raises(RunFolderError, match=r"There is nothing at .*absent; give the folder"):
        fsl_sweep.load_run(tmp_path / "absent")
    with pytest.raises(RunFolderError, match=r"no plan\.json"):
        fsl_sweep.load_run(tmp_path)


def test_reading_runs_imports_no_torch_no_ray_and_matplotlib_only_to_draw(
    folder: Path, tmp_path: Path
) -> None:
    table = tmp_path / "logs.csv"
    rows = [f"A,x,0,{epoch},{m},0.5" for epoch in (1, 2) for m in MEASURES]
    table.write_text("\n".join(["method,configuration,seed,epoch,measure,accuracy", *rows]))
    program = (
        "import sys, fsl_sweep\n"
        "from pathlib import Path\n"
        "assert 'pandas' not in sys.modules\n"
        "sys.modules.update(dict.fromkeys(['torch', 'ray', 'tensorflow']))\n"
        f"run = fsl_sweep.load_run({str(folder)!r})\n"
        "from fsl_sweep.orchestrator.report import to_json, to_text\n"
        "to_json(run.report()), to_text(run.report())\n"
        "from fsl_sweep.orchestrator.report import plots\n"
        "from fsl_sweep.orchestrator.tensorboard import rebuild\n"
        f"rebuild(Path({str(tmp_path / 'view')!r}), run.histories)\n"
        "assert not {'pandas', 'matplotlib'} & {*sys.modules}\n"
        "run.records(), run.selections(), run._repr_html_()\n"
        "import fsl_sweep.orchestrator.testing\n"
        "from fsl_sweep.orchestrator.cli.app import invoke\n"
        f"sys.exit(invoke(['report', {str(folder)!r}, {str(table)!r}]))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "run + logs" in done.stdout
    assert [*(tmp_path / "view").rglob("events*")]


def test_what_a_notebook_shows_of_a_run(folder: Path) -> None:
    page = fsl_sweep.load_run(folder)._repr_html_()
    assert repr(fsl_sweep.load_run(folder)) == "<Run 'run'>"
    assert '<h1>run: complete</h1>\n<p class="good">4 trials planned, 4 done, 0 failed' in page
    assert "protocol main: 5-way 1-shot" in page
    assert len(page) < 10_000
    first = min((folder / "trials").iterdir())
    (first / "end.json").unlink()
    page = fsl_sweep.load_run(folder)._repr_html_()
    assert "<h1>run: INCOMPLETE</h1>" in page
    assert "4 trials planned, 3 done, 0 failed, 1 missing" in page
    assert f", {first.name}): " in page


@pytest.mark.usefixtures("all_resamples")
def test_report_options(folder: Path) -> None:
    run = fsl_sweep.load_run(folder)
    report = run.report(["val"], ["val", "pareto"], metric="mixture(0.5)", bootstrap=7)
    assert report.base_weight == 0.5
    assert report.resampled[0].result.resamples == 7
    assert len(report.selected.fronts) == 2
    assert run.report(bootstrap=0).resampled == ()
    assert run.report().resampled[0].result.resamples == 1000
    for wrong in (1, -3):
        with pytest.raises(ConfigError, match="--bootstrap"):
            run.report(bootstrap=wrong)
    with pytest.raises(UnknownName, match="metric"):
        run.report(metric="accuracy")


@pytest.mark.usefixtures("undrawn")
def test_classes_are_resampled_from_the_recorded_tuples(folder: Path) -> None:
    run = fsl_sweep.load_run(folder)
    with pytest.raises(RunFolderError, match=r"base-selection\.json is missing"):
        run.report(classes=True)
    name = f"{TUPLES}/base-selection.json"
    forge(folder, name, {"classes": [[0, 1], [2]]})
    with pytest.raises(RunFolderError, match=r"base-selection\.json holds no class tuples"):
        run.report(classes=True)
    (folder / name).write_bytes((folder / name).read_bytes().replace(b"2", b"3"))
    with pytest.raises(RunFolderError, match=r"base-selection\.json is damaged \(its checksum"):
        run.report(classes=True)
    generator = np.random.default_rng(0)
    ledger = Ledger(folder)
    for measure in MEASURES:
        for task_set in TASK_SETS:
            tuples = [generator.permutation(9)[:5].tolist() for _ in range(20)]
            ledger.folder.write_json(f"{TUPLES}/{measure}-{task_set}.json", {"classes": tuples})
    report = run.report(["val"], ["val"], bootstrap=20, classes=True)
    assert {cell.result.over for cell in report.resampled} == {"classes"}
    # Whoever keeps the report can tell what was resampled, in every format.
    for form in ("terminal", "markdown", "latex", "html"):
        text = " ".join(FORMATS[form](report).split())
        assert "resamples tasks and classes." in text
        usual = run.report(["val"], ["val"], bootstrap=20)
        assert "tasks and classes" not in " ".join(FORMATS[form](usual).split())
    assert run.class_tuples()["novel", "report"].shape == (20, 5)
    all_of_them = {"classes": [generator.permutation(5).tolist() for _ in range(20)]}
    for task_set in TASK_SETS:
        ledger.folder.write_json(f"{TUPLES}/novel-{task_set}.json", all_of_them)
    with pytest.raises(RunFolderError, match="cannot be resampled"):
        run.report(["val"], ["val"], bootstrap=20, classes=True)
    ledger.folder.write_json(f"{TUPLES}/novel-report.json", {"classes": [[1, 2], [1, 2, 3]]})
    with pytest.raises(RunFolderError, match=r"novel-report\.json"):
        run.report(classes=True)


def test_the_metric_of_the_sweep_file_is_used(folder: Path) -> None:
    plain = json.loads((folder / "plan.json").read_text())
    assert "metric" not in plain["selectors"]
    plain["selectors"]["metric"] = "mixture(0.75)"
    forge(folder, "plan.json", plain)
    assert fsl_sweep.load_run(folder).report(bootstrap=0).base_weight == 0.75
