import math
import re

import numpy as np
import pytest
from choosing import candidates, selecting
from hypothesis import given
from hypothesis import strategies as st

from fsl_sweep.orchestrator import testing
from fsl_sweep.orchestrator.errors import ConfigError, SelectionError, UnknownName
from fsl_sweep.orchestrator.selectors import (
    HYPERPARAMETER_SELECTORS,
    SNAPSHOT_SELECTORS,
    FrontSelector,
    History,
    SnapshotSelector,
    apply,
    hyperparameter_selector,
    snapshot_selector,
)
from fsl_sweep.orchestrator.selectors.apply import apply_at_once
from fsl_sweep.orchestrator.selectors.base import NONE, is_oracle
from fsl_sweep.orchestrator.selectors.best import BestSnapshot
from fsl_sweep.orchestrator.selectors.hyperparameter import front

# A test class for each selector, as a third party writes one.
for name in ("last", "train_loss", "base", "val", "cv-epoch", "mixture(0.3)", "oracle"):
    body = {"selector": snapshot_selector(name), "reads_scores": name != "last"}
    contract = testing.SnapshotSelectorContract
    globals()[f"TestSnapshot_{name}"] = type(name, (contract,), body)
BUDGETED = [f"budgeted-oracle({b})" for b in ("2", "2, per-configuration", "1, halving")]
for name in ("base", "val", "cv", "cv(aligned)", "mixture(0.3)", "oracle", "pareto", *BUDGETED):
    body = {"selector": hyperparameter_selector(name)}
    contract = testing.HyperparameterSelectorContract
    if name == "pareto":
        contract = testing.FrontSelectorContract
    globals()[f"TestConfiguration_{name}"] = type(name, (contract,), body)
del contract  # which is a test class too


def history(**scores: list[float]) -> History:
    return History.from_arrays(epochs=[10, 20, 30], **scores)


# Table 6 of "Two Sides of Meta-Learning Evaluation": on tiered-M the best BaseGen is the best
# snapshot, on cifar-M the best ValGen loses far less than the best BaseGen.
TIERED = history(
    train_loss=[1.0, 0.8, 0.6],
    base=[0.85, 0.88, 0.91],
    val=[0.79, 0.805, 0.80],
    novel=[0.79, 0.8005, 0.8045],
)
CIFAR = history(
    train_loss=[1.0, 0.5, 0.1],
    base=[0.88, 0.90, 0.95],
    val=[0.79, 0.80, 0.78],
    novel=[0.8279, 0.8265, 0.8049],
)


@pytest.mark.parametrize(
    ("name", "tiered", "cifar"),
    [
        *((name, 0.8045, 0.8049) for name in ("last", "train_loss", "base")),
        ("val", 0.8005, 0.8265),
        ("mixture(0)", 0.8005, 0.8265),
        ("mixture(0.25)", 0.8045, 0.8265),
        ("mixture(0.5)", 0.8045, 0.8049),
        ("mixture(1)", 0.8045, 0.8049),
        ("oracle", 0.8045, 0.8279),
    ],
)
def test_table_6(name: str, tiered: float, cifar: float) -> None:
    for trial, novel in ((TIERED, tiered), (CIFAR, cifar)):
        epoch = apply(snapshot_selector(name), trial)
        assert trial.scores["novel"][trial.index(epoch)] == novel


@pytest.mark.parametrize(
    ("name", "base", "val"),
    [
        # At its ends the other measure does not count, even where it is NaN; half by default.
        ("mixture(1)", [0.1, 0.7, 0.7], [math.nan, math.nan, 0.9]),
        ("mixture(0)", [math.nan, math.nan, 0.9], [0.1, 0.7, 0.7]),
        ("mixture", [0.9, 0.6, 0.2], [0.2, 0.6, 0.9]),
    ],
)
def test_ends_and_default_of_mixtures(name: str, base: list[float], val: list[float]) -> None:
    assert apply(snapshot_selector(name), history(base=base, val=val)) == 20


def test_a_loss_that_is_infinite_is_better_than_none() -> None:
    diverged = history(
        train_loss=[math.nan, math.inf, math.nan],
        base=[math.nan, 0.1, 0.2],
        val=[0.1, 0.2, math.nan],
    )
    expected = {"last": 30, "train_loss": 20, "base": 30, "val": 20}
    assert {name: apply(snapshot_selector(name), diverged) for name in expected} == expected


