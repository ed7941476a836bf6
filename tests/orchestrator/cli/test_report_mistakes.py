"""Mistakes in what a report is asked for, and of, and where it is to go.

Each is one message and exit code 2; records that are damaged are a banner and exit code 1.
"""

import gzip
import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import made
import pandas as pd
import pytest

from fsl_sweep.orchestrator.cli import invoke
from fsl_sweep.orchestrator.ledger.envelope import sealed_json

Shown = tuple[int, str, str]
RECORDS = f"{made.MAIN_ID}.parquet"


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Path:
    """A run folder of two methods, two seeds and three epochs, all done."""
    path = tmp_path_factory.mktemp("whole") / "run"
    trials = [made.planned(made.spec(seed, way), f"W{way}") for way in (5, 6) for seed in (0, 1)]
    made.recorded(path, *trials)
    return path


@pytest.fixture
def run(tmp_path, monkeypatch, whole) -> Path:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(whole, "run")
    return Path("run")


def contents(folder: Path) -> dict[str, bytes | None]:
    """Everything below a folder."""
    return {
        str(p.relative_to(folder)): p.read_bytes() if p.is_file() else None
        for p in sorted(folder.rglob("*"))
    }


@pytest.fixture
def command(capsys, tmp_path) -> Callable[..., Shown]:
    """Run a command, and see that it wrote nothing; exit code, output and errors."""

    def command(*arguments: str | Path) -> Shown:
        before = contents(tmp_path)
        code = invoke([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        assert "Traceback" not in err
        assert contents(tmp_path) == before
        return code, out, err

    return command


def message(shown: Shown) -> str:
    """The one line of a mistake."""
    code, out, err = shown
    assert (code, out) == (2, ""), shown
    assert err.startswith("fsl-sweep: ")
    assert err.count("\n") == 1
    return err.removeprefix("fsl-sweep: ").rstrip("\n")


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (["--snapshot", "vall"], "unknown snapshot selector 'vall'; did you mean 'val'?"),
        (["--snapshot", "mixture(2)"], "the weight of a mixture lies between 0 and 1, not 2"),
        (["--snapshot", "mixture("], "'mixture(' is not a selector; write name or"),
        (["--snapshot", ""], "'' is not a selector; write name or"),
        (["--snapshot", "val", "--snapshot", "val"], "--snapshot: 'val' is given twice"),
        (["--snapshot", "cv-epoch"], "--snapshot: 'cv-epoch' needs class folds, which this run"),
        (["--hyperparameter", "train_los"], "unknown hyperparameter selector 'train_los'; known"),
        (
            ["--hyperparameter", "last"],
            "'last' is a snapshot selector, not a hyperparameter selector; write it under "
            "`selectors.snapshot` of the sweep file, or as `--snapshot last` of a report",
        ),
        (
            ["--snapshot", "pareto"],
            "'pareto' is a hyperparameter selector, not a snapshot selector; write it under "
            "`selectors.hyperparameter` of the sweep file",
        ),
        (["--hyperparameter", "budgeted-oracle(0)"], "a number of evaluations from 1, not 0"),
        (["--hyperparameter", "budgeted-oracle(3,foo)"], "halving, not 'foo'"),
        (["--hyperparameter", "cv(aligned)"], "--hyperparameter: 'cv(aligned)' needs class folds"),
        (["--metric", "mixture(3)"], "metric 'mixture(3)' cannot be used: write novel, or"),
        (["--bootstrap", "1"], "--bootstrap: 1 resamples cannot be made: give 0 for none, or 2"),
        (
            ["--bootstrap", "1000001"],
            "--bootstrap: 1000001 resamples cannot be made: give 0 for none, or 2 to 1,000,000",
        ),
        (["--classes"], "base-selection.json is missing, so that the classes of tasks"),
    ],
)
def test_what_is_asked_for(run, command, asked, expected):
    assert expected in message(command("report", run, *asked))


