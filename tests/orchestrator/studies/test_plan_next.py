"""``plan-next``: its table, its JSON, and what it refuses."""

import json
import re
from pathlib import Path

import made
import pandas as pd
import pytest
import tables

from fsl_sweep.orchestrator.cli import invoke
from fsl_sweep.orchestrator.records.measures import TrialEnd
from fsl_sweep.orchestrator.run import load_run


def run_of(path, seeds=(0, 1, 2), ways=(5, 6), ends=()):
    trials = [made.planned(made.spec(s, way), f"W{way}") for way in ways for s in seeds]
    made.recorded(path, *trials, ends=ends)
    return str(path)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return run_of(tmp_path_factory.mktemp("whole") / "run")


def test_table_and_json(whole, capsys, snapshot) -> None:
    assert invoke(["plan-next", whole, "--effect", "0.1"]) == 0
    assert capsys.readouterr().out == snapshot
    assert invoke(["plan-next", whole, "--effect", "0.1", "--json"]) == 0
    (plain,) = json.loads(capsys.readouterr().out)
    assert (plain["a"], plain["b"], plain["leading"], plain["effect"]) == ("W5", "W6", True, 0.1)
    assert plain["now"]["seeds"] == [3, 3]
    by_what = {way["what"]: way for way in plain["ways"]}
    needed = by_what["seeds"]["needed"]
    assert by_what["seeds"]["more"] == [needed - 3] * 2
    # 3 epochs of 2 + 1 seconds.
    assert by_what["seeds"]["seconds"] == pytest.approx(2 * (needed - 3) * 9)


def test_classes_are_those_that_tasks_drew(tmp_path, capsys) -> None:
    made.with_protocols(tmp_path / "run", seeds=(0, 1))
    assert invoke(["plan-next", str(tmp_path / "run"), "--effect", "0.1"]) == 0
    assert re.search("  classes  +9 drawn  ", capsys.readouterr().out)


def test_the_observed_effect_another_strategy_and_power(whole, capsys) -> None:
    assert invoke(["plan-next", whole, "--snapshot", "last", "--power", "0.5", "--json"]) == 0
    (plain,) = json.loads(capsys.readouterr().out)
    assert (plain["snapshot_selector"], plain["power"]) == ("last", 0.5)
    assert plain["effect"] == abs(plain["now"]["effect"])


def test_mistakes(whole, mistakes, snapshot) -> None:
    lines = """
        --effect 0
        --effect -0.01
        --effect 1
        --effect nan
        --power 1
        --snapshot vall
    """
    assert mistakes("plan-next RUN", whole, lines) == snapshot


@pytest.mark.parametrize(
    ("records", "expected"),
    [
        ({"seeds": (0,)}, "There is one seed, which tells nothing about others."),
        ({"ways": (5,)}, "Fewer than two methods have a seed with all of its trials done"),
        ({"ends": (TrialEnd("failed", "no memory"),) * 3}, "Fewer than two methods have a seed"),
    ],
)
def test_records_that_are_too_few(tmp_path, refused, records, expected) -> None:
    assert refused("plan-next", run_of(tmp_path / "run", **records)).startswith(expected)


def test_an_unfinished_run_is_planned_for_as_far_as_it_goes(tmp_path, capsys) -> None:
    ends = [TrialEnd("done")] * 6 + [TrialEnd("failed", "no memory")]
    path = run_of(tmp_path / "run", ways=(5, 6, 7), ends=ends)
    assert invoke(["plan-next", path, "--effect", "0.1"]) == 1
    out = capsys.readouterr().out
    # Of W7 two of three seeds are whole.
    assert all(pair in out for pair in ("W5 - W6", "W5 - W7", "W6 - W7"))
    assert "2 and 3" in out or "3 and 2" in out


@pytest.mark.usefixtures("all_resamples")
def test_it_plans_for_what_the_report_compares(tmp_path, capsys) -> None:
    path = str(tmp_path / "run")
    made.with_protocols(Path(path), measure={"5-shot": {"episode": {"shot": 5}}}, seeds=(0, 1, 2))
    given = {"metric": "mixture(0.3)", "protocol": "5-shot", "choose_by": "5-shot"}
    options = [x for key, one in given.items() for x in (f"--{key.replace('_', '-')}", one)]
    assert invoke(["plan-next", path, *options]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "to show the present differences with" in said
    assert "one device, without measuring under '5-shot', whose time is not recorded." in said
    assert load_run(path).report(**given).answer.sentences[-1] in said
    assert load_run(path).report().answer.sentences[-1] not in said
    # How long more tasks take is known of the main protocol only.
    for effect, more, known in (("0.2", [], True), ("0.25", ["--protocol", "5-shot"], False)):
        assert invoke(["plan-next", path, "--effect", effect, "--json", *more]) == 0
        (plain,) = json.loads(capsys.readouterr().out)
        (tasks,) = (way for way in plain["ways"] if way["what"] == "tasks")
        assert tasks["needed"] > made.TASKS
        assert (tasks["seconds"] is not None) == known


def test_nothing_is_planned_from_chosen_snapshots_only(tmp_path, refused) -> None:
    few = {"5-shot": {"episode": {"shot": 5}, "snapshots": "chosen"}}
    made.with_protocols(tmp_path / "run", measure=few, seeds=(0, 1))
    said = refused("plan-next", tmp_path / "run", "--protocol", "5-shot")
    assert said.startswith("Nothing can be planned before every snapshot is measured: ")


def test_a_table_without_rows_of_tasks(tmp_path, refused) -> None:
    means = tables.written(pd.DataFrame(tables.made()), tmp_path / "means.csv")
    said = refused("plan-next", means, "--effect", "0.01")
    assert said.startswith("Without the scores of two tasks or more")
