"""What a scheduler can do for the methods of a sweep: where it stops nothing, and what to know."""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise

from fsl_sweep.orchestrator.errors import ConfigError
from fsl_sweep.orchestrator.planning.suitability import is_program
from fsl_sweep.orchestrator.records.plan import Plan, PlannedTrial
from fsl_sweep.orchestrator.records.scheduler import Scheduler
from fsl_sweep.orchestrator.records.spec import TrialSpec
from fsl_sweep.orchestrator.text.printed import counted


def check_scheduler(scheduler: Scheduler, trials: Iterable[PlannedTrial]) -> None:
    """Check that a scheduler can stop configurations of at least one method. Raises ConfigError."""
    methods = _by_method(trials)
    reasons = {method: _no_contest(scheduler, planned) for method, planned in methods.items()}
    if all(key for key, _ in reasons.values()):
        key = next(key for key, _ in reasons.values())
        why = "; ".join(f"{method} {problem}" for method, (_, problem) in reasons.items())
        raise ConfigError("", f"scheduler.{key}", f"it would stop nothing: {why}")
    if scheduler.metric == "train_loss":
        for method, planned in methods.items():
            if is_program(planned[0].spec.learner.model_dump()):
                problem = f"{method} is a program, whose training loss is not known; write val"
                raise ConfigError("", "scheduler.metric", problem)


def scheduler_remarks(plan: Plan) -> list[str]:
    """Return what to know of a plan's scheduler before it runs: whom it spares, and its rungs."""
    scheduler = plan.scheduler
    if scheduler is None:
        return []
    remarks: list[str] = []
    for method, planned in _by_method(plan.trials).items():
        _, problem = _no_contest(scheduler, planned)
        if problem:
            remarks.append(f"{scheduler.name}: {method} {problem}, so nothing of it is stopped")
            continue
        spec = _shortest(planned)
        rungs, drop = [*scheduler.rungs(spec.recorded_epochs)], _first_drop(spec.schedule)
        if drop is not None and rungs[-1] <= drop:
            remarks.append(
                f"{scheduler.name}: {method} has no rung after the first drop of its learning rate "
                f"(after epoch {drop}; the last rung is epoch {rungs[-1]}). Configurations are "
                "compared before it, where the best at the end need not lead: a larger grace or a "
                "smaller factor makes one"
            )
    return remarks


def _by_method(trials: Iterable[PlannedTrial]) -> dict[str, list[PlannedTrial]]:
    methods: dict[str, list[PlannedTrial]] = {}
    for trial in trials:
        methods.setdefault(trial.method, []).append(trial)
    return methods


def _no_contest(scheduler: Scheduler, trials: Sequence[PlannedTrial]) -> tuple[str, str]:
    """Return why a scheduler stops nothing of a method, and the key at fault; empty if it can."""
    rounds = {trial.configuration: trial.round for trial in trials}  # each a contest of its own
    configurations = max(Counter(rounds.values()).values())
    if configurations == 1:
        return "name", "has one configuration"
    if configurations <= scheduler.finalists:
        whole = counted(configurations, "configuration")
        return "finalists", f"has {whole}, and {scheduler.finalists} are trained to the end"
    if scheduler.name == "race" and len({trial.spec.seed for trial in trials}) == 1:
        return "name", "has one seed, and a race compares over seeds"
    epochs = _shortest(trials).recorded_epochs
    if not any(scheduler.rungs(epochs)):
        return "grace", f"ends with epoch {epochs[-1]}, before a rung of grace {scheduler.grace}"
    return "", ""


def _shortest(trials: Sequence[PlannedTrial]) -> TrialSpec:
    return min((trial.spec for trial in trials), key=lambda spec: spec.epochs)


def _first_drop(schedule: Sequence[tuple[int, float]]) -> int | None:
    """Return after how many epochs the learning rate falls for the first time, if it does."""
    return next((e for (_, before), (e, rate) in pairwise(schedule) if rate < before), None)
