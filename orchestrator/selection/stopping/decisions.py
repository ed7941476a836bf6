"""What a scheduler decides from the records of a sweep: who is trained how far, and who is stopped.

It depends on the plan and the records only: the order in which trials arrive, the number of workers
and kills change nothing.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from fsl_sweep.orchestrator.records.measures import SHOWN_AS, TrialHistory
from fsl_sweep.orchestrator.records.plan import Plan
from fsl_sweep.orchestrator.records.scheduler import Scheduler
from fsl_sweep.orchestrator.selection.stopping.curves import curves
from fsl_sweep.orchestrator.selection.stopping.rules import Ruling, rule


def decide(
    plan: Plan, scheduler: Scheduler, histories: Iterable[TrialHistory]
) -> tuple[dict[str, int], dict[str, str]]:
    """Decide about each trial of a plan; each round of a search is a contest of its own.

    Args:
        plan: the sweep.
        scheduler: how.
        histories: one for each planned trial, of the main protocol.

    Returns:
        The trials that wait at a rung, with its epoch; and those that no method trains on, with the
        reason. One that is in neither is trained to its end.
    """
    rounds = {(trial.method, trial.configuration): trial.round for trial in plan.trials}
    contests: dict[tuple[str, int], dict[str, list[TrialHistory]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for trial in histories:
        number = rounds[trial.method, trial.configuration]
        contests[trial.method, number][trial.configuration].append(trial)
    until: dict[str, list[int]] = defaultdict(list)
    stopped: dict[str, list[str]] = defaultdict(list)
    for configurations in contests.values():
        contest = _Contest(plan, scheduler, list(configurations.values()))
        for trials, epoch, reason in contest.outcomes():
            for trial in trials:
                until[trial.trial].append(epoch)
                if reason:
                    stopped[trial.trial].append(reason)
    # A trial that two methods share goes as far as either wants it to.
    last = {trial: spec.epochs for trial, spec in plan.specs.items()}
    return (
        {
            trial: max(epochs)
            for trial, epochs in until.items()
            if max(epochs) < last[trial] and len(stopped[trial]) < len(epochs)
        },
        {t: "; ".join(why) for t, why in stopped.items() if why and len(why) == len(until[t])},
    )


class _Contest:
    """The configurations of one method and round, in plan order, each with its seeds and folds."""

    def __init__(
        self, plan: Plan, scheduler: Scheduler, configurations: Sequence[Sequence[TrialHistory]]
    ) -> None:
        self._scheduler, self._configurations, self._specs = scheduler, configurations, plan.specs
        specs = (plan.specs[trials[0].trial] for trials in configurations)
        # Up to the last rung all have the same ones.
        self._recorded = min((spec.recorded_epochs for spec in specs), key=lambda e: e[-1])

    def outcomes(self) -> Iterator[tuple[Sequence[TrialHistory], int, str]]:
        """Yield each configuration's trials, the epoch that they may reach, and why no further."""
        going = self._configurations
        for rung in self._scheduler.rungs(self._recorded):
            if len(going) <= self._scheduler.finalists:
                break
            epochs = [epoch for epoch in self._recorded if epoch <= rung]
            scores = [curves(trials, self._scheduler.metric, epochs) for trials in going]
            if any(part is None for part in scores):
                yield from ((trials, rung, "") for trials in going)
                return
            ruling = rule(self._scheduler, np.array(scores))
            for place, trials in enumerate(going):
                if not ruling.goes_on[place]:
                    yield trials, rung, self._reason(ruling, place, rung)
            going = [trials for trials, on in zip(going, ruling.goes_on, strict=True) if on]
        yield from ((trials, self._specs[trials[0].trial].epochs, "") for trials in going)

    def _reason(self, ruling: Ruling, place: int, rung: int) -> str:
        mean, cut = (self._shown(value) for value in (ruling.means[place], ruling.cut))
        return (
            f"{self._scheduler.name} at epoch {rung}: rank {ruling.ranks[place]} of "
            f"{len(ruling.ranks)} by {SHOWN_AS[self._scheduler.metric]} ({mean}); "
            f"{ruling.limit}: {cut}"
        )

    def _shown(self, score: float) -> str:
        if not np.isfinite(score):
            return "diverged"
        if self._scheduler.metric == "train_loss":
            return f"{-score:.4f}"
        return f"{100 * score:.2f} %"
