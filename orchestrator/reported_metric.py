"""What methods are compared by: NovelGen, or a mixture of BaseGen and NovelGen.

Who cares about both distributions may report how well a method does on tasks that come from the
base classes with a fixed probability, and else from the novel ones. Methods may rank differently
from one weight to another.

Source: "Two Sides of Meta-Learning Evaluation", appendix F.4 (i).
"""

from collections.abc import Sequence
from dataclasses import dataclass

from fsl_sweep.orchestrator.errors import ConfigError, UnknownName
from fsl_sweep.orchestrator.paper_names import TEST_MEASURE, measure_name
from fsl_sweep.orchestrator.selected import Strategy
from fsl_sweep.orchestrator.selectors.catalogue import parse
from fsl_sweep.orchestrator.selectors.mixture import checked_weight
from fsl_sweep.orchestrator.statistics import Interval, mixture_interval
from fsl_sweep.orchestrator.summary import Ranking, Summary, rank_methods, task_means

METRICS = ("novel", "mixture")


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


def base_weight(metric: str) -> float | None:
    """The weight of BaseGen in ``mixture(w)``; None for ``novel``, which needs no mixing.

    Raises:
        UnknownName: the metric is neither.
        ConfigError: the weight is missing or not in [0, 1].
    """
    name, arguments = parse(measure_name(metric))
    if name not in METRICS:
        raise UnknownName("metric", name, METRICS, [TEST_MEASURE])
    if name == "novel" and not arguments:
        return None
    try:
        if name == "novel" or len(arguments) != 1:
            raise ValueError(arguments)
        return checked_weight(arguments[0])
    except ValueError:
        problem = f"metric '{metric}' cannot be used: write novel, or mixture(w) with 0 <= w <= 1"
        raise ConfigError("", "", problem) from None


def mix(summaries: Sequence[Summary], weight: float) -> MixedTable:
    """The cells of the table, measured by ``weight`` BaseGen + (1 - ``weight``) NovelGen."""
    cells = tuple(_cell(one, weight) for one in summaries)
    return MixedTable(weight, cells, rank_methods(summaries, weight))


def _cell(summary: Summary, weight: float) -> MixedCell:
    base, novel = task_means(summary.choices, "base"), task_means(summary.choices)
    tasks = None if base is None or novel is None else mixture_interval(base, novel, weight)
    return MixedCell(summary.method, summary.strategy, summary.reported(weight), tasks)
