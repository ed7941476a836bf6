"""Configurations that Optuna's tree-structured Parzen estimator proposes from the scores so far."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar, final

import numpy as np

from fsl_sweep.orchestrator.errors import ConfigError
from fsl_sweep.orchestrator.records.search import Outcome
from fsl_sweep.orchestrator.searchers.base import Axes, Axis, Searcher, fresh, key

MISSING = (
    "'optuna' needs the package of that name, which is not installed: "
    "pip install 'fsl-sweep[search]'; random and sobol need nothing else"
)
REPEATS = 100
"""After so many asks in a row that propose what is known, the first ones left are taken."""


@final
class Optuna(Searcher):
    """Optuna's TPE, on a study that is built again from the history each time.

    A round is asked as a batch: configurations that are being tried count as bad ones
    (``constant_liar``), so that a round spreads out. One that diverged is told as pruned, which TPE
    ranks below all that have a score. The sampler's seed follows from the sweep's and the length of
    the history, so that a round does not repeat the draws of another. As TPE by default, the first
    ten configurations are drawn at random.

    Source: Bergstra et al., "Algorithms for hyper-parameter optimization", 2011; Akiba et al.,
    "Optuna", 2019.
    """

    name: ClassVar[str] = "optuna"
    packages: ClassVar[tuple[str, ...]] = ("optuna",)

    def propose(
        self, axes: Axes, history: Sequence[Outcome], count: int, seed: int
    ) -> list[dict[str, Any]]:
        """Ask for configurations that are not in the history. Raises ConfigError without Optuna."""
        with _quiet() as optuna:
            study = _study(optuna, axes, history, seed)
            return fresh(_asked(optuna, study, axes), axes, history, count, REPEATS)


@contextmanager
def _quiet() -> Iterator[Any]:
    """Import Optuna, and let it report nothing below a warning meanwhile."""
    try:
        import optuna
    except ImportError:
        raise ConfigError("", "search.name", MISSING) from None
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        yield optuna
    finally:
        optuna.logging.set_verbosity(before)


def _study(optuna: Any, axes: Axes, history: Sequence[Outcome], seed: int) -> Any:
    """Build a study that has seen the history."""
    state = np.random.SeedSequence([seed, len(history)]).generate_state(1)
    sampler = optuna.samplers.TPESampler(seed=int(state[0]), constant_liar=True)
    study = optuna.create_study(direction="maximize", sampler=sampler)
    distributions = {path: _distribution(optuna, axis) for path, axis in axes.items()}
    states = optuna.trial.TrialState
    for outcome in history:
        diverged = outcome.score is None
        trial = optuna.trial.create_trial(
            state=states.PRUNED if diverged else states.COMPLETE,
            value=outcome.score,
            params={path: _told(axis, outcome.values[path]) for path, axis in axes.items()},
            distributions=distributions,
        )
        study.add_trial(trial)
    return study


def _asked(optuna: Any, study: Any, axes: Axes) -> Iterator[dict[str, Any]]:
    distributions = {path: _distribution(optuna, axis) for path, axis in axes.items()}
    while True:
        params = study.ask(distributions).params
        yield {
            path: axis.values[params[path]] if axis.kind == "choice" else float(params[path])
            for path, axis in axes.items()
        }


def _distribution(optuna: Any, axis: Axis) -> Any:
    """Return Optuna's form of an axis; of choices their numbers, as values may be sections."""
    if axis.kind == "choice":
        return optuna.distributions.CategoricalDistribution([*range(len(axis.values))])
    low, high = axis.values
    return optuna.distributions.FloatDistribution(low, high, log=axis.kind == "loguniform")


def _told(axis: Axis, value: Any) -> Any:
    if axis.kind != "choice":
        return value
    return next(i for i, other in enumerate(axis.values) if key({"": other}) == key({"": value}))
