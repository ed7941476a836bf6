"""Histories and their views: selectors that cheat, run as a report runs them, on a real folder."""

import copy
import os
import pickle
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from choosing import selecting
from following import reachable
from made import plan, planned, recorded, spec

from fsl_sweep.orchestrator.errors import SealedMeasurement
from fsl_sweep.orchestrator.ledger.ledger import Ledger
from fsl_sweep.orchestrator.records.measures import TrialHistory
from fsl_sweep.orchestrator.selectors import (
    Candidate,
    FrontSelector,
    History,
    HyperparameterSelector,
    SnapshotSelector,
    apply,
)


@pytest.fixture(scope="module")
def trial(tmp_path_factory: pytest.TempPathFactory) -> TrialHistory:
    one = planned(spec(epochs=3))
    ledger = recorded(tmp_path_factory.mktemp("folder") / "secret-run", one)
    (history,) = ledger.histories(plan(one))
    return history


# By kind: what makes a valid choice of what a selector is given.
KINDS: dict[type, Callable[[Any], Any]] = {
    SnapshotSelector: lambda history: int(history.epochs[0]),
    HyperparameterSelector: lambda candidates: candidates[0],
    FrontSelector: lambda candidates: candidates,
}
READS_NOVEL = selecting(SnapshotSelector, lambda h: h.scores["novel"].argmax(), name="other")
"""What a cheat may hand its view on to."""


def run_as(kind: type, cheat: Callable[[History], Any], trial: TrialHistory) -> None:
    """Apply a selector that does to the history that it is given what ``cheat`` does."""

    def select(given: Any) -> Any:
        cheat(given if kind is SnapshotSelector else given[0].history)
        return KINDS[kind](given)

    history = History.from_trial(trial)
    single = kind is SnapshotSelector
    choices = history if single else [Candidate(trial.trial, {}, 2, history)]
    apply(selecting(kind, select), choices)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "cheat",
    [
        lambda h: h.scores["novel"],
        lambda h: h.tasks["novel"],
        lambda h: h.tasks.get("novel"),
        lambda h: type(h.scores).__getitem__(h.scores, "base"),
        lambda h: h.scores["train_loss"],
        lambda h: h.folds,
        lambda h: h.view({"novel"}),
        lambda h: copy.copy(h).scores["novel"],
        lambda h: copy.deepcopy(h).scores["novel"],
        lambda h: pickle.loads(pickle.dumps(h)).tasks["novel"],
        lambda h: apply(READS_NOVEL, h),
    ],
)
def test_undeclared_measures_are_sealed(kind, cheat, trial) -> None:
    with pytest.raises(SealedMeasurement) as caught:
        run_as(kind, cheat, trial)
    selector, measure = caught.value.selector, caught.value.measure
    assert selector in ("made", "selector", "other")
    assert f"'{selector}' read '{measure}'" in str(caught.value)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "copied", [lambda h: h, copy.deepcopy, lambda h: pickle.loads(pickle.dumps(h))]
)
def test_neither_scores_nor_the_ledger_can_be_followed_to(kind, copied, trial) -> None:
    """Private attributes included, short of taking a function apart that reads tasks."""
    novel = trial.scores["novel", "selection"]
    secrets = np.concatenate([novel.means, novel.load().mean(axis=1)])
    views: list[History] = []
    run_as(kind, lambda h: views.append(copied(h)), trial)
    (view,) = views
    assert (list(dict(view.scores)), list(dict(view.tasks))) == (["val"], ["val"])
    assert "novel" not in repr(view)
    reached = reachable(view)
    assert any(isinstance(one, np.ndarray) for one in reached)
    for one in reached:
        assert not isinstance(one, (Path, os.PathLike, Ledger, TrialHistory, types.FrameType))
        if isinstance(one, (str, bytes)):
            assert "secret-run" not in str(one)
        if isinstance(one, float):
            assert one not in secrets
        if isinstance(one, np.ndarray):
            assert one.base is None
            assert not np.isin(secrets, one).any()


def test_a_view_of_a_candidate_holds_its_own_hyperparameters(trial) -> None:
    candidate = Candidate("t", {"lr": [0.1]}, 2, History.from_trial(trial))
    assert candidate.tasks["val"].tolist() == trial.scores["val", "selection"].load()[1].tolist()
    view = candidate.view({"val"}, "mine")
    assert (view.trial, view.epoch, view.hyperparameters) == ("t", 2, {"lr": [0.1]})
    assert list(view.scores) == list(view.tasks) == ["val"]
    assert view.scores["val"] == candidate.scores["val"]
    view.hyperparameters["lr"].append(9)
    assert candidate.hyperparameters == {"lr": [0.1]}


SMALL = History.from_arrays(epochs=[1, 3], base=[0.5, 0.6], tasks={"base": np.ones((2, 4))})


@pytest.mark.parametrize(
    ("read", "message"),
    [
        (lambda: SMALL.epochs.fill(0), "read-only"),
        (lambda: SMALL.scores["base"].fill(0), "read-only"),
        (lambda: SMALL.tasks["base"].fill(0), "read-only"),
        (lambda: SMALL.scores["val"], "not recorded"),
        (lambda: SMALL.view({"val"}).scores["val"], "not recorded"),
        (lambda: SMALL.tasks["train_loss"], "not recorded"),
        (lambda: SMALL.view({"vall"}), "did you mean 'val'"),
        (lambda: SMALL.index(2), "Epoch 2"),
        (lambda: History.from_arrays(epochs=[2, 1], base=[0.1, 0.2]), "ascending"),
        (lambda: History.from_arrays(epochs=[1, 1], base=[0.1, 0.2]), "ascending"),
        (lambda: History.from_arrays(epochs=[1, 2], base=[0.1]), "but epochs"),
        (lambda: History.from_arrays(epochs=[1, 2], tasks={"base": [[0.1]]}), "must be of"),
        (lambda: History.from_arrays(epochs=[1], tasks={"train_loss": [[0.1]]}), "must be of"),
    ],
)
def test_what_a_history_refuses(read: Callable[[], Any], message: str) -> None:
    with pytest.raises((ValueError, KeyError), match=message):
        read()


def test_writing_into_a_view_changes_no_other(trial) -> None:
    def overwrite(history: History) -> None:
        stolen = history.scores["val"]
        stolen.setflags(write=True)
        stolen[:] = 9.0
        history.scores._held["val"][:] = 9.0

    history = History.from_trial(trial)
    before = history.scores["val"].tolist()
    apply(selecting(SnapshotSelector, lambda h: (overwrite(h), 1)[1]), history)
    assert history.scores["val"].tolist() == before
    assert trial.scores["val", "selection"].means.tolist() == before
