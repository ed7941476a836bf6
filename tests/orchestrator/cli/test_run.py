"""The whole command, in processes of its own, through real Ray."""

import contextlib
import json
import os
import random
import shutil
import signal
import stat
import subprocess
import sys
import time

import pytest
from commands import TINY, driver_of, in_session, started, wait_for, wait_for_snapshots

from fsl_sweep.orchestrator.cli import invoke
from fsl_sweep.orchestrator.ledger.ledger import Ledger
from fsl_sweep.orchestrator.report.formats.as_json import to_json, to_plain
from fsl_sweep.orchestrator.run import load_run

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("ray")]

TRIALS = 8


@pytest.fixture
def sweep(tmp_path):
    path = tmp_path / "tiny.yaml"
    path.write_text(TINY)
    return path


def command(*arguments, **options):
    program = [sys.executable, "-m", "fsl_sweep.orchestrator.cli", *map(str, arguments)]
    return subprocess.run(program, capture_output=True, text=True, timeout=300, **options)


def report(folder):
    return to_json(load_run(folder).report())


@pytest.fixture
def called(capsys):
    """A command in this process, for what runs no trial: its exit code and its output."""

    def call(*arguments):
        code = invoke([*map(str, arguments)])
        return code, capsys.readouterr().out

    return call


def ends(folder):
    """When each trial's end was written, by trial."""
    return {p.parent.name: p.stat().st_mtime_ns for p in folder.glob("trials/*/end.json")}


def test_a_sweep_runs_once_and_a_changed_file_runs_only_the_new_trials(sweep, tmp_path, called):
    folder = tmp_path / "run"
    first = command("run", sweep, "-o", folder)
    assert first.returncode == 0, first.stderr
    plain = json.loads(report(folder))
    assert plain["run"]["complete"] is True
    assert (plain["run"]["planned"], plain["run"]["done"]) == (TRIALS, TRIALS)
    assert len(plain["selections"]) == 2 * 2 * 5 * 3
    written = ends(folder)
    assert len(written) == TRIALS
    # One line an epoch, and one for each end.
    assert sum("  3/3  loss " in line for line in first.stderr.splitlines()) == TRIALS
    assert sum(" done  (" in line for line in first.stderr.splitlines()) == TRIALS

    assert called("run", sweep, "-o", folder) == (0, first.stdout)
    assert ends(folder) == written

    sweep.write_text(TINY.replace("grid: [1, 2]", "grid: [2, 3]"))
    third = command("run", sweep, "-o", folder)
    assert third.returncode == 0, third.stderr
    assert "4 trials are no longer planned and left out of the report" in third.stderr
    again = ends(folder)
    assert {t: again[t] for t in written} == written
    assert len(again) == TRIALS + 4
    assert json.loads(report(folder))["run"]["planned"] == TRIALS
    _, dry = called("run", sweep, "-o", folder, "--dry-run")
    assert "done already: 8; to run: 0" in dry
    assert dry.count("no longer planned") == 4


def test_class_folds_are_trials_like_others_and_a_lost_one_is_named(sweep, tmp_path, called):
    text = TINY.replace("  RR: {learner: {name: ridge}}\n", "").replace("[0, 1]\nres", "[0]\nres")
    text = text.replace("epochs: 3", "epochs: 2")
    sweep.write_text(text + "cross_validation: {folds: 2, over: base+val}\n")
    folder = tmp_path / "run"
    first = command("run", sweep, "-o", folder)
    assert first.returncode == 0, first.stderr
    assert "seed=0 fold=1  2/2  loss " in first.stderr
    whole = to_json(load_run(folder).report())
    plain = json.loads(whole)
    assert (plain["run"]["planned"], plain["run"]["complete"]) == (2 * (1 + 2), True)
    assert len(plain["selections"]) == 6 * 4
    assert len(list((folder / "tasks").iterdir())) == 6 * 3
    full = {t["id"] for t in json.loads((folder / "plan.json").read_text())["trials"][::3]}
    assert {one["trial"] for one in plain["selections"]} <= full

    lost = json.loads((folder / "plan.json").read_text())["trials"][2]
    assert lost["spec"]["fold"]["index"] == 1
    shutil.rmtree(folder / "trials" / lost["id"])
    torn = to_plain(load_run(folder).report())
    assert (torn["run"]["planned"], torn["run"]["done"]) == (6, 5)
    assert [(g["fold"], g["trial"], g["reason"]) for g in torn["run"]["left_out"]] == [
        (1, lost["id"], "fold 1: not run")
    ]
    assert torn["summary"] == [one for one in plain["summary"] if not reads_folds(one)]
    assert len(torn["summary"]) == 5 * 3

    assert called("trial", sweep, "--index", 2, "-o", folder)[0] == 0
    assert to_json(load_run(folder).report()) == whole


def reads_folds(cell):
    return cell["snapshot_selector"] == "cv-epoch" or cell["hyperparameter_selector"] == "cv"


