"""One method of a sweep: its axes multiplied, each configuration with every seed and class fold."""

from collections.abc import Iterator, Mapping
from functools import cached_property
from math import prod
from typing import Any, final

from fsl_sweep.orchestrator.errors import ConfigError
from fsl_sweep.orchestrator.planning.configuration import ConfigurationResolver
from fsl_sweep.orchestrator.planning.suitability import (
    USED_UNTRAINED,
    among_all,
    for_programs,
    is_program,
)
from fsl_sweep.orchestrator.records.model import digest
from fsl_sweep.orchestrator.records.plan import PlannedTrial
from fsl_sweep.orchestrator.records.spec import Fold, TrialSpec, configuration_of
from fsl_sweep.orchestrator.sweepfile.axes import expand, merged_settings, sizes, told_apart

_Configuration = tuple[dict[str, Any], TrialSpec, dict[str, Any]]
"""The axis values, the specification with the first seed, and its canonical form."""


@final
class MethodResolver:
    """Makes the trials of one method, given the resolver of its configurations."""

    def __init__(self, one: ConfigurationResolver) -> None:
        self.config, self.method, self._one = one.config, one.method, one
        self._merged = merged_settings(self.config.defaults, one.tree)
        if is_program(self._merged.get("learner")):
            self._merged = merged_settings(for_programs(self.config.defaults), one.tree)

    @property
    def size(self) -> int:
        """The number of trials, without making any; duplicates are counted.

        Raises:
            ConfigError: as ``expand``.
        """
        return prod(self._sizes.values()) * len(self.config.seeds) * len(self._folds)

    @property
    def product(self) -> str:
        """The factors of ``size`` as text: ``optimizer.lr: 4 x seeds: 3``."""
        factors = {**self._sizes, "seeds": len(self.config.seeds)}
        if self.config.cross_validation is not None:
            factors["full trial and class folds"] = len(self._folds)
        return " x ".join(f"{name}: {size:,}" for name, size in factors.items())

    def trials(self) -> list[PlannedTrial]:
        """Configurations x seeds, each followed by its class folds.

        Raises:
            ConfigError: as ``plan_sweep``.
        """
        found = self._configurations()
        shown = told_apart(
            [
                {path: _at(plain, path, value) for path, value in axes.items()}
                for axes, _, plain in found.values()
            ]
        )
        return [
            PlannedTrial(
                trial, self.method, configuration, values, replicate, among_all(replicate.learner)
            )
            for (configuration, (_, spec, plain)), values in zip(found.items(), shown, strict=True)
            for trial, replicate in self._replicates(spec, plain)
        ]

    def _configurations(self) -> dict[str, _Configuration]:
        """Every configuration by its id."""
        found: dict[str, _Configuration] = {}
        with self._one.placed():
            for axes, tree in expand(self._merged, self.config.samples, self.config.seed):
                spec = self._one.spec(tree, axes)
                if spec.train is None:
                    axes = {p: value for p, value in axes.items() if p.startswith(USED_UNTRAINED)}
                plain = spec.canonical()
                other, _, _ = found.setdefault(configuration_of(plain), (axes, spec, plain))
                # Without training, configurations may differ in settings that are not used.
                if other is not axes and (spec.train is not None or other != axes):
                    raise ConfigError("", "", f"{axes} and {other} are the same configuration")
        return found

    def _replicates(
        self, spec: TrialSpec, plain: Mapping[str, Any]
    ) -> Iterator[tuple[str, TrialSpec]]:
        """Ids and specifications for each seed: the full trial, then those of its class folds.

        Ids are made from the configuration's canonical form, which is faster than from each trial.
        """
        for seed in self.config.seeds:
            for fold, plain_fold in self._folds:
                identity = digest({**plain, "seed": seed, "fold": plain_fold})
                yield identity, spec.model_copy(update={"seed": seed, "fold": fold})

    @cached_property
    def _sizes(self) -> dict[str, int]:
        with self._one.placed():
            return sizes(self._merged, self.config.samples)

    @cached_property
    def _folds(self) -> list[tuple[Fold | None, dict[str, Any] | None]]:
        """None for the full trial, then every class fold; each with its canonical form."""
        plan = self.config.cross_validation
        if plan is None:
            return [(None, None)]
        folds = [Fold(index=index, **plan.model_dump()) for index in range(plan.folds)]
        return [(None, None), *((fold, fold.model_dump(mode="json")) for fold in folds)]


def _at(plain: Mapping[str, Any], path: str, fallback: Any) -> Any:
    """The resolved value at a dotted path, so that ``1`` and ``1.0`` read alike in a report."""
    place: Any = plain
    for part in path.split("."):
        if not isinstance(place, Mapping) or part not in place:
            return fallback
        place = place[part]
    return fallback if path == "schedule" else place
