"""The resolved specification of a trial: its training. Its id is the hash of ``TrialSpec``."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    Field,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)

from fsl_sweep.datasets.tasks.episodes import EpisodeShape
from fsl_sweep.datasets.tasks.fixed_support import QueriesFrom
from fsl_sweep.orchestrator.records.model import (
    MOST,
    Count,
    Epochs,
    Model,
    Named,
    NotNegative,
    Positive,
    Seed,
    digest,
)
from fsl_sweep.orchestrator.records.paper_names import measure_name, selector_names
from fsl_sweep.orchestrator.records.protocol import Episode, episode_shape

SelectorNames = Annotated[list[str], Field(min_length=1), AfterValidator(selector_names)]


OF_SGD = frozenset({"momentum", "nesterov"})
"""Keys of `Optimizer` that only ``sgd`` uses."""


class Optimizer(Model):
    """Stochastic gradient descent, Adam, or Adam with decoupled weight decay (arXiv 1711.05101).

    ``clip_norm`` is the largest norm of the gradient of all parameters together.
    """

    name: Literal["sgd", "adam", "adamw"] = "sgd"
    lr: Positive
    momentum: Annotated[float, Field(ge=0, lt=1)] = 0.9
    nesterov: bool = True
    weight_decay: NotNegative = 5e-4
    # A key that is off stays out of ids: one that is added later changes no id.
    clip_norm: Positive | None = Field(default=None, exclude_if=lambda norm: norm is None)

    @model_validator(mode="after")
    def _nesterov_needs_momentum(self) -> "Optimizer":
        if self.name == "sgd" and self.nesterov and self.momentum == 0:
            raise ValueError("nesterov needs a momentum above 0; set nesterov: false")
        return self

    @model_serializer(mode="wrap")
    def _without_momentum(self, plain: SerializerFunctionWrapHandler) -> dict[str, Any]:
        # Ids of adam hold its keys, ids of adamw never did.
        left_out = OF_SGD if self.name == "adamw" else ()
        return {key: value for key, value in plain(self).items() if key not in left_out}


class EpisodicTraining(Episode):
    """The training episode, which may differ from the episode that snapshots are measured with.

    Attributes:
        augment_support: whether support images are augmented too, or only queries.
        query_counts: ``equal``: every class has ``query`` queries. ``multinomial``: every class has
            one, and the task's other ``way * (query - 1)`` fall on its classes at random.
        queries_from: with a fixed support, the class's ``others``, or ``all`` of its examples.
    """

    shot: Count = 5
    tasks_per_batch: Count = 4
    fixed_support: bool = False
    # As with ``clip_norm``, the defaults of these stay out of ids.
    augment_support: bool = Field(default=True, exclude_if=lambda augmented: augmented)
    query_counts: Literal["equal", "multinomial"] = Field(
        default="equal", exclude_if=lambda counts: counts == "equal"
    )
    queries_from: QueriesFrom = Field(
        default="others", exclude_if=lambda examples: examples == "others"
    )

    @model_validator(mode="after")
    def _counts_need_numbers(self) -> "EpisodicTraining":
        if self.queries_from == "all" and not self.fixed_support:
            raise ValueError("queries_from: all needs fixed_support: true")
        if self.query_counts == "multinomial" and (self.way == "all" or self.query == "rest"):
            raise ValueError("query_counts: multinomial needs numbers for way and query")
        return self


class BatchTraining(Model):
    """Supervised batches of base-class images."""

    batch_size: Annotated[int, Field(ge=2, le=MOST)] = 128


class MetaStage(EpisodicTraining):
    """Episodes in the last ``epochs`` epochs of a trial."""

    epochs: Epochs = 30


class StagedTraining(Model):
    """Batches of base-class images first, then episodes."""

    batch_size: Annotated[int, Field(ge=2, le=MOST)] = 128
    meta: MetaStage = MetaStage()


class Budget(Model):
    """Limit of the wall-clock time that one trial trains; measuring does not count."""

    seconds: Positive


class Resources(Model):
    """What one trial reserves. ``gpu: auto`` is one GPU if the cluster has any, else none."""

    cpu: Count = 1
    gpu: Literal["auto"] | NotNegative = "auto"


class CrossValidation(Model):
    """Class folds. Each has a trial that does not train on its classes and is measured on them.

    ``over`` says which classes are dealt into folds, ``by`` whether one by one or by superclass.
    """

    folds: Annotated[int, Field(ge=2, le=100)]
    over: Literal["base", "base+val"] = "base"
    by: Literal["class", "superclass"] = "class"
    seed: Seed = 0


class Fold(CrossValidation):
    """One fold of a cross-validation, counted from 0, as recorded in a trial's specification."""

    index: Annotated[int, Field(ge=0)]

    @model_validator(mode="after")
    def _one_of_the_folds(self) -> "Fold":
        if self.index >= self.folds:
            raise ValueError(f"fold {self.index} of {self.folds}: folds are counted from 0")
        return self


