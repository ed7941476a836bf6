"""Configurations that fill the space evenly: a Sobol sequence."""

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, final

import numpy as np

from fsl_sweep.orchestrator.records.search import Outcome
from fsl_sweep.orchestrator.searchers.base import Axes, Searcher, fresh


@final
class Sobol(Searcher):
    """The points of a Sobol sequence in their order, scrambled with the seed; scores play no part.

    A power of two of them is balanced. Of a choice among few, repeated configurations are left out.
    Source: Owen, "Scrambling Sobol' and Niederreiter-Xing points", 1998, as in SciPy.
    """

    name: ClassVar[str] = "sobol"
    packages: ClassVar[tuple[str, ...]] = ("scipy",)

    def propose(
        self, axes: Axes, history: Sequence[Outcome], count: int, seed: int
    ) -> list[dict[str, Any]]:
        """Propose the first points that are not in the history."""
        points = (
            {path: axis.at(q) for (path, axis), q in zip(axes.items(), point, strict=True)}
            for point in _quantiles(len(axes), seed)
        )
        return fresh(points, axes, history, count)


def _quantiles(dimensions: int, seed: int) -> Iterator[list[float]]:
    from scipy.stats import qmc  # here, because its import takes a second

    # Newer versions of SciPy call it rng, and still read this.
    options: dict[str, Any] = {"scramble": True, "seed": np.random.default_rng(seed)}
    sequence = qmc.Sobol(dimensions, **options)
    while True:
        yield sequence.random(1)[0].tolist()
