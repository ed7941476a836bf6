"""Pure functions on arrays of accuracies; every result says whether it can be trusted."""

from fsl_sweep.orchestrator.statistics.bootstrap import SelectionBootstrap, selection_bootstrap
from fsl_sweep.orchestrator.statistics.comparison import (
    Comparison,
    Verdict,
    compare,
    compare_mixtures,
    family,
    holm,
    holm_levels,
)
from fsl_sweep.orchestrator.statistics.components import PairComponents, pair_components
from fsl_sweep.orchestrator.statistics.intervals import (
    Interval,
    mean_alone,
    mean_interval,
    mean_of_identical,
    mixture_interval,
    paired_interval,
)
from fsl_sweep.orchestrator.statistics.over_seeds import difference_over_seeds
from fsl_sweep.orchestrator.statistics.power import (
    predicted_half_width,
    predicted_power,
    required_classes,
    required_seeds,
    required_tasks,
)
from fsl_sweep.orchestrator.statistics.rank import RankCorrelation, kendall_tau
from fsl_sweep.orchestrator.statistics.sampling.closed_open_paired import (
    ThreeIntervals,
    example_uses,
    open_interval,
    three_intervals,
)
from fsl_sweep.orchestrator.statistics.sampling.novel_sets import (
    ConclusionStability,
    Frequency,
    Spread,
    conclusion_stability,
    example_set_variance,
    frequency,
    novel_set_variance,
)
from fsl_sweep.orchestrator.statistics.sampling.task_sizing import (
    TaskVariance,
    optimal_queries,
    variance_of_tasks,
    variance_over_queries,
)

__all__ = [
    "Comparison",
    "ConclusionStability",
    "Frequency",
    "Interval",
    "PairComponents",
    "RankCorrelation",
    "SelectionBootstrap",
    "Spread",
    "TaskVariance",
    "ThreeIntervals",
    "Verdict",
    "compare",
    "compare_mixtures",
    "conclusion_stability",
    "difference_over_seeds",
    "example_set_variance",
    "example_uses",
    "family",
    "frequency",
    "holm",
    "holm_levels",
    "kendall_tau",
    "mean_alone",
    "mean_interval",
    "mean_of_identical",
    "mixture_interval",
    "novel_set_variance",
    "open_interval",
    "optimal_queries",
    "pair_components",
    "paired_interval",
    "predicted_half_width",
    "predicted_power",
    "required_classes",
    "required_seeds",
    "required_tasks",
    "selection_bootstrap",
    "three_intervals",
    "variance_of_tasks",
    "variance_over_queries",
]
