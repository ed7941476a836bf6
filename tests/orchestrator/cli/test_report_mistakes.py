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

RECORDS = f"{made.MAIN_ID}.parquet"


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
def command(capsys, tmp_path) -> Callable[[str], tuple[int, str, str]]:
    """Run a command, and see that it wrote nothing; exit code, output and errors."""

    def command(arguments: str) -> tuple[int, str, str]:
        before = hostile.state(tmp_path)
        code = invoke(arguments.split())
        assert hostile.state(tmp_path) == before
        return code, *capsys.readouterr()

    return command


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


@pytest.mark.parametrize("asked", ["--format pdf", "--last 1", "--bootstrap -1"])
def test_what_the_usage_rules_out(run, command, asked):
    code, out, err = command(f"report run {asked}")
    assert (code, out) == (2, "")
    assert f"Invalid value for '{asked.split()[0]}'" in err
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
    assert invoke([*report.split(), "-o", "link.json"]) == 0
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


def test_runs_that_do_not_go_together(run, refusals, command, snapshot):
    plan = Path(shutil.copytree(run, "other")) / "plan.json"
    plan.write_text(spoilt(json.loads(plan.read_text()), "fingerprint", "a" * 16))
    Path("link").symlink_to("run")
    others = ("other", "run", "./run/", "link")
    assert refusals(*(f"report run {other}" for other in others)) == snapshot
    shutil.copytree(run, "copy")  # the same records in another place agree with themselves
    assert command("report run copy --bootstrap 0")[0] == 0


def spoilt(plan: dict, path: str, value: object) -> str:
    """The plan with another value at a dotted path, and with a right checksum."""
    *parents, last = (int(part) if part.isdigit() else part for part in path.split("."))
    place = plan
    for part in parents:
        place = place[part]
    place[last] = value
    return sealed_json({k: v for k, v in plan.items() if k != "checksum"}, "plan.json").decode()


PLANS = [  # a dotted path and its value, or a text in the plan's place
    ("", "{"),
    ("", "null"),
    ("trials", []),
    ("parts", [1]),
    ("trials.1.spec.epochs", 0),
    ("trials.0.id", "../../elsewhere"),
    ("protocols.0.fingerprint", None),
]


def test_a_damaged_plan(run, refusals, snapshot):
    plan, said = (run / "plan.json").read_text(), []
    for path, value in PLANS:
        (run / "plan.json").write_text(spoilt(json.loads(plan), path, value) if path else value)
        said.append(refusals("report run", "status run", "tensorboard run --no-serve"))
    assert "\n\n".join(said) == snapshot


def first_trial(run: Path) -> Path:
    return run / "trials" / json.loads((run / "plan.json").read_text())["trials"][0]["id"]


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (shutil.rmtree, "not run"),
        (lambda trial: made.flip(trial / "measured" / RECORDS), RECORDS),
        (lambda trial: (trial / "measured" / RECORDS).unlink(), RECORDS),
        (lambda trial: (trial / "end.json").write_text("{"), "end.json"),
        (lambda trial: (trial / "end.json").write_bytes(b"\xff"), "end.json"),
    ],
)
def test_a_damaged_trial_is_named_first_and_left_out(run, command, damage, reason):
    trial = first_trial(run)
    damage(trial)
    code, out, err = command("report run --bootstrap 0 --format markdown")
    assert (code, err) == (1, "")
    assert "INCOMPLETE" in out.splitlines()[0]
    said = " ".join(out.split())
    assert "4 trials planned, 3 done, 0 failed, 1 missing" in said
    assert trial.name in said
    assert reason in said.partition("Methods")[0]
    assert command("status run")[0] == 1


