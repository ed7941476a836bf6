"""What every snapshot selector must do."""

from functools import partial
from itertools import product
from typing import ClassVar

import numpy as np

from fsl_sweep.orchestrator.errors import SelectionError
from fsl_sweep.orchestrator.selectors.apply import apply
from fsl_sweep.orchestrator.selectors.base import SnapshotSelector
from fsl_sweep.orchestrator.selectors.history import SCORES, History
from fsl_sweep.orchestrator.testing import examples


class SnapshotSelectorContract:
    """Subclass it and set ``selector``; pytest runs the rest.

    Attributes:
        selector: what is tried.
        reads_scores: whether it chooses only by scores. One that also goes by position sets it to
            False: then the best score, and the first among equals, need not win. A NaN must still
            never win.
    """

    selector: ClassVar[SnapshotSelector]
    reads_scores: ClassVar[bool] = True

    def test_has_a_name_and_declares_known_measures(self) -> None:
        """Declare ``name`` and ``needs`` that make sense."""
        assert self.selector.name
        assert set(self.selector.needs) <= set(SCORES)

    def test_chooses_a_recorded_epoch_twice_the_same(self) -> None:
        """Answer by the history only, with an epoch by its name, not by its position."""
        for seed, epochs in product(range(20), [(1, 2, 3, 4, 5, 6), (3, 10, 25, 60)]):
            history = examples.random_history(seed, epochs)
            first = apply(self.selector, history)
            assert first in history.epochs
            assert apply(self.selector, history) == first

    def test_one_epoch(self) -> None:
        """Choose a single snapshot."""
        assert apply(self.selector, examples.random_history(0, epochs=(7,))) == 7

    def test_no_epoch(self) -> None:
        """Raise SelectionError where there is nothing to choose from."""
        none = np.zeros(0)
        empty = History.from_arrays(epochs=[], train_loss=none, base=none, val=none, novel=none)
        examples.must_raise(partial(apply, self.selector), self.selector.name, empty)

    def test_ties_go_to_the_earlier_epoch(self) -> None:
        """Choose the first epoch among equal scores."""
        if self.reads_scores:
            assert apply(self.selector, examples.constant_history(0.5, epochs=(4, 5, 9))) == 4

    def test_nan_never_wins(self) -> None:
        """Choose the only epoch whose scores are numbers, wherever it is."""
        if self.reads_scores:
            for good in (1, 2, 4):
                assert apply(self.selector, examples.nan_history(good)) == good

    def test_nan_is_not_chosen_where_there_are_numbers(self) -> None:
        """Choose a number wherever it is, or raise SelectionError if position leaves only NaN."""
        for seed in range(20):
            history = examples.partly_nan_history(seed)
            try:
                chosen = apply(self.selector, history)
            except SelectionError:
                assert not self.reads_scores
                continue
            at = history.index(chosen)
            scores = [history.scores[measure][at] for measure in self.selector.needs]
            assert not scores or not np.isnan(scores).all()

    def test_all_nan(self) -> None:
        """Raise SelectionError, the selector itself too, where all scores are NaN."""
        if self.selector.needs:
            nan = examples.constant_history(float("nan"))
            sealed = nan.view(self.selector.needs)
            examples.must_raise(self.selector.select, self.selector.name, sealed)

    def test_reads_nothing_that_it_did_not_declare(self) -> None:
        """Choose the same from a sealed view, which holds nothing but what was declared."""
        for seed in range(10):
            history = examples.random_history(seed)
            view = history.view(self.selector.needs)
            assert self.selector.select(view) == apply(self.selector, history)
