"""Methods as pairs of BaseGen and NovelGen: which is better than which in both."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import nan

from fsl_sweep.orchestrator.records.measures import TrialHistory
from fsl_sweep.orchestrator.selection.comparing.comparison import (
    compare_methods,
    compare_over_seeds,
)
from fsl_sweep.orchestrator.selection.methods import summarise
from fsl_sweep.orchestrator.selection.resample import resample
from fsl_sweep.orchestrator.selection.results import Selected
from fsl_sweep.orchestrator.selection.select import measured
from fsl_sweep.orchestrator.statistics.comparison import Comparison
from fsl_sweep.orchestrator.statistics.joint import Joint, joint_family

_Results = dict[tuple[str, str], Comparison]


@dataclass(frozen=True)
class BaseAndNovel:
    """Method a against method b in BaseGen and in NovelGen, corrected over all pairs of methods.

    Attributes:
        a, b: which.
        snapshots: of the chosen snapshots, paired over the common report tasks.
        methods: over seeds; undecided where the selection could not be repeated, because not all
            snapshots are measured.
        cautions: why not to trust the second.
    """

    a: str
    b: str
    snapshots: Joint
    methods: Joint
    cautions: tuple[str, ...]


def compare_base_and_novel(
    histories: Sequence[TrialHistory], selected: Selected, *, complete: bool = True
) -> tuple[BaseAndNovel, ...]:
    """Compare each pair of methods with common report tasks, by what one strategy selected.

    Unless every planned seed is there (``complete``), nothing is decided of the methods.

    Source: "Two Sides of Meta-Learning Evaluation", appendix F.4 (i).
    """
    by_base = measured(replace(selected, base_weight=1.0), histories)
    of_base = resample(histories, by_base)
    of_novel = [replace(cell, mixed_values=None) for cell in of_base]
    repeated = {cell.method for cell in of_base}
    over_tasks, over_seeds = list[_Results](), list[_Results]()
    among_all: set[str] = set()
    for choices, drawn in ((by_base, of_base), (selected, of_novel)):
        cells = summarise(choices)
        among_all |= {cell.method for cell in cells if cell.among_all}
        again = compare_over_seeds(cells, drawn, complete=complete)
        over_tasks.append({(pair.a, pair.b): pair.result for pair in compare_methods(cells)})
        over_seeds.append({(pair.a, pair.b): pair.result for pair in again})
    pairs = [pair for pair in over_tasks[0] if pair in over_tasks[1]]

    def tested(pair: tuple[str, str], measure: int) -> Comparison:
        result = over_seeds[measure][pair]
        alike = len(among_all.intersection(pair)) != 1
        known = complete and alike and repeated.issuperset(pair)
        return result if known else replace(result, p_value=nan)

    snapshots = joint_family([(over_tasks[0][pair], over_tasks[1][pair]) for pair in pairs])
    methods = joint_family([(tested(pair, 0), tested(pair, 1)) for pair in pairs])
    return tuple(
        BaseAndNovel(
            *pair,
            snapshot,
            method,
            tuple(dict.fromkeys(c for measure in over_seeds if (c := measure[pair].caution))),
        )
        for pair, snapshot, method in zip(pairs, snapshots, methods, strict=True)
    )
