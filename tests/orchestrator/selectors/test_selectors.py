import math
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsl_sweep.orchestrator import testing
from fsl_sweep.orchestrator.catalogue import Info
from fsl_sweep.orchestrator.errors import ConfigError, SelectionError, UnknownName
from fsl_sweep.orchestrator.selectors import (
    HYPERPARAMETER_SELECTORS,
    SNAPSHOT_SELECTORS,
    Candidate,
    History,
    HyperparameterSelector,
    SnapshotSelector,
    apply,
    hyperparameter_selector,
    snapshot_selector,
)
from fsl_sweep.orchestrator.selectors.apply import apply_at_once
from fsl_sweep.orchestrator.selectors.base import NONE, FrontSelector, is_oracle
from fsl_sweep.orchestrator.selectors.best import BestSnapshot
from fsl_sweep.orchestrator.selectors.hyperparameter import front
from fsl_sweep.orchestrator.selectors.names import parse

SNAPSHOT = ("last", "train_loss", "base", "val", "cv-epoch", "mixture(0.3)", "oracle")
CONFIGURATION = ("base", "val", "cv", "cv(aligned)", "mixture(0.3)", "oracle", "pareto")
BUDGETED = [f"budgeted-oracle({b})" for b in ("2", "2, per-configuration", "1, halving")]


def contracts() -> dict[str, type]:
    """A test class for each selector, as a third party writes one."""
    found: dict[str, type] = {}
    for name in SNAPSHOT:
        body = {"selector": snapshot_selector(name), "reads_scores": name != "last"}
        found[f"TestSnapshot_{name}"] = type(name, (testing.SnapshotSelectorContract,), body)
    for name in (*CONFIGURATION, *BUDGETED):
        front = name == "pareto"
        suite = testing.FrontSelectorContract if front else testing.HyperparameterSelectorContract
        body = {"selector": hyperparameter_selector(name)}
        found[f"TestConfiguration_{name}"] = type(name, (suite,), body)
    return found


globals().update(contracts())


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
        ("last", 0.8045, 0.8049),
        ("train_loss", 0.8045, 0.8049),
        ("base", 0.8045, 0.8049),
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


def one_by_one(name: str, row: int, configurations: bool) -> int:
    """What ``apply`` chooses in a row of SCORES."""
    own = dict(zip(MEASURED, SCORES[:, row], strict=True))
    try:
        if not configurations:
            given = History.from_arrays(epochs=[0, 1, 2, 3], **own)
            return apply(snapshot_selector(name), given)
        each = [{m: values[[at]] for m, values in own.items()} for at in range(4)]
        several = [Candidate("", {}, 0, History.from_arrays(epochs=[0], **one)) for one in each]
        selector = hyperparameter_selector(name)
        assert isinstance(selector, HyperparameterSelector)
        return next(i for i, c in enumerate(several) if c is apply(selector, several))
    except SelectionError:
        return NONE


@pytest.mark.parametrize(
    ("name", "configurations"),
    [
        *((name, False) for name in ("train_loss", "base", "val", "oracle", "mixture(0.3)")),
        *((name, True) for name in ("base", "val", "oracle", "mixture(0.3)")),
    ],
)
def test_to_choose_in_all_trials_at_once_is_to_choose_in_each(
    name: str, configurations: bool
) -> None:
    selector = (hyperparameter_selector if configurations else snapshot_selector)(name)
    assert not isinstance(selector, FrontSelector)
    at = apply_at_once(selector, lambda measure: SCORES[MEASURED.index(measure)])
    assert at is not None
    assert at.tolist() == [one_by_one(name, row, configurations) for row in range(200)]
    assert NONE in at


class Theirs(BestSnapshot):
    name: ClassVar[str] = "theirs"
    needs: ClassVar[frozenset[str]] = frozenset({"val"})


def test_some_selectors_are_asked_one_by_one() -> None:
    budgeted = hyperparameter_selector("budgeted-oracle(2)")
    assert isinstance(budgeted, HyperparameterSelector)
    for one in (Theirs(), snapshot_selector("cv-epoch"), snapshot_selector("last"), budgeted):
        assert apply_at_once(one, lambda measure: SCORES[MEASURED.index(measure)]) is None


