"""UT Zappos50K: 50,025 shoes with attributes, as two benchmarks.

Yu and Grauman, "Fine-Grained Visual Comparisons with Local Learning" (CVPR 2014). Tasks as in "Two
Sides of Meta-Learning Evaluation: In vs. Out of Distribution", section 4 and appendix D.1.
"""

from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import ClassVar, Literal, final

import numpy as np
from pydantic import Field

from fsl_sweep.datasets.benchmark import Benchmark
from fsl_sweep.datasets.benchmarks.zappos.files import DOWNLOAD, open_zappos, published_sets
from fsl_sweep.datasets.pool import ImagePool
from fsl_sweep.datasets.source import BATCH, AbstractBenchmark, Progress
from fsl_sweep.datasets.splits.attributes import (
    AttributeOptions,
    attribute_benchmark,
    attribute_sets,
    pair_remarks,
)
from fsl_sweep.datasets.store.writing import StoreWriter


class ZapposOptions(AttributeOptions):
    """Options of ``zappos-id`` and ``zappos-ood``."""

    image_size: int = Field(84, ge=8, le=136, description="side of the images in pixels")
    partition: Literal["published", "spectral"] = Field(
        "published", description="A and A' of the paper's Table 3, or a new cut of these images"
    )


class AbstractZappos(AbstractBenchmark[ZapposOptions]):
    """The official zips, or the folders that they extract to; see ``files.py``.

    A class of the pool is a combination of attributes; shoes with the same ones are of one class.

    Attributes:
        apart: whether novel tasks are pairs from A', which no training task has; else from A.
    """

    apart: ClassVar[bool]

    Options = ZapposOptions
    version = 2
    download = DOWNLOAD

    pooled = frozenset({"image_size"})

    def signature(self, options: ZapposOptions, root: Path | None) -> str:
        """Of the table and the images."""
        with ExitStack() as stack:
            return open_zappos(self.given(root), stack).signature()

    def prepare(
        self, options: ZapposOptions, root: Path | None, writer: StoreWriter, progress: Progress
    ) -> None:
        """Shoes on white squares, scaled with antialiasing, in the order of their names."""
        with ExitStack() as stack:
            files = open_zappos(self.given(root), stack)
            table = files.read_shoes()
            rows, kind = np.unique(table.carried, axis=0, return_inverse=True)
            kind = kind.reshape(-1)
            pool = writer.pool((3, options.image_size, options.image_size))
            for start in range(0, len(table.shoes), BATCH):
                names = table.shoes[start : start + BATCH]
                images = files.pixels(names, options.image_size)
                pool.append(images, kind[start : start + BATCH])
                progress(start + len(names), len(table.shoes))
            kinds = [f"combination-{number:05d}" for number in range(len(rows))]
            pool.describe(kinds, attributes=rows, attribute_names=table.names)

    def assemble(self, options: ZapposOptions, pools: Mapping[str, ImagePool]) -> Benchmark:
        """Training, base and val tasks are pairs from A, novel ones from A or A'."""
        pool = pools["main"]
        names = pool.attribute_names or ()
        if options.partition == "spectral":
            known, other = attribute_sets(pool, np.arange(len(names)), options.min_images)
        else:
            known, other = (np.array([*map(names.index, group)]) for group in published_sets())
        return attribute_benchmark(self.name, pool, known, other if self.apart else known, options)

    def expected(self, options: ZapposOptions) -> Mapping[str, int]:
        """The published numbers of attributes."""
        if options.partition != "published":
            return {}
        return {"val": 36, "novel": 30 if self.apart else 36}

    def remarks(self, benchmark: Benchmark) -> tuple[str, ...]:
        """How many pairs are new to a learner."""
        return pair_remarks(benchmark)


@final
class ZapposId(AbstractZappos):
    """In distribution: training and novel tasks are drawn in the same way."""

    name = "zappos-id"
    apart = False


@final
class ZapposOod(AbstractZappos):
    """Out of distribution: A and A' share no attribute, and few images."""

    name = "zappos-ood"
    apart = True
