"""Any folder, zip or tar of images by class: ``[SUPERCLASS/]CLASS/image``."""

import posixpath
from collections.abc import Mapping
from functools import partial
from pathlib import Path, PurePosixPath
from typing import final

from pydantic import Field

from fsl_sweep.datasets.benchmark import Benchmark
from fsl_sweep.datasets.files.archives import open_tree
from fsl_sweep.datasets.files.decoding import Colour, read_image
from fsl_sweep.datasets.files.file_tree import FileTree, Member
from fsl_sweep.datasets.pool import ImagePool
from fsl_sweep.datasets.source import AbstractBenchmark, Progress, append_images
from fsl_sweep.datasets.splits.drawn import SplitOptions, split_benchmark
from fsl_sweep.datasets.store.writing import StoreWriter
from fsl_sweep.orchestrator.errors import BadData
from fsl_sweep.orchestrator.text.printed import counted

_SUFFIXES = frozenset(
    {".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp", ".tif", ".tiff", ".ppm", ".pgm", ".pbm"}
)


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
        """Write centre squares, scaled with antialiasing, class by class."""
        with open_tree(self.source_path(root)) as tree:
            classes = read_class_tree(tree)
            channels = 3 if options.colour == "rgb" else 1
            pool = writer.pool((channels, options.image_size, options.image_size))
            superclasses, names = zip(*classes, strict=True)
            pool.describe(names, superclasses if any(superclasses) else None)
            load = partial(read_image, tree, colour=options.colour)
            parts = [(label, images, load) for label, images in enumerate(classes.values())]
            append_images(pool, parts, options.image_size, progress)

    def assemble(self, options: ImageFolderOptions, pools: Mapping[str, ImagePool]) -> Benchmark:
        """Split classes by lists, or draw."""
        return split_benchmark(self.name, pools["main"], options)


def read_class_tree(tree: FileTree) -> dict[tuple[str, str], list[Member]]:
    """List the images of each class, by superclass (empty without any) and name, sorted.

    A folder around everything, as many zips have, is ignored.

    Raises:
        BadData: files that are not images, images at different depths, or no classes at all; the
            message names them.
    """
    others = [m.path for m in tree.members if PurePosixPath(m.path).suffix.lower() not in _SUFFIXES]
    if others:
        more = f" (and {counted(len(others) - 1, 'more file')})" if len(others) > 1 else ""
        raise BadData(
            f"{tree.where / others[0]}{more} is not an image; remove it, or give the folder that "
            "holds only class folders."
        )
    if not tree.members:
        raise BadData(f"{tree.where} holds no images.")
    folders: dict[str, list[Member]] = {}
    for member in tree.members:
        folders.setdefault(member.path.rpartition("/")[0], []).append(member)
    if loose := folders.get(""):
        raise BadData(
            f"{tree.where} has {counted(len(loose), 'image')} outside class folders, such as "
            f"{loose[0].path}. Put the images of each class into a folder of their own, or give "
            "the folder that holds the class folders."
        )
    around = posixpath.commonpath([folder.rpartition("/")[0] for folder in folders])
    outer = len(PurePosixPath(around).parts)
    examples = {m[0].path.count("/") - outer: m[0].path for m in folders.values()}
    if len(examples) != 1 or not examples.keys() <= {1, 2}:
        raise BadData(
            f"{tree.where} must have images in CLASS/ folders, or all in SUPERCLASS/CLASS/ "
            f"folders, but it has {' and '.join(examples.values())}."
        )
    names = {folder: ["", *folder.split("/")[outer:]][-2:] for folder in folders}
    classes = {(above, name): folders[folder] for folder, (above, name) in names.items()}
    return dict(sorted(classes.items()))
