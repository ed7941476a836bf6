from dataclasses import replace

import numpy as np
import pytest
from trials import TASKS, trial

from fsl_sweep.orchestrator.records.measures import ScoreTable, TrialHistory
from fsl_sweep.orchestrator.selection.budget_curve import regret_by_budget
from fsl_sweep.orchestrator.selection.select import select


def sweep(configurations: int = 4, seeds: int = 2) -> list[TrialHistory]:
    """The better ValGen, the worse NovelGen; the oracle needs all evaluations to find the best."""
    novel = 0.3 + 0.05 * np.arange(configurations)[:, None] + 0.01 * np.arange(seeds)
    return [
        trial("PN", str(i), seed, base=[0.5], val=[0.6 - 0.05 * i], novel=[at])
        for (i, seed), at in np.ndenumerate(novel)
    ]


def test_a_selector_that_needs_folds_has_a_curve_where_there_are_folds() -> None:
    given = sweep(3)
    folds = [
        trial("PN", one.configuration, one.seed, base=[0.5], val=[0.5], novel=[0.5], fold=fold)
        for one in given
        for fold in (0, 1)
    ]
    with_folds = [*given, *folds]
    selected = select(with_folds, ["cv-epoch", "last"], ["val"])
    points = regret_by_budget(with_folds, selected, ["cv-epoch", "last"], ["top"])
    # There is one epoch to choose, so that both leave the same snapshots.
    by_folds = [replace(p, snapshot="last") for p in points if p.snapshot == "cv-epoch"]
    assert by_folds == [p for p in points if p.snapshot == "last"]
    assert len(by_folds) == 3
    killed = [*given, *folds[:-1], replace(folds[-1], end=None)]
    selected = select(killed, ["cv-epoch", "last"], ["val"])
    points = regret_by_budget(killed, selected, ["cv-epoch", "last"], ["top"])
    assert {point.snapshot for point in points} == {"last"}


@pytest.mark.parametrize("allocation", ["top", "per-configuration", "halving"])
def test_every_budget_is_the_strategy_of_that_budget(allocation: str) -> None:
    generator = np.random.default_rng(0)
    given = []
    for one in sweep(5):
        table = generator.random((1, TASKS))
        scores = {**one.scores, ("novel", "selection"): ScoreTable.from_accuracies(table)}
        given.append(replace(one, scores=scores))
    names = [f"budgeted-oracle({b}, {allocation})" for b in range(1, 6)]
    selected = select(given, ["val", "last"], names)
    points = regret_by_budget(given, selected, ["val", "last"], [allocation])
    assert len(points) == 10
    for point in points:
        name = f"budgeted-oracle({point.budget}, {allocation})"
        own = [
            s
            for s in selected.selections
            if (s.strategy.snapshot, s.strategy.hyperparameter) == (point.snapshot, name)
        ]
        assert point.regret.mean == pytest.approx(np.mean([one.regret for one in own]))
        assert point.evaluations == sum(one.novel_evaluations for one in own)
        assert point.evaluations <= 2 * point.budget


def test_many_configurations_have_few_points() -> None:
    given = sweep(40, seeds=1)
    selected = select(given, ["val"], ["val"])
    points = regret_by_budget(given, selected, ["val"], ["top"], points=10)
    budgets = [point.budget for point in points]
    assert budgets[:5] == [1, 2, 3, 4, 5]
    assert budgets[-1] == 40
    assert len(budgets) == 10


def test_oracles_broken_methods_and_hopeless_budgets_are_passed_over() -> None:
    given = sweep()
    selected = select(given, ["val"], ["val"])
    assert regret_by_budget(given, selected, ["oracle"], ["top"]) == ()
    for lost in (replace(given[0], end=None), replace(given[0], epochs=np.array([], np.int64))):
        broken = [lost, *given[1:]]
        selected = select(broken, ["val"], ["val"])
        assert {one.seed for one in selected.selections} == {1}
        assert regret_by_budget(broken, selected, ["val"], ["top"]) == ()
    # 40 tasks cannot be shared among 41 configurations.
    wide = sweep(41, seeds=1)
    points = regret_by_budget(wide, select(wide, ["val"], ["val"]), ["val"], ["per-configuration"])
    assert points[0].budget == 2


def test_novel_tasks_are_read_once_for_all_budgets() -> None:
    given, reads = [], []
    for one in sweep():
        table = one.scores["novel", "selection"]

        def load(table=table) -> np.ndarray:
            reads.append(1)
            return table.load()

        counted = ScoreTable(table.means, load)
        given.append(replace(one, scores={**one.scores, ("novel", "selection"): counted}))
    selected = select(given, ["val"], ["val"])
    regret_by_budget(given, selected, ["val", "last"], ["top"])
    assert reads == []
    regret_by_budget(given, selected, ["val", "last"], ["halving", "per-configuration"])
    assert len(reads) == len(given)
