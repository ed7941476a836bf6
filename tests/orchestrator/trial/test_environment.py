"""What a trial is trained with: recorded by epoch, kept at its end, compared in reports."""

import shutil
from dataclasses import replace
from pathlib import Path

import faulty
import pytest
import torch
from commands import TINY
from evaluated import CPU
from made import flip, forge, main_of, plan, planned, spec, trainable
from trained import run

from fsl_sweep import load_run
from fsl_sweep.orchestrator.cli import invoke
from fsl_sweep.orchestrator.ledger.ledger import Ledger
from fsl_sweep.orchestrator.records.model import Named
from fsl_sweep.orchestrator.trial import environment
from fsl_sweep.orchestrator.trial.environment import code_digest, environment_of
from fsl_sweep.orchestrator.trial.trial import use_threads

SPEC = trainable(epochs=4)


@pytest.fixture
def one_thread():
    """Whatever number a test trains with, others train with one thread."""
    yield
    use_threads(1)


def test_the_code_counts_wherever_it_lies(tmp_path, monkeypatch) -> None:
    digests = []
    for place in ("here", "there", "elsewhere"):
        path = tmp_path / place / "fsl_sweep" / "orchestrator" / "trial" / "environment.py"
        path.parent.mkdir(parents=True)
        shutil.copy(environment.__file__, path)
        # A checkout's folders are links; what is not source, such as compiled code, does not count.
        (tmp_path / place / "outside").mkdir()
        (tmp_path / place / "outside" / "learner.py").write_text("a = 1\n")
        (tmp_path / place / "fsl_sweep" / "learners").symlink_to(tmp_path / place / "outside")
        (path.parent / "compiled.pyc").write_text(place)
        if place == "elsewhere":
            flip(tmp_path / place / "outside" / "learner.py")
        monkeypatch.setattr(environment, "__file__", str(path))
        digests.append(code_digest.__wrapped__())
    assert digests[0] == digests[1] != digests[2]
    monkeypatch.undo()
    assert code_digest.__wrapped__() not in digests


def test_versions_of_plug_ins_count(tmp_path, monkeypatch) -> None:
    usual = environment_of(spec(), CPU)
    assert {"code", "torch", "numpy", "threads", "device"} <= usual.keys()
    faulty.install(tmp_path, monkeypatch)
    of_plugin = spec().model_copy(update={"learner": Named(name="raising")})
    assert environment_of(of_plugin, CPU) == {**usual, "faulty": "1.0"}


@pytest.mark.parametrize("ended", [False, True])
def test_a_trial_that_goes_on_elsewhere_is_named(tmp_path, data, monkeypatch, ended) -> None:
    ledger = Ledger(tmp_path)
    protocols = (main_of(data),)
    ledger.write_plan(replace(plan(planned(SPEC)), protocols=protocols), "name: made\n")
    run(tmp_path, SPEC, data, epochs=1)
    (first,) = read(tmp_path)
    assert load_run(tmp_path).report().environments.caution is None
    monkeypatch.setattr(environment, "processor", lambda: "another machine")
    run(tmp_path, SPEC, data, epochs=None if ended else 2)
    second = {**first, "device": "another machine"}
    assert read(tmp_path) == (first, second)
    report = load_run(tmp_path).report()
    assert report.environments.values["device"] == {first["device"]: 1, "another machine": 1}
    assert "another machine (1 trial)" in (report.environments.caution or "")
    assert any(c == report.environments.caution for c in report.cautions)
    if ended:
        columns = ledger.trial(SPEC.id).folder.read_json("end.json")["epochs"]
        assert columns["environment"] == [first, second, None, None]


def read(folder: Path) -> tuple[object, ...]:
    (trial,) = load_run(folder).histories
    return trial.environments


def test_records_without_it_are_read_and_nonsense_is_damage(tmp_path, data) -> None:
    run(tmp_path, SPEC, data)
    storage = Ledger(tmp_path).trial(SPEC.id)
    content = storage.folder.read_json("end.json")
    for column, known in ((None, True), ([{"threads": 1}, None, None, None], False)):
        epochs = {key: value for key, value in content["epochs"].items() if key != "environment"}
        if column is not None:
            epochs["environment"] = column
        forge(tmp_path, storage.folder.place("end.json"), {**content, "epochs": epochs})
        history = storage.history(planned(SPEC), main_of(data).id)
        assert (history.environments, history.complete, not history.damaged) == ((), known, known)


@pytest.mark.usefixtures("one_thread")
def test_two_runs_with_one_and_two_threads_are_told_apart_in_one_line(
    tmp_path, monkeypatch, capsys
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("s.yaml").write_text(TINY.replace("epochs: 3", "epochs: 1"))
    lines = []
    for threads in (1, 2):
        arguments = ["--index", "0", "-o", f"run{threads}", "--set", f"resources.cpu={threads}"]
        assert invoke(["trial", "s.yaml", *arguments]) == 0
        capsys.readouterr()
        assert invoke(["report", f"run{threads}", "--format", "markdown"]) == 1
        said = capsys.readouterr().out.splitlines()
        (line,) = (line for line in said if line.startswith("- trained with "))
        lines.append(line.split("; "))
    assert [a for a, b in zip(*lines, strict=True) if a != b] == ["threads 1"]
    assert "threads 2" in lines[1]
    assert torch.get_num_threads() == 2
