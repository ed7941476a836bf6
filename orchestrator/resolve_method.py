"""One method of a sweep: its axes multiplied, each configuration with every seed and class fold."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from math import prod
from typing import Any, final

from fsl_sweep.orchestrator.axes import expand, sizes
from fsl_sweep.orchestrator.config import (
    Fold,
    Named,
    SweepConfig,
    TrialSpec,
    digest,
)
from fsl_sweep.orchestrator.errors import ConfigError
from fsl_sweep.orchestrator.merging import merged_settings, told_apart
from fsl_sweep.orchestrator.plan import PlannedTrial
from fsl_sweep.orchestrator.programs import for_programs, is_program
from fsl_sweep.orchestrator.resolve_configuration import ConfigurationResolver
from fsl_sweep.orchestrator.untrained import USED


@final
class MethodResolver:
    """Resolves the configurations of one method.

    Args:
        config: the sweep file's content.
        where: the file, for messages.
        method: the method's name.
        tree: its settings as they stand in the file.
        benchmark: the sweep's benchmark, resolved.
    """

    def __init__(
        self,
        config: SweepConfig,
        where: str,
        method: str,
        tree: Mapping[str, Any],
        benchmark: Named,
    ) -> None:
        self.config, self.where, self.method = config, where, method
        self._one = ConfigurationResolver(config, where, method, tree, benchmark)
        merged = merged_settings(config.defaults, tree)
        if is_program(merged.get("learner")):
            merged = merged_settings(for_programs(config.defaults), tree)
        self._merged = merged

    @property
    def size(self) -> int:
        """How many trials there are, told without making any; fewer where several are the same.

        Raises:
            ConfigError: as ``expand``.
        """
        return prod(self._sizes().values()) * len(self.config.seeds) * len(self._folds)

    @property
    def product(self) -> str:
        """What multiplies to ``size``, for a person: ``optimizer.lr: 4 x seeds: 3``."""
        factors = {**self._sizes(), "seeds": len(self.config.seeds)}
        if self.config.cross_validation is not None:
            factors["full trial and class folds"] = len(self._folds)
        return " x ".join(f"{name}: {size:,}" for name, size in factors.items())

    def trials(self, cautions: list[str]) -> list[PlannedTrial]:
        """Configurations x seeds, each followed by its class folds; adds to ``cautions``.

        Raises:
            ConfigError: as ``plan_sweep``.
        """
        found: dict[str, tuple[dict[str, Any], TrialSpec]] = {}
        for axes, tree in self._expanded():
            spec = self._one.spec(tree, axes, cautions)
            if spec.train is None:
                axes = {path: value for path, value in axes.items() if path.startswith(USED)}
            configuration = spec.configuration
            if configuration in found:
                other = found[configuration][0]
                if spec.train is None and other == axes:
                    continue  # they differ in what is not used
                problem = f"{axes} and {other} are the same configuration"
                raise ConfigError(self.where, self._here, problem)
            found[configuration] = axes, spec
        plains = [spec.canonical() for _, spec in found.values()]
        shown = told_apart(
            [
                {path: _at(plain, path, value) for path, value in axes.items()}
                for plain, (axes, _) in zip(plains, found.values(), strict=True)
            ]
        )
        return [
            PlannedTrial(trial, self.method, configuration, values, one)
            for (configuration, (_, spec)), plain, values in zip(
                found.items(), plains, shown, strict=True
            )
            for trial, one in self._replicates(spec, plain)
        ]

    def _replicates(
        self, spec: TrialSpec, plain: dict[str, Any]
    ) -> Iterator[tuple[str, TrialSpec]]:
        """Ids and specifications for each seed: the full trial, then those of its class folds.

        Args:
            spec: the configuration with any seed.
            plain: its canonical form, which the ids follow from without making each trial's own.
        """
        for seed in self.config.seeds:
            for fold, plain_fold in self._folds:
                identity = digest({**plain, "seed": seed, "fold": plain_fold})
                yield identity, spec.model_copy(update={"seed": seed, "fold": fold})

    def _sizes(self) -> dict[str, int]:
        with self._blamed():
            return sizes(self._merged, self.config.samples, self.where, self._here)

    def _expanded(self) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
        with self._blamed():
            config = self.config
            yield from expand(self._merged, config.samples, config.seed, self.where, self._here)

    @contextmanager
    def _blamed(self) -> Iterator[None]:
        """Where an axis was written in the defaults, a complaint about it names them."""
        try:
            yield
        except ConfigError as error:
            path = error.path.removeprefix(f"{self._here}.")
            raise self._one.error(path, error.problem) from None

    @property
    def _here(self) -> str:
        return f"methods.{self.method}"

    @cached_property
    def _folds(self) -> list[tuple[Fold | None, dict[str, Any] | None]]:
        """None for the full trial, then every class fold; each with its canonical form."""
        plan = self.config.cross_validation
        several = range(0 if plan is None else plan.folds)
        shared = {} if plan is None else plan.model_dump()
        folds = [Fold(index=index, **shared) for index in several]
        return [(None, None), *((fold, fold.model_dump(mode="json")) for fold in folds)]


def _at(plain: Mapping[str, Any], path: str, fallback: Any) -> Any:
    """The resolved value at a dotted path, so that ``1`` and ``1.0`` read alike in a report."""
    place: Any = plain
    for part in path.split("."):
        if not isinstance(place, Mapping) or part not in place:
            return fallback
        place = place[part]
    return fallback if path == "schedule" else place