class Answers(SnapshotSelector):
    name: ClassVar[str] = "answers"
    needs: ClassVar[frozenset[str]] = frozenset()

    def select(self, history: History) -> int:
        return np.int64(20)  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        *(("budgeted-oracle", wrong) for wrong in ("0", "1.5", "top", "3,best", "2,top,1")),
        *(("mixture", wrong) for wrong in ("-0.1", "nan", "half", "0.2,0.8")),
        ("cv", "alligned"),
    ],
)
def test_arguments_that_make_no_sense(name: str, arguments: str) -> None:
    with pytest.raises(ConfigError, match=rf"'{name}\({arguments}\)' cannot be used: "):
        hyperparameter_selector(f"{name}({arguments})")


def test_an_epoch_may_be_an_integer_of_numpy() -> None:
    assert apply(Answers(), TIERED) == 20


def test_catalogues() -> None:
    assert {"last", "train_loss", "base", "val", "oracle"} <= set(SNAPSHOT_SELECTORS.names())
    assert {"base", "val", "oracle"} <= set(HYPERPARAMETER_SELECTORS.names())
    for catalogue in (SNAPSHOT_SELECTORS, HYPERPARAMETER_SELECTORS):
        for listing in catalogue.listings():
            info = catalogue.find(listing.name)
            assert isinstance(info, Info)
            assert info.cls.name == info.name
            assert is_oracle(info.cls()) == ("oracle" in info.description)
    with pytest.raises(UnknownName, match="did you mean 'oracle'"):
        snapshot_selector("oracel")


def test_names_with_arguments() -> None:
    assert parse("mixture(0.5)") == ("mixture", (0.5,))
    assert parse(" budgeted-oracle( 3, top ) ") == ("budgeted-oracle", (3, "top"))
    assert parse("last") == ("last", ())
    for wrong in ("last(1", "(1)", "", "a(b(c))", "last)"):
        with pytest.raises(ConfigError, match="not a selector"):
            parse(wrong)
    with pytest.raises(ConfigError, match=r"last\(3\)"):
        snapshot_selector("last(3)")


def points_of(points: list[tuple[float, float]]) -> list[Candidate]:
    return [
        Candidate(f"t{i}", {}, 1, History.from_arrays(epochs=[1], base=[b], novel=[n]))
        for i, (b, n) in enumerate(points)
    ]


def dominated(one: tuple[float, ...], others: list[tuple[float, ...]]) -> bool:
    """By definition, a point at a time."""
    return any(
        all(o >= p for o, p in zip(other, one, strict=True))
        and any(o > p for o, p in zip(other, one, strict=True))
        for other in others
    )


# A coarse grid, so that ties in one and in both measures are common.
GRID = st.sampled_from([0.0, 0.1, 0.2, 0.3, 0.4, math.nan])


@given(st.lists(st.tuples(GRID, GRID), min_size=1, max_size=12))
def test_front_by_brute_force(points: list[tuple[float, float]]) -> None:
    expected = [not np.isnan(p).any() and not dominated(p, points) for p in points]
    assert front(np.array(points)).tolist() == expected
    given_ = points_of(points)
    selector = hyperparameter_selector("pareto")
    if not any(expected):
        with pytest.raises(SelectionError, match="no score"):
            apply(selector, given_)
        return
    chosen = apply(selector, given_)
    assert chosen == tuple(c for c, on in zip(given_, expected, strict=True) if on)
    assert is_oracle(selector)


class Backwards(FrontSelector):
    name = "backwards"
    needs = frozenset({"base"})

    def select(self, candidates):
        return candidates[::-1]


def test_a_front_comes_in_the_order_of_the_candidates() -> None:
    given_ = points_of([(0.1, 0.9), (0.2, 0.8)])
    assert apply(Backwards(), given_) == tuple(given_)
    with pytest.raises(SelectionError, match="no candidate"):
        apply(Backwards(), [])
