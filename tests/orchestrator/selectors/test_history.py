import numpy as np
import pytest
from following import SECRET, holds_secret

from fsl_sweep.orchestrator.errors import SealedMeasurement
from fsl_sweep.orchestrator.selectors import Candidate, History

HISTORY = History.from_arrays(
    epochs=[1, 3, 7],
    train_loss=[1.0, 0.5, 0.2],
    base=[0.8, 0.9, 0.95],
    val=[0.5, 0.6, 0.55],
    novel=[SECRET, SECRET, SECRET],
    tasks={m: np.full((3, 4), v) for m, v in (("base", 0.9), ("val", 0.6), ("novel", SECRET))},
)


def test_candidates_are_sealed_alike() -> None:
    candidate = Candidate("t", {"lr": [0.1]}, 3, HISTORY)
    assert (candidate.scores["novel"], candidate.scores["val"]) == (SECRET, 0.6)
    assert candidate.tasks["val"].tolist() == [0.6] * 4
    view = candidate.view({"val"}, "mine")
    assert (view.trial, view.epoch, view.hyperparameters) == ("t", 3, {"lr": [0.1]})
    assert view.scores["val"] == 0.6
    for values in (view.scores, view.tasks):
        assert list(values) == ["val"]
        with pytest.raises(SealedMeasurement, match="'mine' read 'novel'"):
            values.get("novel")
    assert not holds_secret(view)
    view.hyperparameters["lr"].append(9)
    assert candidate.hyperparameters == {"lr": [0.1]}


def test_what_a_history_refuses() -> None:
    for array in (HISTORY.epochs, HISTORY.scores["val"], HISTORY.tasks["val"]):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    history = History.from_arrays(epochs=[1], base=[0.5])
    assert history.scores.get("val") is None
    assert HISTORY.index(7) == 2
    for read, error, message in (
        (lambda: history.scores["val"], KeyError, "not recorded"),
        (lambda: history.view({"val"}).scores["val"], KeyError, "not recorded"),
        (lambda: HISTORY.tasks["train_loss"], KeyError, "not recorded"),
        (lambda: history.view({"vall"}), ValueError, "did you mean 'val'"),
        (lambda: HISTORY.index(2), KeyError, "Epoch 2"),
    ):
        with pytest.raises(error, match=message):
            read()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"epochs": [2, 1], "base": [0.1, 0.2]}, "ascending"),
        ({"epochs": [1, 1], "base": [0.1, 0.2]}, "ascending"),
        ({"epochs": [1, 2], "base": [0.1]}, "but epochs"),
        ({"epochs": [1, 2], "tasks": {"base": [[0.1]]}}, "must be of"),
        ({"epochs": [1], "tasks": {"train_loss": [[0.1]]}}, "must be of"),
    ],
)
def test_shapes_are_checked(wrong: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        History.from_arrays(**wrong)
