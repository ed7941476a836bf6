"""Tune callbacks that a user names: they run in the process that holds Ray."""

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

from fsl_sweep.orchestrator.errors import FslSweepError, PluginError, UserError, in_one_line

_HOOKS = (
    "setup",
    "on_step_begin",
    "on_step_end",
    "on_trial_start",
    "on_trial_result",
    "on_trial_complete",
    "on_trial_recover",
    "on_trial_error",
    "on_experiment_end",
)


def pickled(callbacks: Sequence[Any]) -> bytes:
    """Pack callbacks for the process that holds Ray; empty without any, so that Ray stays out.

    Raises:
        UserError: one is no Tune callback, would schedule, or cannot be packed.
    """
    if not callbacks:
        return b""
    from ray import tune
    from ray.cloudpickle import cloudpickle
    from ray.tune.schedulers import TrialScheduler
    from ray.tune.search import SearchAlgorithm, Searcher

    for callback in callbacks:
        name = type(callback).__name__
        if isinstance(callback, (TrialScheduler, Searcher, SearchAlgorithm)):
            raise UserError(
                f"{name} decides which trials run, and is not a callback. It would see NovelGen "
                "with the rest of each result, and a comparison of methods must not depend on "
                "novel classes before its end. fsl-sweep schedules and searches from the records."
            )
        if not isinstance(callback, tune.Callback):
            raise UserError(f"{name} is not a Tune callback: derive it from ray.tune.Callback")
    try:
        return cloudpickle.dumps([*callbacks])
    except Exception as failure:
        raise UserError(
            "The callbacks cannot be sent to the process that holds Ray, where they run: "
            f"{in_one_line(failure)}. Open files and connections in `setup`."
        ) from failure


def named(callback: Any, fail: Callable[[FslSweepError], None]) -> Any:
    """Let a callback's errors name it and end the run with ``fail``."""

    def guarded(hook: Callable[..., None]) -> Callable[..., None]:
        @wraps(hook)
        def call(*arguments: Any, **options: Any) -> None:
            try:
                hook(*arguments, **options)
            except Exception as failure:
                place = f"{type(callback).__name__}.{hook.__name__}"
                fail(PluginError(f"The Tune callback {place} raised {in_one_line(failure)}"))

        return call

    for hook in _HOOKS:
        setattr(callback, hook, guarded(getattr(callback, hook)))
    return callback
