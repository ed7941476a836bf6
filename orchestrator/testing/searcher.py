"""What every searcher must do."""

from collections.abc import Sequence
from copy import deepcopy
from itertools import chain
from typing import Any, ClassVar

from fsl_sweep.orchestrator.records.search import Outcome
from fsl_sweep.orchestrator.searchers.base import Axes, Axis, Searcher, key

AXES: Axes = {
    "optimizer.lr": Axis("loguniform", [1e-4, 1]),
    "train.way": Axis("choice", [5, 20]),
    "learner.scale": Axis("uniform", [0, 10]),
    "optimizer": Axis("choice", [{"name": "sgd"}, {"name": "adam"}]),
}
FEW: Axes = {"way": Axis("choice", [5, 10, 20]), "deep": Axis("choice", [True, False])}
"""Six configurations."""


class SearcherContract:
    """Subclass it and set ``searcher``, a class; pytest runs the rest."""

    searcher: ClassVar[type[Searcher]]

    def test_has_a_name(self) -> None:
        """Declare ``name``."""
        assert self.searcher.name

    def test_proposes_values_of_every_axis(self) -> None:
        """Propose as many as are asked for, within their ranges, in every round."""
        for axes, counts in ((AXES, [8, 1, 5]), (FEW, [4, 1, 1])):
            for seed in range(3):
                for values in chain(*self._rounds(axes, counts, seed)):
                    assert values.keys() == axes.keys()
                    assert all(axis.has(values[path]) for path, axis in axes.items())

    def test_repeats_nothing(self) -> None:
        """Propose each configuration once, all of them if there are few."""
        for axes, counts in ((AXES, [8, 8, 8]), (FEW, [4, 1, 1]), (FEW, [6])):
            known = [key(values) for each in self._rounds(axes, counts, 1) for values in each]
            assert len(known) == len(set(known)) == sum(counts)

    def test_is_a_function_of_its_arguments(self) -> None:
        """Propose the same again, whatever was proposed in between, and change no argument."""
        history = self._history(AXES, 12)
        before = deepcopy(history)
        first = self._propose(AXES, history, 4, 7)
        self._propose(FEW, [], 3, 1)
        assert self._propose(AXES, history, 4, 7) == first
        assert history == before

    def test_survives_any_scores(self) -> None:
        """Propose where all scores are equal, where some diverged, and where all did."""
        history = self._history(AXES, 16)
        for scores in ([0.5] * 16, [0.5, None] * 8, [None] * 16, [-1e6, 0.0] * 8):
            scored = [Outcome(o.values, s) for o, s in zip(history, scores, strict=True)]
            assert len(self._propose(AXES, scored, 4, 0)) == 4

    def _history(self, axes: Axes, count: int) -> list[Outcome]:
        """Return some configurations with scores, of which every fifth diverged."""
        return [
            Outcome(
                {path: axis.at((0.37 + 0.61803 * n) % 1) for path, axis in axes.items()},
                None if n % 5 == 4 else n / count,
            )
            for n in range(count)
        ]

    def _rounds(self, axes: Axes, counts: Sequence[int], seed: int) -> list[list[dict[str, Any]]]:
        """Search in rounds, as a sweep does."""
        history: list[Outcome] = []
        rounds: list[list[dict[str, Any]]] = []
        for count in counts:
            rounds.append(self._propose(axes, history, count, seed))
            history += [Outcome(values, len(history) % 3 / 3) for values in rounds[-1]]
        return rounds

    def _propose(
        self, axes: Axes, history: Sequence[Outcome], count: int, seed: int
    ) -> list[dict[str, Any]]:
        proposed = self.searcher().propose(axes, history, count, seed)
        assert len(proposed) == count
        return proposed
