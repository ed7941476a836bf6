import pytest

from fsl_sweep.datasets.tasks.episodes import EpisodeShape
from fsl_sweep.orchestrator.errors import ConfigError


@pytest.mark.parametrize("wrong", [(0, 1, 1), (5, 0, 1), (5, 1, -3), (5, 1, 1.0), (5, True, 1)])
def test_numbers_below_one_are_refused(wrong):
    with pytest.raises(ConfigError, match="episode"):
        EpisodeShape(*wrong)