MEASURED = ("train_loss", "base", "val", "novel")
SCORES = np.random.default_rng(0).choice([0.1 + 0.2, 0.3, math.nan, math.nan], (4, 200, 4))
"""Of 200 trials or replicates by measure: with ties, and some without a number."""


def chosen_in(row: int, selector) -> int:
    """What ``apply`` chooses in a row of SCORES."""
    scores = dict(zip(MEASURED, SCORES[:, row], strict=True))
    try:
        if isinstance(selector, SnapshotSelector):
            return apply(selector, History.from_arrays(epochs=[0, 1, 2, 3], **scores))
        several = candidates(**scores)
        return several.index(apply(selector, several))
    except SelectionError:
        return NONE


@pytest.mark.parametrize("make", [snapshot_selector, hyperparameter_selector])
@pytest.mark.parametrize("name", ["base", "val", "oracle", "mixture(0.3)", "train_loss"])
def test_to_choose_in_all_trials_at_once_is_to_choose_in_each(name: str, make) -> None:
    if (make, name) == (hyperparameter_selector, "train_loss"):
        return
    selector = make(name)
    at = apply_at_once(selector, lambda measure: SCORES[MEASURED.index(measure)])
    assert at.tolist() == [chosen_in(row, selector) for row in range(200)]
    assert NONE in at


def test_some_selectors_choose_row_by_row() -> None:
    theirs = type("Theirs", (BestSnapshot,), {"name": "theirs", "needs": frozenset({"val"})})()
    ours = [snapshot_selector(name) for name in ("cv-epoch", "last")]
    for selector in (theirs, *ours, hyperparameter_selector("budgeted-oracle(2)")):
        assert apply_at_once(selector, lambda measure: SCORES[MEASURED.index(measure)]) is None


def test_an_epoch_may_be_an_integer_of_numpy() -> None:
    assert apply(selecting(SnapshotSelector, lambda _: np.int64(20)), TIERED) == 20


@pytest.mark.parametrize("catalogue", [SNAPSHOT_SELECTORS, HYPERPARAMETER_SELECTORS])
def test_oracles_are_listed_as_such(catalogue) -> None:
    for info in map(catalogue.find, catalogue.names()):
        assert is_oracle(info.cls()) == ("oracle" in info.description)


def test_what_names_no_selector(snapshot) -> None:
    mixtures = ("mixture(-0.1)", "mixture(nan)", "mixture(half)", "mixture(0.2,0.8)")
    budgets = (f"budgeted-oracle({a})" for a in ("0", "1.5", "top", "3,best", "2,top,1"))
    messages = []
    for make, names in (
        (snapshot_selector, ("last(1", "(1)", "", "a(b(c))", "last)", "last(3)", "oracel")),
        (hyperparameter_selector, (*mixtures, *budgets, "cv(alligned)")),
    ):
        for name in names:
            with pytest.raises((ConfigError, UnknownName)) as caught:
                make(name)
            messages.append(re.sub(r"\w+(\.__init__)?\(\) takes .*", "...", str(caught.value)))
    assert "\n".join(messages) == snapshot


def dominated(point: tuple[float, ...], others: list[tuple[float, ...]]) -> bool:
    """By definition, a point at a time."""
    pairs = [[*zip(other, point, strict=True)] for other in others]
    return any(all(o >= p for o, p in pair) and any(o > p for o, p in pair) for pair in pairs)


# A coarse grid, so that ties in one and in both measures are common.
GRID = st.sampled_from([0.0, 0.1, 0.2, 0.3, 0.4, math.nan])


@given(st.lists(st.tuples(GRID, GRID), min_size=1, max_size=12))
def test_front_by_brute_force(points: list[tuple[float, float]]) -> None:
    expected = [not np.isnan(p).any() and not dominated(p, points) for p in points]
    assert front(np.array(points)).tolist() == expected
    base, novel = zip(*points, strict=True)
    several = candidates(base=base, novel=novel)
    selector = hyperparameter_selector("pareto")
    if not any(expected):
        with pytest.raises(SelectionError, match="no score"):
            apply(selector, several)
        return
    kept = tuple(c for c, on in zip(several, expected, strict=True) if on)
    assert apply(selector, several) == kept
    assert is_oracle(selector)


def test_a_front_comes_in_the_order_of_the_candidates() -> None:
    backwards = selecting(FrontSelector, lambda several: several[::-1], "base")
    several = candidates(base=[0.1, 0.2], novel=[0.9, 0.8])
    assert apply(backwards, several) == tuple(several)
    with pytest.raises(SelectionError, match="no candidate"):
        apply(backwards, [])
