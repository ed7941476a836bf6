"""The contracts that every selector keeps, and what is particular to these two."""

import pytest
from fsl_sweep_steady import NearBestVal, SmoothedVal

from fsl_sweep.orchestrator.selectors import Candidate, History, apply
from fsl_sweep.orchestrator.testing import HyperparameterSelectorContract, SnapshotSelectorContract


class TestSmoothedVal(SnapshotSelectorContract):
    selector = SmoothedVal()

    def test_a_lone_peak_does_not_win(self) -> None:
        history = History.from_arrays(epochs=[1, 2, 3, 4, 5], val=[0.1, 0.9, 0.1, 0.6, 0.7])
        assert apply(SmoothedVal(), history) == 5  # (0.6 + 0.7) / 2, not (0.1 + 0.9 + 0.1) / 3
        assert apply(SmoothedVal(1), history) == 2

    def test_an_even_width_is_refused(self) -> None:
        with pytest.raises(ValueError, match="odd"):
            SmoothedVal(2)


class TestNearBestVal(HyperparameterSelectorContract):
    selector = NearBestVal()

    def test_base_decides_within_the_margin(self) -> None:
        scores = [(0.50, 0.9), (0.60, 0.7), (0.595, 0.8)]
        given = [
            Candidate(str(i), {}, 1, History.from_arrays(epochs=[1], val=[val], base=[base]))
            for i, (val, base) in enumerate(scores)
        ]
        assert apply(NearBestVal(), given) is given[2]
        assert apply(NearBestVal(0.0), given) is given[1]
        assert apply(NearBestVal(0.5), given) is given[0]
