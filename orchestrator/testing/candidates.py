"""What every hyperparameter selector and every front selector must do."""

from collections.abc import Sequence
from typing import Any, ClassVar

from fsl_sweep.orchestrator.selectors.apply import apply, apply_counted
from fsl_sweep.orchestrator.selectors.base import FrontSelector, HyperparameterSelector
from fsl_sweep.orchestrator.selectors.candidate import Candidate
from fsl_sweep.orchestrator.selectors.history import SCORES
from fsl_sweep.orchestrator.testing import examples
from fsl_sweep.orchestrator.testing.examples import NAN


class _CandidatesContract:
    selector: ClassVar[Any]

    def test_has_a_name_and_declares_known_measures(self) -> None:
        """Declare ``name`` and ``needs`` that make sense."""
        assert self.selector.name
        assert set(self.selector.needs) <= set(SCORES)

    def test_keeps_the_same_twice(self) -> None:
        """Answer by the candidates only, whatever was chosen in between."""
        several = [examples.candidates(seed) for seed in range(20)]
        first = [self._places(candidates) for candidates in several]
        assert [self._places(candidates) for candidates in several] == first

    def test_gaps_between_epochs(self) -> None:
        """Choose among candidates of different epochs that do not follow each other."""
        assert self._places(examples.at_epochs_apart())

    def test_one_candidate(self) -> None:
        """Choose a single candidate, even of a single epoch."""
        assert self._places([examples.candidate(examples.random_history(0, epochs=(7,)), 0)]) == [0]

    def test_no_candidate(self) -> None:
        """Raise SelectionError where there is nothing to choose from."""
        examples.must_raise(self._places, self.selector.name, [])

    def test_nan_never_wins(self) -> None:
        """Choose the only candidate whose scores are numbers, wherever it is."""
        for good in range(3):
            candidates = examples.constant(*(0.5 if i == good else NAN for i in range(3)))
            assert self._places(candidates) == [good]

    def test_reads_nothing_that_it_did_not_declare(self) -> None:
        """Choose the same from sealed views, which hold nothing but what was declared."""
        for seed in range(10):
            candidates = examples.candidates(seed)
            views = [candidate.view(self.selector.needs) for candidate in candidates]
            assert self._places(views) == self._places(candidates)

    def _places(self, candidates: Sequence[Candidate]) -> list[int]:
        """Return positions in ``candidates`` of what the selector answers, in its order."""
        raise NotImplementedError

    def _views(self, candidates: Sequence[Candidate]) -> list[Candidate]:
        return [c.view(self.selector.needs, self.selector.name) for c in candidates]


class HyperparameterSelectorContract(_CandidatesContract):
    """Subclass it and set ``selector``; pytest runs the rest."""

    selector: ClassVar[HyperparameterSelector]

    def test_keeps_to_its_budget(self) -> None:
        """Use no more novel evaluations than its budget, if it has one."""
        for seed in range(10):
            _, seen = apply_counted(self.selector, examples.candidates(seed))
            assert self.selector.novel_budget is None or seen <= self.selector.novel_budget

    def test_ties_go_to_the_earlier_candidate(self) -> None:
        """Choose the first in plan order among equal scores."""
        assert self._places(examples.constant(0.5, 0.5, 0.5)) == [0]

    def test_nan_is_not_chosen_where_there_are_numbers(self) -> None:
        """Choose one with numbers wherever the others are, and whatever they have."""
        for seed in range(20):
            candidates = examples.candidates(seed)
            for at in {seed % 4, seed // 4 % 4, 3 * seed % 4}:
                candidates[at] = examples.candidate(examples.constant_history(NAN), at)
            chosen = apply(self.selector, candidates)
            assert any(value == value for value in chosen.scores.values())

    def test_all_nan(self) -> None:
        """Raise SelectionError, the selector itself too, where all scores are NaN."""
        candidates = examples.constant(NAN, NAN)
        if self.selector.novel_budget is None:
            examples.must_raise(self.selector.select, self.selector.name, self._views(candidates))
        examples.must_raise(self._places, self.selector.name, candidates)

    def _places(self, candidates: Sequence[Candidate]) -> list[int]:
        return [candidates.index(apply(self.selector, candidates))]


class FrontSelectorContract(_CandidatesContract):
    """Subclass it and set ``selector``; pytest runs the rest.

    The selector chooses directly, from the sealed views that a report gives it: a report sorts the
    answer, and would hide that it is out of order or holds a candidate twice.
    """

    selector: ClassVar[FrontSelector]

    def test_keeps_some_of_the_given_candidates(self) -> None:
        """Keep the objects that were given, not others like them, and never none of them."""
        for seed in range(20):
            views = self._views(examples.candidates(seed, 5))
            kept = self.selector.select(views)
            assert len(kept) > 0
            assert {id(view) for view in kept} <= {id(view) for view in views}

    def test_keeps_each_once_and_in_their_order(self) -> None:
        """Keep no candidate twice, and all in the order in which they were given."""
        for seed in range(20):
            places = self._places(examples.candidates(seed, 5))
            assert places == sorted(set(places))

    def test_the_order_of_candidates_does_not_matter(self) -> None:
        """Keep the same set in whatever order the candidates come."""
        for seed in range(10):
            candidates = examples.candidates(seed, 5)
            kept = {id(candidates[i]) for i in self._places(candidates)}
            for other in (candidates[::-1], candidates[2:] + candidates[:2]):
                assert {id(other[i]) for i in self._places(other)} == kept

    def test_ties_are_kept_together(self) -> None:
        """Keep all of equal candidates: none of them is preferred."""
        assert self._places(examples.constant(0.5, 0.5, 0.5)) == [0, 1, 2]

    def test_all_nan(self) -> None:
        """Raise SelectionError where all scores are NaN, and keep no empty front."""
        examples.must_raise(self._places, self.selector.name, examples.constant(NAN, NAN))

    def _places(self, candidates: Sequence[Candidate]) -> list[int]:
        views = self._views(candidates)
        return [views.index(view) for view in self.selector.select(views)]
