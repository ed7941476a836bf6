"""``compare``: closed, open and paired intervals of a run, and the claim over seeds."""

import json
from pathlib import Path

import made
import numpy as np
import pandas as pd
import pytest
import tables
from scipy import stats

from fsl_sweep import load_run
from fsl_sweep.orchestrator.cli import invoke
from fsl_sweep.orchestrator.records.measures import TrialEnd

OPEN = {"open": {"evaluation": {"replacement": False, "report_tasks": 60}, "snapshots": "chosen"}}
NEVER = {"never": {"episode": {"shot": 5}}}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Closed tasks are 50 of the main protocol, open ones 60; others have other ways or queries."""
    path = tmp_path_factory.mktemp("compared") / "run"
    few = {"few": {**OPEN["open"], "episode": {"query": 5}}}
    wide = {"wide": {"episode": {"way": 7}, "evaluation": {"replacement": False}}}
    made.with_protocols(path, 50, {**OPEN, **few, **wide, **NEVER}, ["never"], seeds=(0, 1))
    return path


def ends(interval: dict) -> tuple[float, float]:
    return interval["low"], interval["high"]


def test_intervals_are_those_of_the_records(folder, plain) -> None:
    found = plain("compare", folder, "PN", "RR")["snapshots"]
    assert (found["closed_protocol"], found["open_protocol"]) == ("main", "open")
    assert found["paired_on"] == "open"
    for kind, protocol in (("closed", "main"), ("open", "open")):
        for at, method in enumerate(("PN", "RR")):
            values = np.mean(tables.accuracies(folder, protocol, method), axis=0)
            law = stats.t(len(values) - 1, values.mean(), stats.sem(values)).interval(0.95)
            assert ends(found[kind][at]) == pytest.approx(law, rel=1e-9)
    a, b = (np.mean(tables.accuracies(folder, "open", method), axis=0) for method in ("PN", "RR"))
    law = stats.ttest_rel(a, b).confidence_interval(0.95)
    assert ends(found["paired"]) == pytest.approx((law.low, law.high), rel=1e-9)


def test_the_text_keeps_snapshots_and_methods_apart(folder, capsys, snapshot) -> None:
    assert invoke(["compare", str(folder), "PN", "RR", "--snapshot", "last"]) == 0
    assert capsys.readouterr().out.replace(str(folder), "RUN") == snapshot


@pytest.mark.parametrize(
    ("protocol", "closed", "undecided"),
    [("few", "main", "`fsl-sweep measure RUN few --snapshots all`"), ("wide", None, "")],
)
def test_another_protocol(folder, capsys, plain, protocol, closed, undecided) -> None:
    found = plain("compare", folder, "PN", "RR", "--protocol", protocol)
    snapshots, methods = found["snapshots"], found["methods"]
    assert (found["protocol"], snapshots["open_protocol"]) == (protocol, protocol)
    assert snapshots["closed_protocol"] == closed
    a, b = (np.mean(tables.accuracies(folder, protocol, method), axis=0) for method in ("PN", "RR"))
    assert snapshots["paired"]["mean"] == pytest.approx(np.mean(a - b))
    # The claim about methods is that of the report under the protocol.
    found = load_run(folder).report(["val"], ["val"], protocol=protocol).differences
    (theirs,) = (one.result for one in found if (one.a, one.b) == ("PN", "RR"))
    assert ends(methods) == pytest.approx(ends(vars(theirs.effect)))
    # It is undecided where a resample may choose what is not measured.
    caution = methods["caution"].replace(str(folder), "RUN")
    assert caution.endswith(undecided or theirs.caution)
    assert invoke(["compare", str(folder), "PN", "RR", "--protocol", protocol]) == 0
    out = capsys.readouterr().out
    assert f"The methods, trained again, on tasks of '{protocol}' " in out


@pytest.mark.parametrize("benchmark", [made.GLYPHS, made.OF_WRITERS], ids=["classes", "writers"])
def test_without_open_tasks_it_says_how_to_measure_them_or_why_not(
    tmp_path, monkeypatch, said, benchmark, snapshot
) -> None:
    monkeypatch.chdir(tmp_path)
    made.with_protocols(Path("run"), 50, seeds=(0, 1), benchmark=benchmark)
    assert said("compare run PN RR") == snapshot


def test_a_table_with_tasks_has_closed_intervals_and_one_of_means_has_none(
    folder, tmp_path, plain, refused
) -> None:
    table = tables.exported(load_run(folder), tmp_path / "run.csv")
    own = plain("compare", folder, "PN", "RR")["snapshots"]
    found = plain("compare", table, "PN", "RR")["snapshots"]
    assert (found["open"], found["closed_protocol"]) == (None, "table")
    assert ends(found["closed"][0]) == pytest.approx(ends(own["closed"][0]))
    means = tables.written(pd.DataFrame(tables.made()), tmp_path / "means.csv")
    assert refused("compare", means, "A", "B").startswith("A and B have no common tasks")


def test_mistakes(folder, mistakes, snapshot) -> None:
    lines = """
        PN RRR
        PN PN
        PN RR --snapshot vall
        PN RR --protocol never
    """
    assert mistakes("compare RUN", folder, lines) == snapshot


def test_two_of_three_methods(tmp_path, plain) -> None:
    trials = [made.planned(made.spec(s, way), f"W{way}") for way in (5, 6, 7) for s in (0, 1)]
    made.recorded(tmp_path / "run", *trials)
    found = plain("compare", tmp_path / "run", "W7", "W5")
    assert found["snapshots"]["cautions"][-1] == (
        "intervals of snapshots are not corrected for all pairs of 3 methods"
    )
    # Over seeds they are, as in the report, which has the other order.
    differences = load_run(tmp_path / "run").report(["val"], ["val"]).differences
    (theirs,) = (one.result for one in differences if (one.a, one.b) == ("W5", "W7"))
    methods = found["methods"]
    assert methods["effect"] == pytest.approx(-theirs.effect.mean)
    assert methods["low"] == pytest.approx(-theirs.effect.high)
    assert (methods["seeds"], [len(values) for values in methods["values"]]) == ([2, 2], [2, 2])
    assert methods["p_adjusted"] == pytest.approx(theirs.p_adjusted, rel=1e-6)
    assert theirs.p_adjusted > theirs.p_value


def test_a_method_that_is_not_complete(tmp_path, refused) -> None:
    trials = [made.planned(made.spec(s, way), f"W{way}") for way in (5, 6) for s in (0, 1)]
    made.recorded(tmp_path / "run", *trials, ends=[TrialEnd("failed", "no memory")] * 2)
    lost = f"seed 0, trial {trials[0].id}: failed: no memory"
    message = f"W5 cannot be compared, because it is not complete ({lost})."
    assert refused("compare", tmp_path / "run", "W5", "W6") == message


def test_a_method_that_diverged(tmp_path, refused, capsys) -> None:
    """In every seed there is nothing to compare; in one, nothing is decided in its favour."""
    trials = [made.planned(made.spec(s, way), f"W{way}") for way in (5, 6) for s in (0, 1, 2)]
    diverged = TrialEnd("diverged", "the training loss became nan in epoch 4")
    made.recorded(tmp_path / "all", *trials, ends=[diverged] * 3)
    message = "W5 cannot be compared, because it diverged in every seed."
    assert refused("compare", tmp_path / "all", "W5", "W6", "--snapshot", "last") == message
    made.recorded(tmp_path / "one", *trials, ends=[diverged])
    arguments = ["compare", str(tmp_path / "one"), "W5", "W6", "--snapshot", "last", "--json"]
    assert invoke(arguments) == 0
    found = json.loads(capsys.readouterr().out)["methods"]
    assert (found["seeds"], found["verdict"], found["effect"] > 0) == ([2, 3], "undecided", True)
    assert "W5 diverged in 1 of 3 seeds, and only its other seeds are compared" in found["caution"]
    assert "only complete seeds" not in found["caution"]


def test_whole_seeds_of_an_unfinished_run_are_compared_and_decide_nothing(tmp_path, capsys) -> None:
    seeds = (0, 1, 2, 3)
    trials = [made.planned(made.spec(s, way), f"W{way}") for way in (5, 6) for s in seeds]
    done, failed = TrialEnd("done"), TrialEnd("failed", "no memory")
    made.recorded(tmp_path / "run", *trials, ends=[failed, done, done, done])
    assert invoke(["compare", str(tmp_path / "run"), "W5", "W6", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)["methods"]
    assert (found["seeds"], found["verdict"]) == ([3, 4], "undecided")
    assert "only complete seeds of W5 (3 of 4 seeds) take part" in found["caution"]
    assert "an incomplete run decides nothing" in found["caution"]
    (theirs,) = load_run(tmp_path / "run").report(["val"], ["val"]).differences
    assert found["effect"] == pytest.approx(theirs.result.effect.mean)
