"""``fsl-sweep verify`` and ``status``: what they name, what follows, and their exit codes."""

import json
import os
import re
import shutil
from functools import partial
from pathlib import Path

import hostile
import pytest
from commands import TINY
from made import FIVE_SHOT, MAIN_ID, flip, forge

from fsl_sweep.orchestrator.cli import invoke
from fsl_sweep.orchestrator.run import load_run


@pytest.fixture
def said(capsys):
    """What a command says of the run, its lines in order, and its exit code."""

    def said(command="verify"):
        code = invoke([command, "run"])
        out, err = capsys.readouterr()
        return code, [*out.splitlines(), *err.splitlines()]

    return said


def trial(run: Path, done: bool = True, holding: str = "spec.json") -> Path:
    """The first trial that is done and has a file, or the one that is not done."""
    planned = json.loads((run / "plan.json").read_text())["trials"]
    trials = [run / "trials" / one["id"] for one in planned]
    return next(
        path
        for path in trials
        if (path / "end.json").exists() is done and (path / holding).exists()
    )


FILES = {  # of the run, of a trial that is done, and of one that has only begun
    None: ("sweep.yaml", "environment.json", f"tasks/{MAIN_ID}/val-report.json"),
    True: ("spec.json", "end.json", f"measured/{MAIN_ID}.parquet", "snapshots/0002.safetensors"),
    False: (
        *(f"measured/{MAIN_ID}/0001.record", "epochs/0001.json", "resume.state"),
        "snapshots/0002.safetensors",
    ),
}


def test_each_kind_of_file_is_named_with_what_follows(run, said, tmp_path, snapshot):
    follows = {}
    for path in (
        run / name if done is None else trial(run, done, name) / name
        for done, names in FILES.items()
        for name in names
    ):
        shutil.copy(path, kept := tmp_path / "kept")
        name = path.relative_to(run).as_posix()
        for harm in (flip, lambda path: hostile.put("link", path, tmp_path / "secret")):
            path.unlink()
            shutil.copy(kept, path) if harm is flip else None
            harm(path)
            code, (line, summary) = said()
            assert (code, summary) == (1, "run: 1 damaged, missing or refused")
            assert line.startswith(f"{name}: it")
            assert ("symbolic link" in line) is (harm is not flip)
            # What `status` does not list itself, it points at.
            hint = "1 file outside trials/ is damaged or missing: `fsl-sweep verify run` lists them"
            assert (hint in said("status")[1]) is ("trials" not in path.parts)
            assert follows.setdefault(name, rest := line.partition("; ")[2]) == rest
        path.unlink()
        shutil.copy(kept, path)
    text = "\n".join(f"{name}: {rest}" for name, rest in follows.items())
    assert re.sub(r"\b[0-9a-f]{16}\b", "ID", text) == snapshot


def strange_files(run):
    (run / "notes\x1b[2J.txt").write_text("")
    (Path(os.fsdecode(b"run/trials/\xff"))).mkdir()
    (trial(run) / "snapshots" / f".unfinished-{'0' * 32}").write_bytes(b"")
    measured = trial(run, holding=f"measured/{FIVE_SHOT.id}.parquet") / "measured"
    (measured / MAIN_ID).mkdir(exist_ok=True)
    for name in ("1.parquet", "0.csv", f"{MAIN_ID}/1.record"):
        (measured / name).write_text("")


def weights_of_a_killed_epoch(run):
    (trial(run, done=False) / "snapshots" / "0003.safetensors").write_bytes(b"weights")


def weights_without_records(run):
    weights_of_a_killed_epoch(run)
    shutil.rmtree(trial(run, done=False) / "epochs")
    (trial(run, done=False) / "epochs").mkdir()


def unknown_pruning(run):
    flip(trial(run, holding="pruned.json") / "pruned.json")


def damaged_trial(run):
    flip(trial(run, holding=f"measured/{FIVE_SHOT.id}.parquet") / f"measured/{MAIN_ID}.parquet")


def plan(text, run):
    (run / "plan.json").write_text(text)


def end(content, run):
    forge(run, (trial(run) / "end.json").relative_to(run).as_posix(), content)


HARMS = {
    "nothing": lambda run: None,
    **{harm.__name__: harm for harm in (strange_files, weights_of_a_killed_epoch)},
    **{harm.__name__: harm for harm in (weights_without_records, unknown_pruning, damaged_trial)},
    **{f"a plan of {text}": partial(plan, text) for text in ("{", "{}")},
    "no plan": lambda run: (run / "plan.json").unlink(),
    "an empty end": partial(end, {}),
    "an end of wrong types": partial(end, {"status": 3, "reason": "", "retriable": False}),
    "an end of no records": partial(end, {"status": "done", "records": [1]}),
}


@pytest.mark.parametrize("harm", HARMS)
def test_what_is_said_of(run, said, harm, snapshot):
    HARMS[harm](run)
    text = ""
    for command in ("verify", "status"):
        code, lines = said(command)
        text += "\n".join([f"{command}: exit code {code}", *lines, ""])
    assert re.sub(r"\b[0-9a-f]{16}\b", "ID", text) == snapshot


def test_what_is_damaged_for_verify_is_damaged_for_a_report(run, said):
    assert load_run(run).report().completeness.done == 3
    damaged_trial(run)
    assert load_run(run).report().completeness.done == 2
    end({}, run)
    code, lines = said("report")
    assert code == 1
    assert "end.json" in "\n".join(lines)


@pytest.mark.parametrize("kind", hostile.KINDS)
@pytest.mark.parametrize("name", ["lock", "tasks", "trials", "tensorboard/x"])
def test_whatever_is_in_a_files_place_is_named(run, said, tmp_path, name, kind):
    path = run / name
    shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    hostile.put(kind, path, tmp_path / "secret")
    code, lines = said()
    empty = kind == "folder" and name in ("trials", "tensorboard/x")
    assert code == (0 if empty else 1)
    assert empty or any(line.startswith(name) for line in lines)


def test_a_run_of_an_earlier_format_is_refused_with_what_to_do(run, refused):
    plan = json.loads((run / "plan.json").read_text())
    forge(run, "plan.json", {**plan, "format": 2})
    (run / "s.yaml").write_text(TINY.replace("name: tiny", "name: made"))
    for command in ("report run", "status run", "verify run", "run run/s.yaml -o run"):
        said = refused(*command.split())
        assert "has the format 2, and this version of fsl-sweep reads format 4. Report it" in said
