"""What ``run`` does and in which order, with trials run in this process in place of Ray."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from commands import TINY, WithoutRay

import fsl_sweep
from fsl_sweep.orchestrator import report
from fsl_sweep.orchestrator.cli import invoke
from fsl_sweep.orchestrator.errors import ConfigError
from fsl_sweep.orchestrator.planning.prepare import Prepared
from fsl_sweep.orchestrator.report.formats.as_json import to_json, to_plain
from fsl_sweep.orchestrator.run import load_run
from fsl_sweep.orchestrator.sweep import execute

BOTH = TINY.replace("{grid: [1, 2]}", "1").replace("seeds: [0, 1]", "seeds: [0]")
PN_ONLY = "  RR: {learner: {name: ridge}}\n"
ONE = BOTH.replace(PN_ONLY, "")
RUN = Path("runs/tiny")


@pytest.fixture
def steps(monkeypatch, tmp_path):
    """What a run did, in order."""
    steps = []

    class Noted(WithoutRay):
        def __init__(self, address, trials):
            steps.append("Ray starts")

        def stop(self):
            if "Ray ends" not in steps:
                steps.append("Ray ends")

        def run(self, job, listeners):
            super().run(job, listeners)
            steps.append("trials")

    def noted(name, function):
        def call(*arguments, **options):
            steps.append(name)
            return function(*arguments, **options)

        return call

    monkeypatch.setattr(execute, "RayProcess", Noted)
    monkeypatch.setattr(Prepared, "opened", noted("data", Prepared.opened))
    monkeypatch.setattr(report, "build", noted("report", report.build))
    monkeypatch.chdir(tmp_path)
    Path("s.yaml").write_text(ONE)
    return steps


def plain():
    return to_plain(load_run(RUN).report())


def test_ray_starts_while_the_data_is_opened_and_the_report_is_built_once(steps, capsys):
    assert invoke(["run", "s.yaml"]) == 0
    assert steps == ["Ray starts", "data", "trials", "Ray ends", "report"]
    first = capsys.readouterr().out
    steps.clear()
    assert invoke(["run", "s.yaml"]) == 0
    assert steps == ["data", "report"]
    assert capsys.readouterr().out == first


def test_ray_does_not_outlive_a_mistake_that_is_found_later(steps):
    assert invoke(["run", "s.yaml", "--set", "episode.way=5000"]) == 2
    assert steps == ["Ray starts", "data", "Ray ends"]


class Heard:
    def __init__(self):
        self.epochs = []

    def started(self, trial):
        self.epochs.append(0)

    def measured(self, trial, record):
        self.epochs.append(record.epoch)

    def ended(self, trial, end):
        self.epochs.append(end.status)


def test_a_sweep_runs_from_python_as_it_does_from_the_command_line(steps, tmp_path, capsys):
    assert invoke(["run", "s.yaml"]) == 0
    by_command = to_json(fsl_sweep.load_run(RUN).report())
    capsys.readouterr()
    steps.clear()
    heard, content = Heard(), yaml.safe_load(ONE)
    run = fsl_sweep.run_sweep(content, tmp_path / "run", listeners=[heard])
    assert steps == ["Ray starts", "data", "trials", "Ray ends"]
    assert heard.epochs == [0, 1, 2, 3, "done"]
    assert to_json(run.report()) == by_command
    assert run.path == tmp_path / "run"
    # Nothing is left to run; then a changed sweep leaves a trial out, and says so.
    steps.clear()
    fsl_sweep.run_sweep(tmp_path / "s.yaml", tmp_path / "run")
    assert steps == ["data"]
    with pytest.warns(UserWarning, match="1 trial is no longer planned"):
        fsl_sweep.run_sweep("s.yaml", tmp_path / "run", overrides=["seeds=[1]"])
    with pytest.raises(ConfigError, match="unknown method 'RR'"):
        fsl_sweep.run_sweep(content, only=["RR"])
    with pytest.raises(ConfigError, match="sweep: not plain data"):
        fsl_sweep.run_sweep({**content, "seeds": {0, object()}})
    assert capsys.readouterr() == ("", "")


def ends():
    """When each trial's end was written, by trial."""
    return {p.parent.name: p.stat().st_mtime_ns for p in RUN.glob("trials/*/end.json")}


def test_a_changed_file_runs_only_the_new_trials(steps, capsys):
    text = TINY.replace("seeds: [0, 1]", "seeds: [0]")
    Path("s.yaml").write_text(text)
    assert invoke(["run", "s.yaml"]) == 0
    told = capsys.readouterr().err.splitlines()
    assert (plain()["run"]["complete"], plain()["run"]["planned"]) == (True, 4)
    assert len(plain()["selections"]) == 2 * 5 * 3
    written = ends()
    assert len(written) == 4
    # One line an epoch, and one for each end.
    assert sum("  3/3  loss " in line for line in told) == 4
    assert sum(" done  (" in line for line in told) == 4

    Path("s.yaml").write_text(text.replace("grid: [1, 2]", "grid: [2, 3]"))
    assert invoke(["run", "s.yaml"]) == 0
    told = capsys.readouterr().err
    assert "2 trials are no longer planned and left out of the report" in told
    again = ends()
    assert {t: again[t] for t in written} == written
    assert len(again) == 4 + 2
    assert plain()["run"]["planned"] == 4
    assert invoke(["run", "s.yaml", "--dry-run"]) == 0
    dry = capsys.readouterr().out
    assert "done already: 4; to run: 0" in dry
    assert dry.count("no longer planned") == 2


