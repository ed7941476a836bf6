"""Selecting by class folds: views of their histories, and what happens where folds are missing."""

import copy
import pickle
from dataclasses import replace

import numpy as np
import pytest
from following import SECRET, holds_secret
from trials import trial

from fsl_sweep.orchestrator.errors import SealedMeasurement, SelectionError
from fsl_sweep.orchestrator.records.measures import TrialHistory
from fsl_sweep.orchestrator.selection.methods import summarise
from fsl_sweep.orchestrator.selection.select import Strategy, select
from fsl_sweep.orchestrator.selectors import apply, hyperparameter_selector, snapshot_selector
from fsl_sweep.orchestrator.selectors.candidate import Candidate
from fsl_sweep.orchestrator.selectors.history import History


def fold(configuration: str, number: int, base: list[float], val: list[float]) -> TrialHistory:
    return trial("PN", configuration, base=base, val=val, novel=[0.1, 0.2, 0.3], fold=number)


# Appendix F.1 of "Two Sides of Meta-Learning Evaluation": one method, two learning rates. Here
# each is also trained without either of two class folds. The fast one is soon worse on classes
# that it does not train on. Averages over folds: fast .61, .53, .42; slow .51, .54, .58.
FAST = [
    trial("PN", "1e-3", base=[0.7, 0.8, 0.9], val=[0.6, 0.5, 0.4], novel=[0.55, 0.45, 0.35]),
    fold("1e-3", 0, [0.7, 0.8, 0.9], [0.60, 0.50, 0.40]),
    fold("1e-3", 1, [0.7, 0.9, 0.8], [0.62, 0.56, 0.44]),
]
SLOW = [
    trial("PN", "1e-4", base=[0.6, 0.7, 0.8], val=[0.5, 0.58, 0.57], novel=[0.4, 0.5, 0.52]),
    fold("1e-4", 0, [0.6, 0.8, 0.7], [0.50, 0.58, 0.56]),
    fold("1e-4", 1, [0.8, 0.7, 0.6], [0.52, 0.50, 0.60]),
]
BOTH = [*FAST, *SLOW]


def test_a_history_with_folds_written_by_hand() -> None:
    folds = [
        History.from_arrays(epochs=[2, 4], val=[0.5, 0.7]),
        History.from_arrays(epochs=[2, 3, 4], val=[0.7, 0.9, 0.3]),
    ]
    history = History.from_arrays(epochs=[1, 2, 3, 4], novel=[0.0] * 4, folds=folds)
    # Epochs 1 and 3 are not there in every fold: no average is made of fewer.
    assert history.scores["cv"].tolist() == pytest.approx([np.nan, 0.6, np.nan, 0.5], nan_ok=True)
    assert apply(snapshot_selector("cv-epoch"), history) == 2
    with pytest.raises(ValueError, match=r"folds\[1\] has no 'val'"):
        History.from_arrays(
            epochs=[1], folds=[folds[0], History.from_arrays(epochs=[1], base=[0.5])]
        )
    candidates = [Candidate("t", {}, 3, history)]
    with pytest.raises(SelectionError, match="needs epoch 3 of every fold of t, but fold 0 has"):
        apply(hyperparameter_selector("cv(aligned)"), candidates)


def test_without_folds_nothing_is_selected_by_them() -> None:
    selected = select([FAST[0]], ["val", "cv-epoch"], ["val", "cv"])
    assert [str(one.strategy) for one in selected.selections] == ["val / val"]
    assert [(g.snapshot_selector, g.hyperparameter_selector) for g in selected.left_out] == [
        ("val", "cv"),
        ("cv-epoch", None),
    ]
    assert all("no trials of class folds" in gap.reason for gap in selected.left_out)


# The best scores of all belong to a fold that was killed after its early peak.
KILLED = trial("PN", "1e-4", base=[0.99], val=[0.99], novel=[0.9], end=None, fold=1)