@pytest.mark.parametrize("asked", [["--format", "pdf"], ["--last", "1"], ["--bootstrap", "-1"]])
def test_what_the_usage_rules_out(run, command, asked):
    code, out, err = command("report", run, *asked)
    assert (code, out) == (2, "")
    assert f"Invalid value for '{asked[0]}'" in err
    assert "Value error" not in err


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("folder", "folder is a folder; give -o the name of a file."),
        ("", ". is a folder; give -o the name of a file."),
        ("none/a.html", "none/a.html cannot be written: there is no folder none."),
        ("file/a.html", "file/a.html cannot be written: there is no folder file."),
        ("/proc/a.html", "/proc/a.html cannot be written: No such file or directory. Choose "),
    ],
)
def test_where_a_report_cannot_go(run, command, output, expected):
    Path("folder").mkdir()
    Path("file").write_text("kept")
    shown = command("report", run, "--bootstrap", "0", "--format", "html", "-o", output)
    assert message(shown).startswith(expected)


def test_a_full_disk_is_no_mistake_of_the_callers(run, command):
    shown = command("report", run, "--bootstrap", "0", "--format", "html", "-o", "/dev/full")
    assert shown[0] == 3
    assert shown[2] == (
        "fsl-sweep: /dev/full cannot be written: No space left on device. Choose another place, "
        "or free space.\n"
    )


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
    assert message((done.returncode, done.stdout, done.stderr)).startswith(
        "locked/a.json cannot be written: Permission denied."
    )
    assert [p.name for p in Path("locked").iterdir()] == ["a.json"]
    assert Path("locked/a.json").read_text() == "kept"


def test_a_report_replaces_a_file_whole_and_keeps_a_link(run, capsys):
    Path("old.json").write_text("x" * 10**6)
    Path("link.json").symlink_to("old.json")
    arguments = ["report", "run", "--bootstrap", "0", "--format", "json"]
    assert invoke([*arguments, "-o", "link.json"]) == 0
    assert invoke(arguments) == 0
    assert Path("link.json").is_symlink()
    assert Path("old.json").read_text() == capsys.readouterr().out
    assert sorted(p.name for p in Path().iterdir()) == ["link.json", "old.json", "run"]


def test_what_is_no_run(run, command):
    Path("empty").mkdir()
    Path("loop").symlink_to("loop")
    Path("a.txt").write_text("x")
    for place, expected in (
        ("nowhere", "There is nothing at nowhere; give the folder of a run, or a .csv or .parq"),
        ("none.csv", "There is nothing at none.csv; give the folder of a run, or a .csv"),
        ("empty", "empty holds no plan.json, so it is not a run folder."),
        ("loop", "loop is not a folder; give the folder of a run"),
        ("/dev/null", "/dev/null is not a folder; give the folder of a run"),
        ("a.txt", "a.txt is neither a run folder nor a .csv or .parquet file."),
    ):
        assert message(command("report", place)).startswith(expected)
        assert "plan" in message(command("status", place))


def test_runs_that_do_not_go_together(run, command):
    plan = Path(shutil.copytree(run, "other")) / "plan.json"
    plan.write_text(spoilt(json.loads(plan.read_text()), "fingerprint", "a" * 16))
    Path("link").symlink_to("run")
    assert "they differ in the data that they were" in message(command("report", run, "other"))
    for again in ("run", "./run/", "link"):
        expected = f"{Path(again)} is given twice; name each run or table once."
        assert message(command("report", run, again)) == expected
    shutil.copytree(run, "copy")  # the same records in another place agree with themselves
    assert command("report", run, "copy", "--bootstrap", "0")[0] == 0


def spoilt(plan: dict, path: str, value: object) -> str:
    """The plan with another value at a dotted path, and with a right checksum."""
    *parents, last = (int(part) if part.isdigit() else part for part in path.split("."))
    place = plan
    for part in parents:
        place = place[part]
    place[last] = value
    return sealed_json({k: v for k, v in plan.items() if k != "checksum"}, "plan.json").decode()


