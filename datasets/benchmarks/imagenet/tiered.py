"""tieredImageNet: 608 classes of ImageNet whose superclasses are in one split each.

"Meta-Learning for Semi-Supervised Few-Shot Classification" (Ren et al., 2018): 351 base classes in
20 superclasses, 97 validation classes in 6 and 160 novel ones in 8, 779,165 images.
"""

from collections.abc import Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, final

from pydantic import Field

from fsl_sweep.datasets.benchmark import Benchmark
from fsl_sweep.datasets.benchmarks.imagenet.classes import describe, partition, tiered_classes
from fsl_sweep.datasets.benchmarks.imagenet.folders import ClassImages, open_classes
from fsl_sweep.datasets.benchmarks.imagenet.tiered_pickles import NAMES, Pickles, find_pickles
from fsl_sweep.datasets.files.digests import canonical_digest
from fsl_sweep.datasets.pool import ImagePool
from fsl_sweep.datasets.source import AbstractBenchmark, Options, Progress, append_batches
from fsl_sweep.datasets.splits.drawn import class_benchmark
from fsl_sweep.datasets.store.writing import StoreWriter
from fsl_sweep.orchestrator.errors import MissingData


class TieredImagenetOptions(Options):
    """Options of ``tiered-imagenet``."""

    image_size: int = Field(84, ge=8, le=224, description="side of the images in pixels")
    held_out: float = Field(0.2, gt=0, lt=1, description="share of base examples for BaseGen")
    seed: int = Field(0, ge=0, description="of the held-out examples")


@final
class TieredImagenet(AbstractBenchmark[TieredImagenetOptions]):
    """The pickled PNG lists, or ImageNet folders."""

    name = "tiered-imagenet"
    Options = TieredImagenetOptions
    version = 1
    download = (
        f"tiered-imagenet.tar, extracted ({NAMES}), from the address in the README of "
        "https://github.com/renmengye/few-shot-ssl-public, or ImageNet (ILSVRC 2012, training "
        "images) from https://image-net.org/download"
    )

    def pool_options(self, options: TieredImagenetOptions) -> dict[str, Any]:
        """The images' size."""
        return {"image_size": options.image_size}

    def signature(self, options: TieredImagenetOptions, root: Path | None) -> str:  # noqa: ARG002 (an interface)
        """Of the pickled files, or of the images of the 608 classes."""
        with ExitStack() as stack:
            source = _open(self.given(root), stack)
            if isinstance(source, Pickles):
                return source.signature()
            return canonical_digest({name: c.signature() for name, c in source.items()})

    def prepare(
        self,
        options: TieredImagenetOptions,
        root: Path | None,
        writer: StoreWriter,
        progress: Progress,
    ) -> None:
        """Split by split and image by image as the pickles have them, or class by class."""
        with ExitStack() as stack:
            source = _open(self.given(root), stack)
            pool = writer.pool((3, options.image_size, options.image_size))
            if isinstance(source, Pickles):
                source.write(pool, options.image_size, progress)
                return
            describe(pool, tiered_classes())
            parts = [
                (label, images.members, partial(images.pixels, side=options.image_size))
                for label, images in enumerate(source.values())
            ]
            append_batches(pool, parts, progress)

    def assemble(self, options: TieredImagenetOptions, pools: Mapping[str, ImagePool]) -> Benchmark:
        """Classes by the published lists, or by the files that they came in."""
        pool = pools["main"]
        return class_benchmark(self.name, pool, partition(pool), options.held_out, options.seed)

    def expected(self, options: TieredImagenetOptions) -> Mapping[str, int]:  # noqa: ARG002 (an interface)
        """The published counts."""
        return {"base": 351, "val": 97, "novel": 160}


def _open(start: Path, stack: ExitStack) -> Pickles | dict[str, ClassImages]:
    places = [start, start / "tiered-imagenet", start / "tieredImageNet"]
    for place in places:
        pickles = find_pickles(place)
        if pickles is not None:
            return pickles
    for place in places:
        if place.exists():
            classes = open_classes(place, [c.name for c in tiered_classes()], stack)
            if classes is not None:
                return classes
    raise MissingData(
        f"tieredImageNet is not in {start}: neither {NAMES} nor class folders such as n01530575 "
        f"(directly, or under train). Get {TieredImagenet.download}."
    )
