"""Tune's controller, fed with a sweep's trials; it forgets each that has ended.

Tune would write its state to files, keep all that ever ran in memory, look through it at each
step, and give up where Ray's memory monitor ends a worker.
"""

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from ray import tune
from ray.air.execution._internal.actor_manager import RayActorManager
from ray.exceptions import RayActorError, RayTaskError
from ray.train._internal.storage import StorageContext
from ray.tune.execution.tune_controller import TuneController
from ray.tune.experiment import Trial
from ray.tune.search.search_algorithm import SearchAlgorithm

from fsl_sweep.orchestrator.sweep.places import Places
from fsl_sweep.orchestrator.sweep.worker import OutOfGpuMemory, SetupError, TrialTrainable

_WAITING = 8
"""Trials of a kind that wait for a place of their own. A larger cluster starts them in turn."""
_MANY = 1_000_000


class SweepTrial(Trial):
    """A trial as Tune sees it.

    Args:
        name: its id.
        config: what tells it from others, for callbacks, and the ``job``.
        place: what it reserves.
        retries: attempts after the first.
        storage: a folder for Tune's own files, which are not used.

    Attributes:
        failure: what ended its last attempt; None before it failed.
    """

    def __init__(
        self,
        name: str,
        config: dict[str, Any],
        place: tune.PlacementGroupFactory,
        retries: int,
        storage: StorageContext,
    ) -> None:
        super().__init__(
            TrialTrainable.__name__,
            config=config,
            trial_id=name,
            evaluated_params={key: value for key, value in config.items() if key != "job"},
            experiment_tag=config["method"],
            placement_group_factory=place,
            trial_dirname_creator=lambda trial: trial.trial_id,
            max_failures=retries,
            storage=storage,
            stub=True,  # there is no registry to look it up in
            _setup_default_resource=False,
        )
        self.failure: BaseException | None = None
        self._memory_failures = 0

    def get_trainable_cls(self) -> type[TrialTrainable]:
        """Return the class; Tune would fetch it from the head of Ray each time."""
        return TrialTrainable

    def set_ray_actor(self, ray_actor: Any) -> None:
        """Note the actor; Tune would ask it for metrics that are not used."""
        self.temporary_state.ray_actor = ray_actor

    def handle_error(self, exc: Exception | None = None) -> None:
        """Note a failure; that of a node does not count as one of the trial."""
        self.failure = cause_of(exc)
        if isinstance(self.failure, OutOfGpuMemory):
            self._memory_failures += 1
        elif not (isinstance(self.failure, SetupError) or getattr(exc, "preempted", False)):
            self.run_metadata.num_failures += 1
        self.error = exc

    def should_recover(self) -> bool:
        """Return whether it is tried again; once where a GPU had no memory."""
        if isinstance(self.failure, OutOfGpuMemory):
            return self._memory_failures <= 1
        return super().should_recover()


def cause_of(failure: BaseException | None) -> BaseException | None:
    """Return what was raised on a worker, or what Ray says of its death."""
    return failure.cause if isinstance(failure, RayTaskError) else failure


class TrialQueue(SearchAlgorithm):
    """Gives Tune as many trials of each kind as can wait for a place, in order.

    Attributes:
        make: makes a trial of its id and its kind of place.
    """

    make: Callable[[str, Any], SweepTrial]

    def __init__(self) -> None:
        self._left: dict[Any, deque[str]] = defaultdict(deque)
        self._waiting: Callable[[], Iterable[Trial]] = tuple

    def follow(self, waiting: Callable[[], Iterable[Trial]]) -> None:
        """Take what gives the trials that wait."""
        self._waiting = waiting

    def add(self, trial: str, kind: tune.PlacementGroupFactory) -> None:
        """Put a trial at the end, by its id."""
        self._left[kind].append(trial)

    def next_trial(self) -> Trial | None:
        """Return the next trial of the kind that fewest wait for; None where enough do."""
        waiting = Counter(trial.placement_group_factory for trial in self._waiting())
        kinds = [kind for kind, left in self._left.items() if left and waiting[kind] < _WAITING]
        if not kinds:
            return None
        kind = min(kinds, key=waiting.__getitem__)
        return self.make(self._left[kind].popleft(), kind)

    def kinds(self) -> set[Any]:
        """Return the kinds of place that trials wait for."""
        kinds: set[Any] = {kind for kind, left in self._left.items() if left}
        return kinds.union(trial.placement_group_factory for trial in self._waiting())

    def is_finished(self) -> bool:
        """Never end: another job may follow, on the same workers."""
        return False


class Controller(TuneController):
    """Runs trials until told otherwise; workers are kept for the next job.

    Args:
        callbacks: hear of the trials.
        set_up_failed: called where a worker cannot run any trial; says whether its node is to be
            left out.
        scratch: a folder for Tune's own files, which are not used.
    """

    def __init__(
        self,
        callbacks: Sequence[tune.Callback],
        set_up_failed: Callable[[Trial, SetupError], bool],
        scratch: Path,
    ) -> None:
        self._set_up_failed = set_up_failed
        self.queue, self.places = TrialQueue(), Places()
        storage = StorageContext(str(scratch / "tune"), "trials")
        super().__init__(
            search_alg=self.queue,
            callbacks=[*callbacks],
            storage=storage,
            reuse_actors=True,
            checkpoint_period=_MANY,
            resource_manager_factory=lambda: self.places,
        )
        self._actor_manager = _Workers(self.places)
        self._print_trial_errors = False
        self.queue.follow(lambda: self._pending_trials)
        self._max_pending_trials = _MANY  # the queue says how many
        self.storage = storage

    def checkpoint(self, force: bool = False, wait: bool = False) -> None:
        """Write nothing: the ledger is the record."""

    def step(self) -> None:
        """Handle one event, and forget the trials that ended."""
        super().step()
        self._trials_to_cache.clear()
        for trial in [trial for trial in self._trials if trial.is_finished()]:
            self._trials.remove(trial)
            for known in (self._live_trials, self._stopped_trials, self._failed_trials):
                known.discard(trial)
        self.places.drop_spare(self.queue.kinds())

    def on_step_end(self) -> None:
        """Keep idle workers, unless trials of other kinds wait for what they hold."""
        wanted = self.queue.kinds()
        known = self._actor_cache._max_num_objects
        for kind in {*known, *wanted}:
            known[kind] = _MANY if kind in wanted or not wanted else 0
        super().on_step_end()

    def _block(self, trial: Trial) -> None:
        """Leave the place of a trial's worker empty for good."""
        worker = self._trial_to_actor.get(trial)
        place = self._actor_manager.get_actor_resources(worker) if worker else None
        if place is not None:
            self.places.block(place)

    def _process_trial_failure(self, trial: Trial, exception: Any) -> None:
        cause = cause_of(exception)
        if isinstance(cause, SetupError) and self._set_up_failed(trial, cause):
            self._block(trial)
        super()._process_trial_failure(trial, exception)


class _Workers(RayActorManager):
    """Takes any death of a worker for one, that by Ray's memory monitor too."""

    def _actor_task_failed(self, tracked_actor_task: Any, exception: Exception) -> None:
        if not isinstance(exception, (RayActorError, RayTaskError)):
            exception = RayActorError(error_msg=str(exception))
        super()._actor_task_failed(tracked_actor_task, exception)
