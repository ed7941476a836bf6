"""What every hyperparameter selector must do."""

from collections.abc import Sequence
from typing import ClassVar

from fsl_sweep.orchestrator.selectors.apply import apply, apply_counted
from fsl_sweep.orchestrator.selectors.base import HyperparameterSelector
from fsl_sweep.orchestrator.selectors.candidate import Candidate
from fsl_sweep.orchestrator.selectors.history import SCORES
from fsl_sweep.orchestrator.testing import examples
from fsl_sweep.orchestrator.testing.examples import NAN


class HyperparameterSelectorContract:
    """Subclass it and set ``selector``; pytest runs the rest.

    Attributes:
        selector: what is tried.
    """

    selector: ClassVar[HyperparameterSelector]

    def test_has_a_name_and_declares_known_measures(self) -> None:
        """``name`` and ``needs`` are there and make sense."""
        assert self.selector.name
        assert set(self.selector.needs) <= set(SCORES)

    def test_chooses_a_given_candidate_twice_the_same(self) -> None:
        """The answer is a function of the candidates."""
        for seed in range(20):
            given = examples.candidates(seed)
            first = apply(self.selector, given)
            assert any(first is one for one in given)
            assert apply(self.selector, given) is first

    def test_keeps_to_its_budget(self) -> None:
        """No more novel evaluations than its budget, where it has one."""
        for seed in range(10):
            _, seen = apply_counted(self.selector, examples.candidates(seed))
            assert self.selector.novel_budget is None or seen <= self.selector.novel_budget

    def test_gaps_between_epochs(self) -> None:
        """Candidates may come from different epochs with gaps between."""
        given = examples.at_gaps()
        assert any(apply(self.selector, given) is one for one in given)

    def test_one_candidate(self) -> None:
        """A single candidate is the choice."""
        only = examples.candidate(examples.random_history(0, epochs=(7,)), 0)
        assert apply(self.selector, [only]) is only

    def test_no_candidate(self) -> None:
        """Nothing to choose from is a SelectionError."""
        examples.must_raise(self._choose, self.selector.name, [])

    def test_ties_go_to_the_earlier_candidate(self) -> None:
        """Equal scores: the first in plan order."""
        given = examples.constant(0.5, 0.5, 0.5)
        assert apply(self.selector, given) is given[0]

    def test_nan_never_wins(self) -> None:
        """The one candidate whose scores are numbers is chosen, wherever it is."""
        for good in range(3):
            given = examples.constant(*(0.5 if i == good else NAN for i in range(3)))
            assert apply(self.selector, given) is given[good]

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
            needs, name = self.selector.needs, self.selector.name
            examples.must_raise(
                self.selector.select, name, [one.view(needs, name) for one in given]
            )
        examples.must_raise(self._choose, self.selector.name, given)

    def test_reads_nothing_that_it_did_not_declare(self) -> None:
        """Other measures may hold anything or be absent, and the answer stays."""
        undeclared = frozenset(SCORES) - self.selector.needs
        for seed in range(10):
            given = examples.candidates(seed)
            chosen = given.index(apply(self.selector, given))
            sealed = [one.view(self.selector.needs) for one in given]
            assert apply(self.selector, sealed) is sealed[chosen]
            noisy = examples.noisy(given, undeclared, seed)
            assert apply(self.selector, noisy) is noisy[chosen]

    def _choose(self, given: Sequence[Candidate]) -> Candidate:
        return apply(self.selector, given)
