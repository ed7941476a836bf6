"""What ``verify``, ``status`` and ``report`` say of a run folder that something happened to."""

import json
import os
import re
import shutil
from functools import partial
from pathlib import Path

import hostile
import numpy as np
import pytest
from commands import TINY
from made import FIVE_SHOT, MAIN_ID, flip, forge, record

from fsl_sweep.orchestrator.ledger import measured
from fsl_sweep.orchestrator.ledger.ledger import Ledger
from fsl_sweep.orchestrator.ledger.measured import answers_name, compacted_name
from fsl_sweep.orchestrator.records.measures import TaskScores

FIVE = f"measured/{FIVE_SHOT.id}.parquet"


def trial(run: Path, done: bool | None = True, holding: str = "spec.json") -> Path:
    """The first trial that is done and has a file, or the one that has only begun, or the run."""
    if done is None:
        return run
    planned = json.loads((run / "plan.json").read_text())["trials"]
    trials = [run / "trials" / one["id"] for one in planned]
    fitting = [path for path in trials if (path / "end.json").exists() is done]
    return next(path for path in fitting if (path / holding).exists())


def at(run: Path, done: bool | None, name: str) -> Path:
    return trial(run, done, name) / name


def remove(path: Path) -> None:
    shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)


def replaced(kind: str, done: bool | None, name: str, run: Path) -> None:
    path = at(run, done, name)
    remove(path)
    hostile.put(kind, path, run.parent / "secret")


def written(content: bytes, done: bool | None, name: str, run: Path) -> None:
    path = at(run, done, name)
    remove(path)
    path.write_bytes(content)


def ended(content: dict, run: Path) -> None:
    forge(run, (trial(run) / "end.json").relative_to(run).as_posix(), content)


def strange_files(run: Path) -> None:
    (run / "notes\x1b[2J.txt").write_text("")
    (Path(os.fsdecode(b"run/trials/\xff"))).mkdir()
    (trial(run) / "snapshots" / f".unfinished-{'0' * 32}").write_bytes(b"")
    measured = trial(run, holding=FIVE) / "measured"
    (measured / MAIN_ID).mkdir(exist_ok=True)
    for name in ("1.parquet", "0.csv", f"{MAIN_ID}/1.record"):
        (measured / name).write_text("")


def weights_of_a_killed_epoch(run: Path) -> None:
    (trial(run, done=False) / "snapshots" / "0003.safetensors").write_bytes(b"weights")


def weights_without_records(run: Path) -> None:
    weights_of_a_killed_epoch(run)
    remove(at(run, False, "epochs"))


def with_answers(epoch: int, run: Path) -> Path:
    storage = Ledger(run).trial(trial(run, done=False).name)
    scores = {
        key: TaskScores.of_answers(np.zeros(one.queries.sum(), np.uint16), one.queries)
        for key, one in record(epoch).scores.items()
    }
    weights = storage.snapshots().get(epoch, "0" * 64)
    storage.measurements.write(MAIN_ID, epoch, weights, scores, answers=True)
    return storage.folder.path / answers_name(MAIN_ID, epoch)


def answers_of_a_killed_epoch(run: Path) -> None:
    with_answers(1, run)
    with_answers(3, run)
    weights_of_a_killed_epoch(run)


def state_of_another_run(run: Path) -> None:
    storage = Ledger(run).trial(trial(run, done=False).name)
    state = storage.folder.read("resume.state")
    storage.write_epoch(record(2), MAIN_ID, b"other weights")
    storage.folder.write("resume.state", state)


FILES = [
    *((None, name) for name in ("sweep.yaml", "environment.json")),
    (None, f"tasks/{MAIN_ID}/val-report.json"),
    *((True, name) for name in ("spec.json", "end.json", f"measured/{MAIN_ID}.parquet")),
    *((done, "snapshots/0002.safetensors") for done in (True, False)),
    *((False, name) for name in (f"measured/{MAIN_ID}/0001.record", "epochs/0001.json")),
    (False, "resume.state"),
]
HARMS = {
    "nothing": lambda run: None,
    "strange files": strange_files,
    "weights of a killed epoch": weights_of_a_killed_epoch,
    "weights without records": weights_without_records,
    "answers of a killed epoch": answers_of_a_killed_epoch,
    "a state of another run": state_of_another_run,
    "damaged answers": lambda run: flip(with_answers(1, run)),
    "unknown pruning": lambda run: flip(at(run, True, "pruned.json")),
    **{f"flip {file}": lambda run, file=file: flip(at(run, *file)) for file in FILES},
    **{f"link {file}": partial(replaced, "link", *file) for file in FILES},
    **{
        f"{kind} {name}": partial(replaced, kind, None, name)
        for kind in hostile.KINDS
        for name in ("lock", "tasks", "trials", "tensorboard/x")
    },
    **{
        f"no {file}": lambda run, file=file: remove(at(run, *file))
        for file in ((None, "plan.json"), (None, "trials"), (True, "end.json"), (True, FIVE))
    },
    "no trial": lambda run: remove(trial(run)),
    "a file of trials": partial(written, b"x", None, "trials"),
    "half a plan": partial(written, b"{", None, "plan.json"),
    "an empty plan": partial(written, b"{}", None, "plan.json"),
    "half an end": partial(written, b"{", True, "end.json"),
    "no text": partial(written, b"\xff", True, "end.json"),
    "an empty end": partial(ended, {}),
    "an end of wrong types": partial(ended, {"status": 3, "reason": "", "retriable": False}),
    "an end of no records": partial(ended, {"status": "done", "records": [1]}),
}
LARGE = "fsl_sweep.orchestrator.ledger.ledger.CHECKED"
HARMS = {name.replace(MAIN_ID, "MAIN").replace(FIVE, "FIVE"): harm for name, harm in HARMS.items()}


def test_status_of_a_large_run_does_not_open_what_ended_trials_measured(run, said, monkeypatch):
    opened, parquet, usual = set[str](), measured._parquet, said("status run")
    monkeypatch.setattr(LARGE, 0)
    monkeypatch.setattr(
        measured,
        "_parquet",
        lambda folder, name, *of: opened.add(name) or parquet(folder, name, *of),
    )
    assert said("status run") == usual
    assert opened == {FIVE}  # of another protocol
    at(run, True, compacted_name(MAIN_ID)).unlink()
    assert "1 damaged" in said("status run")


@pytest.mark.parametrize("harm", HARMS)
def test_what_is_said_of(run, said, harm, snapshot, monkeypatch):
    HARMS[harm](run)
    before = hostile.state(run)
    text = said("verify run", "status run", "report run --bootstrap 0")
    monkeypatch.setattr(LARGE, 0)
    # Of a large run it is not said what only reading all measurements shows.
    assert text.startswith(said("verify run", "status run")) or "MAIN.parquet" in harm
    assert hostile.state(run) == before
    if harm.startswith("flip"):  # which bit of a text it is may change
        text = re.sub(r"it is not valid JSON|its checksum does not match", "it is damaged", text)
    assert text.partition("Measured under")[0] == snapshot


def test_a_run_of_an_earlier_format_is_refused_with_what_to_do(run, refused):
    plan = json.loads((run / "plan.json").read_text())
    forge(run, "plan.json", {**plan, "format": 2})
    (run / "s.yaml").write_text(TINY.replace("name: tiny", "name: made"))
    for command in ("report run", "status run", "verify run", "run run/s.yaml -o run"):
        said = refused(*command.split())
        assert "has the format 2, and this version of fsl-sweep reads format 4. Report it" in said