def test_killed_and_stopped_at_random_moments_the_report_is_the_same_to_the_byte(
    sweep, tmp_path, place
):
    """Signals that ask, and kills of the command and of all of Ray; each time nothing is left."""
    undisturbed, disturbed = tmp_path / "undisturbed", tmp_path / "disturbed"
    assert command("run", sweep, "-o", undisturbed).returncode == 0
    rng = random.Random(os.environ.get("FSL_TINY_KILL_SEED", "0"))
    interrupted = 0
    for number, name in enumerate(("SIGTERM", "SIGKILL", "SIGHUP", "ALL", "SIGINT")):
        before = len([*disturbed.glob("trials/*/snapshots/[0-9]*")])
        process = started("run", sweep, "-o", disturbed, place=place)
        wait_for(lambda command=process: driver_of(command) or command.poll() is not None)
        driver = driver_of(process)
        # One of its own at least: it holds the folder, and has cleared what the one before left.
        wait_for_snapshots(disturbed, max(2 + 4 * number, before + 1), process)
        with contextlib.suppress(FileNotFoundError):  # the run may have ended
            assert {stat.S_IMODE(one.stat().st_mode) for one in place.iterdir()} <= {0o700}
        time.sleep(rng.uniform(0, 0.5))
        interrupted += process.poll() is None
        for pid in in_session(driver) if name == "ALL" else ():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, getattr(signal, name, signal.SIGKILL))
        _, errors = process.communicate(timeout=120)
        if process.returncode > 3:
            assert process.returncode == 128 + getattr(signal, name), errors
            assert "Stopped. What was recorded is kept" in errors.splitlines()[-1]
            assert not in_session(driver)
            assert not [*place.iterdir()]
            assert not [*disturbed.rglob(".unfinished*")]
        assert "Traceback" not in errors
        wait_for(lambda gone=driver: not in_session(gone))
        # Of a command that was killed its driver clears up, at once. Where all were killed nobody
        # is left to: the next run does, and that one is seen to end with an empty place.
        assert not [*place.iterdir()] or name == "ALL"
    assert interrupted >= 4
    last = started("run", sweep, "-o", disturbed, place=place)
    _, errors = last.communicate(timeout=300)
    assert last.returncode == 0, errors
    assert report(disturbed) == report(undisturbed)
    for trial in Ledger(undisturbed).read_plan().specs:
        for name in ("0001", "0003"):
            path = f"trials/{trial}/snapshots/{name}.safetensors"
            assert (disturbed / path).read_bytes() == (undisturbed / path).read_bytes()
    assert not list(disturbed.rglob(".unfinished*"))


def test_a_diverging_method_is_reported_first_and_named(sweep, tmp_path, called):
    sweep.write_text(TINY.replace("RR: {", "RR: {optimizer: {lr: 1.0e+30}, "))
    folder = tmp_path / "run"
    done = command("run", sweep, "-o", folder, "--set", "retries=0")
    assert done.returncode == 1
    assert "the training loss became nan" in " ".join(done.stdout.split())
    plain = json.loads(report(folder))
    assert (plain["run"]["complete"], plain["run"]["failed"]) == (False, 4)
    assert {s["method"] for s in plain["summary"] if s["novel"]} == {"PN"}
    code, status = called("status", folder)
    assert (code, status.count("the training loss became nan")) == (1, 4)
    # Repeating it would end the same way: the second run does not.
    assert called("run", sweep, "-o", folder, "--set", "retries=0") == (1, done.stdout)


BLOCK = """
import sys
class Block:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {blocked!r}:
            raise ImportError(f"{{name}} is blocked")
sys.meta_path.insert(0, Block())
from fsl_sweep.orchestrator.cli import invoke
sys.exit(invoke(sys.argv[1:]))
"""


def blocked_command(blocked, *arguments):
    program = [sys.executable, "-c", BLOCK.format(blocked=blocked), *map(str, arguments)]
    return subprocess.run(program, capture_output=True, text=True, timeout=300)


def test_trials_run_without_ray_and_reports_without_torch_and_ray(sweep, tmp_path):
    folder = tmp_path / "run"
    two = TINY.replace("{grid: [1, 2]}", "1").replace("seeds: [0, 1]", "seeds: [0]")
    sweep.write_text(two)
    for index in range(2):
        one = blocked_command(["ray"], "trial", sweep, "--index", index, "-o", folder)
        assert one.returncode == 0, one.stderr
    # Everything is there: the run has nothing to do, and does not start Ray.
    done = blocked_command(["ray"], "run", sweep, "-o", folder)
    assert done.returncode == 0, done.stderr
    for arguments in (
        ["report", folder],
        ["report", folder, "--format", "json"],
        ["report", folder, "--format", "html"],
        ["status", folder],
    ):
        shown = blocked_command(["torch", "ray", "torchvision"], *arguments)
        assert shown.returncode == 0, shown.stderr
    assert blocked_command(["torch", "ray"], "report", folder).stdout == done.stdout
    written_reports_are_files_of_the_records_alone(folder, tmp_path)
    assert "is blocked" in blocked_command(["torch"], "trial", sweep, "--index", 0).stderr


def written_reports_are_files_of_the_records_alone(folder, tmp_path):
    """In every format: the same bytes from a copied folder, filters, and the exit code."""
    copy = tmp_path / "elsewhere" / "copied"
    shutil.copytree(folder, copy)

    def written(source, form, code, *options):
        path = tmp_path / "written"
        arguments = ["report", source, "--format", form, "-o", path, *options]
        assert invoke([*map(str, arguments)]) == code
        return path.read_text()

    formats = ("markdown", "latex", "html")
    for form in formats:
        assert written(folder, form, 0) == written(copy, form, 0)
        narrow = written(copy, form, 0, "--snapshot", "val", "--hyperparameter", "val")
        assert "val / val" in narrow
        assert "oracle / val" not in narrow
    next(copy.glob("trials/*/end.json")).unlink()
    for form in formats:
        assert "INCOMPLETE" in written(copy, form, 1).splitlines()[0]
