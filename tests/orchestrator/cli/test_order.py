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
from fsl_sweep.orchestrator.ledger.ledger import Ledger
from fsl_sweep.orchestrator.planning.prepare import Prepared
from fsl_sweep.orchestrator.report.formats.as_json import to_json, to_plain
from fsl_sweep.orchestrator.run import load_run
from fsl_sweep.orchestrator.sweep import execute
from fsl_sweep.orchestrator.text.printed import on_disk

PN_ONLY = TINY.replace("  RR: {learner: {name: ridge}}\n", "")
ONE = PN_ONLY.replace("{grid: [1, 2]}", "1").replace("seeds: [0, 1]", "seeds: [0]")
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
    return steps


@pytest.fixture
def run(steps, capsys):
    """Run a sweep file, or the one before; give the exit code, what is shown, and the steps."""

    def run(text=None, *options):
        if text is not None:
            Path("s.yaml").write_text(text)
        steps.clear()
        code = invoke(["run", "s.yaml", *options])
        return code, *capsys.readouterr(), steps

    return run


def plain():
    return to_plain(load_run(RUN).report())


def test_ray_starts_while_the_data_is_opened_and_the_report_is_built_once(run):
    code, first, told, steps = run(ONE)
    assert (code, steps) == (0, ["Ray starts", "data", "trials", "Ray ends", "report"])
    # After the first epoch, and not again.
    size = next(RUN.glob("trials/*/snapshots/0001.*")).stat().st_size
    said = f"A snapshot of PN takes {on_disk(size)} on the disk, and all 3 of this run about "
    assert told.splitlines()[2].startswith(f"{said}{on_disk(3 * size)}.")
    assert told.count("on the disk") == 1
    code, again, told, steps = run()
    assert (code, steps, again, told) == (0, ["data", "report"], first, "")


def test_a_larger_network_is_said_again_and_what_is_not_kept(run):
    larger = "  RR: {learner: {name: ridge}, backbone: {width: 16}}\n"
    _, _, told, _ = run(f"{ONE}keep: last\n".replace("seeds", f"{larger}seeds"))
    small, large = (line for line in told.splitlines() if "on the disk" in line)
    sizes = dict.fromkeys(("PN", "RR"), 0)
    for trial in Ledger(RUN).planned().trials:
        (path,) = RUN.glob(f"trials/{trial.id}/snapshots/0003.*")
        sizes[trial.method] = path.stat().st_size
    takes = "A snapshot of {} takes {} on the disk, and all 6 of this run about {}, of which "
    assert small.startswith(takes.format("PN", on_disk(sizes["PN"]), on_disk(6 * sizes["PN"])))
    total = on_disk(3 * sum(sizes.values()))
    state = max(path.stat().st_size for path in RUN.glob("trials/*/resume.state"))
    assert large == (
        f"{takes.format('RR', on_disk(sizes['RR']), total)}`keep: last` leaves fewer. The state "
        f"that each trial goes on from takes {on_disk(state)} more."
    )
    _, out, _, _ = run(None, "--dry-run")
    assert "weights: how much they take is said after the first epoch (keep: last)\n" in out


def test_ray_does_not_outlive_a_mistake_that_is_found_later(run):
    code, *_, steps = run(ONE, "--set", "episode.way=5000")
    assert (code, steps) == (2, ["Ray starts", "data", "Ray ends"])


class Heard(list):
    def started(self, trial):
        self.append(0)

    def measured(self, trial, record):
        self.append(record.epoch)

    def ended(self, trial, end):
        self.append(end.status)


def test_a_sweep_runs_from_python_as_it_does_from_the_command_line(run, steps, tmp_path, capsys):
    assert run(ONE)[0] == 0
    by_command = to_json(fsl_sweep.load_run(RUN).report())
    steps.clear()
    heard, content = Heard(), yaml.safe_load(ONE)
    there = fsl_sweep.run_sweep(content, tmp_path / "run", listeners=[heard])
    assert steps == ["Ray starts", "data", "trials", "Ray ends"]
    assert heard == [0, 1, 2, 3, "done"]
    assert to_json(there.report()) == by_command
    assert there.path == tmp_path / "run"
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


