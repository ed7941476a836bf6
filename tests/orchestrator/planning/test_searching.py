"""Searches in a sweep file: what is refused, and what is planned before anything was measured."""

import pytest

from fsl_sweep.orchestrator.planning.plan_sweep import plan_sweep
from fsl_sweep.orchestrator.sweepfile.axes import expand
from fsl_sweep.orchestrator.sweepfile.reading import load_sweep
from tests.orchestrator import submitted
from tests.orchestrator.planning_of import SMALL, changed, mistake, planned

LR = "M.optimizer.lr={loguniform: [0.001, 1.0]}"
RANDOM = "search={name: random, configurations: 6, round: 4}"
NCC = "methods.N={backbone: {name: identity}, learner: {name: ncc}}"


def searching(name="random", rest="configurations: 6"):
    return f"search={{name: {name}, {rest}}}"


@pytest.mark.parametrize(
    "changes",
    [
        *(
            (LR, f"search={{name: random, configurations: 4, metric: {name}}}")
            for name in ("novel", "NovelGen", "oracle", "novel gen", "vall")
        ),
        (RANDOM,),
        (LR, RANDOM, "samples=3"),
        *((LR, searching(name)) for name in ("optunna", "hyperopt")),
        *((LR, searching(rest=rest)) for rest in ("round: 4", "configurations: 0")),
        (LR, searching(rest="configurations: 4, trials: 3")),
        ("M.optimizer.lr={loguniform: [0, 1.0]}", RANDOM),
        ("M.optimizer.lr={loguniform: [0.1, 1.0]}", "M.augment={choice: [none, twist]}", RANDOM),
        (LR, searching(rest="configurations: 1000000"), "seeds=[0, 1]"),
    ],
    ids=str,
)
def test_what_is_refused(changes, snapshot):
    assert mistake(planned, *changes) == snapshot


def test_no_training_loss_of_what_has_none(tmp_path, monkeypatch):
    submitted.install(tmp_path / "site", monkeypatch)
    rule = "search={name: random, configurations: 4, metric: train_loss}"
    program = "M={learner: {name: metadl, submission: protos, mode: {grid: [batch, episode]}}}"
    untrained = "M={backbone: {name: identity}, learner: {name: ncc}}"
    grid = "M.learner.scale={choice: [1.0, 2.0]}"
    assert "of M no training loss is known" in mistake(planned, program, rule)
    assert "of M no training loss is known" in mistake(planned, untrained, grid, rule)


def test_the_first_round_is_planned_before_there_are_records():
    plan = planned(LR, "M.train.way={grid: [2, 3]}", RANDOM, NCC, "seeds=[0, 1]")
    tree = {
        "optimizer": {"lr": {"loguniform": [0.001, 1.0]}},
        "train": {"way": {"choice": [2, 3]}},
    }
    drawn = [axes for axes, _ in expand(tree, 4, 0)]
    assert [t.hyperparameters for t in plan.trials if t.method == "M"][::2] == drawn
    assert [t.round for t in plan.trials] == [1] * 8 + [0]
    assert plan.proposed == {"M": (4, 6)}
    on_data = plan.on({"main": "f" * 16})
    assert type(plan).from_plain(on_data.to_plain()) == on_data


def test_a_grid_of_few_is_searched_whole_and_no_further():
    plan = planned("M.train.way={grid: [2, 3]}", "M.train.shot={grid: [1, 2]}", RANDOM)
    assert plan.proposed == {"M": (4, 4)}
    whole = planned("M.train.way={grid: [2, 3]}", "M.train.shot={grid: [1, 2]}")
    assert {t.id for t in plan.trials} == {t.id for t in whole.trials}


def test_axes_of_the_defaults_that_a_method_has_no_use_for_are_not_searched():
    plan = planned("defaults.optimizer.lr={uniform: [0.1, 1.0]}", RANDOM, NCC)
    assert plan.proposed == {"M": (4, 6)}
    assert [t.method for t in plan.trials] == ["M"] * 4 + ["N"]


def test_a_plan_without_a_search_says_nothing_of_one():
    plain = planned().on({"main": "f" * 16}).to_plain()
    assert not {"search", "searched"} & plain.keys()
    assert "round" not in plain["trials"][0]


@pytest.mark.parametrize(
    ("change", "goes_on"),
    [
        ("search.configurations=9", True),
        ("search.round=2", True),
        ("seeds=[0, 1, 2]", True),
        ("defaults.epochs=5", True),
        ("measure={other: {episode: {shot: 2}}}", True),
        ("scheduler={name: halving, grace: 1, finalists: 1}", True),
        ("M.optimizer.lr={loguniform: [0.01, 1.0]}", False),
        ("search.name=sobol", False),
        ("search.metric=base", False),
        ("seed=1", False),
        ("defaults.batches=5", False),
    ],
)
def test_what_a_search_may_go_on_with_and_what_makes_another_one(change, goes_on):
    of = planned(LR, RANDOM).searched["M"].of
    assert (planned(LR, RANDOM, change).searched["M"].of == of) is goes_on


def test_each_method_has_the_whole_number(snapshot):
    two = "methods.N={learner: {name: ridge}, train: {way: 3, shot: 1, query: 2}}"
    plan = planned("defaults.optimizer.lr={uniform: [0.1, 1.0]}", RANDOM, two)
    assert plan.proposed == {"M": (4, 6), "N": (4, 6)}
    (caution,) = plan_sweep(load_sweep(changed(SMALL, LR, RANDOM))).cautions
    assert caution == snapshot
