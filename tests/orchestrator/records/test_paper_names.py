"""The papers' names: accepted wherever a name is typed, one name of each thing everywhere else."""

import json
from string import ascii_lowercase

import pandas as pd
import pytest
from tables import made, written

from fsl_sweep import load_run
from fsl_sweep.orchestrator.errors import ConfigError, UnknownName, did_you_mean
from fsl_sweep.orchestrator.planning.plan_sweep import plan_sweep
from fsl_sweep.orchestrator.records.paper_names import selector_name
from fsl_sweep.orchestrator.report import to_json
from fsl_sweep.orchestrator.selectors import hyperparameter_selector, snapshot_selector
from fsl_sweep.orchestrator.selectors.catalogue import HYPERPARAMETER_SELECTORS, SNAPSHOT_SELECTORS
from fsl_sweep.orchestrator.selectors.mixture import base_weight
from fsl_sweep.orchestrator.sweepfile.reading import load_sweep

NAMES = {
    **dict.fromkeys(("EoT", "eot", "end-of-training", "End of Training"), "last"),
    "ValGen": "val",
    "BASEGEN": "base",
    "mixture(0.5)": "mixture(0.5)",
    "NovelGen": "NovelGen",
}
READING_NOVEL = {"oracle", "budgeted-oracle", "pareto"}


@pytest.mark.parametrize(("typed", "ours"), NAMES.items())
def test_names(typed, ours):
    assert selector_name(typed) == ours
    if ours in ("last", "val", "base"):
        assert snapshot_selector(typed).name == ours


def sweep(selectors):
    defaults = {"backbone": {"name": "conv4"}, "optimizer": {"name": "sgd", "lr": 0.1}}
    return load_sweep(
        {
            "name": "s",
            "benchmark": {"name": "glyphs"},
            "defaults": defaults,
            "methods": {"PN": {"learner": {"name": "protonet"}}},
            "selectors": selectors,
        }
    )


def test_plans_and_digests_hold_our_names():
    papers = {"snapshot": ["EoT", "ValGen"], "hyperparameter": ["BaseGen"], "metric": "NovelGen"}
    ours = {"snapshot": ["last", "val"], "hyperparameter": ["base"]}
    plan = plan_sweep(sweep(papers))
    assert (plan.selectors.snapshot, plan.selectors.metric) == (["last", "val"], "novel")
    assert plan == plan_sweep(sweep(ours))


def test_two_names_of_one_selector_are_a_repeat():
    for name, same in (("ValGen", "; 'val' and 'ValGen' are the same"), ("val", "")):
        with pytest.raises(ConfigError) as raised:
            sweep({"snapshot": ["val", name]})
        assert str(raised.value) == f"sweep: selectors.snapshot: 'val' is given twice{same}"


def test_reports_and_tables_know_one_name(tmp_path):
    frame, reports = made().query("measure != 'train_loss'"), []
    frame = pd.concat(frame.assign(task=task) for task in range(3))
    papers = {"base": "BaseGen", "val": "ValGen", "novel": "NovelGen"}
    for names, snapshot, hyperparameter, metric in (
        ({}, ["last", "val"], ["base"], "novel"),
        (papers, ["EoT", "valgen"], ["BaseGen"], "NovelGen"),
    ):
        (folder := tmp_path / metric).mkdir()
        run = load_run(written(frame.replace({"measure": names}), folder / "table.csv"))
        report = json.loads(to_json(run.report(snapshot, hyperparameter, metric=metric)))
        del report["selections"], report["run"]["sweep"], report["run"]["selectors"]
        reports.append(report)
    assert reports[0] == reports[1]
    assert set(run.selections(["ValGen"], ["ValGen"])["snapshot_selector"]) == {"val"}
    with pytest.raises(ConfigError, match="--snapshot: 'val' is given twice; 'val' and 'ValGen'"):
        run.report(["val", "ValGen"])


@pytest.mark.parametrize("typed", ["NovelGen", "novelgen", "novel"])
@pytest.mark.parametrize("build", [snapshot_selector, hyperparameter_selector])
def test_the_test_measure_is_no_selector(typed, build):
    expected = f"^{typed} is the test measure: choosing by it is the oracle; write 'oracle' if that"
    with pytest.raises(ConfigError, match=expected):
        build(typed)


VALIDATION = ["val", "ValGen", "valgen", "validation", "valid", "val_acc", "val-oracle", "dev"]


def near(name):
    """The name with one letter left out, doubled, replaced or put in, in either case."""
    names = {name, name.upper(), name.title()}
    for i in range(len(name) + 1):
        names |= {name[:i] + name[i + 1 :], name[:i] + name[i : i + 1] * 2 + name[i + 1 :]}
        for letter in ascii_lowercase + "-":
            names |= {name[:i] + letter + name[i:], name[:i] + letter + name[i + 1 :]}
    return names - {""}


def unknown(build, name):
    with pytest.raises(UnknownName) as raised:
        build(name)
    return raised.value


@pytest.mark.parametrize("build", [snapshot_selector, hyperparameter_selector, base_weight])
def test_nothing_leads_from_a_validation_measure_to_novel_scores(build):
    """Not to an oracle, not to a budgeted one, not to a front, not to NovelGen as the metric."""

    def suggested(answer):
        return answer.partition("did you mean '")[2].partition("'")[0]

    for name in ("validation", "val_acc", "val-oracle", "dev", "validation-oracle"):
        assert suggested(str(unknown(build, name))) not in {*READING_NOVEL, "novel"}, name
    error = unknown(build, "validation")
    for name in {name for spelt in VALIDATION for name in near(spelt)}:
        answer = did_you_mean(name, error.known, error.guarded)
        assert suggested(answer) not in {*READING_NOVEL, "novel"}, (name, answer)


def test_a_misspelt_oracle_is_found_and_so_are_ours():
    typos = {"orcale": "oracle", "Oracle": "oracle", "ValGenn": "val", "train-loss": "train_loss"}
    for typed, suggested in typos.items():
        assert f"did you mean '{suggested}'?" in str(unknown(snapshot_selector, typed))
    budgeted = str(unknown(hyperparameter_selector, "budget-oracle(3)"))
    assert "did you mean 'budgeted-oracle'?" in budgeted
    assert did_you_mean("novel", ["selection", "report"], ["novel"]) == "known: report, selection"
    assert did_you_mean("pn", ["PN", "RR"]) == "did you mean 'PN'?"
    many = did_you_mean("nothing", [f"{number:04}" for number in range(1623)])
    assert len(many) < 400
    assert many.endswith("0049, ... (1,623 in all)")


def test_what_is_guarded_is_all_that_reads_novel_scores():
    assert set(unknown(hyperparameter_selector, "nothing-like-it").guarded) >= READING_NOVEL
    every = (*SNAPSHOT_SELECTORS.own, *HYPERPARAMETER_SELECTORS.own)
    assert {info.name for info in every if "novel" in info.cls.needs} == READING_NOVEL
