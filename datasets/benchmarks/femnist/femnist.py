"""FEMNIST: handwritten characters, grouped by the person who wrote them.

"LEAF: A Benchmark for Federated Settings" (Caldas et al., arXiv 1812.01097), as "Two Sides of
Meta-Learning Evaluation: In vs. Out of Distribution", section 4, makes tasks of it.
"""

import string
from collections.abc import Mapping
from pathlib import Path
from typing import final

import numpy as np
from pydantic import Field

from fsl_sweep.datasets.benchmark import Benchmark
from fsl_sweep.datasets.benchmarks.femnist.leaf_json import SIDE, open_leaf, read_users
from fsl_sweep.datasets.files.digests import canonical_digest
from fsl_sweep.datasets.pool import ImagePool
from fsl_sweep.datasets.source import AbstractBenchmark, Options, Progress
from fsl_sweep.datasets.splits.writers import BaseTasks, writer_benchmark
from fsl_sweep.datasets.store.writing import StoreWriter
from fsl_sweep.orchestrator.errors import BadData

_CHARACTERS = {
    "digits": string.digits,
    "capitals": string.ascii_uppercase,
    "small letters": string.ascii_lowercase,
}


class FemnistOptions(Options):
    """Options of ``femnist``."""

    base: BaseTasks = Field(
        "held-out",
        description="what BaseGen is measured on: examples that are not trained on, or "
        "other draws of those that are",
    )
    held_out: float = Field(
        0.2,
        gt=0,
        lt=1,
        description="share of each training writer's examples of a character for BaseGen",
    )
    seed: int = Field(0, ge=0, description="of the writers' split, held-out examples and supports")


@final
class Femnist(AbstractBenchmark[FemnistOptions]):
    """LEAF's JSON files; tasks are writers. Paper stays white (255) and ink black, as in LEAF."""

    name = "femnist"
    Options = FemnistOptions
    version = 1
    download = (
        "FEMNIST's JSON files: run `./preprocess.sh -s niid --sf 1.0 -k 0` in data/femnist of "
        "https://github.com/TalwalkarLab/leaf, and take its folder data/all_data"
    )

    def signature(self, options: FemnistOptions, root: Path | None) -> str:  # noqa: ARG002 (an interface)
        """Of the JSON files."""
        with open_leaf(self.given(root)) as (_, members):
            return canonical_digest([[m.path, m.size, m.crc] for m in members])

    def prepare(
        self,
        options: FemnistOptions,  # noqa: ARG002 (an interface)
        root: Path | None,
        writer: StoreWriter,
        progress: Progress,
    ) -> None:
        """Writer by writer, numbered in the order of the files."""
        pool = writer.pool((1, SIDE, SIDE))
        numbers: dict[str, int] = {}
        done = 0
        with open_leaf(self.given(root)) as (tree, members):
            for user, images, labels in read_users(tree, members):
                number = numbers.setdefault(user, len(numbers))
                pool.append(images, labels, np.full(len(labels), number))
                done += len(labels)
                progress(done, None)
            if not done:
                raise BadData(f"{tree.where} holds no images.")
        pool.describe(
            [character for kind in _CHARACTERS.values() for character in kind],
            superclasses=[name for name, kind in _CHARACTERS.items() for _ in kind],
        )

    def assemble(self, options: FemnistOptions, pools: Mapping[str, ImagePool]) -> Benchmark:
        """Writers drawn into training, validation and novel ones."""
        return writer_benchmark(
            self.name, pools["main"], options.held_out, options.seed, options.base
        )
