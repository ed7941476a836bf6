"""Mistakes in what a report is asked for, and of, and where it is to go.

Each is one message and exit code 2; records that are damaged are a banner and exit code 1.
"""

import gzip
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import hostile
import made
import pandas as pd
import pytest
import tables

from fsl_sweep.orchestrator.cli import invoke
from fsl_sweep.orchestrator.ledger.envelope import sealed_json


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> Path:
    """A run folder of two methods, two seeds and three epochs, all done."""
    path = tmp_path_factory.mktemp("finished") / "run"
    trials = [made.planned(made.spec(seed, way), f"W{way}") for way in (5, 6) for seed in (0, 1)]
    made.recorded(path, *trials)
    return path


@pytest.fixture
def run(tmp_path, monkeypatch, finished) -> Path:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(finished, "run")
    return Path("run")


@pytest.fixture
def command(capsys) -> Callable[[str], tuple[int, str, str]]:
    """Run a command; exit code, output and errors."""
    return lambda arguments: (invoke(arguments.split()), *capsys.readouterr())


def test_what_is_asked_for(run, refusals, snapshot):
    asked = """
        --snapshot vall | --snapshot mixture(2) | --snapshot mixture( | --snapshot ''
        --snapshot val --snapshot val | --snapshot cv-epoch | --snapshot pareto
        --hyperparameter train_los | --hyperparameter last | --hyperparameter cv(aligned)
        --hyperparameter budgeted-oracle(0) | --hyperparameter budgeted-oracle(3,foo)
        --metric mixture(3) | --bootstrap 1 | --bootstrap 1000001 | --classes
    """
    commands = [f"report run {options}" for options in re.split(r"\s*[|\n]\s*", asked.strip())]
    assert refusals(*commands).replace(made.MAIN_ID, "MAIN") == snapshot


def test_what_the_usage_rules_out(run, command):
    for option, value in (("--format", "pdf"), ("--last", "1"), ("--bootstrap", "-1")):
        code, out, err = command(f"report run {option} {value}")
        assert (code, out) == (2, "")
        assert f"Invalid value for '{option}'" in err
        assert "Value error" not in err


def test_where_a_report_cannot_go(run, refusals, command, snapshot):
    Path("folder").mkdir()
    Path("file").write_text("kept")
    report = "report run --bootstrap 0 --format json -o"
    places = ("folder", "''", "none/a.html", "file/a.html", "/proc/a.html")
    assert refusals(*(f"{report} {place}" for place in places)) == snapshot
    # A full disk is no mistake of the caller's.
    full = "/dev/full cannot be written: No space left on device. Choose another place, or free sp"
    assert command(f"{report} /dev/full") == (3, "", f"fsl-sweep: {full}ace.\n")


