"""Methods as pairs of BaseGen and NovelGen: which is better than which in both."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import nan

from fsl_sweep.orchestrator.records.measures import TrialHistory
from fsl_sweep.orchestrator.selection.comparing.comparison import compare_methods
from fsl_sweep.orchestrator.selection.comparing.over_seeds import LEVEL, compare_over_seeds
from fsl_sweep.orchestrator.selection.methods import summarise
from fsl_sweep.orchestrator.selection.resample import resample, resamples_for
from fsl_sweep.orchestrator.selection.results import Selected
from fsl_sweep.orchestrator.selection.select import measured
from fsl_sweep.orchestrator.statistics.joint import Difference, Joint, joint_family


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
    """Each pair of methods with common report tasks, by what one strategy selected.

    Unless every planned seed is there (``complete``), nothing is decided of the methods.

    Source: "Two Sides of Meta-Learning Evaluation", appendix F.4 (i).
    """
    by_base = measured(replace(selected, base_weight=1.0), histories)
    count = resamples_for(sum(len(one.epochs) for one in histories))
    of_base = resample(histories, by_base, resamples=count)
    of_novel = [replace(one, mixed_values=None) for one in of_base]
    repeated = {one.method for one in of_base}
    cells = summarise(by_base), summarise(selected)
    among_all = {one.method: one.among_all for one in cells[0]}
    over_tasks = [
        {
            (x.a, x.b): Difference(x.result.effect.mean, x.result.p_value)
            for x in compare_methods(own)
        }
        for own in cells
    ]
    over_seeds = [
        {(one.a, one.b): one.result for one in compare_over_seeds(own, drawn, complete=complete)}
        for own, drawn in zip(cells, (of_base, of_novel), strict=True)
    ]
    pairs = [pair for pair in over_tasks[0] if all(pair in own for own in over_tasks)]

    def tested(pair: tuple[str, str], measure: int) -> Difference:
        own = over_seeds[measure][pair]
        alike = len({among_all[method] for method in pair}) == 1
        known = complete and alike and {*pair} <= repeated
        return Difference(own.effect, own.p_value if known else nan)

    snapshots = joint_family([(over_tasks[0][pair], over_tasks[1][pair]) for pair in pairs], LEVEL)
    methods = joint_family([(tested(pair, 0), tested(pair, 1)) for pair in pairs], LEVEL)
    return tuple(
        BaseAndNovel(*pair, one, other, _cautions([own[pair].caution for own in over_seeds]))
        for pair, one, other in zip(pairs, snapshots, methods, strict=True)
    )


def _cautions(given: Sequence[str | None]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(one for one in given if one))
