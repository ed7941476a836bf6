"""``fsl-sweep verify`` and ``status``: what they name, what follows, and their exit codes."""

import json
import os
import shutil
from pathlib import Path

import hostile
import pytest
from commands import TINY
from made import FIVE_SHOT, MAIN_ID, flip, forge

from fsl_sweep.orchestrator.cli import invoke
from fsl_sweep.orchestrator.run import load_run


def verified(capsys, command="verify") -> tuple[int, list[str], str]:
    code = invoke([command, "run"])
    out, err = capsys.readouterr()
    return code, out.splitlines(), err


def trial(run: Path, done: bool = True, holding: str = "spec.json") -> Path:
    """A trial that is done and has a file, or the one that is not done."""
    trials = [p for p in sorted((run / "trials").iterdir()) if (p / "end.json").exists() is done]
    return next(p for p in trials if (p / holding).exists())


AGAIN = "its trial counts as not done; `fsl-sweep run` trains it again"
MEASURED_AGAIN = "what it held is not used; `fsl-sweep run` measures the weights again, or"
WEIGHTS = "the recorded numbers stand, the weights cannot be used; to make them again, remove the"
CASES = [
    ("sweep.yaml", True, "it was edited, damaged or removed; no record is lost"),
    ("environment.json", True, "the versions that made the records are not known; the next"),
    (
        f"tasks/{MAIN_ID}/val-report.json",
        True,
        "`report --classes` cannot read it; the next `fsl-sweep run`",
    ),
    ("spec.json", True, "the plan holds the same; no number depends on it"),
    ("end.json", True, AGAIN),
    (f"measured/{MAIN_ID}.parquet", True, MEASURED_AGAIN),
    (f"measured/{MAIN_ID}/0001.record", False, MEASURED_AGAIN),
    ("epochs/0001.json", False, AGAIN),
    ("resume.state", False, "its trial is trained again from the beginning"),
    ("snapshots/0002.safetensors", True, WEIGHTS),
    ("snapshots/0002.safetensors", False, WEIGHTS),
]


@pytest.mark.parametrize("harm", ["flip", "link"])
@pytest.mark.parametrize(("name", "done", "follows"), CASES)
def test_each_kind_of_file_is_named_with_what_follows(
    run, capsys, tmp_path, harm, name, done, follows
):
    path = run / name if (run / name).exists() else trial(run, done, name) / name
    if harm == "flip":
        flip(path)
    else:
        path.unlink()
        hostile.put("link", path, tmp_path / "secret")
    code, (line, summary), err = verified(capsys)
    assert (code, err) == (1, "")
    assert line.startswith(f"{path.relative_to(run)}: it")
    assert ("symbolic link" in line) is (harm == "link")
    assert follows in line
    assert summary == "run: 1 damaged, missing or refused"
    # What `status` does not list itself, it points at.
    hint = "1 file outside trials/ is damaged or missing: `fsl-sweep verify run` lists them"
    assert (hint in verified(capsys, "status")[1]) is ("trials" not in path.parts)


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
        f"{half.relative_to(run)}: a write was interrupted; the next `fsl-sweep run` removes it",
        "run: nothing is damaged; 3 not part of a run",
    ]


@pytest.mark.parametrize(
    ("text", "reason"), [("{", "it is not valid JSON"), ("{}", "its checksum does not match")]
)
def test_a_plan_that_cannot_be_read_ends_it(run, capsys, text, reason):
    (run / "plan.json").write_text(text)
    code, (line, _), _ = verified(capsys)
    assert code == 1
    assert line.startswith(f"plan.json: {reason}")
    assert line.endswith("checked; run the sweep into another folder, or restore it")


def test_what_is_no_run_is_a_mistake(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    code, lines, err = verified(capsys)
    assert (code, lines) == (2, [])
    assert err == "fsl-sweep: run is not a run folder: it has no plan.json.\n"


@pytest.mark.parametrize("kind", hostile.KINDS)
@pytest.mark.parametrize("name", ["lock", "tasks", "trials", "tensorboard/x"])
def test_whatever_is_in_a_files_place_is_named(run, capsys, tmp_path, name, kind):
    path = run / name
    shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    hostile.put(kind, path, tmp_path / "secret")
    code, lines, err = verified(capsys)
    assert err == ""
    empty = kind == "folder" and name in ("trials", "tensorboard/x")
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


def test_pruned_weights_are_no_damage_until_it_is_not_known_that_they_were(run, capsys):
    pruned = trial(run, holding="pruned.json")
    assert not (pruned / "snapshots/0001.safetensors").exists()
    assert verified(capsys)[:2] == (0, ["run: nothing is damaged"])
    flip(pruned / "pruned.json")
    code, lines, _ = verified(capsys)
    assert code == 1
    assert "whether missing weights were pruned is not known" in lines[0]
    assert lines[1].startswith(f"{pruned.relative_to(run)}/snapshots/0001.safetensors: it is miss")


def test_strangers_among_measurements_are_named(run, capsys):
    measured = trial(run, holding=f"measured/{FIVE_SHOT.id}.parquet") / "measured"
    names = ["1.parquet", f"{MAIN_ID}.csv", f"{MAIN_ID}/1.record"]
    (measured / MAIN_ID).mkdir(exist_ok=True)
    for name in names:
        (measured / name).write_text("")
    code, lines, _ = verified(capsys)
    assert code == 0
    told = "no run makes a file of this name; nothing reads or removes it"
    assert lines[:-1] == [f"{(measured / name).relative_to(run)}: {told}" for name in names]


def test_status_says_how_much_is_measured_under_each_protocol(run, capsys):
    code, lines, _ = verified(capsys, "status")
    assert code == 1
    # The trial that has not ended has two snapshots, which further protocols do not ask for yet.
    assert lines[2] == "measured: main 11 of 11 snapshots; 5-shot 7 of 9"
    flip(trial(run, holding=f"measured/{FIVE_SHOT.id}.parquet") / f"measured/{MAIN_ID}.parquet")
    _, lines, _ = verified(capsys, "status")
    assert lines[2].startswith("measured: main 8 of 11 snapshots; 5-shot")
    # A damaged trial is not done, as in the report.
    assert lines[1] == "1 begun, 1 damaged, 2 done"
    assert (load_run(run).report().completeness.done, lines[0]) == (2, "made: 4 trials planned")


def test_a_run_of_an_earlier_format_is_refused_with_what_to_do(run, refused):
    plan = json.loads((run / "plan.json").read_text())
    forge(run, "plan.json", {**plan, "format": 2})
    (run / "s.yaml").write_text(TINY.replace("name: tiny", "name: made"))
    for command in ("report run", "status run", "verify run", "run run/s.yaml -o run"):
        said = refused(*command.split())
        assert "has the format 2, and this version of fsl-sweep reads format 4. Report it" in said
