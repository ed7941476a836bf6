"""``coverage``: from a run and from options, its table, its JSON and what it refuses."""

import json
import math

import made
import pytest

from fsl_sweep.orchestrator.cli import invoke

MANY = ["--base", "64", "--novel", "20", "--way", "5", "--train-tasks", "600"]
FEW = ["--classes", "5000", "--way", "5", "--train-tasks", "60"]
CASES = {
    "many tasks": MANY,
    "few tasks": FEW,
    "very few tasks": [*FEW[:-1], "6"],
    "common classes": [*MANY, "--classes", "80"],
}


@pytest.mark.parametrize("case", CASES)
def test_the_verdict_and_the_table(case, capsys, snapshot) -> None:
    assert invoke(["coverage", *CASES[case]]) == 0
    assert capsys.readouterr().out == snapshot


def test_the_numbers_are_those_of_the_paper(plain) -> None:
    found = plain("coverage", *MANY)
    assert (found["classes"], found["test_tasks"], found["refuted"]) == (84, 600, True)
    bound = 4 * (1 - 2.5 / 84) ** 600
    assert found["disjoint_probability"] == pytest.approx(bound)
    assert f"no class in common with a probability of at most {bound:.2g}" in found["verdict"]
    assert found["tasks_for_overlap"] == pytest.approx(math.log(400) * 84 / 2.5)
    # Theorem 4 with eta gamma n N / (1 + gamma) = 64.
    few = 1.5**2 / (2 * (1 - 64 * 1.5 / 1500) ** 2 * 0.25 * 600)
    assert f"64 in training would have a probability of at most {few:.2g}" in found["verdict"]
    found = plain("coverage", *FEW)
    assert (found["refuted"], found["disjoint_probability"]) == (False, 1)
    assert found["few_classes"] == pytest.approx(0.5 * 0.5 * 300 / 1.5)
    assert found["few_classes_probability_simulated"] <= found["few_classes_probability"]


def test_a_run_counts_the_classes_of_its_splits_and_what_was_trained(
    few_drawn, in_distribution, capsys, plain, snapshot
) -> None:
    found = plain("coverage", few_drawn)
    keys = ("base", "novel", "classes", "shared", "way", "test_tasks")
    assert [found[key] for key in keys] == [15, 10, 25, 0, 2, 4]
    # Epochs of two batches of four tasks: one trial recorded one, another two, three were planned.
    assert (found["train_tasks"], found["most_train_tasks"]) == (8, 16)
    for options in ([], ["--novel", "3", "--train-tasks", "1000"]):
        assert invoke(["coverage", str(few_drawn), *options]) == 0
        assert capsys.readouterr().out == snapshot
    found = plain("coverage", in_distribution)
    assert [found[key] for key in ("base", "novel", "classes", "shared")] == [15, 15, 15, 15]


def test_without_its_data_a_run_does_not_say_how_many_classes_there_are(
    tmp_path, capsys, refused
) -> None:
    made.every_kind_of_file(tmp_path / "run")
    run = tmp_path / "run"
    for arguments in ([], ["--classes", "30"], ["--root", str(tmp_path / "gone")]):
        said = refused("coverage", run, *arguments)
        assert said.startswith("The number of classes is not recorded, and the run's data cannot")
        assert "Give --root PATH, or --base and --novel, and --classes where" in said
    assert invoke(["coverage", str(run), "--base", "9", "--novel", "5", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    # Two batches of four tasks in each of the two epochs of the trial that is not done yet.
    assert (found["train_tasks"], found["test_tasks"], found["classes"]) == (16, 40, 14)


def test_a_run_without_class_tuples(tmp_path, refused) -> None:
    made.recorded(tmp_path / "run", made.planned(made.spec()))
    said = refused("coverage", tmp_path / "run")
    assert "run records no tasks of equal numbers of classes" in said


def test_mistakes(mistakes, few_drawn, snapshot) -> None:
    lines = """
        --way 5 --train-tasks 9
        --classes 9 --train-tasks 9
        --base 64 --novel 20 --way 5
        --base 64 --novel 20 --way 5 --train-tasks 600 --classes 50
        --classes 84 --way 5 --train-tasks 600 --gamma 1.2
        --classes 84 --way 5 --train-tasks 600 --rho nan
        RUN --classes 10
        nowhere
    """
    assert mistakes("coverage", few_drawn, lines) == snapshot
