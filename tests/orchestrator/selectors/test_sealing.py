"""Selectors that cheat, run on the records of a real run folder as a report runs them."""

import copy
import os
import pickle
import types
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from following import reachable
from made import plan, planned, recorded, spec

from fsl_sweep.orchestrator.errors import SealedMeasurement
from fsl_sweep.orchestrator.ledger.ledger import Ledger
from fsl_sweep.orchestrator.records.measures import TrialHistory
from fsl_sweep.orchestrator.selectors import (
    FrontSelector,
    HyperparameterSelector,
    SnapshotSelector,
    apply,
)
from fsl_sweep.orchestrator.selectors.candidate import Candidate
from fsl_sweep.orchestrator.selectors.history import History


@pytest.fixture(scope="module")
def trial(tmp_path_factory: pytest.TempPathFactory) -> TrialHistory:
    one = planned(spec(epochs=3))
    ledger = recorded(tmp_path_factory.mktemp("folder") / "secret-run", one)
    (found,) = ledger.histories(plan(one))
    return found


Cheat = Callable[[History], Any]


class Cheats:
    name: ClassVar[str] = "cheat"
    needs: ClassVar[frozenset[str]] = frozenset({"val"})

    def __init__(self, cheat: Cheat) -> None:
        self.cheat = cheat


class CheatingSnapshot(Cheats, SnapshotSelector):
    def select(self, history: History) -> int:
        self.cheat(history)
        return int(history.epochs[0])


class CheatingConfiguration(Cheats, HyperparameterSelector):
    def select(self, candidates: Sequence[Candidate]) -> Candidate:
        self.cheat(candidates[0].history)
        return candidates[0]


class CheatingFront(Cheats, FrontSelector):
    def select(self, candidates: Sequence[Candidate]) -> Sequence[Candidate]:
        self.cheat(candidates[0].history)
        return candidates


def run_as(kind: type, cheat: Cheat, trial: TrialHistory) -> None:
    whole = History.from_trial(trial)
    if kind is CheatingSnapshot:
        apply(CheatingSnapshot(cheat), whole)
    else:
        apply(kind(cheat), [Candidate(trial.trial, {}, 2, whole)])


KINDS = [CheatingSnapshot, CheatingConfiguration, CheatingFront]


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
        lambda h: apply(ReadsNovel(), h),
    ],
)
def test_undeclared_measures_are_sealed(kind: type, cheat: Cheat, trial: TrialHistory) -> None:
    with pytest.raises(SealedMeasurement) as caught:
        run_as(kind, cheat, trial)
    selector, measure = caught.value.selector, caught.value.measure
    assert selector in ("cheat", "selector", "reads-novel")
    assert f"'{selector}' read '{measure}'" in str(caught.value)


class ReadsNovel(SnapshotSelector):
    """What a cheat may hand its view on to."""

    name: ClassVar[str] = "reads-novel"
    needs: ClassVar[frozenset[str]] = frozenset()

    def select(self, history: History) -> int:
        return int(history.epochs[history.scores["novel"].argmax()])


@pytest.mark.parametrize("kind", KINDS)
def test_iterating_shows_what_was_declared(kind: type, trial: TrialHistory) -> None:
    found: list[Any] = []
    run_as(kind, lambda h: found.extend([dict(h.scores), dict(h.tasks), repr(h)]), trial)
    assert [list(part) for part in found[:2]] == [["val"], ["val"]]
    assert "novel" not in found[2]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "copied", [lambda h: h, copy.deepcopy, lambda h: pickle.loads(pickle.dumps(h))]
)
def test_neither_scores_nor_the_ledger_can_be_followed_to(
    kind: type, copied: Callable[[History], History], trial: TrialHistory
) -> None:
    """Private attributes included, short of taking a function apart that reads tasks."""
    novel = trial.scores["novel", "selection"]
    secrets = np.concatenate([novel.means, novel.load().mean(axis=1)])
    found: list[object] = []
    run_as(kind, lambda h: found.extend(reachable(copied(h))), trial)
    assert any(isinstance(one, np.ndarray) for one in found)
    for one in found:
        assert not isinstance(one, (Path, os.PathLike, Ledger, TrialHistory, types.FrameType))
        if isinstance(one, (str, bytes)):
            assert "secret-run" not in str(one)
        if isinstance(one, float):
            assert one not in secrets
        if isinstance(one, np.ndarray):
            assert one.base is None
            assert not np.isin(secrets, one).any()


def test_writing_into_a_view_changes_no_other(trial: TrialHistory) -> None:
    def overwrite(history: History) -> None:
        stolen = history.scores["val"]
        stolen.setflags(write=True)
        stolen[:] = 9.0
        history.scores._held["val"][:] = 9.0

    whole = History.from_trial(trial)
    before = whole.scores["val"].tolist()
    apply(CheatingSnapshot(overwrite), whole)
    assert whole.scores["val"].tolist() == before
    assert trial.scores["val", "selection"].means.tolist() == before
