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
        """``name`` and ``needs`` are there and make sense."""
        assert self.selector.name
        assert set(self.selector.needs) <= set(SCORES)

    def test_keeps_the_same_twice(self) -> None:
        """The answer is a function of the candidates, whatever was asked in between."""
        several = [examples.candidates(seed) for seed in range(20)]
        first = [self._places(given) for given in several]
        assert [self._places(given) for given in several] == first

    def test_gaps_between_epochs(self) -> None:
        """Candidates may come from different epochs with gaps between."""
        assert self._places(examples.at_gaps())

    def test_one_candidate(self) -> None:
        """A single candidate is the choice, even one of a single epoch."""
        assert self._places([examples.candidate(examples.random_history(0, epochs=(7,)), 0)]) == [0]

    def test_no_candidate(self) -> None:
        """Nothing to choose from is a SelectionError."""
        examples.must_raise(self._places, self.selector.name, [])

    def test_nan_never_wins(self) -> None:
        """The one candidate whose scores are numbers is chosen, wherever it is."""
        for good in range(3):
            given = examples.constant(*(0.5 if i == good else NAN for i in range(3)))
            assert self._places(given) == [good]

    def test_reads_nothing_that_it_did_not_declare(self) -> None:
        """Sealed views, which hold what was declared and nothing else, are enough."""
        for seed in range(10):
            given = examples.candidates(seed)
            views = [one.view(self.selector.needs) for one in given]
            assert self._places(views) == self._places(given)

    def _places(self, given: Sequence[Candidate]) -> list[int]:
        """Positions in ``given`` of what the selector answers, as it answers it."""
        raise NotImplementedError

    def _views(self, given: Sequence[Candidate]) -> list[Candidate]:
        return [one.view(self.selector.needs, self.selector.name) for one in given]


class HyperparameterSelectorContract(_CandidatesContract):
    """Subclass it and set ``selector``; pytest runs the rest."""

    selector: ClassVar[HyperparameterSelector]

    def test_keeps_to_its_budget(self) -> None:
        """No more novel evaluations than its budget, if it has one."""
        for seed in range(10):
            _, seen = apply_counted(self.selector, examples.candidates(seed))
            assert self.selector.novel_budget is None or seen <= self.selector.novel_budget

    def test_ties_go_to_the_earlier_candidate(self) -> None:
        """Equal scores: the first in plan order."""
        assert self._places(examples.constant(0.5, 0.5, 0.5)) == [0]

    def test_nan_is_not_chosen_where_there_are_numbers(self) -> None:
        """Wherever the candidates without numbers are, and whatever the others have."""
        for seed in range(20):
            given = examples.candidates(seed)
            for at in {seed % 4, seed // 4 % 4, 3 * seed % 4}:
                given[at] = examples.candidate(examples.constant_history(NAN), at)
            chosen = apply(self.selector, given)
            assert any(value == value for value in chosen.scores.values())

    def test_all_nan(self) -> None:
        """Scores that are all NaN are a SelectionError, and the selector itself raises it."""
        given = examples.constant(NAN, NAN)
        if self.selector.novel_budget is None:
            examples.must_raise(self.selector.select, self.selector.name, self._views(given))
        examples.must_raise(self._places, self.selector.name, given)

    def _places(self, given: Sequence[Candidate]) -> list[int]:
        return [given.index(apply(self.selector, given))]


class FrontSelectorContract(_CandidatesContract):
    """Subclass it and set ``selector``; pytest runs the rest.

    The selector is asked directly, on the sealed views that a report gives it: a report sorts the
    answer, and would hide one that is out of order or holds a candidate twice.
    """

    selector: ClassVar[FrontSelector]

    def test_keeps_some_of_the_given_candidates(self) -> None:
        """The objects that it was given, not others like them, and never none of them."""
        for seed in range(20):
            views = self._views(examples.candidates(seed, 5))
            kept = self.selector.select(views)
            assert len(kept) > 0
            assert {id(one) for one in kept} <= {id(one) for one in views}

    def test_keeps_each_once_and_in_their_order(self) -> None:
        """No candidate twice, and all in the order in which they were given."""
        for seed in range(20):
            places = self._places(examples.candidates(seed, 5))
            assert places == sorted(set(places))

    def test_the_order_of_candidates_does_not_matter(self) -> None:
        """A front is a set: other orders of the same candidates have the same ones on it."""
        for seed in range(10):
            given = examples.candidates(seed, 5)
            kept = {id(given[i]) for i in self._places(given)}
            for other in (given[::-1], given[2:] + given[:2]):
                assert {id(other[i]) for i in self._places(other)} == kept

    def test_ties_are_kept_together(self) -> None:
        """Equal candidates are all on the front: none of them is preferred."""
        assert self._places(examples.constant(0.5, 0.5, 0.5)) == [0, 1, 2]

    def test_all_nan(self) -> None:
        """Scores that are all NaN are a SelectionError, not an empty front."""
        examples.must_raise(self._places, self.selector.name, examples.constant(NAN, NAN))

    def _places(self, given: Sequence[Candidate]) -> list[int]:
        views = self._views(given)
        return [views.index(one) for one in self.selector.select(views)]
