"""Every mistake of a user: one message, exit code 2, no traceback, nothing half-written."""

import json
import re
import shlex
import shutil
from pathlib import Path

import made
import pytest
import submitted
import torch
import yaml
from commands import WithoutRay
from planning_of import SMALL, changed

import fsl_sweep
from fsl_sweep.learners.building import build_backbone
from fsl_sweep.orchestrator.cli import invoke
from fsl_sweep.orchestrator.sweep import execute

DATA = (
    "benchmark={name: glyphs, base_alphabets: 2, val_alphabets: 1, novel_alphabets: 1, "
    "classes_per_alphabet: 5, examples: 12, image_size: 16}"
)

TABLE = Path(__file__).with_name("mistakes.txt").read_text()
"""What a user writes into a small sweep file, values of one key beside each other, and commands;
the snapshot has the message of each."""
MISTAKES = dict(group.split("\n", 1) for group in re.split("^# ", TABLE, flags=re.MULTILINE)[1:])
COMMANDS = MISTAKES.pop("commands")
LISTED = r"(?<=known: |ne of: )[^()]*, [^()]*(?= \(|$)|(?<=does not load: ).*"
"""What grows with the catalogues, and what Python says of an import."""


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A current folder for sweep files, whose trials run in this process."""
    monkeypatch.setenv("FSL_SWEEP_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(execute, "RayProcess", WithoutRay)
    return tmp_path


@pytest.fixture
def run(place, capsys):
    """Run a command on a sweep file with changes; give exit code, output and errors."""

    def run(*changes, arguments=("run", "s.yaml")):
        Path("s.yaml").write_text(yaml.safe_dump(changed(SMALL, DATA, *changes), sort_keys=False))
        code = invoke(list(arguments))
        shown = capsys.readouterr()
        return code, shown.out, shown.err

    return run


@pytest.fixture
def mistake(run, place):
    """The message of a mistake, once it is certain that it is one and left nothing behind."""

    def mistake(*changes, **options):
        code, out, err = run(*changes, **options)
        assert (code, out, err.count("\n")) == (2, "", 1), (changes, code, out, err)
        assert not Path("runs").exists()
        return err.removeprefix("fsl-sweep: ").removesuffix("\n").replace(str(place), "HERE")

    return mistake


@pytest.mark.parametrize("about", MISTAKES)
def test_mistakes_in_the_file_name_the_key_and_say_what_to_write(
    about, mistake, place, monkeypatch, snapshot
):
    submitted.install(place / "site", monkeypatch)
    Path("steering.txt").write_text("a\x1b\n")
    for image in range(9 * 4):
        (folder := Path("tree", f"{image % 9}")).mkdir(parents=True, exist_ok=True)
        (folder / f"{image}.png").write_bytes(b"not an image")
    torch.save(build_backbone({"name": "conv4", "width": 8}, (1, 16, 16))[0].state_dict(), "w.pt")
    told = []
    for line in MISTAKES[about].strip().splitlines():
        *others, last = line.split(" | ")
        key, equals, values = last.partition("=")
        for value in values.split(" ; "):
            changes = [*others, f"{key}{equals}{value}"]
            message = mistake(*(change.replace("CHECKSUM", "a" * 64) for change in changes))
            message = re.sub(LISTED, "...", re.sub("[0-9a-f]{64}", "SHA256", message))
            told.append(f"{' | '.join(changes)}\n  {message}")
    assert "\n".join(told) == snapshot


def test_mistakes_on_the_command_line(run, place, snapshot):
    told = []
    for line in COMMANDS.strip().splitlines():
        code, out, err = run(arguments=line.split())
        assert (code, out, "Traceback" in err, Path("runs").exists()) == (2, "", False, False)
        told.append(f"{line}\n{err}".replace(str(place), "HERE"))
    assert "".join(told) == snapshot
    for arguments in (["runn"], ["run"], ["run", "s.yaml", "--sett", "a=1"], []):
        code, _, err = run(arguments=arguments)
        assert (code, "Traceback" in err) == (2, False)
    assert run(arguments=("--version",)) == (0, f"fsl-sweep {fsl_sweep.__version__}\n", "")


def test_a_dry_run_reports_every_obstacle(run):
    Path("taken").write_text("")
    for folder, reason in (
        ("taken", "Not a directory"),
        ("taken/run", "Not a directory"),
        ("/proc/run", "No such file or directory"),
    ):
        arguments = ("run", "s.yaml", "-o", folder)
        code, out, err = run("episode.way=6", arguments=(*arguments, "--dry-run"))
        first, second = err.splitlines()
        assert code == 2
        assert "tiny: 1 trial of 1 method" in out
        assert first == (
            f"fsl-sweep: this plan cannot run: The run folder {folder} cannot be written: "
            f"{reason}. Choose another with -o, or correct its permissions."
        )
        assert "M, val tasks: 6-way tasks need 6 classes" in second
        code, _, err = run(arguments=arguments)
        assert (code, f"The run folder {folder} cannot be written: " in err) == (2, True)
    assert Path("taken").read_text() == ""
    code, out, err = run("benchmark={name: omniglot}", arguments=("run", "s.yaml", "--dry-run"))
    assert (code, "tiny: 1 trial of 1 method" in out) == (2, True)
    assert "fsl-sweep data prepare omniglot --from PATH" in err
    # It leaves nothing where it looked.
    code, _, err = run(arguments=("run", "s.yaml", "--dry-run", "-o", "new/run"))
    assert (code, err) == (0, "")
    assert {path.name for path in Path().iterdir()} == {"taken", "s.yaml", "home"}


TRIAL = ("trial", "s.yaml", "--index", "0", "-o", "mine")


def test_a_run_folder_of_another_sweep_is_refused(run):
    assert run(arguments=TRIAL)[0] == 0
    before = {p: p.read_bytes() for p in Path("mine").rglob("*") if p.is_file()}
    again, other = ("run", "s.yaml", "-o", "mine"), "holds the sweep 'tiny', not 'other'"
    for change, arguments, problem in (
        ("name=other", again, other),
        ("name=other", (*again, "--dry-run"), other),
        # A trial that the folder's plan does not name must not replace the plan.
        ("defaults.batches=5", TRIAL, "was planned without this trial"),
        ("benchmark.seed=5", again, "was measured on other data"),
    ):
        code, _, err = run(change, arguments=arguments)
        assert (code, problem in err) == (2, True)
    assert {p: p.read_bytes() for p in Path("mine").rglob("*") if p.is_file()} == before


def test_a_run_folder_in_place_of_a_sweep_says_how_to_continue(run):
    """The command that it tells plans exactly what the folder holds, overrides included."""
    settings = ("--set", "seeds=[0, 1]", "--set", "defaults.epochs=1")
    run(arguments=("trial", "s.yaml", "--index", "0", "-o", "my runs/tiny", *settings))
    before = Path("my runs/tiny/sweep.yaml").read_text()
    code, _, err = run(arguments=("run", "my runs/tiny"))
    assert code == 2
    assert err.startswith("fsl-sweep: my runs/tiny: is a run folder, not a sweep file; to resume ")
    program, *command = shlex.split(err.partition("`")[2].partition("`")[0])
    assert program == "fsl-sweep"
    code, out, err = run(arguments=(*command, "--dry-run"))
    assert (code, err) == (0, "")
    assert "done already: 1; to run: 1" in out
    assert "no longer planned" not in out
    run(arguments=("trial", *command[1:], "--index", "1"))
    assert Path("my runs/tiny/sweep.yaml").read_text() == before
    # Without the overrides it is another plan, which is said, and how to undo it.
    code, out, _ = run(
        arguments=("run", "my runs/tiny/sweep.yaml", "-o", "my runs/tiny", "--dry-run")
    )
    assert out.count("no longer planned, left out of the report: ") == 1
    assert "come back when the sweep is run with the file and the --set that planned them" in out


def test_damaged_weights_of_a_finished_trial_are_made_again_as_verify_says(run):
    assert run(arguments=TRIAL)[0] == 0
    report = run(arguments=("report", "mine", "--format", "json"))[1]
    (weights,) = Path("mine").glob("trials/*/snapshots/0001.safetensors")
    whole = weights.read_bytes()
    made.flip(weights)
    line, summary = run(arguments=("verify", "mine"))[1].splitlines()
    assert summary == "mine: 1 damaged, missing or refused"
    advised = re.search("remove the folder (.*) and run the sweep again", line)
    assert advised is not None
    shutil.rmtree(advised[1])
    assert run(arguments=TRIAL)[0] == 0
    assert run(arguments=("verify", "mine"))[:2] == (0, "mine: nothing is damaged\n")
    assert weights.read_bytes() == whole
    again = json.loads(run(arguments=("report", "mine", "--format", "json"))[1])
    assert again["summary"] == json.loads(report)["summary"]
