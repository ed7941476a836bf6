"""Configurations drawn at random, as ``samples`` of a sweep file draws them."""

import zlib
from collections.abc import Sequence
from itertools import count as numbers
from typing import Any, ClassVar, final

import numpy as np

from fsl_sweep.orchestrator.records.search import Outcome
from fsl_sweep.orchestrator.searchers.base import Axes, Axis, Searcher, fresh


def draw(axis: Axis, seed: int, path: str, number: int) -> Any:
    """Draw a value of an axis; it depends only on the seed, the key path and its number."""
    rng = np.random.default_rng([seed, zlib.crc32(path.encode()), number])
    if axis.kind == "choice":
        return axis.values[int(rng.integers(len(axis.values)))]
    low, high = axis.values
    if axis.kind == "uniform":
        return float(rng.uniform(low, high))
    value = float(np.exp(rng.uniform(np.log(low), np.log(high))))
    return min(max(value, float(low)), float(high))  # whatever was rounded


@final
class Random(Searcher):
    """The draws of ``samples`` in their order, each configuration once; scores play no part.

    Source: Bergstra and Bengio, "Random search for hyper-parameter optimization", 2012.
    """

    name: ClassVar[str] = "random"

    def propose(
        self, axes: Axes, history: Sequence[Outcome], count: int, seed: int
    ) -> list[dict[str, Any]]:
        """Propose the first draws that are not in the history."""
        points = (
            {path: draw(axis, seed, path, number) for path, axis in axes.items()}
            for number in numbers()
        )
        return fresh(points, axes, history, count)
