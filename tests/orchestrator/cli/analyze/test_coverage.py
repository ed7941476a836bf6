"""``coverage``: from a run and from options, its table, its JSON and what it refuses."""

import json
import math

import made
import pytest

from fsl_sweep.orchestrator.cli import invoke

GIVEN = ["--base", "64", "--novel", "20", "--way", "5", "--train-tasks", "600"]


def plain(capsys, *arguments) -> dict:
    assert invoke(["coverage", *arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_disjoint_classes_are_refuted_where_there_are_many_tasks(capsys) -> None:
    found = plain(capsys, *GIVEN)
    assert (found["classes"], found["test_tasks"], found["refuted"]) == (84, 600, True)
    bound = 4 * (1 - 2.5 / 84) ** 600
    assert found["disjoint_probability"] == pytest.approx(bound)
    assert f"no class in common with a probability of at most {bound:.2g}" in found["verdict"]
    assert found["tasks_for_overlap"] == pytest.approx(math.log(400) * 84 / 2.5)
    # Theorem 4 with eta gamma n N / (1 + gamma) = 64.
    few = 1.5**2 / (2 * (1 - 64 * 1.5 / 1500) ** 2 * 0.25 * 600)
    assert (
        f"as few as 64 in training would have a probability of at most {few:.2g}"
        in (found["verdict"])
    )


def test_few_tasks_refute_nothing(capsys) -> None:
    found = plain(capsys, "--classes", "5000", "--way", "5", "--train-tasks", "60")
    assert (found["refuted"], found["disjoint_probability"]) == (False, 1)
    assert "with fewer than 11,983 training and test tasks" in found["verdict"]
    assert found["disjoint_probability_simulated"] == 0
    assert "loose here: none of 1,000 simulations of" in found["verdict"]
    assert found["few_classes"] == pytest.approx(0.5 * 0.5 * 300 / 1.5)
    assert found["few_classes_probability_simulated"] <= found["few_classes_probability"]
    found = plain(capsys, "--classes", "5000", "--way", "5", "--train-tasks", "6")
    share = found["disjoint_probability_simulated"]
    assert share > 0.5
    assert f", as {100 * share:.2g} % of 1,000 simulations of one such" in found["verdict"]


def test_common_classes_are_consistent(capsys) -> None:
    assert "4 classes are in training and" in plain(capsys, *GIVEN, "--classes", "80")["verdict"]


def test_numbers_of_a_run_and_its_table(tmp_path, capsys) -> None:
    made.every_kind_of_file(tmp_path / "run")
    run = str(tmp_path / "run")
    found = plain(capsys, run)
    # Three epochs of two batches of four tasks; tuples are of the same nine classes.
    assert (found["train_tasks"], found["test_tasks"], found["way"]) == (24, 40, 5)
    assert (found["base"], found["novel"], found["classes"], found["shared"]) == (9, 9, 9, 9)
    assert invoke(["coverage", run, "--novel", "3", "--train-tasks", "1000"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("Disjoint classes are not consistent with iid tasks")
    assert "\n12 classes, 5 in a task with gamma 0.5; 1,000 training tasks" in out


def test_a_run_without_class_tuples(tmp_path, refused) -> None:
    made.recorded(tmp_path / "run", made.planned(made.spec()))
    said = refused("coverage", tmp_path / "run")
    assert "run records no tasks of equal numbers of classes" in said


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--way", "5", "--train-tasks", "9"], "--classes: it is not known; give it, or --base"),
        (["--classes", "9", "--train-tasks", "9"], "--way: it is not known; give it"),
        (GIVEN[:-2], "--train-tasks: it is not known; give it"),
        ([*GIVEN, "--classes", "50"], "--base: 64 are more than the 50 classes there are"),
        ([*GIVEN, "--gamma", "1.2"], "--gamma: 1.2 does not lie between 0 and 1"),
        ([*GIVEN, "--rho", "nan"], "--rho: nan does not lie between 0 and 1"),
        (["nowhere"], "nowhere is not a run folder: it has no plan.json"),
    ],
)
def test_mistakes(refused, arguments, expected) -> None:
    assert refused("coverage", *arguments).startswith(expected)
