"""Any folder, zip or tar of images by class: ``[SUPERCLASS/]CLASS/image``."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import final

from pydantic import Field

from fsl_sweep.datasets.benchmark import Benchmark
from fsl_sweep.datasets.files.archives import open_tree
from fsl_sweep.datasets.files.class_tree import read_class_tree
from fsl_sweep.datasets.files.decoding import Colour, read_image
from fsl_sweep.datasets.pool import ImagePool
from fsl_sweep.datasets.source import AbstractBenchmark, Progress, append_images
from fsl_sweep.datasets.splits.drawn import SplitOptions, split_benchmark
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

    pooled = frozenset({"image_size", "colour"})

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
            load = partial(read_image, tree, colour=options.colour)
            parts = [(label, entry.members, load) for label, entry in enumerate(classes)]
            append_images(pool, parts, options.image_size, progress)
            superclasses = [entry.superclass for entry in classes]
            known = [name for name in superclasses if name is not None]
            pool.describe([entry.name for entry in classes], known or None)

    def assemble(self, options: ImageFolderOptions, pools: Mapping[str, ImagePool]) -> Benchmark:
        """Classes by the given lists, or drawn."""
        return split_benchmark(self.name, pools["main"], options)
