"""How many seeds, tasks or classes tell two methods apart: sample sizes for a given power.

The interval of ``over_seeds`` is predicted from variance components, for other numbers of seeds,
tasks or classes. The chance that it excludes zero is an average over equally likely outcomes of
what is not known: the true variances between seeds, which the pilot's few seeds estimate (scaled
inverse chi-squared), and what the planned seeds will estimate them to be (chi-squared). With the
pilot's variances taken as known, plans from 2 or 3 seeds would find a true difference in 60 to 80 %
of cases where they promise 80 %.
"""

from collections.abc import Callable
from math import isnan

import numpy as np
from scipy import special

from fsl_sweep.orchestrator.statistics.components import PairComponents, drawing_nothing
from fsl_sweep.orchestrator.statistics.over_seeds import seed_freedom, task_quantile

MOST = 10**6
"""The largest number of seeds, tasks or classes that is considered."""

_OUTCOMES = (np.arange(10) + 0.5) / 10
"""Levels of equally likely outcomes of a chi-squared variable."""


def predicted_power(
    pair: PairComponents,
    effect: float,
    seeds: tuple[int, int],
    tasks: int,
    confidence: float = 0.95,
    classes: int | None = None,
) -> float:
    """Predict the chance that a true ``effect`` has an interval on its side of zero.

    Args:
        pair: components, from any numbers of seeds and tasks.
        effect: in units of accuracy.
        seeds: of a and of b, at least 2 each, but for a method that draws nothing.
        tasks: report tasks; the selection stays as it is.
        confidence: in (0, 1).
        classes: then what their draw changes is among the variances.

    Raises:
        ValueError: there are fewer seeds or tasks.
    """
    fixed = drawing_nothing(pair.pilot)
    if tasks < 2 or any(n < 2 and not of_one for n, of_one in zip(seeds, fixed, strict=True)):
        raise ValueError(f"2 seeds and 2 tasks are the least, not {min(seeds)} and {tasks}.")
    (true_a, a), (true_b, b) = (_outcomes(pair, i, seeds[i], tasks) for i in (0, 1))
    a, b = a[:, None, :, None], b[None, :, None, :]
    level = 1 - confidence
    over_seeds = 0.0 if all(fixed) else _quantiles(pair, seeds, a, b, level) ** 2 * (a + b)
    spread = 0.0 if classes is None else (pair.classes or 0.0) / classes
    shared = pair.tasks / tasks + pair.selection + spread
    half = np.sqrt(over_seeds + task_quantile(tasks - 1, level) ** 2 * shared)
    sd = np.sqrt(true_a[:, None] + true_b + shared)[:, :, None, None]
    with np.errstate(divide="ignore"):  # where nothing varies it is sure
        return float(special.ndtr((abs(effect) - half) / sd).mean())


def required_seeds(
    pair: PairComponents,
    effect: float,
    power: float = 0.8,
    tasks: int | None = None,
    confidence: float = 0.95,
) -> int | None:
    """Return the least number of seeds of each method that finds a true ``effect``.

    None if no number can, because tasks and selection vary too much, or because both draw nothing;
    or if the components of seeds are not known.

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
    if all(drawing_nothing(pair.pilot)):
        return None
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


def _quantiles(
    pair: PairComponents, seeds: tuple[int, int], a: np.ndarray, b: np.ndarray, level: float
) -> np.ndarray:
    """Return the quantiles of ``over_seeds`` for variances of means a and b."""
    fewer = min(v.freedom_with(n) for v, n in zip(pair.pilot, seeds, strict=True))
    if any(variance.lent for variance in pair.pilot):
        return np.asarray(special.stdtrit(fewer, level / 2))
    # Interpolated: its degrees of freedom lie between these, and it is smooth.
    freedoms = np.linspace(fewer, 2 * fewer, 65)
    return np.interp(seed_freedom(a, b, fewer), freedoms, special.stdtrit(freedoms, level / 2))


def _outcomes(
    pair: PairComponents, method: int, seeds: int, tasks: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return equally likely variances of the mean over seeds of a (0) or of b (1).

    Returns:
        The true ones ``[K]``, given what the pilot estimated, and what so many seeds estimate them
        to be ``[K, M]``.
    """
    pilot, between = pair.pilot[method], pair.seeds[method] + pair.rest[method] / tasks
    future = pilot.freedom_with(seeds)
    if future == np.inf:
        return np.zeros(1), np.zeros((1, 1))
    true = between / seeds * pilot.freedom / special.chdtri(pilot.freedom, 1 - _OUTCOMES)
    return true, true[:, None] * special.chdtri(future, 1 - _OUTCOMES) / future


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
