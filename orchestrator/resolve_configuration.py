"""One configuration of a method: its names looked up, its options checked."""

from collections.abc import Mapping
from typing import Any, final

from pydantic import BaseModel, ValidationError

from fsl_sweep.datasets.catalogue import BENCHMARKS
from fsl_sweep.learners.augmentation import AUGMENTATIONS
from fsl_sweep.learners.backbones.catalogue import BACKBONES
from fsl_sweep.learners.catalogue import LEARNERS
from fsl_sweep.orchestrator.catalogue import Catalogue
from fsl_sweep.orchestrator.config import (
    OF_SGD,
    BatchTraining,
    EpisodicTraining,
    MethodConfig,
    Named,
    Optimizer,
    ProgramConfig,
    StagedTraining,
    SweepConfig,
    TrialSpec,
    UntrainedConfig,
)
from fsl_sweep.orchestrator.errors import ConfigError, UnknownName
from fsl_sweep.orchestrator.in_distribution_plan import misplaced
from fsl_sweep.orchestrator.printed import counted
from fsl_sweep.orchestrator.programs import begins_again, is_program
from fsl_sweep.orchestrator.schedule import Rates, resolved_schedule
from fsl_sweep.orchestrator.sweep_mistakes import config_error, validated
from fsl_sweep.orchestrator.untrained import UNTRAINED, trains_nothing, unused
from fsl_sweep.orchestrator.ways import cannot_be_measured, cannot_vary, wrong_way

_TRAINING = {
    "episodes": EpisodicTraining,
    "batches": BatchTraining,
    "batches, then episodes": StagedTraining,
}


