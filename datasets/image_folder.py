"""Any folder or zip of images by class: ``[SUPERCLASS/]CLASS/image``."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, final

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, model_validator

from fsl_sweep.datasets.archives import open_tree
from fsl_sweep.datasets.benchmark import Benchmark
from fsl_sweep.datasets.class_tree import read_class_tree
from fsl_sweep.datasets.decoding import Colour, decode, squared
from fsl_sweep.datasets.pool import ImagePool
from fsl_sweep.datasets.source import AbstractBenchmark, Progress
from fsl_sweep.datasets.splits import class_benchmark, draw_partition
from fsl_sweep.datasets.store_writer import StoreWriter
from fsl_sweep.orchestrator.errors import BadData, MissingData, did_you_mean

_SPLITS = ("base", "val", "novel")
_BATCH = 256


class ImageFolderOptions(BaseModel):
    """Options of ``image-folder``."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    image_size: int = Field(84, ge=8, le=1024, description="side of the images in pixels")
    colour: Colour = Field("rgb", description="rgb (three channels) or grey (one)")
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
    def _shares(self) -> "ImageFolderOptions":
        if self.base + self.val + self.novel > 1 + 1e-9:
            raise ValueError("the shares of base, val and novel sum to more than 1")
        return self


@final
class ImageFolder(AbstractBenchmark[ImageFolderOptions]):
    """Classes are folders; splits are given as lists, or drawn by class or by superclass."""

    name = "image-folder"
    Options = ImageFolderOptions
    version = 1
    download = "a folder, or a zip of one, with an image folder for each class"

    def pool_options(self, options: ImageFolderOptions) -> dict[str, Any]:
        """The images' size and colours."""
        return {"image_size": options.image_size, "colour": options.colour}

    def signature(self, options: ImageFolderOptions, root: Path | None) -> str:  # noqa: ARG002 (an interface)
        """Of the tree."""
        with open_tree(_given(root)) as tree:
            return tree.signature()

    def prepare(
        self,
        options: ImageFolderOptions,
        root: Path | None,
        writer: StoreWriter,
        progress: Progress,
    ) -> None:
        """Centre squares, scaled with antialiasing, class by class."""
        with open_tree(_given(root)) as tree:
            classes = read_class_tree(tree)
            channels = 3 if options.colour == "rgb" else 1
            pool = writer.pool((channels, options.image_size, options.image_size))
            total, done = sum(len(entry.members) for entry in classes), 0
            for label, entry in enumerate(classes):
                for start in range(0, len(entry.members), _BATCH):
                    images = [
                        squared(
                            decode(
                                tree.read(member), f"{tree.where}/{member.path}", options.colour
                            ),
                            options.image_size,
                        )
                        for member in entry.members[start : start + _BATCH]
                    ]
                    pool.append(np.stack(images), label)
                    done += len(images)
                    progress(done, total)
            superclasses = [entry.superclass for entry in classes]
            known = [name for name in superclasses if name is not None]
            pool.describe([entry.name for entry in classes], known or None)

    def assemble(self, options: ImageFolderOptions, pools: Mapping[str, ImagePool]) -> Benchmark:
        """Classes by the given lists, or drawn."""
        pool = pools["main"]
        if options.split_file is not None:
            split = _listed(options.split_file.expanduser(), pool.class_names)
        else:
            groups = pool.class_names
            if options.by == "superclass":
                if pool.superclasses is None:
                    raise BadData(
                        "The images have no superclasses to split by: the tree is CLASS/image. "
                        "Use `by: class`, or put class folders into superclass folders."
                    )
                groups = pool.superclasses
            shares = (options.base, options.val, options.novel)
            split = draw_partition(groups, shares, options.seed)
        return class_benchmark(self.name, pool, split, options.held_out, options.seed)

    def expected(self, options: ImageFolderOptions) -> Mapping[str, int]:  # noqa: ARG002 (an interface)
        """Any counts are right."""
        return {}


def _given(root: Path | None) -> Path:
    if root is None:
        raise MissingData("image-folder is prepared from a folder or zip: set benchmark.root.")
    return root.expanduser()


def _listed(path: Path, class_names: tuple[str, ...]) -> dict[str, np.ndarray]:
    label = {name: number for number, name in enumerate(class_names)}
    split: dict[str, np.ndarray] = {}
    for key, names in _read_lists(path).items():
        for name in names:
            if name not in label:
                raise BadData(
                    f"{path}: '{key}' lists a class '{name}', which the images do not have; "
                    f"{did_you_mean(name, label)}"
                )
        if len(set(names)) != len(names):
            raise BadData(f"{path}: '{key}' lists a class twice.")
        split[key] = np.array(sorted(label[name] for name in names), dtype=np.int64)
    return split


def _read_lists(path: Path) -> dict[str, list[str]]:
    try:
        lists = json.loads(path.read_text("utf-8"))
    except FileNotFoundError as failure:
        raise MissingData(f"There is no split file {path}.") from failure
    except (OSError, ValueError) as failure:
        raise BadData(f"The split file {path} cannot be read ({failure}).") from failure
    if (
        not isinstance(lists, dict)
        or set(lists) != set(_SPLITS)
        or not all(isinstance(names, list) for names in lists.values())
        or not all(isinstance(name, str) for names in lists.values() for name in names)
    ):
        raise BadData(
            f"The split file {path} must be a JSON object with the keys base, val and novel, "
            "each a list of class names."
        )
    return lists