PLANS = [  # a dotted path and its value, or a text in the plan's place; and what the message says
    ("", "{", "it is not valid JSON"),
    ("", "null", ""),
    ("trials", [], "it plans no trials"),
    ("parts", [1], "parts: Input should be"),
    ("trials.1.spec.epochs", 0, "trials.1.spec.epochs: Input should be greater than or equal to 1"),
    ("trials.0.id", "../../elsewhere", "trials.0.id: '../../elsewhere' is not that of its spec"),
    ("protocols.0.fingerprint", None, "it does not say which data its protocols measure on"),
]


@pytest.mark.parametrize(("path", "value", "reason"), PLANS)
def test_a_damaged_plan(run, command, path, value, reason):
    plan = run / "plan.json"
    plan.write_text(spoilt(json.loads(plan.read_text()), path, value) if path else value)
    for arguments in (("report", run), ("status", run), ("tensorboard", run, "--no-serve")):
        told = message(command(*arguments))
        assert told.startswith("run/plan.json is not a readable plan (")
        assert reason in told
        assert "restore this file" in told


def first_trial(run: Path) -> Path:
    return run / "trials" / json.loads((run / "plan.json").read_text())["trials"][0]["id"]


def garbled(run: Path) -> None:
    records = first_trial(run) / "measured" / RECORDS
    data = bytearray(records.read_bytes())
    data[len(data) // 2] ^= 0xFF
    records.write_bytes(bytes(data))


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda run: shutil.rmtree(first_trial(run)), "not run"),
        (garbled, RECORDS),
        (lambda run: (first_trial(run) / "measured" / RECORDS).unlink(), RECORDS),
        (lambda run: (first_trial(run) / "end.json").write_text("{"), "end.json"),
        (lambda run: (first_trial(run) / "end.json").write_bytes(b"\xff"), "end.json"),
    ],
)
def test_a_damaged_trial_is_named_first_and_left_out(run, command, damage, reason):
    damage(run)
    code, out, err = command("report", run, "--bootstrap", "0", "--format", "markdown")
    assert (code, err) == (1, "")
    assert "INCOMPLETE" in out.splitlines()[0]
    said = " ".join(out.split())
    assert "4 trials planned, 3 done, 0 failed, 1 missing" in said
    assert first_trial(run).name in said
    assert reason in said.partition("Methods")[0]
    assert command("status", run)[0] == 1


@pytest.mark.parametrize("left", ["folder", "nothing", "file"])
def test_a_run_without_its_trials(run, command, left):
    shutil.rmtree(run / "trials")
    if left == "folder":
        (run / "trials").mkdir()
    if left == "file":
        (run / "trials").write_text("x")
    code, out, err = command("report", run)
    assert (code, err) == (1, "")
    assert out.startswith("made: INCOMPLETE")
    assert "Nothing can be said: no method has a seed with all of its trials done." in out
    assert command("report", run, "--full")[1].startswith("made: INCOMPLETE")
    code, out, _ = command("status", run)
    assert code == 1
    state = "damaged" if left == "file" else "not begun"
    assert out.startswith(
        f"made: 4 trials planned\n4 {state}\nmeasured: main 0 of 0 snapshots\nno run is active\n"
    )
    assert out.count("damaged, run/trials\n") == (4 if left == "file" else 0)


def test_notes_that_are_damaged_stop_no_report(run, command):
    code, whole, _ = command("report", run, "--bootstrap", "0", "--full")
    for text in ("[1, 2", "[]", '{"machines": 3}'):
        (run / "environment.json").write_text(text)
        (run / "lock").write_bytes(b"\xff\xff")
        said = command("report", run, "--bootstrap", "0", "--full")[1]
        assert "environment.json is damaged" in " ".join(said.split())
        assert said.partition("Cautions")[0] == whole.partition("Cautions")[0]
        assert command("status", run)[0] == code


def table() -> pd.DataFrame:
    rows = [
        (method, seed, epoch, measure, value + epoch / 100 + seed / 50)
        for method in "AB"
        for seed in (0, 1)
        for epoch in (1, 2, 3)
        for measure, value in (("train_loss", 1.0), ("base", 0.6), ("val", 0.5), ("novel", 0.4))
    ]
    frame = pd.DataFrame(rows, columns=["method", "seed", "epoch", "measure", "accuracy"])
    return frame.assign(configuration="only")


