"""The contracts that every selector and study keeps, and what is particular to these."""

import pytest
from fsl_sweep_spread import SpreadOverSeeds
from fsl_sweep_steady import NearBestVal, SmoothedVal

from fsl_sweep.orchestrator.errors import RunFolderError
from fsl_sweep.orchestrator.run import Run
from fsl_sweep.orchestrator.selectors import Candidate, History, apply
from fsl_sweep.orchestrator.testing import (
    HyperparameterSelectorContract,
    SnapshotSelectorContract,
    StudyContract,
)


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
        candidates = [
            Candidate(str(i), {}, 1, History.from_arrays(epochs=[1], val=[val], base=[base]))
            for i, (val, base) in enumerate(scores)
        ]
        assert apply(NearBestVal(), candidates) is candidates[2]
        assert apply(NearBestVal(0.0), candidates) is candidates[1]
        assert apply(NearBestVal(0.5), candidates) is candidates[0]


class TestSpreadOverSeeds(StudyContract):
    study = SpreadOverSeeds

    def test_it_is_of_the_chosen_snapshots(self, run: Run) -> None:
        novel = [choice.snapshot.mean("novel") for choice in run.chosen("A")]
        first, second = run.study("spread-over-seeds").to_plain()
        assert (first["method"], second["method"]) == ("A", "B")
        assert (first["least"], first["most"]) == pytest.approx((min(novel), max(novel)))

    def test_too_few_seeds_are_refused(self, run: Run) -> None:
        with pytest.raises(RunFolderError, match="No method has 4 complete seeds"):
            run.study("spread-over-seeds", fewest=4)