def test_a_changed_file_runs_only_the_new_trials(run):
    text = TINY.replace("seeds: [0, 1]", "seeds: [0]")
    code, _, told, _ = run(text)
    assert (code, plain()["run"]["complete"], plain()["run"]["planned"]) == (0, True, 4)
    assert len(plain()["selections"]) == 2 * 5
    written = ends()
    assert len(written) == 4
    # One line an epoch, and one for each end.
    assert (told.count("  3/3  loss "), told.count(" done  (")) == (4, 4)
    code, _, told, _ = run(text.replace("grid: [1, 2]", "grid: [2, 3]"))
    assert code == 0
    assert "2 trials are no longer planned and left out of the report" in told
    again = ends()
    assert {t: again[t] for t in written} == written
    assert len(again) == 4 + 2
    assert plain()["run"]["planned"] == 4
    code, dry, *_ = run(None, "--dry-run", "--only", "PN")
    assert (code, dry.count("no longer planned")) == (0, 2)
    assert "done already: 4; to run: 0" in dry
    _, dry, *_ = run(text, "--dry-run", "--only", "PN", "--set", "seeds=[1]")
    assert "done already: 0; to run: 2; not in --only: 2" in dry


class StopsHalfway(Heard):
    def ended(self, trial, end):
        super().ended(trial, end)
        if self.count("done") == 6:
            raise KeyboardInterrupt


@pytest.mark.usefixtures("steps")
def test_an_interrupted_run_compares_the_seeds_that_are_whole():
    """Trials run seed by seed: after half of them every method has its first seed."""
    text = PN_ONLY.replace("[0, 1]\nres", "[7, 0]\nres") + "cross_validation: {folds: 2}\n"
    with pytest.raises(KeyboardInterrupt):
        fsl_sweep.run_sweep(yaml.safe_load(text), RUN, listeners=[StopsHalfway()])
    halfway = plain()
    assert (halfway["run"]["planned"], halfway["run"]["done"]) == (12, 6)
    assert {(s["seed"], s["hyperparameter_selector"]) for s in halfway["selections"]} >= {(7, "cv")}
    # The plan, and so the numbers of trials, are those of the file.
    seeds = [trial.spec.seed for trial in Ledger(RUN).planned().trials]
    assert seeds == [7, 7, 7, 0, 0, 0] * 2


def test_class_folds_are_trials_like_others_and_a_lost_one_is_named(run):
    text = PN_ONLY.replace("[0, 1]\nres", "[0]\nres").replace("epochs: 3", "epochs: 2")
    code, _, told, _ = run(text + "cross_validation: {folds: 2, over: base+val}\n")
    assert code == 0
    assert "seed=0 fold=1  2/2  loss " in told
    whole = plain()
    assert (whole["run"]["planned"], whole["run"]["complete"]) == (2 * (1 + 2), True)
    assert len(whole["selections"]) == 6
    assert len(list(RUN.glob("tasks/*/*"))) == 6 * 3
    trials = json.loads((RUN / "plan.json").read_text())["trials"]
    full = {trial["id"] for trial in trials[::3]}
    assert {selection["trial"] for selection in whole["selections"]} <= full

    assert trials[2]["spec"]["fold"]["index"] == 1
    shutil.rmtree(RUN / "trials" / trials[2]["id"])
    torn = plain()
    assert (torn["run"]["planned"], torn["run"]["done"]) == (6, 5)
    assert [(g["fold"], g["trial"], g["reason"]) for g in torn["run"]["left_out"]] == [
        (1, trials[2]["id"], "fold 1: not run")
    ]
    assert torn["summary"] == [cell for cell in whole["summary"] if not reads_folds(cell)]
    assert len(torn["summary"]) == 5

    assert invoke(["trial", "s.yaml", "--index", "2", "-o", str(RUN)]) == 0
    assert plain() == whole


def reads_folds(cell):
    return cell["snapshot_selector"] == "cv-epoch" or cell["hyperparameter_selector"] == "cv"


def test_a_diverging_method_is_an_outcome_and_named(run, capsys):
    diverging = "  RR: {optimizer: {lr: 1.0e+30}, learner: {name: ridge}}\n"
    code, shown, said, _ = run(ONE.replace("seeds", f"{diverging}seeds"))
    assert code == 0
    assert "RR seed=0  diverged: the training loss became nan in epoch 1" in said
    assert "RR diverged in every seed and has no result." in " ".join(shown.split())
    assert (plain()["run"]["complete"], plain()["run"]["diverged"]) == (True, 1)
    assert {s["method"] for s in plain()["summary"] if s["novel"]} == {"PN"}
    assert invoke(["status", str(RUN)]) == 0
    assert capsys.readouterr().out.count("the training loss became nan") == 1
    # It would end the same way, so that it is not run again.
    code, again, _, steps = run()
    assert (code, again, steps) == (0, shown, ["data", "report"])
    assert invoke(["trial", "s.yaml", "--index", "1", "-o", str(RUN)]) == 0
    assert "RR seed=0: diverged: the training loss" in capsys.readouterr().out


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
def test_trials_run_without_ray_and_reports_without_torch_and_ray(run):
    code, at_the_end, *_ = run(ONE)
    assert code == 0
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
