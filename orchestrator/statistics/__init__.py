"""Pure functions on arrays of accuracies; every result says whether it can be trusted."""

from fsl_sweep.orchestrator.statistics.bootstrap import SelectionBootstrap, selection_bootstrap
from fsl_sweep.orchestrator.statistics.comparison import (
    Comparison,
    Verdict,
    compare,
    compare_mixtures,
    correct_family,
    holm,
)
from fsl_sweep.orchestrator.statistics.intervals import (
    Interval,
    mean_alone,
    mean_interval,
    mean_of_identical,
    mixture_interval,
    paired_interval,
)
from fsl_sweep.orchestrator.statistics.rank import RankCorrelation, kendall_tau

__all__ = [
    "Comparison",
    "Interval",
    "RankCorrelation",
    "SelectionBootstrap",
    "Verdict",
    "compare",
    "compare_mixtures",
    "correct_family",
    "holm",
    "kendall_tau",
    "mean_alone",
    "mean_interval",
    "mean_of_identical",
    "mixture_interval",
    "paired_interval",
    "selection_bootstrap",
]
