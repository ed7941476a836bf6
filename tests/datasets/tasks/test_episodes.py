import numpy as np
import pytest

from fsl_sweep.datasets.tasks.episodes import Episodes, EpisodeShape
from fsl_sweep.orchestrator.errors import BadData, ConfigError


@pytest.mark.parametrize("wrong", [(0, 1, 1), (5, 0, 1), (5, 1, -3), (5, 1, 1.0), (5, True, 1)])
def test_numbers_below_one_are_refused(wrong):
    with pytest.raises(ConfigError, match="episode"):
        EpisodeShape(*wrong)


def test_arrays_that_disagree_are_refused():
    with pytest.raises(BadData, match=r"support \[T, n, k\]"):
        Episodes(np.zeros((2, 5, 1)), np.zeros((2, 4, 3)), np.zeros((2, 5)))


def test_slices_and_concatenation():
    whole = Episodes(
        np.arange(30).reshape(3, 5, 2), np.arange(45).reshape(3, 5, 3), np.arange(15).reshape(3, 5)
    )
    again = Episodes.concatenate([whole[:1], whole[1:]])
    assert len(again) == 3
    assert whole.shape == EpisodeShape(5, 2, 3)
    for name in ("support", "query", "classes"):
        np.testing.assert_array_equal(getattr(again, name), getattr(whole, name))
