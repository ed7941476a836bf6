"""``coverage``: from a run and from options, its table, its JSON and what it refuses."""

import json
import math

import made
import pytest

from fsl_sweep.orchestrator.cli import invoke

GIVEN = ["--base", "64", "--novel", "20", "--way", "5", "--train-tasks", "600"]


def plain(capsys, *arguments) -> dict:
    assert invoke(["coverage", *map(str, arguments), "--json"]) == 0
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


def test_a_run_counts_the_classes_of_its_splits_and_what_was_trained(few_drawn, capsys) -> None:
    found = plain(capsys, few_drawn)
    keys = ("base", "novel", "classes", "shared", "way", "test_tasks")
    assert [found[key] for key in keys] == [15, 10, 25, 0, 2, 4]
    # Epochs of two batches of four tasks: one trial recorded one, another two, three were planned.
    assert (found["train_tasks"], found["most_train_tasks"]) == (8, 16)
    counted = "(to the last recorded epoch of the trial with the fewest; 16 at most)"
    for options, expected in (
        ([], f"25 classes, 2 in a task with gamma 0.5; 8 training tasks {counted}, 4 test tasks"),
        (
            ["--novel", "3", "--train-tasks", "1000"],
            "18 classes, 2 in a task with gamma 0.5; 1,000 training tasks, 4 test tasks;",
        ),
    ):
        assert invoke(["coverage", str(few_drawn), *options]) in (0, 1)
        assert expected in " ".join(capsys.readouterr().out.split())


def test_classes_that_are_base_and_novel(in_distribution, capsys) -> None:
    found = plain(capsys, in_distribution)
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


def test_few_classes_is_a_whole_number(capsys) -> None:
    assert invoke(["coverage", "--classes", "20000", "--way", "5", "--train-tasks", "600"]) == 0
    assert "\nprobability of 500 classes or fewer, at most (4)" in capsys.readouterr().out


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
