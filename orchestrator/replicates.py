"""What is chosen together: the trials of one method and seed."""

from collections import defaultdict
from collections.abc import Iterable

from fsl_sweep.orchestrator.records import TrialHistory


def replicates_of(
    histories: Iterable[TrialHistory],
) -> dict[tuple[str, int], list[TrialHistory]]:
    """Full trials by (method, seed): methods in plan order, seeds ascending."""
    groups: dict[tuple[str, int], list[TrialHistory]] = defaultdict(list)
    for trial in histories:
        if trial.fold is None:
            groups[trial.method, trial.seed].append(trial)
    order = list(dict.fromkeys(method for method, _ in groups))
    return dict(sorted(groups.items(), key=lambda item: (order.index(item[0][0]), item[0][1])))
