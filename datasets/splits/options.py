"""A class split that the user gives as lists, or has drawn by class or by superclass."""

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from fsl_sweep.datasets.benchmark import Benchmark
from fsl_sweep.datasets.pool import ImagePool
from fsl_sweep.datasets.source import Options
from fsl_sweep.datasets.splits.drawn import class_benchmark, draw_partition
from fsl_sweep.orchestrator.errors import BadData, MissingData, did_you_mean


class SplitOptions(Options):
    """Options of a benchmark without official class splits."""

    split_file: Path | None = Field(
        None, description='a JSON file {"base": [class, ...], "val": [...], "novel": [...]}'
    )
    by: Literal["class", "superclass"] = Field("class", description="what a drawn split draws")
    base: float = Field(0.64, gt=0, lt=1, description="share of base classes in a drawn split")
    val: float = Field(0.16, gt=0, lt=1, description="share of validation classes")
    novel: float = Field(0.20, gt=0, lt=1, description="share of novel classes")
    held_out: float = Field(0.2, gt=0, lt=1, description="share of base examples for BaseGen")
    seed: int = Field(0, ge=0, description="of the class split and of the held-out examples")

    @model_validator(mode="after")
    def _shares(self) -> "SplitOptions":
        if self.base + self.val + self.novel > 1 + 1e-9:
            raise ValueError("the shares of base, val and novel sum to more than 1")
        return self


def split_benchmark(
    name: str,
    pool: ImagePool,
    options: SplitOptions,
    given: Mapping[str, np.ndarray] | None = None,
) -> Benchmark:
    """A benchmark of class tasks with the split that the options ask for.

    ``given`` has the class labels of each split that came with the data; it is used unless the
    options name a file of lists. Without either, a split is drawn.

    Raises:
        MissingData: there is no such file of lists.
        BadData: the lists cannot be used, or there are too few classes or no superclasses to draw.
    """
    if options.split_file is not None:
        split = _listed(options.split_file.expanduser(), pool.class_names)
    elif given is not None:
        split = given
    else:
        groups = pool.class_names if options.by == "class" else pool.superclasses
        if groups is None:
            raise BadData(
                "The classes have no superclasses to split by: an image tree is CLASS/image, or "
                "features have no array 'superclasses'. Use `by: class`, put class folders into "
                "superclass folders, or add the array."
            )
        split = draw_partition(groups, (options.base, options.val, options.novel), options.seed)
    return class_benchmark(name, pool, split, options.held_out, options.seed)


def _listed(path: Path, class_names: tuple[str, ...]) -> dict[str, np.ndarray]:
    label = {name: number for number, name in enumerate(class_names)}
    split: dict[str, np.ndarray] = {}
    for key, names in _read_lists(path):
        for name in names:
            if name not in label:
                raise BadData(
                    f"{path}: '{key}' lists a class '{name}', which the data do not have; "
                    f"{did_you_mean(name, label)}"
                )
        split[key] = np.array(sorted(label[name] for name in names), dtype=np.int64)
    return split


class _Lists(BaseModel):
    """A file of lists."""

    model_config = ConfigDict(extra="forbid", strict=True)

    base: list[str]
    val: list[str]
    novel: list[str]


def _read_lists(path: Path) -> _Lists:
    try:
        return _Lists.model_validate_json(path.read_bytes())
    except FileNotFoundError as failure:
        raise MissingData(f"There is no split file {path}.") from failure
    except OSError as failure:
        raise BadData(f"The split file {path} cannot be read ({failure}).") from failure
    except ValidationError as failure:
        raise BadData(
            f"The split file {path} must be a JSON object with the keys base, val and novel, "
            f"each a list of class names ({failure.errors()[0]['msg']})."
        ) from failure
