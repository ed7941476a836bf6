import numpy as np
import pytest
from following import SECRET, holds_secret

from fsl_sweep.orchestrator.errors import SealedMeasurement
from fsl_sweep.orchestrator.selectors.candidate import Candidate
from fsl_sweep.orchestrator.selectors.history import History


def by_hand() -> History:
    tasks = {m: np.full((3, 4), v) for m, v in (("base", 0.9), ("val", 0.6), ("novel", SECRET))}
    return History.from_arrays(
        epochs=[1, 3, 7],
        train_loss=[1.0, 0.5, 0.2],
        base=[0.8, 0.9, 0.95],
        val=[0.5, 0.6, 0.55],
        novel=[SECRET, SECRET, SECRET],
        tasks=tasks,
    )


def test_candidates_are_sealed_alike() -> None:
    whole = Candidate("t", {"lr": [0.1]}, 3, by_hand())
    assert whole.scores["novel"] == SECRET
    assert whole.scores["val"] == 0.6
    assert whole.tasks["val"].tolist() == [0.6] * 4
    view = whole.view({"val"}, "mine")
    assert (view.trial, view.epoch, view.hyperparameters) == ("t", 3, {"lr": [0.1]})
    assert view.scores["val"] == 0.6
    for values in (view.scores, view.tasks):
        assert list(values) == ["val"]
        with pytest.raises(SealedMeasurement, match="'mine' read 'novel'"):
            values.get("novel")
    assert not holds_secret(view)
    view.hyperparameters["lr"].append(9)
    assert whole.hyperparameters == {"lr": [0.1]}


def test_arrays_are_read_only() -> None:
    history = by_hand()
    for array in (history.epochs, history.scores["val"], history.tasks["val"]):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


def test_unrecorded_and_unknown_measures() -> None:
    history = History.from_arrays(epochs=[1], base=[0.5])
    with pytest.raises(KeyError, match="not recorded"):
        history.scores["val"]
    with pytest.raises(KeyError):
        history.view({"val"}).scores["val"]
    with pytest.raises(KeyError):
        by_hand().tasks["train_loss"]
    assert history.scores.get("val") is None
    with pytest.raises(ValueError, match="did you mean 'val'"):
        history.view({"vall"})
    assert by_hand().index(7) == 2
    with pytest.raises(KeyError, match="Epoch 2"):
        by_hand().index(2)


@pytest.mark.parametrize(
    "wrong",
    [
        {"epochs": [2, 1], "base": [0.1, 0.2]},
        {"epochs": [1, 1], "base": [0.1, 0.2]},
        {"epochs": [1, 2], "base": [0.1]},
        {"epochs": [1, 2], "tasks": {"base": [[0.1]]}},
        {"epochs": [1], "tasks": {"train_loss": [[0.1]]}},
    ],
)
def test_shapes_are_checked(wrong: dict) -> None:
    with pytest.raises(ValueError, match=r"ascending|but epochs|must be of"):
        History.from_arrays(**wrong)
