"""One method of a sweep: its axes multiplied, each configuration with every seed and class fold."""

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, final

from fsl_sweep.orchestrator.errors import ConfigError
from fsl_sweep.orchestrator.planning.configuration import ConfigurationResolver
from fsl_sweep.orchestrator.planning.part import Part
from fsl_sweep.orchestrator.planning.suitability import (
    USED_UNTRAINED,
    among_all,
    for_programs,
    is_program,
)
from fsl_sweep.orchestrator.records.model import digest
from fsl_sweep.orchestrator.records.plan import PlannedTrial
from fsl_sweep.orchestrator.records.spec import Fold, TrialSpec, configuration_of
from fsl_sweep.orchestrator.sweepfile.axes import expand, merged_settings, shown_values, sizes
from fsl_sweep.orchestrator.sweepfile.grammar import SweepConfig

_Configuration = tuple[dict[str, Any], TrialSpec, dict[str, Any], bool]
"""The axis values, the specification with the first seed, its canonical form, and whether its
learner classifies among all base classes."""


@final
class MethodResolver:
    """Makes the trials of one method. Arguments as of `ConfigurationResolver`."""

    def __init__(
        self, config: SweepConfig, method: str, tree: Mapping[str, Any], benchmark: Part
    ) -> None:
        self.method, self._config = method, config
        self._configuration = ConfigurationResolver(config, method, tree, benchmark)
        self._settings = merged_settings(config.defaults, tree)
        if is_program(self._settings.get("learner")):
            self._settings = merged_settings(for_programs(config.defaults), tree)

    @property
    def cautions(self) -> list[str]:
        """Return what the report should warn of, once the trials were made."""
        return self._configuration.cautions

    @property
    def learners(self) -> list[tuple[str, Part]]:
        """Return the method with each of its learners, once the trials were made."""
        return [(self.method, learner) for learner in self._configuration.learners]

    def sizes(self) -> dict[str, int]:
        """Return by name the factors of the number of trials; duplicates are counted.

        Raises:
            ConfigError: as ``expand``.
        """
        with self._configuration.placed():
            factors = sizes(self._settings, self._config.samples)
        factors["seeds"] = len(self._config.seeds)
        if self._config.cross_validation is not None:
            factors["full trial and class folds"] = len(self._folds)
        return factors

    def trials(self) -> list[PlannedTrial]:
        """Make the trials: configurations x seeds, each followed by its class folds.

        Raises:
            ConfigError: as ``plan_sweep``.
        """
        configurations = self._configurations()
        shown = shown_values(
            [
                {path: _at(plain, path, value) for path, value in axes.items()}
                for axes, _, plain, _ in configurations.values()
            ]
        )
        return [
            PlannedTrial(trial, self.method, configuration, values, replicate, among)
            for (configuration, (_, spec, plain, among)), values in zip(
                configurations.items(), shown, strict=True
            )
            for trial, replicate in self._replicates(spec, plain)
        ]

    def _configurations(self) -> dict[str, _Configuration]:
        """Resolve every configuration, by its id."""
        configurations: dict[str, _Configuration] = {}
        with self._configuration.placed():
            for axes, tree in expand(self._settings, self._config.samples, self._config.seed):
                spec = self._configuration.spec(tree, axes)
                if spec.train is None:
                    axes = {p: value for p, value in axes.items() if p.startswith(USED_UNTRAINED)}
                plain = spec.canonical()
                configuration = axes, spec, plain, among_all(self._configuration.learner(tree))
                other, *_ = configurations.setdefault(configuration_of(plain), configuration)
                # Without training, configurations may differ in settings that are not used.
                if other is not axes and (spec.train is not None or other != axes):
                    raise ConfigError("", "", f"{axes} and {other} are the same configuration")
        return configurations

    def _replicates(
        self, spec: TrialSpec, plain: Mapping[str, Any]
    ) -> Iterator[tuple[str, TrialSpec]]:
        """Yield id and specification for each seed: the full trial, then those of its class folds.

        Ids are made from the configuration's canonical form, which is faster than from each trial.
        """
        for seed in self._config.seeds:
            for fold, plain_fold in self._folds:
                identity = digest({**plain, "seed": seed, "fold": plain_fold})
                yield identity, spec.model_copy(update={"seed": seed, "fold": fold})

    @cached_property
    def _folds(self) -> list[tuple[Fold | None, dict[str, Any] | None]]:
        """List None for the full trial, then every class fold; each with its canonical form."""
        plan = self._config.cross_validation
        if plan is None:
            return [(None, None)]
        folds = [Fold(index=index, **plan.model_dump()) for index in range(plan.folds)]
        return [(None, None), *((fold, fold.model_dump(mode="json")) for fold in folds)]


def _at(plain: Mapping[str, Any], path: str, fallback: Any) -> Any:
    """Look up the resolved value at a dotted path: ``1`` and ``1.0`` then read alike."""
    place: Any = plain
    for part in path.split("."):
        if not isinstance(place, Mapping) or part not in place:
            return fallback
        place = place[part]
    return fallback if path == "schedule" else place
