"""Class means, Gaussians, and the distances of queries to them."""

import numpy as np
import pytest
import torch
from scipy.stats import multivariate_normal
from sklearn.metrics.pairwise import cosine_similarity
from small import features, normal

from fsl_sweep.learners.heads.prototype import (
    cosine_similarities,
    log_densities,
    prototypes,
    squared_distances,
)


def test_squared_distances_to_the_class_means_equal_the_brute_force():
    query, support = normal(3, 11, 7), normal(3, 5, 2, 7, seed=1)
    centres = prototypes(support)
    np.testing.assert_allclose(centres.numpy(), support.numpy().mean(axis=2), rtol=1e-12)
    expected = np.zeros((3, 11, 5))
    for task, m, way in np.ndindex(*expected.shape):
        difference = query[task, m].numpy() - centres[task, way].numpy()
        expected[task, m, way] = difference @ difference
    np.testing.assert_allclose(squared_distances(query, centres).numpy(), expected, rtol=1e-12)


def test_squared_distances_survive_a_far_larger_offset_and_are_not_negative():
    query, centres = normal(1, 20, 64), normal(1, 5, 64, seed=1)
    exact = squared_distances(query, centres)
    moved = squared_distances((query + 1000).float(), (centres + 1000).float())
    # Features of size 1000 are themselves rounded to 6e-5 in float32.
    torch.testing.assert_close(moved.double(), exact, rtol=1e-3, atol=0)
    same = normal(1, 5, 300, dtype=torch.float32) * 100
    assert squared_distances(same, same).min() >= 0


def test_cosine_similarities_equal_scikit_learn():
    query, centres = normal(2, 11, 7), normal(2, 5, 7, seed=1)
    expected = [cosine_similarity(q, c) for q, c in zip(query, centres, strict=True)]
    np.testing.assert_allclose(cosine_similarities(query, centres).numpy(), expected, rtol=1e-9)


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
