import math

import numpy as np
import pytest

from fsl_sweep.orchestrator.errors import ConfigError
from fsl_sweep.orchestrator.sweepfile.axes import expand


def expanded(tree, samples=None, seed=0):
    return list(expand(tree, samples, seed))


def test_grids_multiply_in_the_order_of_the_file():
    tree = {"train": {"way": {"grid": [5, 20]}}, "learner": {"scale": {"grid": [1, 2, 3]}}, "x": 1}
    configurations = expanded(tree)
    assert [axes for axes, _ in configurations] == [
        {"train.way": way, "learner.scale": scale} for way in (5, 20) for scale in (1, 2, 3)
    ]
    assert configurations[4][1] == {"train": {"way": 20}, "learner": {"scale": 2}, "x": 1}


def test_a_grid_may_hold_whole_mappings():
    values = [{"name": "sgd"}, {"name": "adam"}]
    assert [tree for _, tree in expanded({"optimizer": {"grid": values}})] == [
        {"optimizer": value} for value in values
    ]


def test_sampled_values_stay_when_axes_or_samples_are_added():
    alone = expanded({"lr": {"loguniform": [1e-4, 1.0]}}, samples=3)
    more = expanded({"lr": {"loguniform": [1e-4, 1.0]}, "w": {"uniform": [0, 1]}}, samples=5)
    assert [axes["lr"] for axes, _ in alone] == [axes["lr"] for axes, _ in more][:3]
    assert expanded({"lr": {"loguniform": [1e-4, 1.0]}}, 3, seed=1) != alone


def test_sampled_values_follow_their_distributions():
    lrs = np.array(
        [a["lr"] for a, _ in expanded({"lr": {"loguniform": [1e-4, 1.0]}}, samples=4000)]
    )
    assert lrs.min() >= 1e-4
    assert lrs.max() <= 1.0
    # log10 is uniform on [-4, 0]: mean -2, standard error 4 / sqrt(12 * 4000)
    assert abs(np.log10(lrs).mean() + 2) < 5 * 4 / math.sqrt(12 * 4000)
    choices = [a["c"] for a, _ in expanded({"c": {"choice": ["x", "y"]}}, samples=4000)]
    assert abs(choices.count("x") - 2000) < 5 * math.sqrt(1000)


@pytest.mark.parametrize(
    ("axis", "problem"),
    [
        ({"grid": 5}, "needs a list of at least one value, not 5"),
        ({"grid": [2, True, 1]}, "the grid repeats a value"),
        ({"grid": [{"way": 3}, {"way": 3}]}, "the grid repeats a value"),
        ({"loguniform": [0, 1]}, "with 0 < low"),
        ({"uniform": [1, 1]}, "low < high"),
        ({"uniform": ["a", 1]}, "low < high"),
        ({"grid": [5], "choice": [3]}, "an axis has no other keys beside it"),
    ],
)
def test_bad_axes_name_their_place(axis, problem):
    with pytest.raises(ConfigError, match=problem) as caught:
        expanded({"train": {"way": axis}}, samples=2)
    assert str(caught.value).startswith("train.way: ")


def test_sampling_without_samples_says_what_to_write():
    with pytest.raises(ConfigError, match="'samples:'"):
        expanded({"lr": {"uniform": [0, 1]}})
