"""``analyze queries``: the table of a run, against the numbers that it is made of."""

import json
import math
import re
from dataclasses import replace
from itertools import product
from pathlib import Path

import made
import numpy as np
import pytest

from fsl_sweep import load_run
from fsl_sweep.orchestrator.cli import invoke
from fsl_sweep.orchestrator.records.measures import MEASURES, TASK_SETS, TrialEnd
from fsl_sweep.orchestrator.statistics.sampling.task_sizing import (
    variance_of_tasks,
    variance_over_queries,
)

OPEN = {"replacement": False, "report_tasks": 60}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Besides the 50 main tasks with 15 queries, 60 tasks with 5, which are not used up."""
    path = tmp_path_factory.mktemp("sized") / "run"
    five = {"episode": {"query": 5}, "evaluation": OPEN, "snapshots": "chosen"}
    made.with_protocols(path, 50, {"five": five}, seeds=(0, 1))
    return path


def plain(capsys, *arguments) -> list[dict]:
    assert invoke(["analyze", "queries", *map(str, arguments), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def tables(folder: Path, protocol: str, method: str) -> list[np.ndarray]:
    run = load_run(folder)
    source = run._source
    trials = {t.trial: t for t in source.histories(source.protocol(protocol), source.protocol())}
    return [
        trials[one.trial].scores["novel", "report"].load()[trials[one.trial].index(one.epoch)]
        for one in run.chosen(method)
    ]


def test_the_estimate_and_the_table(folder, capsys) -> None:
    found = plain(capsys, folder, "--examples", "2000")
    assert [one["method"] for one in found] == ["PN", "RR"]
    main, five = (tables(folder, name, "PN") for name in ("main", "five"))
    expected = [variance_over_queries([(15, a), (5, b)]) for a, b in zip(main, five, strict=True)]
    assert found[0]["between"] == pytest.approx(np.mean([one.between for one in expected]))
    assert found[0]["within"] == pytest.approx(np.mean([one.within for one in expected]))
    rows = {row["queries"]: row for row in found[0]["rows"]}
    assert (rows[5]["tasks"], rows[5]["measured_tasks"], rows[5]["protocol"]) == (66, 60, "five")
    half = np.mean([2.000995 * one.std(ddof=1) / np.sqrt(60) for one in five])  # t of 59
    assert rows[5]["measured"] == pytest.approx(half, rel=1e-5)
    assert rows[15]["measured"] is None  # the main tasks share examples


def test_no_more_queries_than_a_class_has_examples(tmp_path, capsys) -> None:
    """40 classes of 2,000 / 40 examples on average, one of which is the support."""
    path = tmp_path / "run"
    ledger = made.with_protocols(path, 50, {"more": {"episode": {"query": 60}}}, seeds=(0,))
    tuples = {"classes": np.arange(40).reshape(8, 5).tolist()}
    for measure, tasks in product(MEASURES, TASK_SETS):
        ledger.folder.write_json(f"tasks/{ledger.planned().main.id}/{measure}-{tasks}.json", tuples)
    found = plain(capsys, path, "--examples", "2000")
    assert [row["queries"] for row in found[0]["rows"] if row["queries"] > 20] == [30]
    assert invoke(["analyze", "queries", str(path), "--examples", "2000"]) == 0
    assert "A class has 50 of them on average, so that a task has at most 49 queries of each" in (
        capsys.readouterr().out
    )


def test_one_number_of_queries(tmp_path, capsys) -> None:
    path = tmp_path / "run"
    made.with_protocols(path, 50, seeds=(0,))
    (found, _) = plain(capsys, path, "--examples", "2000")
    expected = variance_of_tasks(tables(path, "main", "PN")[0], 5, 15)
    assert found["within"] == pytest.approx(expected.within)
    assert found["estimated_from_queries"] == [15]
    assert invoke(["analyze", "queries", str(path)]) == 2
    assert "--examples: how many novel examples there are is not" in capsys.readouterr().err


def test_used_up_tasks_say_how_many_examples_there_are(tmp_path, capsys, monkeypatch) -> None:
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
    assert invoke(["analyze", "queries", str(path), "--plot", str(figure)]) == 0
    out = capsys.readouterr().out
    # 12 tasks of 5 classes with 1 + 15 examples.
    to_set = re.search(r"^For short open intervals set (\d+) \(PN\), (\d+) \(RR\) queries", out)
    assert to_set is not None
    shortest = map(float, re.findall(r"q\* = ([\d.]+)", out))
    assert [*map(int, to_set.groups())] == [*map(math.ceil, shortest)]
    assert "\nval / val, NovelGen, 5-way 1-shot, 960 examples;" in out
    assert "\nMeasured: q = 15 by 'open'.\n" in out
    assert re.search(r"^  15 .*  12$", out, re.M)
    assert "</svg>" in figure.read_text()
    assert invoke(["compare", str(path), "PN", "RR"]) == 0
    caution = f"an example is in up to {50 / 12:.3g} tasks on average"
    assert caution in capsys.readouterr().out


def test_a_method_that_is_not_complete_is_left_out_and_named(tmp_path, capsys) -> None:
    trials = [made.planned(made.spec(0, way), f"W{way}") for way in (5, 6)]
    made.recorded(tmp_path / "run", *trials, ends=[TrialEnd("failed", "no memory")])
    arguments = ["analyze", "queries", str(tmp_path / "run"), "--examples", "2000", "--json"]
    assert invoke(arguments) == 1
    out, err = capsys.readouterr()
    assert [one["method"] for one in json.loads(out)] == ["W6"]
    assert err == "W5 is left out: not all of its trials are done and whole.\n"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--plot", "u.txt"], "--plot: u.txt ends in none of .svg, .pdf, .png"),
        (["--examples", "19"], "--examples: 19 are too few: 1-shot tasks with one query of each"),
        (["--snapshot", "vall"], "unknown snapshot selector 'vall'"),
    ],
)
def test_mistakes(folder, capsys, arguments, expected) -> None:
    assert invoke(["analyze", "queries", str(folder), *arguments]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert err.startswith(f"fsl-sweep: {expected}")
