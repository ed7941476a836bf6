"""The sweep file's grammar: frozen models that say what may be written, and nothing else.

``SweepConfig`` is the file; ``TrialSpec`` is one fully resolved trial, whose hash is its id.
Names of learners, backbones, benchmarks and selectors are checked elsewhere, against their
catalogues: this module knows shapes and ranges alone.
"""

import hashlib
import json
import re
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    field_validator,
    model_serializer,
    model_validator,
)

from fsl_sweep.orchestrator.paper_names import measure_name, selector_names

Count = Annotated[int, Field(ge=1)]
Seed = Annotated[int, Field(ge=0, lt=2**32)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
NotNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]


def _number_or(word: str, least: int) -> BeforeValidator:
    """One message for a value that may be a number or a word, instead of one for each."""

    def check(value: Any) -> Any:
        number = isinstance(value, int) and not isinstance(value, bool) and value >= least
        if value != word and not number:
            raise ValueError(f"must be an integer from {least} up, or {word}, not {value!r}")
        return value

    return BeforeValidator(check)


Ways = Annotated[int | Literal["all"], _number_or("all", 2)]
Queries = Annotated[int | Literal["rest"], _number_or("rest", 1)]


class Model(BaseModel):
    """Base of every part of the file: read-only, no unknown keys, no silent conversions."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Named(Model):
    """A catalogue entry and the options that it was given."""

    model_config = ConfigDict(frozen=True, extra="allow", strict=True)
    name: str

    @property
    def options(self) -> dict[str, Any]:
        """Everything but the name."""
        return dict(self.model_extra or {})


class Episode(Model):
    """How snapshots are measured: ``way`` classes, ``shot`` support and ``query`` queries each.

    Where tasks bring classes and examples of their own, as writers do, ``way: all`` takes all
    classes of each task, and ``query: rest`` all examples that the support leaves.
    """

    way: Ways = 5
    shot: Count = 1
    query: Queries = 15


class Evaluation(Model):
    """The common tasks: how many in each set, from which seed, and after which epochs."""

    selection_tasks: Annotated[int, Field(ge=2, le=1_000_000)] = 1000
    report_tasks: Annotated[int, Field(ge=2, le=1_000_000)] = 1000
    seed: Seed = 0
    every: Count = 1


OF_SGD = frozenset({"momentum", "nesterov"})
"""Keys of `Optimizer` that mean nothing to another than ``sgd``."""


class Optimizer(Model):
    """Stochastic gradient descent, Adam, or Adam with decoupled weight decay (arXiv 1711.05101).

    ``momentum`` and ``nesterov`` are those of ``sgd``. ``clip_norm``, where given, shrinks the
    gradient of all parameters together to that length.
    """

    name: Literal["sgd", "adam", "adamw"] = "sgd"
    lr: Positive
    momentum: Annotated[float, Field(ge=0, lt=1)] = 0.9
    nesterov: bool = True
    weight_decay: NotNegative = 5e-4
    clip_norm: Positive | None = None

    @model_validator(mode="after")
    def _nesterov_needs_momentum(self) -> "Optimizer":
        if self.name == "sgd" and self.nesterov and self.momentum == 0:
            raise ValueError("nesterov needs a momentum above 0; set nesterov: false")
        return self

    @model_serializer(mode="wrap")
    def _without_what_is_off(self, plain: SerializerFunctionWrapHandler) -> dict[str, Any]:
        # An extra that is off stays out of a trial's id, which everything random follows from: a
        # trial without it is the one that it was before the extra existed.
        off = {"clip_norm"} if self.clip_norm is None else set[str]()
        if self.name == "adamw":  # an id of adam has held them ever since
            off |= OF_SGD
        return {key: value for key, value in plain(self).items() if key not in off}


class EpisodicTraining(Model):
    """The training episode, free of the episode that snapshots are measured with.

    Attributes:
        augment_support: whether the trial's augmentation is for support images too, or for queries
            only.
        query_counts: ``equal``: every class has ``query`` queries. ``multinomial``: every class has
            one, and the task's other ``way * (query - 1)`` fall on its classes at random.
    """

    way: Ways = 5
    shot: Count = 5
    query: Queries = 15
    tasks_per_batch: Count = 4
    fixed_support: bool = False
    augment_support: bool = True
    query_counts: Literal["equal", "multinomial"] = "equal"

    @model_validator(mode="after")
    def _counts_need_numbers(self) -> "EpisodicTraining":
        if self.query_counts == "multinomial" and (self.way == "all" or self.query == "rest"):
            raise ValueError("query_counts: multinomial needs numbers for way and query")
        return self

    @model_serializer(mode="wrap")
    def _without_the_usual(self, plain: SerializerFunctionWrapHandler) -> dict[str, Any]:
        # What a training episode usually is stays out of a trial's id.
        usual = {"augment_support": True, "query_counts": "equal"}
        return {k: v for k, v in plain(self).items() if k not in usual or v != usual[k]}


class BatchTraining(Model):
    """Ordinary supervised batches of base-class images."""

    batch_size: Annotated[int, Field(ge=2)] = 128


class MetaStage(EpisodicTraining):
    """Training on episodes in the last ``epochs`` epochs of a trial."""

    epochs: Count = 30


class StagedTraining(Model):
    """Batches of base-class images, and then episodes."""

    batch_size: Annotated[int, Field(ge=2)] = 128
    meta: MetaStage = MetaStage()


class Budget(Model):
    """Wall-clock limit of one trial, training and measuring together."""

    seconds: Positive


class Resources(Model):
    """What one trial reserves. ``gpu: auto`` is one where the cluster has any, else none."""

    cpu: Count = 1
    gpu: Literal["auto"] | NotNegative = "auto"

    @field_validator("gpu", mode="before")
    @classmethod
    def _auto_or_a_number(cls, value: Any) -> Any:
        number = isinstance(value, int | float) and not isinstance(value, bool) and value >= 0
        if value != "auto" and not number:
            raise ValueError(f"must be auto or a number of GPUs from 0, not {value!r}")
        return value


class CrossValidation(Model):
    """Class folds: for each one a trial that never sees its classes, and is measured on them.

    ``over`` says which classes are dealt into folds, ``by`` whether one by one or by superclass.
    """

    folds: Annotated[int, Field(ge=2, le=100)]
    over: Literal["base", "base+val"] = "base"
    by: Literal["class", "superclass"] = "class"
    seed: Seed = 0


class Fold(CrossValidation):
    """One fold of a cross-validation, counted from 0: all that its trials' ids need to say."""

    index: Annotated[int, Field(ge=0)]

    @model_validator(mode="after")
    def _one_of_the_folds(self) -> "Fold":
        if self.index >= self.folds:
            raise ValueError(f"fold {self.index} of {self.folds}: folds are counted from 0")
        return self


