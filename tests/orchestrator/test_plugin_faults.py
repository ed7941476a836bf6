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
        return invoke([command[0], "s.yaml", *command[1:]]), "".join(capsys.readouterr())

    return planned


FAULTS = {
    "The learner plug-in 'unchecked'": {"methods": {"M": {"learner": {"name": "unchecked"}}}},
    "The learner plug-in 'undecided'": {"methods": {"M": {"learner": {"name": "undecided"}}}},
    "M: The learner plug-in 'unbuilt'": {"methods": {"M": {"learner": {"name": "unbuilt"}}}},
    "M: The backbone plug-in 'unbuilt-net'": {
        "methods": {"M": {"learner": {"name": "protonet"}, "backbone": {"name": "unbuilt-net"}}}
    },
    "The benchmark plug-in 'unassembled'": {"benchmark": {"name": "unassembled"}},
    "The benchmark plug-in 'unassembled' ": {"benchmark": {"name": "in-distribution:unassembled"}},
}


@pytest.mark.parametrize(("named", "changes"), FAULTS.items())
@pytest.mark.parametrize("options", [(), ("--dry-run",)])
def test_a_part_that_cannot_be_built_stops_the_plan_with_one_message(
    planned, monkeypatch, named, changes, options
):
    monkeypatch.setattr(execute, "RayProcess", WithoutRay)
    code, told = planned("run", *options, **changes)
    assert (code, "Traceback" in told) == (2, False)
    told = told[told.index("fsl-sweep: ") :]
    assert f"{named.strip()} (faulty) raised KeyError: 'no such\\n" in told
    assert f"({faulty.__file__}, line " in told
    assert told.count("\n") == 1


def test_an_error_of_a_part_of_ours_keeps_its_traceback():
    with pytest.raises(KeyError), LEARNERS.named_faults("protonet"):
        raise KeyError("a defect")


def test_data_commands_name_a_benchmark_that_fails(planned, capsys):
    for command in (["check", "unassembled"], ["prepare", "unassembled"]):
        assert invoke(["data", *command]) == 2
        assert "The benchmark plug-in 'unassembled' (faulty) raised" in capsys.readouterr().err


def test_a_learner_that_answers_for_more_classes_than_a_task_has_fails(planned):
    code, told = planned(
        "trial", "--index", "0", methods={"M": {"learner": {"name": "wide"}}}, seeds=[0]
    )
    assert (code, "Wide gave logits [12, 6, 4] where [12, 6, 3] are needed" in told) == (1, True)
    (end,) = Path("runs/tiny/trials").glob("*/end.json")
    assert json.loads(end.read_text())["retriable"] is False
