"""``fsl-sweep analyze losses`` on a run whose trials ran in this process."""

import json
import shutil

import numpy as np
import pytest
from commands import TINY, finished
from made import planned, spec

from fsl_sweep.orchestrator.cli import invoke
from fsl_sweep.orchestrator.errors import ConfigError
from fsl_sweep.orchestrator.ledger.ledger import Ledger
from fsl_sweep.orchestrator.records.protocol import Episode
from fsl_sweep.orchestrator.run import load_run
from fsl_sweep.orchestrator.studies.finding import Finding
from fsl_sweep.orchestrator.studies.losses import Losses, LossesOptions, LossesStudy, SnapshotLosses

METHODS = """
  PN: {learner: {name: protonet}}
  FIX-PN: {learner: {name: protonet}, train: {fixed_support: true, queries_from: all}}
  RAW: {learner: {name: ncc}, backbone: {name: identity}}
seeds"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    text = TINY.replace("{grid: [1, 2]}", "1").replace("epochs: 3", "epochs: 2")
    before, rest = text.split("methods:")
    sweep = f"{before}methods:{METHODS}{rest.split('seeds')[1]}"
    return finished(tmp_path_factory.mktemp("losses") / "run", sweep)


@pytest.fixture
def analyze(folder, capsys):
    def call(*arguments, run=folder):
        code = invoke(["analyze", "losses", str(run), "--tasks", "30", *map(str, arguments)])
        return code, *capsys.readouterr()

    return call


def test_a_row_for_each_method_and_what_has_no_loss_is_named(analyze):
    code, shown, told = analyze()
    lines = [line.split() for line in shown.splitlines()]
    assert code == 0
    assert "RAW is left out: it is not trained by a loss on tasks." in told
    rows = [line for line in lines if line[:1] in (["PN"], ["FIX-PN"])]
    assert [row[:4] for row in rows] == [[name, "3w1s2q", "2", "2"] for name in ("PN", "FIX-PN")]
    assert all(float(row[at]) > 0 for row in rows for at in (4, 6, 7, 9))


def test_json_has_every_snapshot_and_means_over_seeds(analyze, folder):
    code, shown, _ = analyze("--snapshots", "all", "--json")
    found = json.loads(shown)
    assert code == 0
    assert len(found["snapshots"]) == 2 * 2 * 2
    trials = {(t.method, t.spec.seed): t.id for t in Ledger(folder).planned().trials}
    for one in found["snapshots"]:
        assert one["trial"] == trials[one["method"], one["seed"]]
        support = {"trial": trials["FIX-PN", one["seed"]], "shot": 1, "queries_from": "all"}
        assert one["support"] == support
    for row in found["means"]:
        own = [
            one
            for one in found["snapshots"]
            if (one["method"], one["epoch"]) == (row["method"], row["epoch"])
        ]
        for key in ("ml", "fix_ml"):
            assert row[key]["mean"] == pytest.approx(np.mean([one[key]["mean"] for one in own]))
            assert row[key]["low"] < row[key]["mean"] < row[key]["high"]
    assert analyze("--snapshots", "all", "--json")[1] == shown
    ours = load_run(folder).study("losses", snapshots="all", tasks=30)
    assert json.loads(ours.written("json")) == found
    assert repr(ours) == "<Finding of 'losses': The objectives of ML and FIX-ML>"
    assert analyze("--snapshots", "all", "--json", "--seed", 1)[1] != shown
    # Queries that are never in the support are harder.
    others = json.loads(analyze("--snapshots", "all", "--json", "--queries-from", "others")[1])
    for one, other in zip(found["means"], others["means"], strict=True):
        assert other["ml"] == one["ml"]
        assert other["fix_ml"]["mean"] > one["fix_ml"]["mean"]


def test_another_shape_has_no_fixed_support_and_a_figure_of_one_objective(analyze, tmp_path):
    code, shown, _ = analyze("--shot", 2, "--way", 5, "--plot", tmp_path / "a.svg")
    assert code == 0
    assert "<svg" in (tmp_path / "a.svg").read_text()
    assert "FIX-ML: fixed support. 5w2s2q: 5-way 2-shot 2-query tasks." in " ".join(shown.split())
    assert "-: no fixed support:" in shown


def test_the_configuration_that_was_measured_is_named():
    found = [
        SnapshotLosses(planned(spec(way=way)), 1, Episode(), None, {"ml": np.arange(2.0)})
        for way in (5, 10)
    ]
    losses = Losses(LossesOptions(), tuple(found))
    rows = [line.split() for line in Finding(LossesStudy(), losses).written("terminal").split("\n")]
    assert [row[:2] for row in rows if row[:1] == ["PN"]] == [["PN", "way=5"], ["PN", "way=10"]]


def test_mistakes_are_one_message(analyze, folder, tmp_path, snapshot):
    messages = []
    for line in ("--plot a.txt", "--query 99", "--way 99", "--tasks 1"):
        code, _, remarks = analyze(*line.split())
        messages.append(f"{code} {remarks.splitlines()[-1]}")
    assert "\n".join(messages) == snapshot
    pruned = tmp_path / "pruned"
    shutil.copytree(folder, pruned)
    assert invoke(["prune", str(pruned), "--keep", "none", "--yes"]) == 0
    code, _, told = analyze(run=pruned)
    assert code != 0
    assert "it was pruned" in told
    with pytest.raises(ConfigError, match="--snapshots: input should be 'all', 'chosen' or 'last'"):
        load_run(folder).study("losses", snapshots="al")


def test_trials_that_take_no_part_are_counted(analyze, folder, tmp_path):
    part = tmp_path / "part"
    shutil.copytree(folder, part)
    first = next(t.id for t in Ledger(folder).planned().trials if t.method == "PN")
    shutil.rmtree(part / "trials" / first)
    code, _, told = analyze(run=part)
    assert (code, "1 trial must still be trained and take" in told) == (1, True), told
