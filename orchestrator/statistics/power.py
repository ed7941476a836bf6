"""How many seeds, tasks or classes tell two methods apart: sample sizes for a given power.

The interval of ``over_seeds`` is predicted from variance components, for other numbers than there
are. What is random in it is how the variances between seeds come out. Its mean, and the chance that
it excludes zero, are averages over equally likely outcomes of the two: chi-squared quantiles.
"""

from collections.abc import Callable
from math import isnan, sqrt

import numpy as np
from scipy import special

from fsl_sweep.orchestrator.statistics.components import PairComponents
from fsl_sweep.orchestrator.statistics.over_seeds import seed_freedom, task_quantile

MOST = 10**6
"""The largest number of seeds, tasks or classes that is considered."""

_OUTCOMES = (np.arange(16) + 0.5) / 16


def predicted_half_width(
    pair: PairComponents, seeds: tuple[int, int], tasks: int, confidence: float = 0.95
) -> float:
    """Predict the mean half-width of ``difference_over_seeds`` for other numbers.

    Args:
        pair: components, from any numbers of seeds and tasks.
        seeds: of a and of b, at least 2 each.
        tasks: report tasks; the selection stays as it is.
        confidence: in (0, 1).

    Raises:
        ValueError: there are fewer seeds or tasks.
    """
    halves, _ = _outcomes(pair, seeds, tasks, confidence)
    return float(halves.mean())


def predicted_power(
    pair: PairComponents,
    effect: float,
    seeds: tuple[int, int],
    tasks: int,
    confidence: float = 0.95,
    classes: int | None = None,
) -> float:
    """Predict the chance that a true ``effect`` has an interval on its side of zero.

    With ``classes``, what their draw changes is among the variances. Raises as
    ``predicted_half_width``.
    """
    halves, variance = _outcomes(pair, seeds, tasks, confidence, classes)
    excess = abs(effect) - halves
    if variance == 0:
        return float(np.mean(excess > 0))
    return float(special.ndtr(excess / sqrt(variance)).mean())


def required_seeds(
    pair: PairComponents,
    effect: float,
    power: float = 0.8,
    tasks: int | None = None,
    confidence: float = 0.95,
) -> int | None:
    """Return the least number of seeds of each method that finds a true ``effect``.

    None if no number can, because tasks and selection vary too much; or if the components of seeds
    are not known.

    Args:
        pair: components.
        effect: in units of accuracy.
        power: the chance to find it, in (0, 1).
        tasks: report tasks; by default as many as there are.
        confidence: in (0, 1).

    Raises:
        ValueError: the effect is 0 or not finite, or the power is not in (0, 1).
    """
    count = tasks or pair.shape[2]
    return _least(
        pair, effect, power, lambda n: predicted_power(pair, effect, (n, n), count, confidence)
    )


def required_tasks(
    pair: PairComponents,
    effect: float,
    power: float = 0.8,
    seeds: tuple[int, int] | None = None,
    confidence: float = 0.95,
) -> int | None:
    """Return the least number of report tasks that does, by default with the seeds as they are.

    None if no number can, because seeds and selection vary too much. As ``required_seeds``.
    """
    counts = seeds or pair.shape[:2]
    return _least(
        pair, effect, power, lambda n: predicted_power(pair, effect, counts, n, confidence)
    )


def required_classes(
    pair: PairComponents, effect: float, power: float = 0.8, confidence: float = 0.95
) -> int | None:
    """Return the least number of classes that finds it for other classes too.

    Seeds and tasks stay as they are. None if no number can, or if the components of classes are not
    known. As ``required_seeds``.
    """
    if pair.classes is None:
        return None
    seeds, tasks = pair.shape[:2], pair.shape[2]
    return _least(
        pair, effect, power, lambda n: predicted_power(pair, effect, seeds, tasks, confidence, n)
    )


def _outcomes(
    pair: PairComponents,
    seeds: tuple[int, int],
    tasks: int,
    confidence: float,
    classes: int | None = None,
) -> tuple[np.ndarray, float]:
    """Return half-widths of equally likely outcomes, and the variance of the effect."""
    if min(seeds) < 2 or tasks < 2:
        raise ValueError(f"2 seeds and 2 tasks are the least, not {min(seeds)} and {tasks}.")
    level = 1 - confidence
    means = [
        (between + rest / tasks) / count
        for between, rest, count in zip(pair.seeds, pair.rest, seeds, strict=True)
    ]
    spread = 0.0 if classes is None else (pair.classes or 0.0) / classes
    shared = pair.tasks / tasks + pair.selection + spread
    first, second = (
        variance * special.chdtri(count - 1, 1 - _OUTCOMES) / (count - 1)
        for variance, count in zip(means, seeds, strict=True)
    )
    a, b = first[:, None], second[None, :]
    freedom = seed_freedom(a, b, min(seeds) - 1)
    over_seeds = special.stdtrit(freedom, level / 2) ** 2 * (a + b)
    over_tasks = task_quantile(tasks - 1, level) ** 2 * shared
    return np.sqrt(over_seeds + over_tasks), sum(means) + shared


def _least(
    pair: PairComponents, effect: float, power: float, chance: Callable[[int], float]
) -> int | None:
    """Return the least number from 2 on whose chance is ``power``; None if there is none."""
    if not (0 < abs(effect) < np.inf and 0 < power < 1):
        raise ValueError(f"An effect other than 0 and a power in (0, 1), not {effect}, {power}.")
    if isnan(pair.seeds[0]) or chance(MOST) < power:
        return None
    low, high = 1, 2
    while chance(high) < power:
        low, high = high, min(2 * high, MOST)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if chance(middle) < power else (low, middle)
    return high
