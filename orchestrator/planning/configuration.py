"""One configuration of a method: its names looked up, its options checked."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, final

from fsl_sweep.learners.augmentation.catalogue import AUGMENTATIONS
from fsl_sweep.learners.backbones.catalogue import BACKBONES
from fsl_sweep.learners.catalogue import LEARNERS
from fsl_sweep.orchestrator.catalogue import Catalogue
from fsl_sweep.orchestrator.errors import ConfigError, UnknownName
from fsl_sweep.orchestrator.planning.part import Part, resolved
from fsl_sweep.orchestrator.planning.pretrained import pinned, start_cautions
from fsl_sweep.orchestrator.planning.schedule import Rates, resolved_schedule
from fsl_sweep.orchestrator.planning.suitability import (
    USED_UNTRAINED,
    check_features,
    check_in_distribution,
    check_trained,
    is_program,
)
from fsl_sweep.orchestrator.records.model import Named
from fsl_sweep.orchestrator.records.spec import (
    OF_SGD,
    BatchTraining,
    EpisodicTraining,
    Optimizer,
    Resources,
    StagedTraining,
    TrialSpec,
)
from fsl_sweep.orchestrator.sweepfile.axes import merged_settings
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
class ConfigurationResolver:
    """Resolves the configurations of one method, each of its parts once.

    Args:
        config: the sweep.
        method: its name.
        tree: its settings as written, without the defaults.
        benchmark: the one that is trained on.

    Attributes:
        settings: of the method, with the defaults, and with axes in place of values.
        resources: of its trials, where they are not the sweep's.
        cautions: what the report should warn of, added as configurations are resolved.
    """

    def __init__(
        self, config: SweepConfig, method: str, tree: Mapping[str, Any], benchmark: Part
    ) -> None:
        self.config, self.method, self._benchmark = config, method, benchmark
        self.resources = _resources(config, method, tree)
        self._tree = tree = {key: value for key, value in tree.items() if key != "resources"}
        self.settings = merged_settings(config.defaults, tree)
        if is_program(self.settings.get("learner")):  # it has no use for a network of ours
            used = {k: v for k, v in config.defaults.items() if k in ProgramConfig.model_fields}
            self.settings = merged_settings(used, tree)
        self._parts: dict[tuple[str, str], Part] = {}
        self._pinned: dict[tuple[Part, Part], Named] = {}
        self.cautions: list[str] = []

    @property
    def learners(self) -> list[tuple[str, Part]]:
        """Return the method with each learner of its configurations so far."""
        kept = self._parts.items()
        return [(self.method, part) for (kind, _), part in kept if kind == LEARNERS.kind]

    def spec(self, tree: Mapping[str, Any], axes: Mapping[str, Any]) -> TrialSpec:
        """Resolve one configuration, with the sweep's first seed and no fold.

        Args:
            tree: its settings, without axes.
            axes: the values of the axes, by dotted path.

        Raises:
            ConfigError: as ``plan_sweep``; key paths begin below the method.
        """
        if is_program(tree.get("learner")):
            settings = self._program(tree)
        elif self._trains_nothing(tree):
            settings = self._untrained(tree)
        else:
            settings = self._network(tree, axes)
        return TrialSpec(
            benchmark=self._benchmark.named,
            learner=self.learner(tree).named,
            every=self.config.evaluation.every,
            budget=self.config.budget,
            seed=self.config.seeds[0],
            **settings,
        )

    def learner(self, tree: Mapping[str, Any]) -> Part:
        """Resolve the learner of a configuration."""
        return self._part(LEARNERS, tree["learner"])

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
        return not _has(self._tree, path) and _has(self.config.defaults, path)

    def _part(self, catalogue: Catalogue[Any], section: Mapping[str, Any]) -> Part:
        """Resolve the section of a part, where it is not one that was resolved before."""
        key = (catalogue.kind, repr(section))
        if key not in self._parts:
            self._parts[key] = resolved(catalogue, section, catalogue.kind)
        return self._parts[key]

    def _trains_nothing(self, tree: Mapping[str, Any]) -> bool:
        """Return whether neither learner nor backbone has weights to train."""
        if not all(isinstance(tree.get(section), Mapping) for section in USED_UNTRAINED):
            return False
        backbone = self._part(BACKBONES, tree["backbone"])
        if backbone.cls.has_weights and not backbone.options.frozen:
            return False
        learner = self.learner(tree)
        return not learner.cls.has_weights(learner.options)

    def _network(self, tree: Mapping[str, Any], axes: Mapping[str, Any]) -> dict[str, Any]:
        settings = validated(MethodConfig, tree, axes=True)
        backbone = self._backbone(tree, settings.augment)
        self._warn_of_sgd(settings.optimizer, axes)
        return {
            "backbone": backbone,
            "optimizer": settings.optimizer,
            "schedule": self._schedule(settings),
            "precision": settings.precision,
            **self._training(settings, self.learner(tree)),
        }

    def _program(self, tree: Mapping[str, Any]) -> dict[str, Any]:
        settings = validated(ProgramConfig, tree, axes=True)
        learner = self.learner(tree)
        check_in_distribution(learner, self._benchmark)
        if settings.epochs > 1 and not learner.cls.can_resume(learner.options):
            self.cautions.append(
                f"{self.method}: its program cannot save what it needs to go on (a meta-learner's "
                "own save and load): a trial that is interrupted begins again from its first epoch"
            )
        check_features(learner, None, settings.augment, self._benchmark)
        return {
            "backbone": Named(name="identity"),
            "validation": self.config.episode,
            **_UNTRAINED,
            **self._training(settings, learner),
        }

    def _untrained(self, tree: Mapping[str, Any]) -> dict[str, Any]:
        validated(UntrainedConfig, tree, axes=True)
        backbone = self._backbone(tree, "none")
        if unused := [key for key in self._tree if key not in USED_UNTRAINED]:
            are = "is" if len(unused) == 1 else "are"
            self.cautions.append(
                f"{self.method}: it has nothing to train, so its {', '.join(unused)} {are} not used"
            )
        return {"backbone": backbone, **_UNTRAINED}

    def _backbone(self, tree: Mapping[str, Any], augment: str) -> Named:
        """Resolve the backbone of a configuration, and check it with the learner and benchmark."""
        learner = self.learner(tree)
        check_in_distribution(learner, self._benchmark)
        backbone = self._part(BACKBONES, tree["backbone"])
        if (learner, backbone) not in self._pinned:
            named = pinned(backbone, learner)
            self.cautions.extend(start_cautions(self.method, tree["backbone"], named))
            self._pinned[learner, backbone] = named
        check_features(learner, backbone, augment, self._benchmark)
        return self._pinned[learner, backbone]

    def _training(self, settings: ProgramConfig, learner: Part) -> dict[str, Any]:
        """Resolve what programs and networks have in common."""
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
        self, settings: ProgramConfig, learner: Part
    ) -> EpisodicTraining | BatchTraining | StagedTraining:
        """Check what the learner trains on against what it can train on."""
        with LEARNERS.named_faults(learner.name):
            trains_on = learner.cls.trained_on(learner.options)
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
        unused = sorted(OF_SGD & optimizer.model_fields_set)
        if optimizer.name == "sgd" or not unused:
            return
        for key in unused:
            if (path := f"optimizer.{key}") in axes:
                problem = f"{optimizer.name} has no {key}: all values of this axis train alike"
                raise ConfigError("", path, f"{problem}; make a method of each optimizer")
        names, verb = " and ".join(unused), "is" if len(unused) == 1 else "are"
        self.cautions.append(f"{self.method}: {names} {verb} sgd's, not used by {optimizer.name}")


def _resources(config: SweepConfig, method: str, tree: Mapping[str, Any]) -> Resources | None:
    """Put a method's resources over the sweep's; None where it has none of its own."""
    if (written := tree.get("resources")) is None:
        return None
    if isinstance(written, Mapping):
        written = {**config.resources.model_dump(), **written}
    resources = validated(Resources, written, f"methods.{method}.resources")
    return None if resources == config.resources else resources


def _has(tree: Any, path: str) -> bool:
    """Return whether a dotted path leads somewhere in a tree of mappings."""
    for part in path.split("."):
        keys = {str(key): key for key in tree} if isinstance(tree, Mapping) else {}
        if part not in keys:
            return False
        tree = tree[keys[part]]
    return True