@pytest.mark.parametrize(
    ("broken", "reason"),
    [(KILLED, "fold 1: unfinished: 1 snapshot recorded"), (None, "fold 1: not planned")],
)
def test_a_missing_fold_leaves_out_what_needs_it_and_nothing_else(
    broken: TrialHistory | None, reason: str
) -> None:
    whole = [replace(one, seed=1, trial=f"{one.trial}-again") for one in BOTH]
    given = [*FAST, *SLOW[:2], *([] if broken is None else [broken]), *whole]
    assert select(given, ["val"], ["val"]).left_out == ()
    selected = select(given, ["val", "cv-epoch"], ["val", "cv"])
    (gap,) = selected.left_out
    assert (gap.method, gap.seed, gap.fold, gap.reason) == ("PN", 0, 1, reason)
    assert gap.trial == (None if broken is None else broken.trial)
    assert gap.hyperparameters == SLOW[0].hyperparameters
    found = [(one.seed, str(one.strategy)) for one in selected.selections]
    by_folds = [(1, "val / cv"), (1, "cv-epoch / val"), (1, "cv-epoch / cv")]
    assert found == [(0, "val / val"), (1, "val / val"), *by_folds]
    # A mean over seeds is made of both seeds or not at all.
    assert [str(one.strategy) for one in summarise(selected)] == ["val / val"]
    assert selected.cell("PN", Strategy("val", "cv", False, True)) == ()


def test_a_fold_that_a_snapshot_selector_cannot_choose_in_leaves_out_only_cv() -> None:
    lost = fold("1e-4", 1, [float("nan")] * 3, [0.5, 0.6, 0.7])
    selected = select([*FAST, *SLOW[:2], lost], ["base", "last"], ["base", "cv", "cv(aligned)"])
    assert len(selected.selections) == 5
    assert [(g.snapshot_selector, g.hyperparameter_selector) for g in selected.left_out] == [
        ("base", "cv"),
    ]


def test_a_view_holds_the_folds_held_out_accuracy_and_nothing_else_of_them() -> None:
    hidden = {key: [SECRET, SECRET] for key in ("train_loss", "base", "novel")}
    tasks = {m: np.full((2, 4), SECRET if m == "novel" else 0.5) for m in ("val", "novel")}
    fold = History.from_arrays(epochs=[1, 2], val=[0.5, 0.25], tasks=tasks, **hidden)
    whole = History.from_arrays(epochs=[1, 2], val=[0.6, 0.7], novel=[SECRET] * 2, folds=[fold])
    assert holds_secret(whole)
    candidate = Candidate("t", {}, 2, whole, fold_epochs=(1,)).view({"cv"}, "mine")
    for view in (whole.view({"cv"}, "mine"), candidate.history):
        assert list(view.scores) == ["cv"]
        (one,) = view.folds
        assert list(one.scores) == list(one.tasks) == ["val"]
        assert one.scores["val"].tolist() == [0.5, 0.25]
        assert view.view({"cv"}, "again").scores["cv"].tolist() == [0.5, 0.25]
        for unpickled in (view, pickle.loads(pickle.dumps(view)), copy.deepcopy(view)):
            assert not holds_secret(unpickled)
            with pytest.raises(SealedMeasurement, match="'mine' read 'novel'"):
                unpickled.folds[0].scores["novel"]
    assert candidate.scores["cv"] == 0.5
    assert not holds_secret(candidate)
    undeclared = whole.view({"val"}, "mine")
    assert undeclared._folds == ()
    with pytest.raises(SealedMeasurement, match="'mine' read 'cv'"):
        undeclared.scores.get("cv")
    assert Candidate("t", {}, 1, whole, (2,)).view({"val"}).fold_epochs is None
    # Not even a selector that declares novel scores too is given those of the folds.
    (one,) = whole.view({"cv", "novel"}, "mine").folds
    assert list(one.scores) == ["val"]
