"""What is said of a third party's part that fails: its package, the method, where it raised."""

import json
from pathlib import Path

import faulty
import pytest
import yaml
from commands import TINY, WithoutRay

from fsl_sweep.learners.catalogue import LEARNERS
from fsl_sweep.orchestrator.cli import invoke
from fsl_sweep.orchestrator.sweep import execute


@pytest.fixture
def planned(tmp_path, monkeypatch, capsys):
    """Write the tiny sweep with changes, and call a command on it: its code and its words."""
    monkeypatch.chdir(tmp_path)
    faulty.install(tmp_path / "faulty", monkeypatch)

    def planned(*command, **changes):
        Path("s.yaml").write_text(yaml.safe_dump({**yaml.safe_load(TINY), **changes}))
        return invoke([*command]), "".join(capsys.readouterr())

    return planned


def method(learner, **more):
    return {"methods": {"M": {"learner": {"name": learner}, **more}}}


FAULTS = {
    "The learner plug-in 'unchecked'": method("unchecked"),
    "The learner plug-in 'undecided'": method("undecided"),
    "M: The learner plug-in 'unbuilt'": method("unbuilt"),
    "M: The backbone plug-in 'unbuilt-net'": method("protonet", backbone={"name": "unbuilt-net"}),
    "The benchmark plug-in 'unassembled'": {"benchmark": {"name": "unassembled"}},
    "The benchmark plug-in 'unassembled' ": {"benchmark": {"name": "in-distribution:unassembled"}},
}


@pytest.mark.parametrize(("part", "changes"), FAULTS.items())
@pytest.mark.parametrize("options", [(), ("--dry-run",)])
def test_a_part_that_cannot_be_built_stops_the_plan_with_one_message(
    planned, monkeypatch, part, changes, options
):
    monkeypatch.setattr(execute, "RayProcess", WithoutRay)
    code, text = planned("run", "s.yaml", *options, **changes)
    assert (code, "Traceback" in text) == (2, False)
    message = text[text.index("fsl-sweep: ") :]
    assert f"{part.strip()} (faulty) raised KeyError: 'no such\\n" in message
    assert f"({faulty.__file__}, line " in message
    assert message.count("\n") == 1


def test_data_commands_name_a_benchmark_that_fails_and_ours_keep_their_traceback(planned):
    for command in ("check", "prepare"):
        code, text = planned("data", command, "unassembled")
        assert code == 2
        assert "The benchmark plug-in 'unassembled' (faulty) raised" in text
    with pytest.raises(KeyError), LEARNERS.named_faults("protonet"):
        raise KeyError("a defect")


def test_a_learner_that_answers_for_more_classes_than_a_task_has_fails(planned):
    code, text = planned("trial", "s.yaml", "--index", "0", **method("wide"), seeds=[0])
    assert (code, "Wide gave logits [12, 6, 4] where [12, 6, 3] are needed" in text) == (1, True)
    (end,) = Path("runs/tiny/trials").glob("*/end.json")
    assert json.loads(end.read_text())["retriable"] is False
