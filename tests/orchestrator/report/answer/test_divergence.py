"""What a report says of trials that diverged: who, how often, and what follows."""

import json
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from trials import trial

from fsl_sweep.orchestrator.records.measures import TrialEnd, TrialHistory
from fsl_sweep.orchestrator.report import FORMATS, Report, RunInfo, build, to_json
from fsl_sweep.orchestrator.report.cautions import grave_cautions

INFO = RunInfo("made", "abcd", None, ("last", "val", "oracle"), ("val", "oracle"))
DIVERGED = TrialEnd("diverged", "the training loss became nan in epoch 3")
FIVE = np.array([0, 0.4, -0.4, 0.2, -0.2])
SEEDS = range(5)


def method(name: str, mean: float) -> list[TrialHistory]:
    """Two configurations with five seeds about a NovelGen in percent; the first is the better."""
    return [
        trial(
            name,
            configuration,
            seed,
            base=[0.7] * 3,
            val=[0.5, 0.7 - below, 0.6],
            novel=np.array([0, 0, -0.01]) + mean / 100 + FIVE[seed] / 100 - below,
        )
        for configuration, below in (("0.1", 0.0), ("0.01", 0.02))
        for seed in SEEDS
    ]


def lost(
    trials: Sequence[TrialHistory],
    names: Sequence[str],
    configurations: Sequence[str] = ("0.1", "0.01"),
    seeds: Sequence[int] = SEEDS,
    epochs: int = 0,
) -> list[TrialHistory]:
    """The same where some diverged after so many snapshots."""
    return [
        _cut(one, epochs)
        if one.method in names and one.configuration in configurations and one.seed in seeds
        else one
        for one in trials
    ]


def _cut(one: TrialHistory, epochs: int) -> TrialHistory:
    scores = {
        key: replace(table, means=table.means[:epochs], load=lambda t=table: t.load()[:epochs])
        for key, table in one.scores.items()
    }
    curves = {name: values[:epochs] for name, values in one.curves.items()}
    at = one.epochs[:epochs]
    return replace(one, epochs=at, curves=curves, scores=scores, end=DIVERGED)


PN, RR, Q = method("PN", 60), method("RR", 64), method("Q", 45)
BOTH, SEVERAL = [*PN, *RR], [t for n in "ABCD" for t in method(n, 60 + ord(n))]
SITUATIONS = {
    "a value of the grid": lost(BOTH, ["RR"], ["0.01"]),
    "a value of the grid, in one seed": lost(BOTH, ["RR"], ["0.1"], [3]),
    "a value of the grid, after a snapshot": lost(BOTH, ["PN"], ["0.1"], epochs=2),
    "a value of two methods": lost(BOTH, ["PN", "RR"], ["0.1"]),
    "a value of four methods": lost(SEVERAL, "ABCD", ["0.01"]),
    "the leader, in one seed": lost(BOTH, ["RR"], seeds=[3]),
    "the other one, in two seeds": lost(BOTH, ["PN"], seeds=[0, 3]),
    "the end of training, in one seed": lost(BOTH, ["RR"], seeds=[3], epochs=2),
    "a third method": lost([*BOTH, *Q], ["Q"]),
    "all but one": lost(BOTH, ["RR"]),
    "everything": lost(BOTH, ["PN", "RR"]),
}


def report(trials: Sequence[TrialHistory]) -> Report:
    return build(INFO, trials, bootstrap=20)


@pytest.mark.parametrize("situation", SITUATIONS)
def test_what_is_said(situation, snapshot) -> None:
    content = report(SITUATIONS[situation])
    answer = content.answer
    assert content.complete
    matrix = []
    if content.summaries:
        table = FORMATS["markdown"](content).split("Methods and strategies")[1]
        lines = table.split("Names in")[0].splitlines()
        matrix = [line for line in lines if line.startswith("#") or "diverged" in line]
    said = [*answer.sentences, f"best {answer.best}, decided {answer.decided}"]
    assert [*said, *grave_cautions(content), *matrix] == snapshot


def test_every_format_says_it() -> None:
    """The sentence, the number of trials, and the rate beside the method."""
    content = report(SITUATIONS["a value of the grid"])
    for name, write in FORMATS.items():
        text = " ".join(write(content).split()).replace("\\_", "_").replace("&#x27;", "'")
        assert "1 of 2 configurations of RR diverged (lr=0.01); it is a candidate" in text, name
        if name != "json":
            assert "20 trials planned, 15 done, 5 diverged, 0 failed" in text, name
            assert "RR (5 of 10 diverged)" in text, name
    run = json.loads(to_json(content))["run"]
    assert (run["done"], run["diverged"], run["failed"], run["missing"]) == (15, 5, 0, 0)
    assert run["divergence"] == {
        "RR": {
            "trials": 5,
            "of": 10,
            "configurations": [{"optimizer.lr": "0.01"}],
            "of_configurations": 2,
            "seeds": [*SEEDS],
            "snapshots": False,
        }
    }
