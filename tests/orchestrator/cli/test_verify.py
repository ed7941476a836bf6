"""``fsl-sweep verify``: what it names, what it says follows, and its exit codes."""

import os
import shutil
from pathlib import Path

import hostile
import pytest
from made import forge
from test_hostile_run_folders import made_run

from fsl_sweep.orchestrator.cli import invoke


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("whole") / "run"
    made_run(folder)
    return folder


@pytest.fixture
def run(tmp_path, monkeypatch, whole) -> Path:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(whole, "run")
    return Path("run")


def verified(capsys) -> tuple[int, list[str], str]:
    code = invoke(["verify", "run"])
    out, err = capsys.readouterr()
    return code, out.splitlines(), err


def trial(run: Path, done: bool = True) -> Path:
    """A trial that is done, or the one that is not."""
    return next(p for p in sorted((run / "trials").iterdir()) if (p / "end.json").exists() is done)


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def test_a_whole_run_is_whole(run, capsys):
    assert verified(capsys) == (0, ["run: nothing is damaged"], "")


AGAIN = "its trial counts as not done; `fsl-sweep run` trains it again"
CASES = [
    ("sweep.yaml", True, "not the file that was planned last; it was edited, damaged or removed"),
    ("environment.json", True, "which versions made the records is not known; the next"),
    ("tasks/val-report.json", True, "`report --classes` cannot read it; the next `fsl-sweep run`"),
    ("spec.json", True, "the plan holds the same; no number depends on it"),
    ("end.json", True, AGAIN),
    ("records.parquet", True, AGAIN),
    ("epochs/0001.record", False, AGAIN),
    ("resume.state", False, "its trial is trained again from the beginning"),
    ("snapshots/0002.safetensors", True, "the weights cannot be used; to make them again, remove"),
    ("snapshots/0002.safetensors", False, "the recorded numbers stand"),
]


@pytest.mark.parametrize("harm", ["flip", "link"])
@pytest.mark.parametrize(("name", "done", "follows"), CASES)
def test_each_kind_of_file_is_named_with_what_follows(
    run, capsys, tmp_path, harm, name, done, follows
):
    path = run / name if (run / name).exists() else trial(run, done) / name
    if harm == "flip":
        flip(path)
    else:
        path.unlink()
        hostile.put("link", path, tmp_path / "secret")
    code, (line, summary), err = verified(capsys)
    assert (code, err) == (1, "")
    assert line.startswith(f"{path.relative_to(run)}: it")
    assert ("symbolic link" in line) is (harm == "link")
    assert "remove" in line or follows in line
    assert summary == "run: 1 damaged, missing or refused"


def test_a_cache_that_is_damaged_is_replaced(run, capsys):
    invoke(["report", "run", "--bootstrap", "0"])
    capsys.readouterr()
    cache = run / "report" / "tasks.cache"
    flip(cache)
    follows = "it is not used; the next report replaces it"
    line = f"report/tasks.cache: its checksum does not match; {follows}"
    assert verified(capsys)[:2] == (1, [line, "run: 1 damaged, missing or refused"])
    invoke(["report", "run", "--bootstrap", "0"])
    capsys.readouterr()
    assert verified(capsys)[0] == 0


def test_what_no_run_makes_is_named_printably_and_is_no_damage(run, capsys):
    (run / "notes\x1b[2J.txt").write_text("")
    (Path(os.fsdecode(b"run/trials/\xff"))).mkdir()
    half = trial(run) / "snapshots" / f".unfinished-{'0' * 32}"
    half.write_bytes(b"")
    code, lines, _ = verified(capsys)
    assert code == 0
    strange = "no run makes a file of this name; nothing reads or removes it"
    assert lines == [
        f"notes\\x1b[2J.txt: {strange}",
        f"trials/\\udcff: {strange}",
        f"{half.relative_to(run)}: a write was cut short; the next `fsl-sweep run` removes it",
        "run: nothing is damaged; 3 that no run keeps",
    ]


def test_a_plan_that_cannot_be_read_ends_it(run, capsys):
    flip(run / "plan.json")
    code, (line, _), _ = verified(capsys)
    assert code == 1
    assert line.startswith("plan.json: run/plan.json is not a readable plan (")


def test_what_is_no_run_is_a_mistake(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    code, lines, err = verified(capsys)
    assert (code, lines) == (2, [])
    assert err == "fsl-sweep: run is not a run folder: it has no plan.json.\n"


@pytest.mark.parametrize("kind", hostile.KINDS)
@pytest.mark.parametrize("name", ["lock", "report", "tasks", "trials", "tensorboard/x"])
def test_whatever_is_in_a_files_place_is_named(run, capsys, tmp_path, name, kind):
    path = run / name
    shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    hostile.put(kind, path, tmp_path / "secret")
    code, lines, err = verified(capsys)
    assert err == ""
    empty = kind == "folder" and name in ("report", "trials", "tensorboard/x")
    assert code == (0 if empty else 1)
    assert empty or any(line.startswith(name) for line in lines)


def test_weights_without_records_are_more_than_a_kill_leaves(run, capsys):
    begun = trial(run, done=False)
    kept = begun / "snapshots" / "0003.safetensors"
    kept.write_bytes(b"weights of the epoch in which it was killed")
    assert verified(capsys)[0] == 0
    for path in (begun / "epochs").iterdir():
        path.unlink()
    code, lines, _ = verified(capsys)
    assert code == 1
    assert sum("no record names it" in line for line in lines) == 3


@pytest.mark.parametrize(
    "content",
    [{}, {"status": 3, "reason": "", "retriable": False}, {"status": "done", "records": [1]}],
)
def test_an_end_that_is_none_is_damaged_for_every_command(run, capsys, content):
    end = trial(run) / "end.json"
    forge(run, end.relative_to(run).as_posix(), content)
    assert f"{end.relative_to(run)}: it is not what was recorded; {AGAIN}" in verified(capsys)[1]
    for command in ("status", "report"):
        assert invoke([command, "run"]) == 1
        assert "end.json" in capsys.readouterr().out