class Selectors(Model):
    """The strategies to compare: every snapshot selector with every hyperparameter selector.

    ``metric`` is what methods are compared by: ``novel``, or ``mixture(w)`` of BaseGen, with the
    weight w, and NovelGen.
    """

    snapshot: Annotated[list[str], Field(min_length=1)] = [
        "last",
        "train_loss",
        "base",
        "val",
        "oracle",
    ]
    hyperparameter: Annotated[list[str], Field(min_length=1)] = ["base", "val", "oracle"]
    metric: str = "novel"

    @field_validator("snapshot", "hyperparameter")
    @classmethod
    def _in_our_names(cls, names: list[str]) -> list[str]:
        return selector_names(names)

    @field_validator("metric")
    @classmethod
    def _in_our_name(cls, metric: str) -> str:
        return measure_name(metric)

    @model_serializer(mode="wrap")
    def _without_the_usual(self, plain: SerializerFunctionWrapHandler) -> dict[str, Any]:
        # A plan without it is the one that it was before there was a choice.
        return {k: v for k, v in plain(self).items() if k != "metric" or v != "novel"}


class SweepConfig(Model):
    """A sweep file. ``defaults`` and ``methods`` may hold axes, so they stay open mappings."""

    name: str
    benchmark: Named
    episode: Episode = Episode()
    evaluation: Evaluation = Evaluation()
    defaults: dict[str, Any] = {}
    methods: Annotated[dict[str, dict[str, Any]], Field(min_length=1)]
    seeds: Annotated[list[Seed], Field(min_length=1)] = [0]
    samples: Count | None = None
    seed: Seed = 0
    cross_validation: CrossValidation | None = None
    selectors: Selectors = Selectors()
    resources: Resources = Resources()
    retries: Annotated[int, Field(ge=0)] = 2
    budget: Budget | None = None

    @field_validator("name")
    @classmethod
    def _names_a_folder(cls, name: str) -> str:
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", name):
            raise ValueError(f"may hold letters, digits, '.', '_' and '-' alone, not {name!r}")
        return name

    @model_validator(mode="after")
    def _no_repeats(self) -> "SweepConfig":
        if len(set(self.seeds)) != len(self.seeds):
            raise ValueError(f"seeds repeats a value: {self.seeds}")
        return self


