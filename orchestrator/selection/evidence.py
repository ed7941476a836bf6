"""What the records say to a question: complete seeds, choices, the leading strategy, resamples.

A report and every study ask this, so that they speak of the same seeds and snapshots.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import final

from fsl_sweep.orchestrator.records.measures import TrialHistory
from fsl_sweep.orchestrator.records.scheduler import Scheduler
from fsl_sweep.orchestrator.replay.source import Source
from fsl_sweep.orchestrator.selection.choices import Chosen
from fsl_sweep.orchestrator.selection.comparing.comparison import (
    MethodComparison,
    compare_over_seeds,
)
from fsl_sweep.orchestrator.selection.completeness import (
    Completeness,
    complete_replicates,
    completeness_of,
)
from fsl_sweep.orchestrator.selection.methods import Summary, summarise
from fsl_sweep.orchestrator.selection.question import Question
from fsl_sweep.orchestrator.selection.resample import (
    QUICKLY_RESAMPLED,
    ClassLists,
    ResampledCell,
    resample,
)
from fsl_sweep.orchestrator.selection.results import Selected, Strategy
from fsl_sweep.orchestrator.selection.select import select

USUAL = "val / val"
"""Snapshot and configuration by ValGen: the papers' own protocol, which reads no novel score."""


@final
class Evidence:
    """What the records say to a question; each part is computed once, when it is first asked for.

    Args:
        question: what is asked.
        histories: one for each planned trial, in plan order, recorded or not.
        source: where they are from, for what is read of other protocols; None for made records.
        classes: class tuples of the common tasks, to resample classes as well as tasks.
        scheduler: by which configurations were stopped early; by default that of the source.
        proposed: as of `SourceInfo`; by default that of the source.
    """

    def __init__(
        self,
        question: Question,
        histories: Sequence[TrialHistory],
        source: Source | None = None,
        classes: ClassLists | None = None,
        scheduler: Scheduler | None = None,
        proposed: Mapping[str, tuple[int, int]] | None = None,
    ) -> None:
        self.question, self.classes = question, classes
        self._scheduler = source.info.scheduler if source is not None else scheduler
        self.histories = [trial for trial in histories if question.asks_for(trial)]
        self._source = source
        self._proposed = (source.info.proposed if source else {}) if proposed is None else proposed

    @property
    def source(self) -> Source:
        """Return where the records are from."""
        assert self._source is not None, "made records have no source"
        return self._source

    @cached_property
    def complete(self) -> list[TrialHistory]:
        """Return the trials of complete seeds that leave a candidate: what is said is of these."""
        return self.chosen.planned

    @cached_property
    def completeness(self) -> Completeness:
        """Return how much of the plan is there."""
        reported = self.question.protocol is not None
        unmeasured = len(self.selected.unmeasured) if reported else 0
        here = {trial.method for trial in self.histories}
        proposed = {method: counts for method, counts in self._proposed.items() if method in here}
        return completeness_of(self.histories, unmeasured, self._scheduler, proposed)

    @cached_property
    def chosen(self) -> Chosen:
        """Return the choices of snapshot selectors in the complete seeds."""
        stopped = self._scheduler is not None and any(trial.stopped for trial in self.histories)
        by = self._scheduler.metric if self._scheduler and stopped else None
        return Chosen(complete_replicates(self.histories), by)

    @cached_property
    def selected(self) -> Selected:
        """Return what each strategy selected; methods without a complete seed are named too."""
        question = self.question
        selectors = question.snapshot, question.hyperparameter
        selected = select(self.chosen, *selectors, question.base_weight, question.pairs)
        methods = dict.fromkeys(trial.method for trial in self.histories)
        return replace(selected, methods=tuple(methods))

    @cached_property
    def summaries(self) -> tuple[Summary, ...]:
        """Return the complete cells, by method and strategy."""
        return summarise(self.selected)

    @cached_property
    def lead(self) -> Strategy | None:
        """Return the strategy to speak of first: one that anybody could have used.

        It is ``val / val``, or else the first that is no oracle, of those that most methods have.
        It does not depend on any score, so that no interval needs a correction for having chosen
        it. None if no method has any.
        """
        selected = self.selected
        count = {
            strategy: sum(bool(selected.cell(method, strategy)) for method in selected.methods)
            for strategy in selected.strategies
        }
        usable = [strategy for strategy, methods in count.items() if methods]
        usable.sort(key=lambda s: (s.oracle, not s.usual, -count[s], str(s) != USUAL))
        return usable[0] if usable else None

    @cached_property
    def led(self) -> Selected:
        """Return what the leading strategy selected; what was left out stays."""
        assert self.lead is not None
        choices = (c for c in self.selected.selections if c.strategy == self.lead)
        return replace(self.selected, strategies=(self.lead,), selections=tuple(choices))

    @cached_property
    def resampled(self) -> tuple[ResampledCell, ...]:
        """Return every cell with its selection repeated on resampled tasks.

        Of a large run, unless a number of resamples is asked for, only the cells of the leading
        strategy.

        Raises:
            ValueError: there are too few resamples, or class tuples cannot be resampled.
        """
        few = sum(len(trial.epochs) for trial in self.complete) <= QUICKLY_RESAMPLED
        return self._resample(every=few or self.question.resamples is not None)

    @cached_property
    def resampled_lead(self) -> tuple[ResampledCell, ...]:
        """Return the cells of the leading strategy, as of ``resampled``."""
        if "resampled" in vars(self):
            return tuple(cell for cell in self.resampled if cell.strategy == self.lead)
        return self._resample(every=False)

    def _resample(self, every: bool) -> tuple[ResampledCell, ...]:
        """Repeat the selection by every strategy, or by the leading one only."""
        question = self.question
        if question.resamples == 0 or self.lead is None:
            return ()
        return resample(
            self.complete,
            self.selected if every else self.led,
            resamples=question.resamples,
            classes=self.classes,
            apart=question.apart,
        )

    def differences(self, *first: str) -> tuple[MethodComparison, ...]:
        """Return each pair of methods over seeds under the leading strategy, corrected together.

        Where methods are named, the difference is that of the first minus that of the next.
        """
        order = {method: place for place, method in enumerate(first)}
        cells = [cell for cell in self.summaries if cell.strategy == self.lead]
        cells.sort(key=lambda cell: order.get(cell.method, len(order)))
        return compare_over_seeds(
            cells, self.resampled_lead, self.question.rope, complete=self.completeness.complete
        )
