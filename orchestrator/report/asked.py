"""What may be asked of a report: checked before anything is computed, which may take long."""

from collections import Counter
from collections.abc import Sequence

from fsl_sweep.orchestrator.errors import ConfigError, RunFolderError
from fsl_sweep.orchestrator.records.measures import TrialHistory
from fsl_sweep.orchestrator.selection.question import Question


def check_ensembles(sizes: Sequence[int], histories: Sequence[TrialHistory]) -> None:
    """Raise ConfigError where no method has so many snapshots of a seed."""
    counts: Counter[tuple[str, int]] = Counter()
    for trial in histories:
        counts[trial.method, trial.seed] += len(trial.epochs) if trial.fold is None else 0
    most = max(counts.values(), default=0)
    if 2 in sizes:
        problem = "of two snapshots the better one always decides; let one, or three or more, vote"
        raise ConfigError("", "--ensemble", problem)
    for size in sizes:
        if not 1 <= size <= most:
            problem = f"{size} snapshots cannot vote: a method has 1 to {most} of each seed"
            raise ConfigError("", "--ensemble", problem)


def check_classes(question: Question) -> None:
    """Raise RunFolderError where tasks do not draw their classes alike."""
    for planned in filter(None, (question.protocol, question.chosen_by)):
        if planned.protocol.mixture not in (None, 0, 1):
            raise RunFolderError(
                f"The classes of '{planned.name}' cannot be resampled: a mixture draws base and "
                "novel classes unequally often. Leave out --classes."
            )
