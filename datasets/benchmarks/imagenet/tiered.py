"""tieredImageNet: 608 classes of ImageNet whose superclasses are in one split each.

"Meta-Learning for Semi-Supervised Few-Shot Classification" (Ren et al., 2018): 351 base classes in
20 superclasses, 97 validation classes in 6 and 160 novel ones in 8, 779,165 images.
"""

from collections.abc import Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import final

from fsl_sweep.datasets.benchmark import Benchmark
from fsl_sweep.datasets.benchmarks.imagenet.classes import (
    ImagenetOptions,
    describe,
    partition,
    tiered_classes,
)
from fsl_sweep.datasets.benchmarks.imagenet.folders import Source, open_source, source_signature
from fsl_sweep.datasets.benchmarks.imagenet.tiered_pickles import NAMES, find_pickles, write_pickles
from fsl_sweep.datasets.files.digests import canonical_digest
from fsl_sweep.datasets.pool import ImagePool
from fsl_sweep.datasets.source import AbstractBenchmark, Progress, append_batches
from fsl_sweep.datasets.splits.drawn import class_benchmark
from fsl_sweep.datasets.store.writing import StoreWriter
from fsl_sweep.orchestrator.errors import MissingData


@final
class TieredImagenet(AbstractBenchmark[ImagenetOptions]):
    """The pickled PNG lists, or ImageNet folders."""

    name = "tiered-imagenet"
    Options = ImagenetOptions
    version = 1
    download = (
        f"tiered-imagenet.tar, extracted ({NAMES}), from the address in the README of "
        "https://github.com/renmengye/few-shot-ssl-public, or ImageNet (ILSVRC 2012, training "
        "images) from https://image-net.org/download"
    )

    pooled = frozenset({"image_size"})

    def signature(self, options: ImagenetOptions, root: Path | None) -> str:  # noqa: ARG002 (an interface)
        """Of the pickled files, or of the images of the 608 classes."""
        with ExitStack() as stack:
            return canonical_digest(source_signature(_open(self.given(root), stack)))

    def prepare(
        self,
        options: ImagenetOptions,
        root: Path | None,
        writer: StoreWriter,
        progress: Progress,
    ) -> None:
        """Split by split and image by image as the pickles have them, or class by class."""
        with ExitStack() as stack:
            source = _open(self.given(root), stack)
            pool = writer.pool((3, options.image_size, options.image_size))
            if isinstance(source, list):
                write_pickles(source, pool, options.image_size, progress)
                return
            describe(pool, tiered_classes())
            parts = [
                (label, images.members, partial(images.pixels, side=options.image_size))
                for label, images in enumerate(source.values())
            ]
            append_batches(pool, parts, progress)

    def assemble(self, options: ImagenetOptions, pools: Mapping[str, ImagePool]) -> Benchmark:
        """Classes by the published lists, or by the files that they came in."""
        pool = pools["main"]
        return class_benchmark(self.name, pool, partition(pool), options.held_out, options.seed)

    def expected(self, options: ImagenetOptions) -> Mapping[str, int]:  # noqa: ARG002 (an interface)
        """The published counts."""
        return {"base": 351, "val": 97, "novel": 160}


def _open(start: Path, stack: ExitStack) -> Source:
    wanted = [c.name for c in tiered_classes()]
    folders = ("tiered-imagenet", "tieredImageNet")
    if source := open_source(start, folders, find_pickles, wanted, stack):
        return source
    raise MissingData(
        f"tieredImageNet is not in {start}: neither {NAMES} nor class folders such as n01530575 "
        f"(directly, or under train). Get {TieredImagenet.download}."
    )
