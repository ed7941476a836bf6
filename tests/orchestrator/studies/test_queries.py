"""``analyze queries``: the table of a run, against the numbers that it is made of."""

import math
import re
from dataclasses import replace
from pathlib import Path

import made
import numpy as np
import pytest
import tables

from fsl_sweep.orchestrator.cli import invoke
from fsl_sweep.orchestrator.selection.comparing import task_sizes
from fsl_sweep.orchestrator.statistics.sampling.task_sizing import (
    TaskVariance,
    variance_of_tasks,
    variance_over_queries,
)

OPEN = {"replacement": False, "report_tasks": 60}
THERE = ("--examples", 2000, "--classes", 9)
"""What the data of made runs would have."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Besides the 50 main tasks with 15 queries, 60 tasks with 5, which are not used up."""
    path = tmp_path_factory.mktemp("sized") / "run"
    five = {"episode": {"query": 5}, "evaluation": OPEN, "snapshots": "chosen"}
    made.with_protocols(path, 50, {"five": five}, seeds=(0, 1))
    return path


def test_the_estimate_and_the_table(folder, plain) -> None:
    found = plain("analyze", "queries", folder, *THERE)
    assert [one["method"] for one in found] == ["PN", "RR"]
    main, five = (tables.accuracies(folder, name, "PN") for name in ("main", "five"))
    expected = [variance_over_queries([(15, a), (5, b)]) for a, b in zip(main, five, strict=True)]
    assert found[0]["between"] == pytest.approx(np.mean([one.between for one in expected]))
    assert found[0]["within"] == pytest.approx(np.mean([one.within for one in expected]))
    rows = {row["queries"]: row for row in found[0]["rows"]}
    assert (rows[5]["tasks"], rows[5]["measured_tasks"], rows[5]["protocol"]) == (66, 60, "five")
    half = np.mean([2.000995 * one.std(ddof=1) / np.sqrt(60) for one in five])  # t of 59
    assert rows[5]["measured"] == pytest.approx(half, rel=1e-5)
    assert rows[15]["measured"] is None  # the main tasks share examples


def test_no_more_queries_than_a_class_has_examples(few_drawn, plain) -> None:
    """10 classes of 12 examples, one of which is the support, though 2 tasks drew at most 4."""
    (found,) = plain("analyze", "queries", few_drawn)
    assert found["examples"] == 120
    assert [row["queries"] for row in found["rows"] if row["queries"] > 5] == [7, 10]
    assert (
        plain("analyze", "queries", few_drawn, "--examples", "240")[0]["rows"][-1]["queries"] == 20
    )


@pytest.mark.parametrize(
    ("between", "examples", "classes", "to_set", "why"),
    [
        (0.011, 12600, 630, 4, "That is q*, near which they are shortest, rounded up"),
        (-0.01, 12600, 630, 19, "PN has no q*: 19 is as many as a class has. RR has no q*: 19 is"),
        (0.0001, 12600, 630, 19, "PN has too few examples for its q*: 19 is as many as a class"),
        # With 49 queries there are 8 tasks. Of 1 / (q T) times t squared, 25 tasks have the least.
        (-0.01, 2000, 40, 15, "PN has no q*: 15 is where they are predicted to be shortest. RR"),
    ],
)
def test_what_to_set_is_in_the_table_with_the_shortest_interval(
    folder, monkeypatch, capsys, plain, between, examples, classes, to_set, why
) -> None:
    """Of an A like this, and a B of 0.1."""
    whole = task_sizes._sizes

    def sizes(*arguments):
        variance = TaskVariance(between, 0.1, None)
        return replace(whole(*arguments), variance=variance, queries=(15,), measured=())

    monkeypatch.setattr(task_sizes, "_sizes", sizes)
    given = (folder, "--examples", examples, "--classes", classes)
    found, _ = plain("analyze", "queries", *given)
    assert invoke(["analyze", "queries", *map(str, given)]) == 0
    said = " ".join(capsys.readouterr().out.split())
    best = found["queries_to_set"]
    assert best == to_set
    assert f"For short open intervals set {best} (PN), {best} (RR) queries of each" in said
    assert why in said
    predicted = {row["queries"]: row["predicted"] for row in found["rows"]}
    nearest = min(abs(q - best) for q in predicted if predicted[q] == min(predicted.values()))
    assert nearest <= 1


def test_one_number_of_queries(tmp_path, plain) -> None:
    path = tmp_path / "run"
    made.with_protocols(path, 50, seeds=(0,))
    (found, _) = plain("analyze", "queries", path, *THERE)
    expected = variance_of_tasks(tables.accuracies(path, "main", "PN")[0], 5, 15)
    assert found["within"] == pytest.approx(expected.within)
    assert found["estimated_from_queries"] == [15]


def test_open_tasks_that_end_early(tmp_path, capsys, monkeypatch) -> None:
    whole = made.protocol_record

    def fewer(planned, epoch, number):
        """Open tasks end after 12 of the 60 that were asked for."""
        tasks = planned.protocol.tasks
        if not tasks.replacement:
            tasks = tasks.model_copy(update={"report_tasks": 12})
        own = planned.protocol.model_copy(update={"tasks": tasks})
        return whole(replace(planned, protocol=own), epoch, number)

    monkeypatch.setattr(made, "protocol_record", fewer)
    path, figure = tmp_path / "run", tmp_path / "u.svg"
    made.with_protocols(path, 50, {"open": {"evaluation": OPEN}}, seeds=(0,))
    given = ["--examples", "960", "--classes", "9", "--plot", str(figure)]
    assert invoke(["analyze", "queries", str(path), *given]) == 0
    out = capsys.readouterr().out
    to_set = re.search(r"For short open intervals set (\d+) \(PN\), (\d+) \(RR\) queries", out)
    assert to_set is not None
    shortest = map(float, re.findall(r"q\* = ([\d.]+)", out))
    assert [*map(int, to_set.groups())] == [*map(math.ceil, shortest)]
    assert "\n  val / val, NovelGen, 5-way 1-shot, 960 examples;" in out
    assert "\n  Measured: q = 15 by 'open'.\n" in out
    assert re.search(r"^ *15 .*  12$", out, re.M)
    assert "</svg>" in figure.read_text()
    assert invoke(["compare", str(path), "PN", "RR"]) == 0
    caution = f"an example is in up to {50 / 12:.3g} tasks on average"
    assert caution in capsys.readouterr().out


def test_mistakes(folder, mistakes, snapshot) -> None:
    lines = """
        --plot u.txt
        --examples 19 --classes 9
        --examples 2000
        --snapshot vall
    """
    assert mistakes("analyze queries RUN", folder, lines) == snapshot
