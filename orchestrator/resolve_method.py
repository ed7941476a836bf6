"""One method of a sweep: its axes multiplied, its names looked up, its options checked."""

from collections.abc import Iterator, Mapping
from typing import Any, final

from pydantic import BaseModel, ValidationError

from fsl_sweep.datasets.catalogue import BENCHMARKS
from fsl_sweep.learners.augmentation import AUGMENTATIONS
from fsl_sweep.learners.catalogue import BACKBONES, LEARNERS
from fsl_sweep.orchestrator.axes import expand
from fsl_sweep.orchestrator.catalogue import Catalogue
from fsl_sweep.orchestrator.config import (
    BatchTraining,
    EpisodicTraining,
    Fold,
    MethodConfig,
    Named,
    ProgramConfig,
    StagedTraining,
    SweepConfig,
    TrialSpec,
)
from fsl_sweep.orchestrator.errors import ConfigError, UnknownName
from fsl_sweep.orchestrator.in_distribution_plan import misplaced
from fsl_sweep.orchestrator.merging import merged_settings
from fsl_sweep.orchestrator.plan import PlannedTrial
from fsl_sweep.orchestrator.printed import counted
from fsl_sweep.orchestrator.programs import begins_again, for_programs, is_program
from fsl_sweep.orchestrator.sweepfile import config_error, validated
from fsl_sweep.orchestrator.ways import cannot_be_measured, cannot_vary, wrong_way

