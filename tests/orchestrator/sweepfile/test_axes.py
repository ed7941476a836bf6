import math

import numpy as np

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
    whole = [{"name": "sgd"}, {"name": "adam"}]
    optimizers = expanded({"optimizer": {"grid": whole}})
    assert [settings for _, settings in optimizers] == [{"optimizer": value} for value in whole]


def test_sampled_values_stay_when_axes_or_samples_are_added():
    alone = expanded({"lr": {"loguniform": [1e-4, 1.0]}}, samples=3)
    more = expanded({"lr": {"loguniform": [1e-4, 1.0]}, "w": {"uniform": [0, 1]}}, samples=5)
    assert [axes["lr"] for axes, _ in alone] == [axes["lr"] for axes, _ in more][:3]
    assert expanded({"lr": {"loguniform": [1e-4, 1.0]}}, 3, seed=1) != alone


def test_sampled_values_follow_their_distributions():
    drawn = expanded({"lr": {"loguniform": [1e-4, 1.0]}, "c": {"choice": ["x", "y"]}}, samples=4000)
    rates = np.array([axes["lr"] for axes, _ in drawn])
    assert 1e-4 <= rates.min() <= rates.max() <= 1.0
    # log10 is uniform on [-4, 0]: mean -2, standard error 4 / sqrt(12 * 4000)
    assert abs(np.log10(rates).mean() + 2) < 5 * 4 / math.sqrt(12 * 4000)
    choices = [axes["c"] for axes, _ in drawn]
    assert abs(choices.count("x") - 2000) < 5 * math.sqrt(1000)
