"""Rules that say at a rung which configurations of a method go on.

They take scores ``[configurations, seeds, epochs]`` of the recorded epochs up to the rung, larger
ones better, NaN from where a trial diverged on. Ties go to the configuration that comes first.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from fsl_sweep.orchestrator.records.scheduler import Scheduler
from fsl_sweep.orchestrator.statistics.comparison import holm

LEVEL = 0.05
"""The family-wise level at which a race stops configurations."""


@dataclass(frozen=True)
class Ruling:
    """What a rule says at a rung.

    Attributes:
        goes_on: whether each configuration does.
        means: over seeds at the rung; minus infinity if a seed diverged.
        ranks: places by these means, from 1.
        cut: what those that are stopped fall short of.
        limit: what that is, in words.
    """

    goes_on: Bool[np.ndarray, " configuration"]
    means: Float[np.ndarray, " configuration"]
    ranks: Int[np.ndarray, " configuration"]
    cut: float
    limit: str


def rule(scheduler: Scheduler, scores: Float[np.ndarray, "configuration seed epoch"]) -> Ruling:
    """Apply the scheduler's rule; at least the best ``finalists`` configurations go on."""
    rung = _Rung(scheduler, scores)
    rules = {"halving": rung.halving, "median": rung.median, "race": rung.race}
    goes_on, cut, limit = rules[scheduler.name]()
    return Ruling(goes_on | rung.among(scheduler.finalists), rung.means, rung.ranks, cut, limit)


class _Rung:
    """The scores of configurations up to a rung."""

    def __init__(self, scheduler: Scheduler, scores: np.ndarray) -> None:
        self.scheduler, self.scores = scheduler, scores
        # Rounded, so that the same scores in other seeds have the same mean.
        curves = np.round(scores.mean(axis=1), 12)
        self.curves = np.where(np.isnan(curves), -np.inf, curves)
        self.means = self.curves[:, -1]
        self.ranks = np.empty(len(self.means), np.int64)
        self.ranks[np.argsort(-self.means, kind="stable")] = np.arange(1, len(self.means) + 1)

    def among(self, best: int) -> np.ndarray:
        """Tell which configurations are among the best of this number."""
        return self.ranks <= best

    def halving(self) -> tuple[np.ndarray, float, str]:
        """Let the best ``ceil(n / factor)`` go on.

        Source: Jamieson and Talwalkar, "Non-stochastic best arm identification and hyperparameter
        optimization", 2016.
        """
        count = max(self.scheduler.finalists, -(-len(self.means) // self.scheduler.factor))
        goes_on = self.among(count)
        return goes_on, self.means[goes_on].min(), f"the last of the {count} that go on"

    def median(self) -> tuple[np.ndarray, float, str]:
        """Let those go on whose best mean so far is not below the median of all running averages.

        Source: Golovin et al., "Google Vizier", 2017, section 3.2.2.
        """
        median = np.median(np.round(self.curves.mean(axis=1), 12))
        goes_on = (self.curves.max(axis=1) >= median) & np.isfinite(self.means)
        return goes_on, median, "best below the median of the running averages"

    def race(self) -> tuple[np.ndarray, float, str]:
        """Let those go on that are not worse than the best: t tests paired by seed, with Holm.

        Source: Birattari et al., "A racing algorithm for configuring metaheuristics", 2002, here
        with a test of means, as all accuracies have one scale.
        """
        goes_on = np.isfinite(self.means)
        best, rivals = np.argmin(self.ranks), np.flatnonzero(goes_on & (self.ranks > 1))
        differences = np.round(self.scores[best, :, -1] - self.scores[rivals, :, -1], 12)
        if len(rivals):
            goes_on[rivals[holm(_p_values(differences)) < LEVEL]] = False
        seeds = self.scores.shape[1]
        return goes_on, self.means[best], f"significantly below the best over {seeds} seeds"


def _p_values(differences: Float[np.ndarray, "rival seed"]) -> Float[np.ndarray, " rival"]:
    """Return two-sided p values of paired t tests; of equal differences 0, or 1 where all are 0."""
    from scipy.stats import ttest_1samp  # here, because its import takes a second

    constant = np.ptp(differences, axis=1) == 0
    p = np.where(constant & (differences[:, 0] != 0), 0.0, 1.0)
    if not constant.all():
        tested: tuple[float, np.ndarray] = ttest_1samp(differences[~constant], 0.0, axis=1)
        p[~constant] = tested[1]
    return p
