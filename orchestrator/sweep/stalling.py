"""Trials that hang: their workers are killed, so that they are tried again."""

import time
from collections import defaultdict, deque
from collections.abc import Iterable, Mapping
from statistics import median
from typing import Any

import ray

from fsl_sweep.orchestrator.text.durations import duration

_PERIOD = 1.0
_AT_LEAST, _TIMES = 600.0, 20.0
_REMEMBERED = 200


class Stalls:
    """Knows when each running trial was heard of last.

    Args:
        seconds: of silence after which a trial hangs. By default 20 times the median of the times
            between two records of its method, and at least 10 minutes; a method of which none is
            known is waited for.
        methods: the method of each trial.
    """

    def __init__(self, seconds: float | None, methods: Mapping[str, str]) -> None:
        self._seconds, self._methods = seconds, methods
        self._heard: dict[str, float] = {}
        self._gaps: dict[str, deque[float]] = defaultdict(lambda: deque(maxlen=_REMEMBERED))
        self._reasons: dict[str, str] = {}
        self._checked = time.monotonic()

    def heard(self, trial: str, counts: bool = True) -> None:
        """Note a sign of life; ``counts`` where it is a record, which took the time before it."""
        now = time.monotonic()
        if counts and trial in self._heard:
            self._gaps[self._methods[trial]].append(now - self._heard[trial])
        self._heard[trial] = now

    def forget(self, trial: str) -> None:
        """Note that a trial does not run any more."""
        self._heard.pop(trial, None)

    def reason(self, trial: str) -> str | None:
        """Return why the worker of a trial was killed here, once; None where it was not."""
        self.forget(trial)
        return self._reasons.pop(trial, None)

    def limit(self, trial: str) -> float:
        """Return the seconds after which this trial hangs."""
        if self._seconds is not None:
            return self._seconds
        gaps = self._gaps[self._methods[trial]]
        return max(_AT_LEAST, _TIMES * median(gaps)) if gaps else float("inf")

    def check(self, trials: Iterable[Any]) -> None:
        """Kill the workers of running trials that hang."""
        now = time.monotonic()
        if now - self._checked < _PERIOD:
            return
        self._checked = now
        for trial in trials:
            name, worker = trial.trial_id, trial.temporary_state.ray_actor
            silent = now - self._heard.get(name, now)
            if worker is not None and silent > (limit := self.limit(name)):
                reason = f"no epoch for {duration(limit)} (`stall`), so its worker was killed"
                self._reasons[name] = reason
                self.forget(name)
                ray.kill(worker)