Frame = Callable[[pd.DataFrame], pd.DataFrame]


def csv(change: Frame = lambda frame: frame, **options: object) -> Callable[[Path], object]:
    return lambda path: change(table()).to_csv(path, **{"index": False, **options})


def parquet(change: Frame) -> Callable[[Path], object]:
    return lambda path: change(table()).to_parquet(path)


def parquet_of(**columns: object) -> Callable[[Path], object]:
    return parquet(lambda frame: frame.assign(**columns))


GAP = "have different epochs: epoch 2 is in only one of them, and both went on after it."
NO_NOVEL = "a.csv: A has no rows of novel, so that nothing can be reported on novel classes."
FILES: list[tuple[str, Callable[[Path], object], str]] = [
    ("a.csv", lambda p: p.write_text(""), "cannot be read as a table: No columns to parse"),
    ("a.csv", lambda p: p.mkdir(), "a.csv holds no plan.json, so it is not a run folder."),
    ("a.csv", lambda p: p.write_bytes(gzip.compress(b"x")), "it is not UTF-8 text; if it is comp"),
    ("a.csv.gz", lambda p: p.write_bytes(gzip.compress(b"x")), "parquet file; unpack it first."),
    ("a.csv", csv(index=True), "the first column has no name, as when pandas writes"),
    ("a.csv", csv(sep=";"), "a.csv has one column, 'method;seed;epoch;measure;accuracy;configurat"),
    (
        "a.csv",
        csv(lambda frame: frame.replace({"method": {"A": " A"}})),
        "a.csv: row 2: method ' A' begins or ends with a space.",
    ),
    ("a.csv", csv(lambda frame: frame[frame["epoch"].ne(2) | frame["seed"].ne(1)]), GAP),
    ("a.csv", csv(lambda frame: frame[frame["measure"].ne("novel")]), NO_NOVEL),
    ("a.parquet", parquet(lambda f: f.drop(columns="measure")), "column 'measure' is missing; a"),
    ("a.parquet", parquet(lambda frame: frame.iloc[:0]), "a.parquet holds no rows."),
    ("a.parquet", parquet_of(accuracy="high"), "row 1: accuracy 'high' is not a finite number."),
    ("a.parquet", parquet_of(accuracy=True), "row 1: accuracy 'True' is not a finite number."),
    ("a.parquet", parquet_of(accuracy=[[0.5]] * 48), "a.parquet cannot be read as a table: "),
    ("a.parquet", parquet_of(seed=pd.Timestamp("2020-01-01")), "row 1: seed '2020-01-01 "),
    ("a.parquet", parquet_of(method=b"\xff"), "a.parquet cannot be read as a table: "),
]


@pytest.mark.parametrize(("name", "write", "expected"), FILES)
def test_a_table_that_is_none(run, command, name, write, expected):
    write(Path(name))
    assert expected in message(command("report", name))
    assert expected in message(command("report", run, name))


@pytest.mark.parametrize("kept", [0.0, 0.01, 0.5, 0.999])
def test_a_parquet_file_that_was_cut(run, command, kept):
    table().to_parquet("a.parquet")
    data = Path("a.parquet").read_bytes()
    Path("a.parquet").write_bytes(data[: int(kept * len(data))])
    assert "a.parquet cannot be read as a table: " in message(command("report", "a.parquet"))


def test_the_tables_of_these_tests_are_good_otherwise(run, command):
    """What is refused above is refused for the reason that is named."""
    table().to_csv("a.csv", index=False)
    table().to_parquet("a.parquet")
    assert (
        hashlib.sha256(Path("a.csv").read_bytes()).hexdigest()[:16]
        in command("report", "a.csv", "--full")[1]
    )
    assert command("report", "a.csv")[0] == command("report", "a.parquet")[0] == 0
