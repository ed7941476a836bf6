"""The grammar of a sweep file: what may be written in it, before names and axes are resolved.

Names of learners, backbones, benchmarks and selectors are checked against their catalogues when
the sweep is planned. This module only knows shapes and ranges.
"""

import re
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    field_validator,
    model_validator,
)

from fsl_sweep.orchestrator.records.model import Count, Epochs, Model, Named, Seed
from fsl_sweep.orchestrator.records.plan import PROTOCOL_ID
from fsl_sweep.orchestrator.records.protocol import (
    MAIN,
    Episode,
    Evaluation,
    Kept,
    Recorded,
    Weight,
    Which,
)
from fsl_sweep.orchestrator.records.scheduler import Scheduler
from fsl_sweep.orchestrator.records.search import Search
from fsl_sweep.orchestrator.records.spec import (
    Budget,
    CrossValidation,
    Optimizer,
    Resources,
    Selectors,
)
from fsl_sweep.orchestrator.text.durations import seconds_of


def _seconds(written: Any) -> float:
    """Return the seconds of a duration. Raises ValueError."""
    return written if isinstance(written, float) else seconds_of(str(written))


def plain_name(name: str) -> str:
    """Check a name that a folder or a protocol is to have. Raises ValueError."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", name):
        raise ValueError(f"may hold only letters, digits, '.', '_' and '-', not {name!r}")
    return name


def protocol_name(name: str) -> str:
    """Check a name that a further protocol is to have. Raises ValueError."""
    if plain_name(name) == MAIN or PROTOCOL_ID.fullmatch(name):
        raise ValueError(f"a further protocol cannot be called {name!r}")
    return name


class MeasureConfig(Model):
    """A further protocol: what differs from the main one, and which snapshots it measures.

    Attributes:
        preset: a protocol of a paper; what is written beside it comes before it.
        episode, evaluation: the keys that differ from the sections of the same name.
        mixture: lambda of P_BN(lambda), or several: each is a protocol of its own. It is written
            ``lambda``, as a mixture weighs base classes where it is a selector or the metric, and
            novel ones here; ``mixture`` is its former name.
        classes: names of the classes for NovelGen, or the path of a text file with one per line.
        benchmark: another benchmark, whose novel classes NovelGen is measured on.
    """

    model_config = ConfigDict(populate_by_name=True)

    preset: Literal["oops"] | None = None
    episode: dict[str, Any] = Field(default={})
    evaluation: dict[str, Any] = Field(default={})
    mixture: Weight | list[Weight] | None = Field(default=None, alias="lambda")
    classes: Annotated[list[str], Field(min_length=1)] | str | None = None
    benchmark: Named | None = None
    snapshots: Which = "all"

    @model_validator(mode="before")
    @classmethod
    def _one_name(cls, written: Any) -> Any:
        if isinstance(written, dict) and {"lambda", "mixture"} <= {*written}:
            raise ValueError("'mixture' is the former name of 'lambda': leave it out")
        return written


class ClassFolds(CrossValidation):
    """Class folds of a sweep: those of all methods, or only of these ``methods``."""

    methods: Annotated[list[str], Field(min_length=1)] | None = Field(
        default=None, exclude_if=lambda methods: methods is None
    )


class SweepConfig(Model):
    """A sweep file. ``defaults`` and ``methods`` may hold axes, so they are plain mappings here.

    So is ``laptop``, which is validated once it is merged (see ``laptop.py``).
    """

    name: Annotated[str, AfterValidator(plain_name)]
    benchmark: Named
    episode: Episode = Episode()
    evaluation: Evaluation = Evaluation()
    defaults: dict[str, Any] = Field(default={})
    methods: dict[str, dict[str, Any]] = Field(min_length=1)
    seeds: list[Seed] = Field(default=[0], min_length=1)
    samples: Count | None = None
    seed: Seed = 0
    cross_validation: ClassFolds | None = None
    selectors: Selectors = Selectors()
    measure: dict[str, MeasureConfig] = Field(default={})
    keep: Kept = "all"
    record: Recorded = "counts"
    scheduler: Scheduler | None = None
    search: Search | None = Field(default=None, exclude_if=lambda search: search is None)
    resources: Resources = Resources()
    retries: Annotated[int, Field(ge=0, le=1000)] = 2
    stall: Annotated[float, BeforeValidator(_seconds)] | None = None
    budget: Budget | None = None
    laptop: dict[str, Any] | None = None

    @field_validator("measure")
    @classmethod
    def _plain_names(cls, measure: dict[str, MeasureConfig]) -> dict[str, MeasureConfig]:
        return {protocol_name(name): section for name, section in measure.items()}

    @model_validator(mode="after")
    def _no_repeats(self) -> "SweepConfig":
        if len(set(self.seeds)) != len(self.seeds):
            raise ValueError(f"seeds repeats a value: {self.seeds}")
        return self


class ProgramConfig(Model):
    """One hyperparameter configuration of a program, which has its own network and optimizer."""

    learner: Named
    epochs: Epochs = 60
    batches: Count = 1000
    augment: str = "none"
    train: dict[str, Any] = Field(default={})


class MethodConfig(ProgramConfig):
    """One hyperparameter configuration of a method.

    ``schedule`` has one of the forms of `fsl_sweep.orchestrator.planning.schedule`.
    """

    backbone: Named
    optimizer: Optimizer
    schedule: dict[Any, Any] = Field(default={})
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
    """One hyperparameter configuration of a method that has nothing to train.

    Settings that only training uses may come from the defaults; they are ignored.
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
