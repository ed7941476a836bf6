"""The table by a mixture of BaseGen and NovelGen, in place of NovelGen.

A mixture is the expected accuracy on tasks that come from the base classes with a fixed
probability, else from the novel ones. Methods may rank differently from weight to
weight. ``select`` takes the weight; all that follows is by the mixture.

Source: "Two Sides of Meta-Learning Evaluation", appendix F.4 (i).
"""

from collections.abc import Sequence
from dataclasses import dataclass

from fsl_sweep.orchestrator.comparison import Ranking, rank_methods
from fsl_sweep.orchestrator.selected import Strategy
from fsl_sweep.orchestrator.statistics import Interval, mixture_interval
from fsl_sweep.orchestrator.summary import Summary


@dataclass(frozen=True)
class MixedCell:
    """One cell of the table by the reported mixture.

    Attributes:
        method, strategy: which cell.
        seeds: mean over seeds of w BaseGen + (1 - w) NovelGen on the report tasks, with its
            interval over seeds.
        tasks: the same with its interval over the common report tasks, each task's accuracy
            averaged over the seeds; None where the seeds had no common tasks.
    """

    method: str
    strategy: Strategy
    seeds: Interval
    tasks: Interval | None


@dataclass(frozen=True)
class MixedTable:
    """The table of strategies by a mixture.

    Attributes:
        base_weight: w, in [0, 1].
        cells: one for each summary, in their order.
        rankings: of methods under each strategy.
    """

    base_weight: float
    cells: tuple[MixedCell, ...]
    rankings: tuple[Ranking, ...]


def mix(summaries: Sequence[Summary], weight: float) -> MixedTable:
    """The cells of the table, of which ``weight`` is BaseGen's part."""
    cells = tuple(_cell(one, weight) for one in summaries)
    return MixedTable(weight, cells, rank_methods(summaries))


def _cell(summary: Summary, weight: float) -> MixedCell:
    base, novel = summary.common_tasks["base"], summary.common_tasks["novel"]
    tasks = None if base is None or novel is None else mixture_interval(base, novel, weight)
    return MixedCell(summary.method, summary.strategy, summary.reported, tasks)
