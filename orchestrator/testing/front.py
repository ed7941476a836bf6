"""What every front selector must do."""

from collections.abc import Sequence
from typing import ClassVar

from fsl_sweep.orchestrator.selectors.base import FrontSelector
from fsl_sweep.orchestrator.selectors.candidate import Candidate
from fsl_sweep.orchestrator.selectors.history import SCORES
from fsl_sweep.orchestrator.testing import examples
from fsl_sweep.orchestrator.testing.examples import NAN


class FrontSelectorContract:
    """Subclass it and set ``selector``; pytest runs the rest.

    The selector is asked directly, on the sealed views that a report would hand it: a report
    sorts what it answers, and would hide an answer that is out of order or holds one twice.

    Attributes:
        selector: what is tried.
    """

    selector: ClassVar[FrontSelector]

    def test_has_a_name_and_declares_known_measures(self) -> None:
        """``name`` and ``needs`` are there and make sense."""
        assert self.selector.name
        assert set(self.selector.needs) <= set(SCORES)

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

    def test_keeps_the_same_twice(self) -> None:
        """The answer is a function of the candidates, whatever was asked in between."""
        several = [examples.candidates(seed, 5) for seed in range(20)]
        first = [self._places(given) for given in several]
        assert [self._places(given) for given in several] == first

    def test_the_order_of_candidates_does_not_matter(self) -> None:
        """A front is a set: other orders of the same candidates have the same ones on it."""
        for seed in range(10):
            given = examples.candidates(seed, 5)
            kept = {id(given[i]) for i in self._places(given)}
            for other in (given[::-1], given[2:] + given[:2]):
                assert {id(other[i]) for i in self._places(other)} == kept

    def test_gaps_between_epochs(self) -> None:
        """Candidates may come from different epochs with gaps between."""
        assert self._places(examples.at_gaps())

    def test_one_candidate(self) -> None:
        """A single candidate is the front, be it of a single epoch."""
        assert self._places([examples.candidate(examples.random_history(0, epochs=(7,)), 0)]) == [0]

    def test_no_candidate(self) -> None:
        """Nothing to choose from is a SelectionError, not an empty front."""
        examples.must_raise(self._keep, self.selector.name, [])

    def test_ties_are_kept_together(self) -> None:
        """Equal candidates are all on the front: none of them is preferred."""
        assert self._places(examples.constant(0.5, 0.5, 0.5)) == [0, 1, 2]

    def test_nan_is_not_kept(self) -> None:
        """The one candidate whose scores are numbers is the front, wherever it is."""
        for good in range(3):
            given = examples.constant(*(0.5 if i == good else NAN for i in range(3)))
            assert self._places(given) == [good]

    def test_all_nan(self) -> None:
        """Scores that are all NaN are a SelectionError, not an empty front."""
        examples.must_raise(self._keep, self.selector.name, examples.constant(NAN, NAN))

    def test_reads_nothing_that_it_did_not_declare(self) -> None:
        """Other measures may hold anything, and the answer stays."""
        undeclared = frozenset(SCORES) - self.selector.needs
        for seed in range(10):
            given = examples.candidates(seed, 5)
            noisy = examples.noisy(given, undeclared, seed)
            assert self._places(noisy) == self._places(given)

    def _views(self, given: Sequence[Candidate]) -> tuple[Candidate, ...]:
        return tuple(one.view(self.selector.needs, self.selector.name) for one in given)

    def _keep(self, given: Sequence[Candidate]) -> Sequence[Candidate]:
        return self.selector.select(self._views(given))

    def _places(self, given: Sequence[Candidate]) -> list[int]:
        """Positions in ``given`` of what the selector answers, as it answers it."""
        views = self._views(given)
        places = {id(view): number for number, view in enumerate(views)}
        return [places[id(one)] for one in self.selector.select(views)]