_TRAINING = {
    "episodes": EpisodicTraining,
    "batches": BatchTraining,
    "batches, then episodes": StagedTraining,
}


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
        self.config, self.where, self.method, self.tree = config, where, method, tree
        self.benchmark = benchmark

    def trials(self, cautions: list[str]) -> list[PlannedTrial]:
        """Configurations x seeds, each followed by its class folds; adds to ``cautions``.

        Raises:
            ConfigError: as ``plan_sweep``.
        """
        merged = merged_settings(self.config.defaults, self.tree)
        if is_program(merged.get("learner")):
            merged = merged_settings(for_programs(self.config.defaults), self.tree)
        trials: list[PlannedTrial] = []
        seen: dict[str, Any] = {}
        here = f"methods.{self.method}"
        for axes, tree in self._expanded(merged):
            specs = [self._spec(tree, seed, cautions) for seed in self.config.seeds]
            configuration = specs[0].configuration
            if configuration in seen:
                problem = f"{axes} and {seen[configuration]} are the same configuration"
                raise ConfigError(self.where, here, problem)
            seen[configuration] = axes
            shown = {path: _at(specs[0], path, value) for path, value in axes.items()}
            trials += [
                PlannedTrial(one.id, self.method, configuration, shown, one)
                for full in specs
                for one in (full, *self._folds(full))
            ]
        return trials

    def _expanded(
        self, merged: Mapping[str, Any]
    ) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
        here = f"methods.{self.method}"
        try:
            yield from expand(merged, self.config.samples, self.config.seed, self.where, here)
        except ConfigError as error:
            raise self._error(error.path.removeprefix(f"{here}."), error.problem) from None

    def _folds(self, full: TrialSpec) -> list[TrialSpec]:
        plan = self.config.cross_validation
        if plan is None:
            return []
        folds = [Fold(index=index, **plan.model_dump()) for index in range(plan.folds)]
        return [full.model_copy(update={"fold": fold}) for fold in folds]

    def _spec(self, tree: Mapping[str, Any], seed: int, cautions: list[str]) -> TrialSpec:
        model = ProgramConfig if is_program(tree.get("learner")) else MethodConfig
        settings = self._checked(model, tree, "")
        learner = self._learner(settings)
        if settings.augment not in AUGMENTATIONS:
            problem = UnknownName("augmentation", settings.augment, AUGMENTATIONS)
            raise self._error("augment", str(problem))
        if caution := begins_again(learner, settings.epochs):
            cautions.append(f"{self.method}: {caution}")
        own = settings if isinstance(settings, MethodConfig) else None
        self._check_features(settings, own)
        return TrialSpec(
            benchmark=self.benchmark,
            episode=self.config.episode,
            evaluation=self.config.evaluation,
            learner=learner,
            backbone=self._backbone(own),
            optimizer=own.optimizer if own else None,
            schedule=self._schedule(own, cautions) if own else [],
            epochs=settings.epochs,
            batches=settings.batches,
            augment=settings.augment,
            precision=own.precision if own else "fp32",
            train=self._train(settings, learner),
            budget=self.config.budget,
            seed=seed,
        )

    def _learner(self, settings: ProgramConfig) -> Named:
        learner = self._resolved(LEARNERS, settings.learner, "learner")
        if problem := misplaced(learner, self.benchmark):
            raise self._error("learner.name", problem)
        return learner

    def _backbone(self, settings: MethodConfig | None) -> Named:
        """The method's backbone; the one that does nothing for a program."""
        backbone = Named(name="identity") if settings is None else settings.backbone
        return self._resolved(BACKBONES, backbone, "backbone")

    def _check_features(self, settings: ProgramConfig, own: MethodConfig | None) -> None:
        """Whether backbone and augmentation can take features, where the benchmark holds such."""
        if not BENCHMARKS.find(self.benchmark.name).cls.holds_features:
            return
        holds = f"benchmark '{self.benchmark.name}' holds features of a frozen extractor"
        if own is None:
            raise self._error(
                "learner.name", f"'{settings.learner.name}' takes images, but {holds}"
            )
        backbone = self._resolved(BACKBONES, own.backbone, "backbone")
        if not BACKBONES.find(backbone.name).cls.takes_features:
            problem = f"'{backbone.name}' takes images, but {holds}; use 'identity'"
            raise self._error("backbone.name", problem)
        if settings.augment != "none":
            problem = f"'{settings.augment}' changes images, but {holds}; write 'augment: none'"
            raise self._error("augment", problem)

    def _train(
        self, settings: ProgramConfig, learner: Named
    ) -> EpisodicTraining | BatchTraining | StagedTraining:
        """What the learner trains on, checked against what it can train on."""
        cls = LEARNERS.find(learner.name).cls
        trains_on = cls.trained_on(cls.Options.model_validate(learner.options))
        try:
            train = self._checked(_TRAINING[trains_on], settings.train, "train")
        except ConfigError as error:
            hint = f"{error.problem} ({self.method}: {learner.name} trains on {trains_on}"
            if error.path.startswith("defaults"):
                hint += "; methods that differ in this need a 'train' of their own each"
            raise ConfigError(error.where, error.path, f"{hint})") from None
        if isinstance(train, StagedTraining) and train.meta.epochs >= settings.epochs:
            raise self._error(
                "train.meta.epochs",
                f"{train.meta.epochs} of {settings.epochs} epochs leave none for the stage before; "
                "set fewer, or more 'epochs'",
            )
        if problem := wrong_way(learner, train):
            raise self._error("train.way", problem)
        if problem := cannot_vary(learner, train):
            raise self._error("train", problem)
        if problem := wrong_way(learner, self.config.episode):
            raise ConfigError(self.where, "episode.way", f"{self.method}: {problem}")
        if problem := cannot_be_measured(learner, self.config.episode):
            raise ConfigError(self.where, "episode", f"{self.method}: {problem}")
        return train

    def _schedule(self, settings: MethodConfig, cautions: list[str]) -> list[tuple[int, float]]:
        given = dict(settings.schedule)
        relative = given.pop("relative", False)
        if not isinstance(relative, bool):
            raise self._error("schedule.relative", f"must be true or false, not {relative!r}")
        rate = settings.optimizer.lr
        steps: dict[int, float] = {0: rate}
        for epoch, value in given.items():
            number = isinstance(value, int | float) and not isinstance(value, bool)
            if not isinstance(epoch, int) or isinstance(epoch, bool) or epoch < 0:
                raise self._error(f"schedule.{epoch}", f"{epoch!r} is not an epoch from 0 on")
            if not number or value <= 0:
                raise self._error(f"schedule.{epoch}", f"{value!r} is not a rate above 0")
            steps[epoch] = float(value) * (rate if relative else 1.0)
        if steps[0] != rate:
            raise self._error(
                "schedule.0",
                f"sets {steps[0]}, but optimizer.lr is {rate}: one of them would be ignored. "
                "Leave out epoch 0, or use factors with 'relative: true'",
            )
        cautions.extend(
            f"{self.method}: the schedule's step at epoch {epoch} is never reached, "
            f"because training ends after {counted(settings.epochs, 'epoch')}"
            for epoch in sorted(steps)
            if epoch >= settings.epochs
        )
        return sorted(steps.items())

    def _checked(self, model: type[Any], value: Any, section: str) -> Any:
        try:
            return model.model_validate(value)
        except ValidationError as failure:
            error = config_error(failure, model, self.where)
            path = ".".join(part for part in (section, error.path) if part)
            raise self._error(path, error.problem) from None

    def _resolved(self, catalogue: Catalogue[Any], named: Named, section: str) -> Named:
        try:
            return resolved(catalogue, named, self.where, section)
        except ConfigError as error:
            raise self._error(error.path, error.problem) from None

    def _error(self, path: str, problem: str) -> ConfigError:
        """An error at ``path`` of this method, or of the defaults where it was written there."""
        inherited = not _has(self.tree, path) and _has(self.config.defaults, path)
        section = "defaults" if inherited else f"methods.{self.method}"
        return ConfigError(self.where, f"{section}.{path}", problem)


def resolved(
    catalogue: Catalogue[Any],
    named: Named,
    where: str,
    path: str,
    without: tuple[str, ...] = (),
) -> Named:
    """A catalogue entry with every option checked and filled in."""
    try:
        model: type[BaseModel] = catalogue.find(named.name).cls.Options
    except UnknownName as failure:
        raise ConfigError(where, f"{path}.name", str(failure)) from None
    given = {key: value for key, value in named.options.items() if key not in without}
    options = validated(model, given, where, path)
    return Named.model_validate({"name": named.name, **options.model_dump(mode="json")})


def _has(tree: Any, path: str) -> bool:
    """Whether a dotted path leads somewhere in a tree of mappings."""
    for part in path.split("."):
        keys = {str(key): key for key in tree} if isinstance(tree, Mapping) else {}
        if part not in keys:
            return False
        tree = tree[keys[part]]
    return True


def _at(spec: TrialSpec, path: str, fallback: Any) -> Any:
    """The resolved value at a dotted path, so that ``1`` and ``1.0`` read alike in a report."""
    place: Any = spec.canonical()
    for part in path.split("."):
        if not isinstance(place, Mapping) or part not in place:
            return fallback
        place = place[part]
    return fallback if path == "schedule" else place
