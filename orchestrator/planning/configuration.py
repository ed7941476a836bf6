"""One configuration of a method: its names looked up, its options checked."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, final

from fsl_sweep.learners.augmentation.catalogue import AUGMENTATIONS
from fsl_sweep.learners.backbones.catalogue import BACKBONES
from fsl_sweep.learners.catalogue import LEARNERS
from fsl_sweep.orchestrator.catalogue import Catalogue
from fsl_sweep.orchestrator.errors import ConfigError, UnknownName
from fsl_sweep.orchestrator.planning.pretrained import pinned, start_cautions
from fsl_sweep.orchestrator.planning.schedule import Rates, resolved_schedule
from fsl_sweep.orchestrator.planning.suitability import (
    USED_UNTRAINED,
    begins_again,
    check_features,
    check_in_distribution,
    check_trained,
    is_program,
    trains_nothing,
)
from fsl_sweep.orchestrator.records.model import Named
from fsl_sweep.orchestrator.records.spec import (
    OF_SGD,
    BatchTraining,
    EpisodicTraining,
    Optimizer,
    StagedTraining,
    TrialSpec,
)
from fsl_sweep.orchestrator.sweepfile.grammar import (
    MethodConfig,
    ProgramConfig,
    SweepConfig,
    UntrainedConfig,
)
from fsl_sweep.orchestrator.sweepfile.messages import validated
from fsl_sweep.orchestrator.text.printed import counted

_TRAINING = {
    "episodes": EpisodicTraining,
    "batches": BatchTraining,
    "batches, then episodes": StagedTraining,
}
# Without an optimizer of ours; by itself, one epoch without a step, measured once.
_UNTRAINED = {
    "optimizer": None,
    "schedule": [],
    "epochs": 1,
    "batches": 0,
    "augment": "none",
    "precision": "fp32",
    "train": None,
}


@final
@dataclass(frozen=True)
class ConfigurationResolver:
    """Resolves the configurations of one method, one at a time.

    ``tree`` is the method's settings as written, ``benchmark`` resolved. ``cautions`` are what the
    report should warn of, added as configurations are resolved.
    """

    config: SweepConfig
    method: str
    tree: Mapping[str, Any]
    benchmark: Named
    cautions: list[str] = field(default_factory=list)

    def spec(self, tree: Mapping[str, Any], axes: Mapping[str, Any]) -> TrialSpec:
        """One configuration, with the sweep's first seed and no fold.

        Args:
            tree: its settings, without axes.
            axes: the values of the axes, by dotted path.

        Raises:
            ConfigError: as ``plan_sweep``; key paths begin below the method.
        """
        if is_program(tree.get("learner")):
            settings = self._program(tree)
        elif trains_nothing(tree.get("learner"), tree.get("backbone")):
            settings = self._untrained(tree)
        else:
            settings = self._network(tree, axes)
        return TrialSpec(
            benchmark=self.benchmark,
            every=self.config.evaluation.every,
            budget=self.config.budget,
            seed=self.config.seeds[0],
            **settings,
        )

    @contextmanager
    def placed(self) -> Iterator[None]:
        """Put errors into their place: below the method, or the defaults if written there."""
        try:
            yield
        except ConfigError as error:
            section = "defaults" if self._inherited(error.path) else f"methods.{self.method}"
            path = f"{section}.{error.path}".rstrip(".")
            raise ConfigError("", path, error.problem) from None

    def _inherited(self, path: str) -> bool:
        return not _has(self.tree, path) and _has(self.config.defaults, path)

    def _network(self, tree: Mapping[str, Any], axes: Mapping[str, Any]) -> dict[str, Any]:
        settings = validated(MethodConfig, tree, axes=True)
        learner = self._learner(settings)
        backbone = self._backbone(settings, learner)
        check_features(learner, backbone, settings.augment, self.benchmark)
        self._warn_of_sgd(settings.optimizer, axes)
        return {
            "learner": learner,
            "backbone": backbone,
            "optimizer": settings.optimizer,
            "schedule": self._schedule(settings),
            "precision": settings.precision,
            **self._training(settings, learner),
        }

    def _program(self, tree: Mapping[str, Any]) -> dict[str, Any]:
        settings = validated(ProgramConfig, tree, axes=True)
        learner = self._learner(settings)
        if begins_again(learner, settings.epochs):
            self.cautions.append(
                f"{self.method}: its program cannot save what it needs to go on (a meta-learner's "
                "own save and load): a trial that is interrupted begins again from its first epoch"
            )
        check_features(learner, None, settings.augment, self.benchmark)
        return {
            "learner": learner,
            "backbone": Named(name="identity"),
            "validation": self.config.episode,
            **_UNTRAINED,
            **self._training(settings, learner),
        }

    def _untrained(self, tree: Mapping[str, Any]) -> dict[str, Any]:
        settings = validated(UntrainedConfig, tree, axes=True)
        learner = self._learner(settings)
        backbone = self._backbone(settings, learner)
        check_features(learner, backbone, "none", self.benchmark)
        if unused := [key for key in self.tree if key not in USED_UNTRAINED]:
            are = "is" if len(unused) == 1 else "are"
            self.cautions.append(
                f"{self.method}: it has nothing to train, so its {', '.join(unused)} {are} not used"
            )
        return {"learner": learner, "backbone": backbone, **_UNTRAINED}

    def _backbone(self, settings: MethodConfig | UntrainedConfig, learner: Named) -> Named:
        backbone = pinned(resolved(BACKBONES, settings.backbone, "backbone"), learner)
        self.cautions.extend(start_cautions(self.method, settings.backbone, backbone))
        return backbone

    def _learner(self, settings: ProgramConfig | UntrainedConfig) -> Named:
        learner = resolved(LEARNERS, settings.learner, "learner")
        check_in_distribution(learner, self.benchmark)
        return learner

    def _training(self, settings: ProgramConfig, learner: Named) -> dict[str, Any]:
        """What programs and networks have in common."""
        if settings.augment not in AUGMENTATIONS:
            problem = UnknownName("augmentation", settings.augment, AUGMENTATIONS)
            raise ConfigError("", "augment", str(problem))
        return {
            "epochs": settings.epochs,
            "batches": settings.batches,
            "augment": settings.augment,
            "train": self._train(settings, learner),
        }

    def _train(
        self, settings: ProgramConfig, learner: Named
    ) -> EpisodicTraining | BatchTraining | StagedTraining:
        """What the learner trains on, checked against what it can train on."""
        cls = LEARNERS.find(learner.name).cls
        with LEARNERS.named_faults(learner.name):
            trains_on = cls.trained_on(cls.Options.model_validate(learner.options))
        try:
            train = validated(_TRAINING[trains_on], settings.train, "train", axes=True)
        except ConfigError as error:
            hint = f"{error.problem} ({self.method}: {learner.name} trains on {trains_on}"
            if self._inherited(error.path):
                hint += "; methods that differ in this need a 'train' of their own each"
            raise ConfigError("", error.path, f"{hint})") from None
        if isinstance(train, StagedTraining) and train.meta.epochs >= settings.epochs:
            raise ConfigError(
                "",
                "train.meta.epochs",
                f"{train.meta.epochs} of {settings.epochs} epochs leave none for the stage before; "
                "set fewer, or more 'epochs'",
            )
        check_trained(learner, train)
        return train

    def _schedule(self, settings: MethodConfig) -> Rates:
        rates = resolved_schedule(settings.schedule, settings.optimizer.lr, settings.epochs)
        self.cautions.extend(
            f"{self.method}: the schedule's step at epoch {epoch} is never reached, "
            f"because training ends after {counted(settings.epochs, 'epoch')}"
            for epoch, _ in rates
            if epoch >= settings.epochs
        )
        return rates

    def _warn_of_sgd(self, optimizer: Optimizer, axes: Mapping[str, Any]) -> None:
        """Add a caution if the optimizer has settings that only ``sgd`` uses."""
        given = sorted(OF_SGD & optimizer.model_fields_set)
        if optimizer.name == "sgd" or not given:
            return
        for key in given:
            if (path := f"optimizer.{key}") in axes:
                problem = f"{optimizer.name} has no {key}: all values of this axis train alike"
                raise ConfigError("", path, f"{problem}; make a method of each optimizer")
        named = " and ".join(given)
        verb = "is" if len(given) == 1 else "are"
        self.cautions.append(f"{self.method}: {named} {verb} sgd's, not used by {optimizer.name}")


def resolved(catalogue: Catalogue[Any], named: Named, path: str, axes: bool = True) -> Named:
    """A catalogue entry with every option checked and filled in; ``axes`` as in `config_error`.

    Raises:
        ConfigError: an unknown name or a bad option.
        PluginError: a plug-in's own check of its options raised another error.
    """
    try:
        model = catalogue.find(named.name).cls.Options
    except UnknownName as failure:
        raise ConfigError("", f"{path}.name", str(failure)) from None
    with catalogue.named_faults(named.name):
        options = validated(model, named.options, path, axes)
    return Named.model_validate({"name": named.name, **options.model_dump(mode="json")})


def _has(tree: Any, path: str) -> bool:
    """Whether a dotted path leads somewhere in a tree of mappings."""
    for part in path.split("."):
        keys = {str(key): key for key in tree} if isinstance(tree, Mapping) else {}
        if part not in keys:
            return False
        tree = tree[keys[part]]
    return True