class Selectors(Model):
    """The strategies to compare: every snapshot selector with every hyperparameter selector.

    ``metric`` is what methods are compared by: ``novel``, or ``mixture(w)`` of BaseGen, with
    the weight w, and NovelGen. ``show`` says which pairs a report shows unless others are
    asked for: all, or the ``few`` that papers report, where a file names no selector.
    """

    snapshot: SelectorNames = Field(default=["last", "train_loss", "base", "val", "oracle"])
    hyperparameter: SelectorNames = Field(default=["base", "val", "oracle"])
    # As with ``clip_norm``, the default stays out of digests.
    metric: Annotated[str, AfterValidator(measure_name)] = Field(
        default="novel", exclude_if=lambda metric: metric == "novel"
    )
    show: Literal["all", "few"] = Field(default="all", exclude_if=lambda show: show == "all")

    @model_validator(mode="before")
    @classmethod
    def _all(cls, written: Any) -> Any:
        return {"show": "all"} if written == "all" else written


class TrialSpec(Model):
    """The training of one trial, fully resolved: equal specifications give equal weights.

    How snapshots are measured is not part of it (`Protocol`).

    Attributes:
        optimizer: None for a submission (whose backbone is ``identity`` and whose schedule is
            empty) and where nothing is trained.
        schedule: (first epoch, learning rate) pairs, ascending, beginning at epoch 0.
        batches: gradient steps per epoch; 0 where nothing is trained.
        train: None where nothing is trained: the learner is measured as it is built, in one epoch.
        epochs: how far it is trained: not what it is, unless its training counts from the end.
        every: each epoch of this multiple gives a snapshot, and so does the last.
        validation: the shape of the episodes that a submission may validate itself on as it
            trains; None for every other learner.
        fold: the class fold that is left out of training; None trains on all base classes.
        epochs_in_id: whether it has the id that it had while every id depended on ``epochs``.
    """

    benchmark: Named
    learner: Named
    backbone: Named
    optimizer: Optimizer | None
    schedule: list[tuple[int, float]]
    epochs: Epochs
    batches: Annotated[int, Field(ge=0, le=MOST)]
    augment: str
    precision: Literal["fp32", "bf16"]
    train: EpisodicTraining | BatchTraining | StagedTraining | None
    every: Count = 1
    validation: Episode | None = Field(default=None, exclude_if=lambda shape: shape is None)
    budget: Budget | None
    seed: Seed
    fold: Fold | None = None
    epochs_in_id: bool = Field(default=False, exclude=True)

    def canonical(self) -> dict[str, Any]:
        """Return plain data with every default filled in."""
        return self.model_dump(mode="json")

    @property
    def id(self) -> str:
        """Return the trial id, 16 hexadecimal digits."""
        plain = self.canonical()
        return digest(plain if self.epochs_in_id else identity(plain))

    @property
    def recorded_epochs(self) -> list[int]:
        """Return epochs that give a snapshot, counted from 1: each ``every``-th and the last."""
        return [e for e in range(1, self.epochs + 1) if e % self.every == 0 or e == self.epochs]

    @property
    def episodic(self) -> EpisodicTraining | None:
        """Return the training episode; None if no epoch trains on episodes."""
        train = self.train.meta if isinstance(self.train, StagedTraining) else self.train
        return train if isinstance(train, EpisodicTraining) else None

    def stage(self, epoch: int) -> EpisodicTraining | BatchTraining:
        """Return what an epoch, from 1, trains on. Raises ValueError if nothing is trained."""
        if self.train is None:
            raise ValueError(f"trial {self.id} trains nothing")
        if not isinstance(self.train, StagedTraining):
            return self.train
        episodes = epoch > self.epochs - self.train.meta.epochs
        return self.train.meta if episodes else BatchTraining(batch_size=self.train.batch_size)


def of_one_shape(train: EpisodicTraining) -> bool:
    """Return whether all classes of all training tasks have equally many examples."""
    return train.query_counts == "equal" and isinstance(episode_shape(train), EpisodeShape)


def of_classes_only(train: EpisodicTraining) -> str | None:
    """Return the setting of a training episode that only suits tasks of class tuples, or None."""
    if train.fixed_support:
        return "fixed_support"
    return None if train.query_counts == "equal" else f"query_counts: {train.query_counts}"


def identity(canonical: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a trial is, of its plain data: all but how far it is trained.

    Stages count from the end, and so are another training with other ``epochs``. A cosine needs no
    exception: its schedule holds a rate for each epoch.
    """
    staged = canonical["train"] is not None and "meta" in canonical["train"]
    return {key: value for key, value in canonical.items() if staged or key != "epochs"}


def ids_of(canonical: Mapping[str, Any]) -> Iterator[str]:
    """Yield a trial's id, of its plain data, then the id that former versions gave it."""
    yield digest(identity(canonical))
    yield digest(canonical)


def configuration_of(canonical: Mapping[str, Any]) -> str:
    """Return the id of the hyperparameter configuration of a trial's plain data."""
    return next(configurations_of(canonical))


def configurations_of(canonical: Mapping[str, Any]) -> Iterator[str]:
    """Yield as ``ids_of`` the ids of the hyperparameter configuration."""
    return ids_of({k: v for k, v in canonical.items() if k not in ("seed", "fold")})