@final
class ConfigurationResolver:
    """Resolves one configuration after the other of a method.

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

    def spec(
        self, tree: Mapping[str, Any], axes: Mapping[str, Any], cautions: list[str]
    ) -> TrialSpec:
        """One configuration, with the sweep's first seed and no fold; adds to ``cautions``.

        Args:
            tree: its settings, without axes.
            axes: the values that axes have in it, by dotted path.
            cautions: what a person should know of it.

        Raises:
            ConfigError: as ``plan_sweep``.
        """
        if is_program(tree.get("learner")):
            return self._program(tree, cautions)
        if trains_nothing(tree.get("learner"), tree.get("backbone")):
            return self._untrained(tree, cautions)
        settings = self._checked(MethodConfig, tree)
        learner = self._learner(settings)
        backbone = self._resolved(BACKBONES, settings.backbone, "backbone")
        self._check_features(learner, backbone, settings.augment)
        cautions += self._of_sgd(settings.optimizer, axes)
        return self._assembled(
            learner=learner,
            backbone=backbone,
            optimizer=settings.optimizer,
            schedule=self._schedule(settings, cautions),
            precision=settings.precision,
            **self._training(settings, learner),
        )

    def _program(self, tree: Mapping[str, Any], cautions: list[str]) -> TrialSpec:
        settings = self._checked(ProgramConfig, tree)
        learner = self._learner(settings)
        if caution := begins_again(learner, settings.epochs):
            cautions.append(f"{self.method}: {caution}")
        self._check_features(learner, None, settings.augment)
        return self._assembled(
            learner=learner,
            backbone=Named(name="identity"),
            optimizer=None,
            schedule=[],
            precision="fp32",
            **self._training(settings, learner),
        )

    def _untrained(self, tree: Mapping[str, Any], cautions: list[str]) -> TrialSpec:
        settings = self._checked(UntrainedConfig, tree)
        learner = self._learner(settings)
        backbone = self._resolved(BACKBONES, settings.backbone, "backbone")
        self._check_features(learner, backbone, "none")
        if caution := unused(self.method, self.tree):
            cautions.append(caution)
        return self._assembled(learner=learner, backbone=backbone, **UNTRAINED)

    def _training(self, settings: ProgramConfig, learner: Named) -> dict[str, Any]:
        """What programs and networks have in common."""
        if settings.augment not in AUGMENTATIONS:
            problem = UnknownName("augmentation", settings.augment, AUGMENTATIONS)
            raise self.error("augment", str(problem))
        return {
            "epochs": settings.epochs,
            "batches": settings.batches,
            "augment": settings.augment,
            "train": self._train(settings, learner),
        }

    def _assembled(self, **settings: Any) -> TrialSpec:
        return TrialSpec(
            benchmark=self.benchmark,
            episode=self.config.episode,
            evaluation=self.config.evaluation,
            budget=self.config.budget,
            seed=self.config.seeds[0],
            **settings,
        )

    def _learner(self, settings: ProgramConfig | UntrainedConfig) -> Named:
        learner = self._resolved(LEARNERS, settings.learner, "learner")
        if problem := misplaced(learner, self.benchmark):
            raise self.error("learner.name", problem)
        self._check_measured(learner)
        return learner

    def _check_features(self, learner: Named, backbone: Named | None, augment: str) -> None:
        """Whether a method can be given features, where the benchmark holds such.

        Args:
            learner: the method's.
            backbone: the method's; None of a program, which takes images.
            augment: of its training.
        """
        if not BENCHMARKS.find(self.benchmark.name).cls.holds_features:
            return
        holds = f"benchmark '{self.benchmark.name}' holds features of a frozen extractor"
        if backbone is None:
            raise self.error("learner.name", f"'{learner.name}' takes images, but {holds}")
        if not BACKBONES.find(backbone.name).cls.takes_features:
            problem = f"'{backbone.name}' takes images, but {holds}; use 'identity'"
            raise self.error("backbone.name", problem)
        if augment != "none":
            problem = f"'{augment}' changes images, but {holds}; write 'augment: none'"
            raise self.error("augment", problem)

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
            raise self.error(
                "train.meta.epochs",
                f"{train.meta.epochs} of {settings.epochs} epochs leave none for the stage before; "
                "set fewer, or more 'epochs'",
            )
        if problem := wrong_way(learner, train):
            raise self.error("train.way", problem)
        if problem := cannot_vary(learner, train):
            raise self.error("train", problem)
        return train

    def _check_measured(self, learner: Named) -> None:
        """Whether the learner can be measured on the sweep's episodes."""
        if problem := wrong_way(learner, self.config.episode):
            raise ConfigError(self.where, "episode.way", f"{self.method}: {problem}")
        if problem := cannot_be_measured(learner, self.config.episode):
            raise ConfigError(self.where, "episode", f"{self.method}: {problem}")

    def _schedule(self, settings: MethodConfig, cautions: list[str]) -> Rates:
        try:
            rates = resolved_schedule(settings.schedule, settings.optimizer.lr, settings.epochs)
        except ConfigError as error:
            raise self.error(error.path, error.problem) from None
        cautions.extend(
            f"{self.method}: the schedule's step at epoch {epoch} is never reached, "
            f"because training ends after {counted(settings.epochs, 'epoch')}"
            for epoch, _ in rates
            if epoch >= settings.epochs
        )
        return rates

    def _of_sgd(self, optimizer: Optimizer, axes: Mapping[str, Any]) -> list[str]:
        """A caution where the optimizer is given what only ``sgd`` uses."""
        given = [] if optimizer.name == "sgd" else sorted(OF_SGD & optimizer.model_fields_set)
        for key in given:
            if (path := f"optimizer.{key}") in axes:
                problem = f"{optimizer.name} has no {key}: all values of this axis train alike"
                raise self.error(path, f"{problem}; make a method of each optimizer")
        named = " and ".join(given)
        verb = "is" if len(given) == 1 else "are"
        return [f"{self.method}: {named} {verb} sgd's, not used by {optimizer.name}"] * bool(given)

    def _checked(self, model: type[Any], value: Any, section: str = "") -> Any:
        try:
            return model.model_validate(value)
        except ValidationError as failure:
            error = config_error(failure, model, self.where, axes=True)
            path = ".".join(part for part in (section, error.path) if part)
            raise self.error(path, error.problem) from None

    def _resolved(self, catalogue: Catalogue[Any], named: Named, section: str) -> Named:
        try:
            return resolved(catalogue, named, self.where, section, axes=True)
        except ConfigError as error:
            raise self.error(error.path, error.problem) from None

    def error(self, path: str, problem: str) -> ConfigError:
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
    axes: bool = False,
) -> Named:
    """A catalogue entry with every option checked and filled in.

    Args:
        catalogue: where its name stands.
        named: name and options as written.
        where: the file, for messages.
        path: its key path there.
        without: options that are not the entry's own.
        axes: as in `config_error`.

    Raises:
        ConfigError: an unknown name or a bad option.
    """
    try:
        model: type[BaseModel] = catalogue.find(named.name).cls.Options
    except UnknownName as failure:
        raise ConfigError(where, f"{path}.name", str(failure)) from None
    given = {key: value for key, value in named.options.items() if key not in without}
    options = validated(model, given, where, path, axes)
    return Named.model_validate({"name": named.name, **options.model_dump(mode="json")})


def _has(tree: Any, path: str) -> bool:
    """Whether a dotted path leads somewhere in a tree of mappings."""
    for part in path.split("."):
        keys = {str(key): key for key in tree} if isinstance(tree, Mapping) else {}
        if part not in keys:
            return False
        tree = tree[keys[part]]
    return True
