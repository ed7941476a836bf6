from math import perm

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pools import assert_uniform

from fsl_sweep.datasets.randomness import distinct


@given(st.integers(1, 30), st.integers(0, 40), st.integers(0, 2**32))
def test_draws_are_distinct_and_in_range(size, more, seed):
    population = size + np.arange(more + 1)
    drawn = distinct(np.random.default_rng(seed), population, size)
    assert drawn.shape == (more + 1, size)
    assert (drawn >= 0).all()
    assert (drawn < population[:, None]).all()
    assert all(len(set(row)) == size for row in drawn.tolist())


@pytest.mark.parametrize(("population", "size"), [(5, 1), (5, 2), (4, 3), (4, 4)])
def test_every_ordered_sample_is_equally_likely(population, size):
    drawn = distinct(np.random.default_rng(1), np.full(60_000, population), size)
    assert_uniform(drawn, perm(population, size))
