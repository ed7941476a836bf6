"""What the trials of a method reserve."""

import pytest
from commands import TINY

from fsl_sweep.orchestrator.errors import ConfigError
from fsl_sweep.orchestrator.planning.prepare import prepare
from fsl_sweep.orchestrator.records.spec import Resources


@pytest.fixture
def planned(tmp_path):
    def planned(*overrides):
        path = tmp_path / "tiny.yaml"
        path.write_text(TINY)
        return prepare(str(path), tmp_path / "run", overrides, []).plan

    return planned


def test_a_method_has_resources_of_its_own_and_the_same_trials(planned):
    plain = planned("resources={cpu: 3, gpu: 0.5}")
    plan = planned("resources={cpu: 3, gpu: 0.5}", "methods.RR.resources={gpu: 0}")
    assert (plan.specs, plan.sweep) == (plain.specs, plain.sweep)
    wanted = {"PN": Resources(cpu=3, gpu=0.5), "RR": Resources(cpu=3, gpu=0)}
    for trial in plan.trials:
        assert plan.resources_of(trial.id) == wanted[trial.method]
        assert plain.resources_of(trial.id) == wanted["PN"]
    assert "method_resources" not in plain.to_plain()


def test_a_trial_of_two_methods_reserves_what_the_first_says(planned):
    plan = planned(
        "methods.Z={learner: {name: protonet}, resources: {cpu: 5}}",
        "methods.PN.resources={cpu: 4}",
    )
    shared = {trial.id for trial in plan.trials if trial.method == "Z"}
    assert {plan.resources_of(trial).cpu for trial in shared} == {4}


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("{cpus: 2}", r"methods\.PN\.resources\.cpus: unknown key 'cpus'; did you mean 'cpu'\?"),
        ("{gpu: -1}", r"methods\.PN\.resources\.gpu: .*-1"),
        ("{cpu: {grid: [1, 2]}}", r"methods\.PN\.resources\.cpu: "),
        ("3", r"methods\.PN\.resources: .*3"),
    ],
)
def test_resources_that_cannot_be_used(planned, written, message):
    with pytest.raises(ConfigError, match=message):
        planned(f"methods.PN.resources={written}")


@pytest.mark.parametrize(("written", "seconds"), [("30m", 1800.0), ("90s", 90.0)])
def test_the_time_after_which_a_trial_hangs(tmp_path, written, seconds):
    path = tmp_path / "tiny.yaml"
    path.write_text(f"{TINY}stall: {written}\n")
    assert prepare(str(path), tmp_path, (), []).sweep.config.stall == seconds
    path.write_text(f"{TINY}stall: 30\n")
    with pytest.raises(ConfigError, match=r"stall: .*'30' is not a duration: write 90s, 30m"):
        prepare(str(path), tmp_path, (), [])