def test_a_read_only_folder_keeps_the_report_that_is_there(run, tmp_path):
    """As a user without rights: root may write anywhere, unless it gives up that capability."""
    Path("locked").mkdir()
    Path("locked/a.json").write_text("kept")
    Path("locked").chmod(0o555)
    rights = ["setpriv", "--bounding-set=-dac_override"] if os.getuid() == 0 else []
    program = [sys.executable, "-m", "fsl_sweep", "report", "run", "--bootstrap=0"]
    command = [*rights, *program, "--format", "json", "-o", "locked/a.json"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    Path("locked").chmod(0o755)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    denied = "fsl-sweep: locked/a.json cannot be written: Permission denied."
    assert done.stderr.startswith(denied)
    assert [p.name for p in Path("locked").iterdir()] == ["a.json"]
    assert Path("locked/a.json").read_text() == "kept"


def test_a_report_replaces_all_of_a_file_and_keeps_a_link(run, command):
    Path("old.json").write_text("x" * 10**6)
    Path("link.json").symlink_to("old.json")
    report = "report run --bootstrap 0 --format json"
    assert command(f"{report} -o link.json")[0] == 0
    assert command(report) == (0, Path("old.json").read_text(), "")
    assert Path("link.json").is_symlink()
    assert sorted(p.name for p in Path().iterdir()) == ["link.json", "old.json", "run"]


def test_what_is_no_run(run, refusals, snapshot):
    Path("empty").mkdir()
    Path("loop").symlink_to("loop")
    Path("a.txt").write_text("x")
    places = ("nowhere", "none.csv", "empty", "loop", "/dev/null", "a.txt")
    commands = [f"{command} {place}" for place in places for command in ("report", "status")]
    assert refusals(*commands) == snapshot


def test_runs_that_do_not_go_together(run, refusals, command, tmp_path, snapshot):
    plan = Path(shutil.copytree(run, "other")) / "plan.json"
    plan.write_text(spoilt(json.loads(plan.read_text()), "fingerprint", "a" * 16))
    Path("link").symlink_to("run")
    others = ("other", "run", "./run/", "link")
    assert refusals(*(f"report run {other}" for other in others)) == snapshot
    shutil.copytree(run, "copy")  # the same records in another place agree with themselves
    before = hostile.state(tmp_path)
    assert command("report run copy --bootstrap 0")[0] == 0
    assert hostile.state(tmp_path) == before


def spoilt(plan: dict, path: str, value: object) -> str:
    """The plan with another value at a dotted path, and with a right checksum."""
    *parents, last = (int(part) if part.isdigit() else part for part in path.split("."))
    place = plan
    for part in parents:
        place = place[part]
    place[last] = value
    return sealed_json({k: v for k, v in plan.items() if k != "checksum"}, "plan.json").decode()


def test_a_damaged_plan(run, refusals, snapshot):
    plan = (run / "plan.json").read_text()
    texts = ["{", "null"] + [
        spoilt(json.loads(plan), path, value)
        for path, value in (
            *(("trials", []), ("parts", [1]), ("trials.1.spec.epochs", 0)),
            *(("trials.0.id", "../../elsewhere"), ("protocols.0.fingerprint", None)),
        )
    ]
    said = []
    for text in texts:
        (run / "plan.json").write_text(text)
        said.append(refusals("report run", "status run", "tensorboard run --no-serve"))
    assert "\n\n".join(said) == snapshot


def test_notes_that_are_damaged_stop_no_report(run, said):
    report = "report run --bootstrap 0 --full"
    before, status = said(report), said("status run")
    for text in ("[1, 2", "[]", '{"machines": 3}'):
        (run / "environment.json").write_text(text)
        (run / "lock").write_bytes(b"\xff\xff")
        after = said(report)
        assert "environment.json is damaged" in " ".join(after.split())
        assert after.partition("Cautions")[0] == before.partition("Cautions")[0]
        assert said("status run").splitlines()[0] == status.splitlines()[0]
    (run / "environment.json").unlink()
    assert "environment.json is missing" in " ".join(said(report).split())


def test_a_table_that_is_none(run, refusals, command, snapshot):
    frame = tables.made()
    Path("empty.csv").write_text("")
    Path("folder.csv").mkdir()
    for name in ("packed.csv", "packed.csv.gz"):
        Path(name).write_bytes(gzip.compress(b"x"))
    frame.to_csv("index.csv")
    frame.to_csv("semicolons.csv", sep=";", index=False)
    frame.assign(method=" A").to_csv("space.csv", index=False)
    frame[frame["measure"] != "novel"].to_csv("no-novel.csv", index=False)
    frame.drop(columns="measure").to_parquet("no-measure.parquet")
    frame.iloc[:0].to_parquet("no-rows.parquet")
    for value in ("high", True, [[0.5]] * 96):
        frame.assign(accuracy=value).to_parquet(f"accuracy-{type(value).__name__}.parquet")
    frame.assign(seed=pd.Timestamp("2020-01-01")).to_parquet("date.parquet")
    frame.assign(method=b"\xff").to_parquet("bytes.parquet")
    data = frame.to_parquet()
    for share in (0.0, 0.01, 0.5, 0.999):
        Path(f"cut-{share}.parquet").write_bytes(data[: int(share * len(data))])
    names = sorted(path.name for path in Path().iterdir() if path != run)
    said = refusals(*(f"report {first}{name}" for name in names for first in ("", "run ")))
    # The reasons of pandas and pyarrow are in their words, and moments as precise as they like.
    theirs = r"(?<=cannot be read as a table: )(?!it is not UTF-8).*|(?<=2020-01-01 )[\d:.]+"
    assert re.sub(theirs, "...", said) == snapshot
    # The rest of these tables is good.
    frame.to_csv("a.csv", index=False)
    Path("a.parquet").write_bytes(data)
    digest = hashlib.sha256(Path("a.csv").read_bytes()).hexdigest()[:16]
    assert digest in command("report a.csv --full")[1]
    assert command("report a.csv")[0] == command("report a.parquet")[0] == 0