def test_class_folds_are_trials_like_others_and_a_lost_one_is_named(steps, capsys):
    text = TINY.replace(PN_ONLY, "").replace("[0, 1]\nres", "[0]\nres")
    text = text.replace("epochs: 3", "epochs: 2")
    Path("s.yaml").write_text(text + "cross_validation: {folds: 2, over: base+val}\n")
    assert invoke(["run", "s.yaml"]) == 0
    assert "seed=0 fold=1  2/2  loss " in capsys.readouterr().err
    whole = plain()
    assert (whole["run"]["planned"], whole["run"]["complete"]) == (2 * (1 + 2), True)
    assert len(whole["selections"]) == 6 * 4
    assert len(list(RUN.glob("tasks/*/*"))) == 6 * 3
    trials = json.loads((RUN / "plan.json").read_text())["trials"]
    full = {trial["id"] for trial in trials[::3]}
    assert {one["trial"] for one in whole["selections"]} <= full

    assert trials[2]["spec"]["fold"]["index"] == 1
    shutil.rmtree(RUN / "trials" / trials[2]["id"])
    torn = plain()
    assert (torn["run"]["planned"], torn["run"]["done"]) == (6, 5)
    assert [(g["fold"], g["trial"], g["reason"]) for g in torn["run"]["left_out"]] == [
        (1, trials[2]["id"], "fold 1: not run")
    ]
    assert torn["summary"] == [one for one in whole["summary"] if not reads_folds(one)]
    assert len(torn["summary"]) == 5 * 3

    assert invoke(["trial", "s.yaml", "--index", "2", "-o", str(RUN)]) == 0
    assert plain() == whole


def reads_folds(cell):
    return cell["snapshot_selector"] == "cv-epoch" or cell["hyperparameter_selector"] == "cv"


def test_a_diverging_method_is_reported_first_and_named(steps, capsys):
    Path("s.yaml").write_text(BOTH.replace("RR: {", "RR: {optimizer: {lr: 1.0e+30}, "))
    assert invoke(["run", "s.yaml"]) == 1
    shown = capsys.readouterr().out
    assert "the training loss became nan" in " ".join(shown.split())
    assert (plain()["run"]["complete"], plain()["run"]["failed"]) == (False, 1)
    assert {s["method"] for s in plain()["summary"] if s["novel"]} == {"PN"}
    assert invoke(["status", str(RUN)]) == 1
    assert capsys.readouterr().out.count("the training loss became nan") == 1
    # It would end the same way, so that it is not run again.
    steps.clear()
    assert invoke(["run", "s.yaml"]) == 1
    assert steps == ["data", "report"]
    assert capsys.readouterr().out == shown


WITHOUT = """
import contextlib, io, json, sys
blocked = "torch torchvision ray".split()
class Block:
    def find_spec(self, name, path=None, target=None):
        if any(f"{name}.".startswith(f"{one}.") for one in blocked):
            raise ImportError(f"{name} is blocked")
sys.meta_path.insert(0, Block())
from fsl_sweep.orchestrator.cli import invoke
for command in sys.argv[1:]:
    if command == "with torch":
        blocked[:] = ["ray", "torch._dynamo"]  # torch's compiler
        continue
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = invoke(command.split())
        except ImportError as failed:
            code = str(failed)
    print(json.dumps([code, out.getvalue(), err.getvalue()]))
"""


@pytest.mark.usefixtures("all_resamples")
def test_trials_run_without_ray_and_reports_without_torch_and_ray(steps, capsys):
    assert invoke(["run", "s.yaml"]) == 0
    at_the_end = capsys.readouterr().out
    reports = [f"report runs/tiny{form}" for form in ("", " --format json", " --format html")]
    trial = "trial s.yaml --index 0 -o new"
    lean = [*reports, "status runs/tiny", "plugins", trial]
    # After its only trial nothing is left to run, and `run` starts no Ray.
    commands = [*lean, "with torch", trial, "run s.yaml -o new"]
    program = [sys.executable, "-c", WITHOUT, *commands]
    done = subprocess.run(program, capture_output=True, text=True, timeout=300, check=True)
    shown = [json.loads(line) for line in done.stdout.splitlines()]
    assert [code for code, _, _ in shown] == [0, 0, 0, 0, 0, "torch is blocked", 0, 0], shown
    assert shown[0][1] == at_the_end.replace("`fsl-sweep report runs/tiny --full`", "`--full`")
    for name in ("protonet", "conv4", "torchvision:<model>", "glyphs", "cv-epoch"):
        assert name in shown[4][1]


@pytest.mark.usefixtures("undrawn")
def test_written_reports_are_functions_of_the_records_only(steps, tmp_path):
    """In every format: the same bytes from a copied folder, filters, and the exit code."""
    assert invoke(["run", "s.yaml"]) == 0
    copy = tmp_path / "elsewhere" / "copied"
    shutil.copytree(RUN, copy)

    def written(source, form, code, *options):
        arguments = ["report", str(source), "--format", form, "-o", "written", *options]
        assert invoke(arguments) == code
        return Path("written").read_text()

    formats = ("markdown", "latex", "html")
    for form in formats:
        assert written(RUN, form, 0) == written(copy, form, 0)
    narrow = written(copy, "markdown", 0, "--snapshot", "val", "--hyperparameter", "val")
    assert "val / val" in narrow
    assert "oracle / val" not in narrow
    next(copy.glob("trials/*/end.json")).unlink()
    for form in formats:
        assert "INCOMPLETE" in written(copy, form, 1).splitlines()[0]
