"""What early stopping does to a report: finalists are its candidates, and it says so."""

import json
from dataclasses import replace
from html import unescape

import numpy as np
import pytest

from fsl_sweep.orchestrator.records.measures import TrialEnd
from fsl_sweep.orchestrator.records.scheduler import Scheduler
from fsl_sweep.orchestrator.report import FORMATS, RunInfo
from fsl_sweep.orchestrator.report.building import build
from fsl_sweep.orchestrator.report.document.forest import forest
from tests.orchestrator.trials import trial

RNG = np.random.default_rng(0)
SCHEDULER = Scheduler(name="halving", metric="val", grace=1)
INFO = RunInfo(
    "made",
    "a" * 16,
    "f00d",
    ("last", "base", "val", "oracle"),
    ("base", "val", "oracle"),
    scheduler=SCHEDULER,
)
STOPPED = TrialEnd("stopped", "halving at epoch 1: rank 3 of 3")


def histories(methods="ABCDEF", seeds=3):
    """Of each method two finalists, and a third that was the best in base and novel when stopped.

    What is best for each seed and epoch differs.
    """
    for rank, method in enumerate(methods):
        for number, configuration in enumerate(("0.1", "0.2", "0.3")):
            for seed in range(seeds):
                level = 0.5 + 0.02 * rank + 0.01 * number
                base, val, novel = level + RNG.normal(0, 0.01, (3, 4))
                record = {"base": base + 0.2, "val": val, "novel": novel}
                end = TrialEnd("done")
                if configuration == "0.3":
                    record = {key: column[:1] + 0.1 for key, column in record.items()}
                    end = STOPPED
                history = trial(method, configuration, seed, **record, end=end)
                yield replace(history, planned_epochs=4)


@pytest.fixture(scope="module")
def reports():
    """The report of everything, and that of the finalists with no scheduler."""
    every = [*histories()]
    finalists = [history for history in every if not history.stopped]
    return build(INFO, every), build(replace(INFO, scheduler=None), finalists)


def test_finalists_are_the_candidates(reports):
    report, without = reports
    assert report.complete
    assert not report.left_out
    assert [(s.trial, s.epoch, s.means, s.regret) for s in report.selected.selections] == [
        (s.trial, s.epoch, s.means, s.regret) for s in without.selected.selections
    ]
    early = report.completeness.early
    assert (early.configurations, early.of, early.trials) == (6, 18, 18)
    assert (early.epochs, early.planned) == (36 * 4 + 18, 54 * 4)
    assert report.completeness.done + early.trials == report.completeness.planned
    assert "not done" not in FORMATS["terminal"](report)


def test_what_is_not_trained_yet_is_not_saved():
    """Of eight trials of four epochs, two were stopped after one; the others go on, or broke."""
    ends = {"0.1": None, "0.2": TrialEnd("failed", "no memory")}
    every = [replace(h, end=ends.get(h.configuration, h.end)) for h in histories("A", 2)]
    torn = [replace(h, trial=f"{h.trial}-", configuration="0.4", end=None) for h in every[:2]]
    report = build(INFO, [*every, *torn])
    assert not report.complete
    shown = " ".join(FORMATS["terminal"](report).split())
    assert f"saved {100 * 2 * 3 / 32:.2f} % of the grid's epochs" in shown
    assert "2 stopped early, 4 missing. Only complete seeds are shown; not done:" in shown


def test_the_mark_is_explained_where_it_is_seen(reports):
    """A strategy that chose as another did is not named, where one configuration is left."""
    alike = build(INFO, [h for h in histories("AB") if h.configuration != "0.2"])
    for report, explained in ((reports[0], True), (alike, False)):
        (plot,) = forest(report)
        assert any("\N{DAGGER}" in name for bar in plot.bars for name in bar.names)
        assert ("\N{DAGGER}" in plot.note) == explained


def test_strategies_that_need_another_measure_are_marked_and_not_compared(reports):
    report, without = reports
    marked = {str(s) for s in report.selected.strategies if s.among_finalists}
    assert marked == {f"{name} / base" for name in ("last", "base", "val")}
    compared = {str(r.strategy) for r in report.over_methods.results if r.against_least}
    least = {str(r.strategy) for r in report.over_methods.results if r.least}
    assert compared | least == {f"{name} / val" for name in ("last", "base", "val")}
    assert {str(r.strategy) for r in without.over_methods.results if r.against_least} > compared
    assert not {str(r.strategy) for r in report.ranked_by} & marked


def test_every_format_says_so(reports, snapshot):
    report, without = reports
    text = FORMATS["terminal"](report)
    sentence = (
        "halving by ValGen stopped 6 of 18 configurations (18 trials) at epoch 1, and saved 25.00 "
        "% of the grid's epochs."
    )
    for name in ("terminal", "markdown", "latex", "html"):
        shown = " ".join(unescape(FORMATS[name](report)).replace("\\", "").split())
        assert sentence in shown, name
        assert "among finalists" in shown
        assert "stopped" not in FORMATS[name](without)
    assert "BaseGen \N{DAGGER}" in text
    plain = json.loads(FORMATS["json"](report))
    assert plain["run"]["early_stopping"] == snapshot
    assert "early_stopping" not in json.loads(FORMATS["json"](without))["run"]
    marks = {
        row["hyperparameter_selector"]: row.get("among_finalists", False)
        for row in plain["summary"]
        if not row["oracle"]
    }
    assert marks == {"base": True, "val": False}


def test_where_no_strategy_chooses_by_the_measure_none_is_compared():
    info = replace(INFO, scheduler=Scheduler(name="halving", metric="train_loss", grace=1))
    report = build(info, [*histories("AB")])
    assert "No strategy here chooses configurations by the measure" in " ".join(
        FORMATS["terminal"](report).split()
    )
