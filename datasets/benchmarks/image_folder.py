"""Any folder, zip or tar of images by class: ``[SUPERCLASS/]CLASS/image``."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, final

import numpy as np
from pydantic import Field

from fsl_sweep.datasets.benchmark import Benchmark
from fsl_sweep.datasets.files.archives import open_tree, tree_signature
from fsl_sweep.datasets.files.class_tree import read_class_tree
from fsl_sweep.datasets.files.decoding import Colour, decode, squared
from fsl_sweep.datasets.files.file_tree import FileTree, Member
from fsl_sweep.datasets.pool import ImagePool
from fsl_sweep.datasets.source import AbstractBenchmark, Progress, append_batches
from fsl_sweep.datasets.splits.options import SplitOptions, split_benchmark
from fsl_sweep.datasets.store.writing import StoreWriter


class ImageFolderOptions(SplitOptions):
    """Options of ``image-folder``."""

    image_size: int = Field(84, ge=8, le=1024, description="side of the images in pixels")
    colour: Colour = Field("rgb", description="rgb (three channels) or grey (one)")


@final
class ImageFolder(AbstractBenchmark[ImageFolderOptions]):
    """Classes are folders; splits are given as lists, or drawn by class or by superclass."""

    name = "image-folder"
    Options = ImageFolderOptions
    version = 1
    download = "a folder, or a zip or tar of one, with an image folder for each class"

    def pool_options(self, options: ImageFolderOptions) -> dict[str, Any]:
        """The images' size and colours."""
        return {"image_size": options.image_size, "colour": options.colour}

    def signature(self, options: ImageFolderOptions, root: Path | None) -> str:  # noqa: ARG002 (an interface)
        """Of the tree."""
        return tree_signature(self.given(root))

    def prepare(
        self,
        options: ImageFolderOptions,
        root: Path | None,
        writer: StoreWriter,
        progress: Progress,
    ) -> None:
        """Centre squares, scaled with antialiasing, class by class."""
        with open_tree(self.given(root)) as tree:
            classes = read_class_tree(tree)
            channels = 3 if options.colour == "rgb" else 1
            pool = writer.pool((channels, options.image_size, options.image_size))
            pixels = partial(_pixels, tree, options)
            parts = [(label, entry.members, pixels) for label, entry in enumerate(classes)]
            append_batches(pool, parts, progress)
            superclasses = [entry.superclass for entry in classes]
            known = [name for name in superclasses if name is not None]
            pool.describe([entry.name for entry in classes], known or None)

    def assemble(self, options: ImageFolderOptions, pools: Mapping[str, ImagePool]) -> Benchmark:
        """Classes by the given lists, or drawn."""
        return split_benchmark(self.name, pools["main"], options)


def _pixels(tree: FileTree, options: ImageFolderOptions, members: Sequence[Member]) -> np.ndarray:
    """Images ``[len(members), C, side, side]``."""
    return np.stack(
        [
            squared(
                decode(tree.read(member), f"{tree.where}/{member.path}", options.colour),
                options.image_size,
            )
            for member in members
        ]
    )