@pytest.mark.parametrize("left", ["folder", "nothing", "file"])
def test_a_run_without_its_trials(run, command, left):
    shutil.rmtree(run / "trials")
    if left == "folder":
        (run / "trials").mkdir()
    if left == "file":
        (run / "trials").write_text("x")
    code, out, err = command("report run")
    assert (code, err) == (1, "")
    assert out.startswith("made: INCOMPLETE")
    assert "Nothing can be said: no method has a seed with all of its trials done." in out
    assert command("report run --full")[1].startswith("made: INCOMPLETE")
    code, out, _ = command("status run")
    assert code == 1
    state = "damaged" if left == "file" else "not begun"
    assert out.startswith(
        f"made: 4 trials planned\n4 {state}\nmeasured: main 0 of 0 snapshots\nno run is active\n"
    )
    assert out.count("damaged, run/trials\n") == (4 if left == "file" else 0)


def test_notes_that_are_damaged_stop_no_report(run, command):
    report = "report run --bootstrap 0 --full"
    code, before, _ = command(report)
    for text in ("[1, 2", "[]", '{"machines": 3}'):
        (run / "environment.json").write_text(text)
        (run / "lock").write_bytes(b"\xff\xff")
        said = command(report)[1]
        assert "environment.json is damaged" in " ".join(said.split())
        assert said.partition("Cautions")[0] == before.partition("Cautions")[0]
        assert command("status run")[0] == code


def csv(**options: object) -> Callable[[Path], object]:
    return lambda path: tables.made().to_csv(path, **{"index": False, **options})


def parquet(**columns: object) -> Callable[[Path], object]:
    return lambda path: tables.made(**columns).to_parquet(path)


def without(column: str, value: str) -> Callable[[Path], object]:
    return lambda path: tables.made()[lambda f: f[column].ne(value)].to_csv(path, index=False)


def cut(share: float) -> Callable[[Path], object]:
    """Write a part of a Parquet file."""

    def write(path: Path) -> None:
        tables.made().to_parquet(path)
        path.write_bytes(path.read_bytes()[: int(share * path.stat().st_size)])

    return write


FILES: list[tuple[str, Callable[[Path], object]]] = [
    ("a.csv", lambda path: path.write_text("")),
    ("folder.csv", lambda path: path.mkdir()),
    ("packed.csv", lambda path: path.write_bytes(gzip.compress(b"x"))),
    ("a.csv.gz", lambda path: path.write_bytes(gzip.compress(b"x"))),
    ("a.csv", csv(index=True)),
    ("a.csv", csv(sep=";")),
    ("a.csv", lambda path: tables.made(method=" A").to_csv(path, index=False)),
    ("a.csv", without("measure", "novel")),
    ("a.parquet", lambda path: tables.made().drop(columns="measure").to_parquet(path)),
    ("a.parquet", lambda path: tables.made().iloc[:0].to_parquet(path)),
    *(("a.parquet", parquet(accuracy=value)) for value in ("high", True, [[0.5]] * 96)),
    ("a.parquet", parquet(seed=pd.Timestamp("2020-01-01"))),
    ("a.parquet", parquet(method=b"\xff")),
    *(("a.parquet", cut(share)) for share in (0.0, 0.01, 0.5, 0.999)),
]


def test_a_table_that_is_none(run, refusals, snapshot):
    said = []
    for name, write in FILES:
        write(Path(name))
        said.append(refusals(f"report {name}", f"report run {name}"))
    # The reasons of pandas and pyarrow are in their words, and moments as precise as they like.
    theirs = r"(?<=cannot be read as a table: )(?!it is not UTF-8).*|(?<=2020-01-01 )[\d:.]+"
    assert re.sub(theirs, "...", "\n".join(said)) == snapshot


def test_the_tables_of_these_tests_are_good_otherwise(run, command):
    """What is refused above is refused for the reason that is named."""
    csv()(Path("a.csv"))
    parquet()(Path("a.parquet"))
    digest = hashlib.sha256(Path("a.csv").read_bytes()).hexdigest()[:16]
    assert digest in command("report a.csv --full")[1]
    assert command("report a.csv")[0] == command("report a.parquet")[0] == 0
