"""Which pairs of selectors are strategies."""

import pytest
from tables import made, written

from fsl_sweep.orchestrator.run import load_run
from fsl_sweep.orchestrator.selection.question import Question, few_of

SNAPSHOT = ["last", "train_loss", "base", "val", "oracle"]
CONFIGURATION = ["base", "val", "oracle"]
USUAL = {"last / val", "train_loss / val", "base / base", "val / val", "oracle / oracle"}


@pytest.mark.parametrize(
    ("snapshot", "hyperparameter", "expected"),
    [
        (SNAPSHOT, CONFIGURATION, USUAL),
        ([*SNAPSHOT, "cv-epoch"], [*CONFIGURATION, "cv"], {*USUAL, "cv-epoch / cv"}),
        (SNAPSHOT, [*CONFIGURATION, "cv(aligned)"], {*USUAL, "val / cv(aligned)"}),
        (
            ["last", "base", "oracle"],
            ["base", "oracle"],
            {"last / base", "base / base", "oracle / oracle"},
        ),
        (["last", "val"], ["val"], {"last / val", "val / val"}),
        (["last", "oracle"], ["oracle"], {"last / oracle", "oracle / oracle"}),
        (["mine"], ["val", "oracle"], {"mine / val", "mine / oracle"}),
    ],
)
def test_few_pairs_are_those_of_papers_and_one_oracle(snapshot, hyperparameter, expected) -> None:
    assert {f"{first} / {second}" for first, second in few_of(snapshot, hyperparameter)} == expected
    every = Question(tuple(snapshot), tuple(hyperparameter)).pairs
    assert expected <= {f"{first} / {second}" for first, second in every}
    assert len(every) == len(snapshot) * len(hyperparameter)


@pytest.mark.parametrize(
    ("names", "count"),
    [
        ({}, 5),
        ({"snapshot": "all"}, 15),
        ({"hyperparameter": ["all"]}, 15),
        ({"snapshot": "val"}, 3),
        ({"snapshot": "all", "hyperparameter": "val"}, 5),
        ({"snapshot": ["last", "val"], "hyperparameter": ["val"]}, 2),
    ],
)
def test_a_report_shows_the_pairs_that_are_asked_for(tmp_path, names, count) -> None:
    run = load_run(written(made(), tmp_path / "table.csv"))
    report = run.report(**names, bootstrap=0)
    assert len(report.selected.strategies) == count
    shown = {(cell.strategy.snapshot, cell.strategy.hyperparameter) for cell in report.summaries}
    assert shown == {(s.snapshot, s.hyperparameter) for s in report.selected.strategies}
    assert str(report.lead) == "val / val"
