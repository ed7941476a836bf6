"""What random sets show of two snapshots: their difference, and the accuracy of each."""

from collections.abc import Sequence

import numpy as np

from fsl_sweep.orchestrator.report.figures.panel import Axes, Figure, Panel
from fsl_sweep.orchestrator.report.figures.style import INK, SOFT, colour, dashes, label
from fsl_sweep.orchestrator.statistics import ConclusionStability, Spread

SetsOf = tuple[str, ConclusionStability, tuple[Spread, Spread]]
"""``20 classes``, what sets of them say of the difference, and of each snapshot."""


def spread_figure(kinds: Sequence[SetsOf], names: tuple[str, str]) -> Figure:
    """Draw the empirical distribution of the differences, and a histogram for each kind of sets.

    Source: "Two Sides of Meta-Learning Evaluation: In vs. Out of Distribution", figure 3 (a) and
    appendix F.6; "Lessons from Chasing Few-Shot Learning Benchmarks", appendix D.

    Args:
        kinds: at least one.
        names: of the snapshots.
    """
    first = kinds[0][1]
    ahead = names if first.truth.mean > 0 else names[::-1]
    caption = (
        f"{ahead[0]} minus {ahead[1]} on {len(first.differences)} random sets of each kind: the "
        "share of sets with at most this difference. Left of 0 a set has the order wrong, which is "
        "a conclusion flip; dashed is the truth over all classes. Histograms: accuracy of either "
        "over the sets, with its mean."
    )
    lines = Panel(f"{ahead[0]} minus {ahead[1]}", lambda axes: _distribution(axes, kinds))
    panels = [lines, *(_histogram(*kind, names) for kind in kinds)]
    legend = [*names, *(name for name, _, _ in kinds)]
    return Figure("flips", caption, legend, panels, shared="")


def _distribution(axes: Axes, kinds: Sequence[SetsOf]) -> None:
    """Draw a step a set, and a dot at 0 for the flips. The first colours are the snapshots'."""
    truth = kinds[0][1].truth
    sign = np.sign(truth.mean)
    for number, (name, stable, _) in enumerate(kinds, start=2):
        differences = np.sort(100 * sign * stable.differences)
        n, share = len(differences), 100 * stable.flips.share
        axes.step(
            [differences[0], *differences],
            100 * np.arange(n + 1) / n,
            where="post",
            color=colour(number),
            ls=dashes(number),
            label=label(f"{name}: {share:.0f} % flip"),
        )
        axes.scatter([0], [share], color=colour(number), s=14, zorder=3)
    axes.axvline(0, color=SOFT, linewidth=0.9)
    name = label(f"truth: {100 * abs(truth.mean):.2f}")
    axes.axvline(100 * abs(truth.mean), color=INK, linewidth=0.9, ls="--", label=name)
    axes.set(xlabel="difference, points", ylabel="sets, %", ylim=(0, 100))


def _histogram(
    name: str, _: ConclusionStability, spreads: tuple[Spread, Spread], names: tuple[str, str]
) -> Panel:
    def draw(axes: Axes) -> None:
        means = [100 * spread.means for spread in spreads]
        edges = np.histogram_bin_edges(np.concatenate(means), bins="auto").tolist()
        for number, (accuracies, method) in enumerate(zip(means, names, strict=True)):
            axes.hist(accuracies, edges, color=colour(number), alpha=0.45, label=label(method))
            axes.axvline(float(accuracies.mean()), color=colour(number), ls=dashes(number))
        axes.set(xlabel="accuracy, %", ylabel="sets")

    return Panel(name, draw)