class ProgramConfig(Model):
    """One hyperparameter configuration of a program, which brings network and optimizer along."""

    learner: Named
    epochs: Count = 60
    batches: Count = 1000
    augment: str = "none"
    train: dict[str, Any] = {}


class MethodConfig(ProgramConfig):
    """One hyperparameter configuration of a method, before its names are looked up.

    ``schedule`` is in one of the forms of `fsl_sweep.orchestrator.schedule`.
    """

    backbone: Named
    optimizer: Optimizer
    schedule: dict[Any, Any] = {}
    precision: Literal["fp32", "bf16"] = "fp32"

    @field_validator("schedule", mode="before")
    @classmethod
    def _cosine_has_a_form(cls, value: Any) -> Any:
        if value == "cosine":
            raise ValueError(
                "write {cosine: {}}, or {cosine: {warmup: 5}} for a rise over 5 epochs first"
            )
        return value


class UntrainedConfig(Model):
    """One hyperparameter configuration of a method in which there is nothing to train.

    What only training uses may be there, because other methods share it; it is not looked at.
    """

    learner: Named
    backbone: Named
    optimizer: Any = None
    schedule: Any = None
    epochs: Any = None
    batches: Any = None
    augment: Any = None
    precision: Any = None
    train: Any = None


class TrialSpec(Model):
    """One trial, fully resolved: equal specifications give equal results.

    Attributes:
        optimizer: None for a program, whose backbone is ``identity`` and whose schedule is empty,
            and where nothing is trained.
        schedule: (first epoch, learning rate) pairs, ascending, beginning at epoch 0.
        batches: gradient steps an epoch; 0 where nothing is trained.
        train: what it trains on; None where there is nothing to train, so that the learner is
            measured as it is built, in one epoch.
        fold: class fold that is left out of training, or None for the full trial, which trains on
            all base classes.
    """

    benchmark: Named
    episode: Episode
    evaluation: Evaluation
    learner: Named
    backbone: Named
    optimizer: Optimizer | None
    schedule: list[tuple[int, float]]
    epochs: Count
    batches: Annotated[int, Field(ge=0)]
    augment: str
    precision: Literal["fp32", "bf16"]
    train: EpisodicTraining | BatchTraining | StagedTraining | None
    budget: Budget | None
    seed: Seed
    fold: Fold | None = None

    def canonical(self) -> dict[str, Any]:
        """Plain data with every default filled in."""
        return self.model_dump(mode="json")

    @property
    def id(self) -> str:
        """The trial id, 16 hexadecimal digits."""
        return digest(self.canonical())

    @property
    def configuration(self) -> str:
        """Id of the hyperparameter configuration: the trial without its seed and fold."""
        return configuration_of(self.canonical())

    @property
    def recorded_epochs(self) -> list[int]:
        """Epochs whose snapshots are measured, from 1: every ``every``-th and the last."""
        every = self.evaluation.every
        return [e for e in range(1, self.epochs + 1) if e % every == 0 or e == self.epochs]

    @property
    def episodic(self) -> EpisodicTraining | None:
        """The training episode, or None where no epoch trains on episodes."""
        train = self.train.meta if isinstance(self.train, StagedTraining) else self.train
        return train if isinstance(train, EpisodicTraining) else None

    def stage(self, epoch: int) -> EpisodicTraining | BatchTraining:
        """What an epoch, counted from 1, trains on; not where nothing is trained."""
        if self.train is None:
            raise ValueError(f"trial {self.id} trains nothing")
        if not isinstance(self.train, StagedTraining):
            return self.train
        if epoch > self.epochs - self.train.meta.epochs:
            return self.train.meta
        return BatchTraining(batch_size=self.train.batch_size)

    @classmethod
    def from_canonical(cls, plain: dict[str, Any]) -> "TrialSpec":
        """The inverse of ``canonical``; raises pydantic.ValidationError on anything else."""
        return cls.model_validate(plain, strict=False)


def configuration_of(canonical: dict[str, Any]) -> str:
    """Id of the hyperparameter configuration of a trial's plain data."""
    return digest({k: v for k, v in canonical.items() if k not in ("seed", "fold")})


def canonical_json(value: Any) -> str:
    """The one JSON text of a plain value: sorted keys, no spaces, no NaN."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def digest(value: Any, length: int = 16) -> str:
    """The first hexadecimal digits of the SHA-256 of a plain value."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()[:length]
