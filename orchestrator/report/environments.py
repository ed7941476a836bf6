"""What the trials were trained with, as far as it changes bits, and which went on with other."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from fsl_sweep.orchestrator.records.measures import TrialHistory
from fsl_sweep.orchestrator.report.wording import some
from fsl_sweep.orchestrator.text.printed import counted


@dataclass(frozen=True)
class Environments:
    """The environments of the trials that recorded one.

    Attributes:
        values: of each fact, such as ``threads``, its values with the number of trials of each.
        trials: how many trials recorded theirs.
        changed: those whose epochs have several, as ``METHOD (seed N)``.
    """

    values: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    trials: int = 0
    changed: tuple[str, ...] = ()

    @classmethod
    def of(cls, histories: Sequence[TrialHistory]) -> "Environments":
        """Count the values of each fact; a trial that two methods share counts once."""
        known = {trial.trial: trial for trial in histories if trial.environments}.values()
        values: dict[str, Counter[str]] = {}
        changed: list[str] = []
        for trial in known:
            for fact, value in {pair: None for e in trial.environments for pair in e.items()}:
                values.setdefault(fact, Counter())[value] += 1
            if len(trial.environments) > 1:
                fold = "" if trial.fold is None else f", fold {trial.fold}"
                changed.append(f"{trial.method} (seed {trial.seed}{fold})")
        return cls(values, len(known), tuple(changed))

    @property
    def described(self) -> str:
        """Say ``code 0f1e...; torch 2.13.0; threads 1 (8 trials), 2 (4 trials); device ...``."""
        return "; ".join(self._listed(fact) for fact in self.values)

    @property
    def caution(self) -> str | None:
        """Say what is not the same in all trials, and which went on with another; None if alike."""
        differ = [fact for fact, values in self.values.items() if len(values) > 1]
        if not differ:
            return None
        text = f"Not all trials were trained alike: {'; '.join(map(self._listed, differ))}."
        if count := len(self.changed):
            was = "was" if count == 1 else "were"
            text += (
                f" {count} of {counted(self.trials, 'trial')} {was} begun with one and continued "
                f"with another: {some(self.changed)}; uninterrupted, their numbers may be others."
            )
        return text

    def _listed(self, fact: str) -> str:
        values = self.values[fact]
        if len(values) == 1:
            return f"{fact} {next(iter(values))}"
        each = (f"{value} ({counted(count, 'trial')})" for value, count in values.items())
        return f"{fact} {', '.join(each)}"
