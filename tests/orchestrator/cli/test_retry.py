"""A trial that diverged is an outcome, and is run again only where that is asked for."""

import re
import shutil
from pathlib import Path

import pytest
from commands import TINY, WithoutRay, finished

from fsl_sweep.orchestrator.cli import invoke
from fsl_sweep.orchestrator.ledger.ledger import Ledger
from fsl_sweep.orchestrator.measuring.evaluator import Evaluator
from fsl_sweep.orchestrator.report.formats.as_json import to_json
from fsl_sweep.orchestrator.run import load_run
from fsl_sweep.orchestrator.sweep import execute

SWEEP = TINY.replace("lr: 0.1", "lr: {grid: [0.1, 1.0e+30]}").replace("{grid: [1, 2]}", "1")
SWEEP = SWEEP.replace("  RR: {learner: {name: ridge}}\n", "")
"""One method of two learning rates and two seeds: half of the trials diverge in the first epoch."""


@pytest.fixture(scope="module")
def run_once(tmp_path_factory):
    return finished(tmp_path_factory.mktemp("diverged") / "runs" / "tiny", SWEEP)


@pytest.fixture
def place(tmp_path, monkeypatch, run_once):
    """A finished run, `runs/tiny`, of `s.yaml`."""
    shutil.copytree(run_once, tmp_path / "runs" / "tiny")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(execute, "RayProcess", WithoutRay)
    Path("s.yaml").write_text(SWEEP)
    return Path("runs/tiny")


@pytest.fixture
def command(place, capsys):
    """Run a command; give its exit code, the trials that it trained, and what it said of them."""

    def command(*words):
        before = dates(place)
        code = invoke([*map(str, words)])
        shown = capsys.readouterr()
        trained = {
            path.parts[1] for path in dates(place).items() - before.items() for path in path[:1]
        }
        return code, trained & {*trials(place)}, shown.err, shown.out

    return command


def dates(run):
    """When each record of a trial was written."""
    files = (path for path in run.glob("trials/*/**/*") if path.is_file())
    return {path.relative_to(run): path.stat().st_mtime_ns for path in files}


def trials(run):
    """How each trial ended, by its id."""
    ledger = Ledger(run)
    ends = {trial: ledger.trial(trial).read_end() for trial in ledger.planned().specs}
    return {trial: end and end.status for trial, end in ends.items()}


def of(run, status):
    return {trial for trial, end in trials(run).items() if end == status}


def records(folder):
    return {p.relative_to(folder): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def report(run):
    return to_json(load_run(run).report())


def test_it_is_an_outcome_and_is_not_run_again(place, command):
    assert sorted(trials(place).values()) == ["diverged", "diverged", "done", "done"]
    code, trained, _, shown = command("run", "s.yaml")
    assert (code, trained) == (0, set())
    assert shown.startswith("tiny: complete")
    code, _, _, shown = command("status", place)
    assert (code, shown.count("diverged, the training loss became nan in epoch 1")) == (0, 2)
    assert "2 diverged, 2 done" in shown


@pytest.mark.parametrize("source", ["s.yaml", "runs/tiny"])
def test_it_is_run_again_from_the_beginning_and_what_it_recorded_is_kept(place, command, source):
    lost, before = of(place, "diverged"), report(place)
    kept = {trial: records(place / "trials" / trial) for trial in lost}
    for number in (1, 2):
        code, trained, said, _ = command("run", source, "--retry", "diverged")
        assert (code, trained) == (0, lost)
        assert said.count("run again from the beginning; it diverged: the training loss") == 2
        for trial in lost:
            aside = place / "retried" / f"{trial}-{number}"
            assert f"What it had recorded is kept in {aside}." in said
            assert records(aside) == kept[trial]
            assert of(place, "diverged") == lost
            assert records(place / "trials" / trial).keys() == kept[trial].keys()
    assert report(place) == before
    code, _, _, shown = command("verify", place)
    assert (code, shown) == (0, f"{place}: nothing is damaged\n")


def test_what_failed_is_run_again_and_what_is_named(place, command, monkeypatch):
    """A retry of a trial that is done gives the same numbers."""
    before, done = report(place), of(place, "done")
    lost, other = sorted(done)
    with monkeypatch.context() as patch:
        patch.setattr(Evaluator, "measure", no_memory)
        code, trained, _, _ = command("run", place, "--retry", lost)
    assert (code, trained, of(place, "failed")) == (1, {lost}, {lost})
    code, trained, said, _ = command("run", place, "--retry", "failed", "--retry", other)
    assert (code, trained, of(place, "done")) == (0, done, done)
    assert "it failed: out of memory" in said
    assert "it was done." in said
    assert report(place) == before
    code, trained, said, _ = command("run", place, "--retry", "failed")
    assert (code, trained) == (0, set())
    assert "--retry failed: there is no such trial" in said


def no_memory(*_):
    raise MemoryError


def test_a_kill_between_two_of_them_loses_nothing(place, command, monkeypatch):
    lost, before, once = of(place, "diverged"), report(place), []

    def stopped(self, trial, of=Ledger.set_aside):
        if once:
            raise KeyboardInterrupt
        once.append(trial)
        return of(self, trial)

    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "set_aside", stopped)
        assert command("run", place, "--retry", "diverged")[0] == 130
    (other,) = lost - {*once}
    assert Ledger(place).trial(other).read_end().status == "diverged"
    assert command("run", "s.yaml")[:2] == (0, {*once})
    assert report(place) == before


@pytest.mark.parametrize("link", ["retried", "trials/ID"])
def test_nothing_is_moved_through_a_link(place, command, tmp_path, link):
    trial = sorted(of(place, "diverged"))[0]
    elsewhere, path = tmp_path / "elsewhere", place / link.replace("ID", trial)
    if path.exists():
        path.rename(elsewhere)
    elsewhere.mkdir(exist_ok=True)
    path.symlink_to(elsewhere)
    before = records(elsewhere)
    code, trained, said, _ = command("run", place, "--retry", trial)
    assert (code, trained) == (2, set())
    assert f"{path.relative_to(place)} is damaged: it is a symbolic link" in said
    assert records(elsewhere) == before


def test_a_dry_run_says_which(place, command, snapshot):
    code, trained, _, shown = command("run", place, "--retry", "diverged", "--dry-run")
    assert (code, trained, len(of(place, "diverged"))) == (0, set(), 2)
    lines = [line for line in shown.splitlines() if "expected" not in line]
    assert re.sub(r"[0-9a-f]{16}", "ID", "\n".join(lines)) == snapshot


def test_mistakes(place, command, snapshot):
    before, known = records(place), sorted(trials(place))[0]
    typo = ("0" if known[0] != "0" else "1") + known[1:]
    said = []
    for words in (
        ("s.yaml", "--retry", "faild"),
        ("s.yaml", "--retry", typo),
        ("s.yaml", "--retry", known, "--only", "PM"),
        (place,),
        ("s.yaml", "--retry", "diverged", "-o", "s.yaml"),
        (place, "--retry", "diverged", "-o", place),
        (place, "--retry", "done", "--dry-run"),
    ):
        code, trained, message, _ = command("run", *words)
        assert (code, trained) == (2, set())
        said.append(message.replace(known, "ID").replace(typo, "TYPO"))
    assert f"did you mean '{known}'" in said[1].replace("ID", known)
    assert re.sub(r"[0-9a-f]{16}", "OTHER", "".join(said)) == snapshot
    assert {name: data for name, data in records(place).items() if name.name != "lock"} == {
        name: data for name, data in before.items() if name.name != "lock"
    }
