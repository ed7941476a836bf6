"""Which classes are base, val and novel, and which base examples are held out."""

import json
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from fsl_sweep.datasets.benchmark import MEASURED, Benchmark
from fsl_sweep.datasets.files.plain_file import check_plain
from fsl_sweep.datasets.pool import ImagePool
from fsl_sweep.datasets.randomness import named_generator
from fsl_sweep.datasets.source import Options
from fsl_sweep.datasets.tasks.classes import ClassTasks
from fsl_sweep.orchestrator.errors import BadData, MissingData, did_you_mean
from fsl_sweep.orchestrator.text.printed import counted


def read_facts(name: str) -> Mapping[str, Any]:
    """Read a published table that comes with this package; each names its ``source``."""
    return json.loads(files("fsl_sweep.datasets").joinpath(name).read_text("utf-8"))


def marks(splits: Sequence[str]) -> dict[str, Any]:
    """Make attributes of a pool's classes: which of base, val and novel each is in."""
    attributes = np.array(splits)[:, None] == np.array(MEASURED)
    return {"attributes": attributes, "attribute_names": MEASURED}


def marked(pool: ImagePool) -> dict[str, np.ndarray]:
    """Return the class labels of each split of a pool that has `marks`."""
    columns = zip(MEASURED, np.asarray(pool.attributes).T, strict=True)
    return {split: np.flatnonzero(column) for split, column in columns}


def held_out_split(
    pool: ImagePool, classes: np.ndarray, held_out: float, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Split each class's examples by seed into training and held-out ones (-Mod).

    Of the n examples of a class ``max(1, round(held_out * n))`` are held out, and at least one is
    left to train on. Which ones depends only on the seed, the class's name and its examples, so
    that a class is split in the same way in every fold and benchmark. Classes of a family are split
    alike: an original is held out with all of its turns, or with none.

    Returns:
        Training and held-out pool indices, int64, each sorted.

    Raises:
        BadData: a class has fewer than 2 examples.
    """
    order = np.argsort(pool.labels, kind="stable")
    bounds = np.searchsorted(pool.labels[order], np.stack([classes, np.asarray(classes) + 1]))
    train, held = [], []
    for label, start, stop in zip(classes, *bounds, strict=True):
        name, count = pool.class_names[label], int(stop - start)
        if count < 2:
            raise BadData(
                f"Class '{name}' has {counted(count, 'example')}; 2 are needed to hold one out of "
                "training."
            )
        rng = named_generator(seed, "held-out", pool.origins[label])
        shuffled = rng.permutation(order[start:stop])
        size = min(max(1, round(held_out * count)), count - 1)
        held.append(shuffled[:size])
        train.append(shuffled[size:])
    return np.sort(np.concatenate(train)), np.sort(np.concatenate(held))


def class_benchmark(
    name: str,
    pool: ImagePool,
    partition: Mapping[str, np.ndarray],
    held_out: float,
    seed: int,
    cautions: tuple[str, ...] = (),
) -> Benchmark:
    """Make a benchmark of class tasks over one pool.

    ``partition`` has the class labels of ``base``, ``val`` and ``novel``; ``held_out`` and ``seed``
    are those of ``held_out_split``, ``cautions`` those of `Benchmark`.

    Raises:
        BadData: a class is listed twice, a split has fewer than 2 classes, or a base class has
            fewer than 2 examples.
    """
    for split, classes in partition.items():
        if len(classes) < 2:
            count = counted(len(classes), "class", "classes")
            raise BadData(f"The {split} split of '{name}' has {count}; it needs at least 2.")
    together = np.concatenate([partition[split] for split in MEASURED])
    labels, uses = np.unique(together, return_counts=True)
    if np.any(uses > 1):
        twice = pool.class_names[labels[np.argmax(uses)]]
        raise BadData(f"Class '{twice}' is listed twice in base, val and novel.")
    train, held = held_out_split(pool, partition["base"], held_out, seed)
    return Benchmark.of(
        name,
        train=ClassTasks(pool, partition["base"], train),
        base=ClassTasks(pool, partition["base"], held),
        val=ClassTasks(pool, partition["val"]),
        novel=ClassTasks(pool, partition["novel"]),
        cautions=cautions,
    )


def draw_partition(
    groups: Sequence[str], fractions: tuple[float, float, float], seed: int
) -> dict[str, np.ndarray]:
    """Draw classes into base, val and novel, whole groups at a time.

    ``groups`` has the group of each class: its superclass, or its own name for a draw by class.
    ``fractions`` are the shares of the groups, with a sum of at most 1. The draw does not depend on
    the order of the classes.

    Returns:
        Class labels of each split, int64, sorted. Every split gets at least one group; shares are
        rounded to the nearest number of groups (halves to the even one), and if they sum to 1 base
        gets what val and novel leave.

    Raises:
        BadData: fewer than three groups, or too few for the fractions.
    """
    names = sorted(set(groups))
    named_generator(seed, "partition").shuffle(names)
    base, val, novel = (max(1, round(share * len(names))) for share in fractions)
    if abs(sum(fractions) - 1) < 1e-9:
        base = len(names) - val - novel
    if base < 1 or base + val + novel > len(names):
        many = f"{counted(len(names), 'group')} of classes"
        advice = "Draw by class instead of by superclass"
        if len(names) == len(groups):  # each class is a group of its own
            many, advice = counted(len(names), "class", "classes"), "Add classes, change the shares"
        raise BadData(
            f"{many} cannot be drawn into base, val and novel, each at least one, with the shares "
            f"{fractions}. {advice}, or give the split as lists."
        )
    parts = np.split(names[: base + val + novel], [base, base + val])
    return {s: np.flatnonzero(np.isin(groups, p)) for s, p in zip(MEASURED, parts, strict=True)}


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
    published: Mapping[str, np.ndarray] | None = None,
) -> Benchmark:
    """Make a benchmark of class tasks with the split that the options ask for.

    ``published`` has the class labels of each split that came with the data; it is used unless the
    options name a file of lists. Without either, a split is drawn.

    Raises:
        MissingData: there is no such file of lists.
        BadData: the lists cannot be used, or there are too few classes or no superclasses to draw.
    """
    if options.split_file is not None:
        split = _listed(options.split_file.expanduser(), pool.class_names)
    elif published is not None:
        split = published
    else:
        groups = pool.class_names if options.by == "class" else pool.superclasses
        if groups is None:
            raise BadData(
                "The classes have no superclasses to split by: an image tree is CLASS/image, or "
                "features have no array 'superclasses'. Use `by: class`, put class folders into "
                "superclass folders, or add the array."
            )
        split = draw_partition(groups, (options.base, options.val, options.novel), options.seed)
    unused, cautions = len(pool.class_names) - sum(map(len, split.values())), ()
    if options.split_file is not None and unused > 0:
        count = f"{unused} of the {counted(len(pool.class_names), 'class', 'classes')} of the data"
        cautions = (f"{count} {'is' if unused == 1 else 'are'} in no split of its split_file",)
    return class_benchmark(name, pool, split, options.held_out, options.seed, cautions)


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
    check_plain(path)
    try:
        return _Lists.model_validate_json(path.read_bytes())
    except OSError as failure:
        raise MissingData(f"The split file {path} cannot be read: {failure.strerror}.") from failure
    except ValidationError as failure:
        raise BadData(
            f"The split file {path} must be a JSON object with the keys base, val and novel, "
            f"each a list of class names ({failure.errors()[0]['msg']})."
        ) from failure
