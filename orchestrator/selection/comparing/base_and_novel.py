"""Methods as pairs of BaseGen and NovelGen: which is better than which in both."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import nan

from fsl_sweep.orchestrator.records.measures import TrialHistory
from fsl_sweep.orchestrator.selection.comparing.comparison import (
    compare_methods,
    compare_over_seeds,
    flattered,
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
    lost: list[dict[str, str | None]] = []
    for choices, drawn in ((by_base, of_base), (selected, of_novel)):
        cells = summarise(choices)
        among_all |= {cell.method for cell in cells if cell.among_all}
        lost.append({cell.method: cell.lost_seeds for cell in cells})
        again = compare_over_seeds(cells, drawn, complete=complete)
        over_tasks.append({(pair.a, pair.b): pair.result for pair in compare_methods(cells)})
        over_seeds.append({(pair.a, pair.b): pair.result for pair in again})
    pairs = [pair for pair in over_tasks[0] if pair in over_tasks[1]]

    def tested(results: list[_Results], pair: tuple[str, str], measure: int) -> Comparison:
        result, (a, b) = results[measure][pair], (lost[measure][name] for name in pair)
        alike = results is over_tasks or len(among_all.intersection(pair)) != 1
        whole = results is over_tasks or (complete and repeated.issuperset(pair))
        known = alike and whole and flattered(result, a, b) is None
        return result if known else replace(result, p_value=nan)

    snapshots, methods = (
        joint_family([(tested(results, pair, 0), tested(results, pair, 1)) for pair in pairs])
        for results in (over_tasks, over_seeds)
    )
    return tuple(
        BaseAndNovel(
            *pair,
            snapshot,
            method,
            tuple(dict.fromkeys(c for measure in over_seeds if (c := measure[pair].caution))),
        )
        for pair, snapshot, method in zip(pairs, snapshots, methods, strict=True)
    )
