"""Class means, Gaussians, and the distances of queries to them."""

import numpy as np
import pytest
import torch
from scipy.stats import multivariate_normal
from small import features, normal

from fsl_sweep.learners.heads.prototype import (
    log_densities,
    squared_distances,
)


def test_squared_distances_survive_a_far_larger_offset_and_are_not_negative():
    query, centres = normal(1, 20, 64), normal(1, 5, 64, seed=1)
    exact = squared_distances(query, centres)
    moved = squared_distances((query + 1000).float(), (centres + 1000).float())
    # Features of size 1000 are themselves rounded to 6e-5 in float32.
    torch.testing.assert_close(moved.double(), exact, rtol=1e-3, atol=0)
    same = normal(1, 5, 300, dtype=torch.float32) * 100
    assert squared_distances(same, same).min() >= 0


@pytest.mark.parametrize("shrinkage", [0.05, 0.5, 1.0])
@pytest.mark.parametrize(("way", "shot", "d"), [(2, 8, 3), (3, 1, 5), (5, 4, 20)])
def test_densities_are_those_of_the_gaussians_of_scipy(way, shot, d, shrinkage):
    support, query = features(way, shot, d)
    densities = log_densities(support, query, shrinkage).numpy()
    for task in range(2):
        columns = []
        for examples in support[task].numpy():
            centred = examples - examples.mean(axis=0)
            covariance = (1 - shrinkage) * centred.T @ centred / shot + shrinkage * np.eye(d)
            model = multivariate_normal(examples.mean(axis=0), covariance)
            columns.append(model.logpdf(query[task].numpy()))
        difference = densities[task] - np.stack(columns, axis=1)
        # The constant that is left out is the same for all classes and queries.
        np.testing.assert_allclose(difference, np.full_like(difference, difference[0, 0]), 1e-8)
