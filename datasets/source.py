"""What a benchmark must implement; one file a benchmark, and one line in the catalogue."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
from PIL import Image
from pydantic import BaseModel, ConfigDict

from fsl_sweep.datasets.benchmark import Benchmark
from fsl_sweep.datasets.files.archives import tree_signature
from fsl_sweep.datasets.files.decoding import squared
from fsl_sweep.datasets.files.download import RemoteFile
from fsl_sweep.datasets.pool import ImagePool
from fsl_sweep.datasets.store.writing import PoolWriter, StoreWriter
from fsl_sweep.orchestrator.errors import MissingData

OptionsT = TypeVar("OptionsT", bound=BaseModel)

Progress = Callable[[int, int | None], None]
"""Called with the number of images done, and their total if it is known."""

BATCH = 128
"""Images that are decoded and written together."""

Part = tuple[int | np.ndarray, Sequence[Any], Callable[[Any], Image.Image]]
"""Images: their label, or one for each; what they are made of; what makes an image of that."""


class Options(BaseModel):
    """Options of a benchmark; a misspelt one is refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class AbstractBenchmark(ABC, Generic[OptionsT]):
    """Reads a benchmark's official files into pools, and makes a benchmark of the pools.

    Pools are prepared once for each value of the *pool options* and source; everything else
    (the class split, the held-out examples) is an index array that is computed at opening.
    An instance holds no state; it is constructed without arguments.

    Attributes:
        name: as in the catalogue.
        Options: a frozen pydantic model that forbids unknown keys and describes each option.
        version: raised whenever ``prepare`` would write something else for the same source.
        download: where to get the official files, for messages; None for an embedded
            benchmark, which needs no source.
        in_distribution: whether val and novel are further examples of the base classes.
        files: official files that may be downloaded, together all that ``prepare`` needs; empty
            if the licence or the owner does not allow that.
        official_images: how many images the whole official data set has; None if that varies.
        holds_features: whether its pools hold features of a frozen extractor, not images.
        pooled: names of the options that determine the prepared pools.
    """

    name: ClassVar[str]
    Options: ClassVar[type[BaseModel]]
    version: ClassVar[int]
    download: ClassVar[str | None]
    in_distribution: ClassVar[bool] = False
    files: ClassVar[tuple[RemoteFile, ...]] = ()
    official_images: ClassVar[int | None] = None
    holds_features: ClassVar[bool] = False
    pooled: ClassVar[frozenset[str]] = frozenset()

    def pool_options(self, options: OptionsT) -> dict[str, Any]:
        """Return the options that determine the prepared pools, as JSON values."""
        return options.model_dump(mode="json", include=set(self.pooled))

    def signature(self, options: OptionsT, root: Path | None) -> str:  # noqa: ARG002 (an interface)
        """Digest the source's relative names and sizes, and CRCs or dates of change; hex.

        All files under ``root``, the source folder or archive, count if a benchmark does not
        narrow them down.

        Raises:
            MissingData: the source is not under ``root``; the message names what is missing.
            BadData: the source is damaged or hostile.
        """
        return tree_signature(self.source_path(root))

    @abstractmethod
    def prepare(
        self, options: OptionsT, root: Path | None, writer: StoreWriter, progress: Progress
    ) -> None:
        """Stream every image of the source into the writer's pools, in bounded memory.

        The same images in the same order each time, with a call of ``progress`` every few hundred.

        Raises:
            MissingData: as ``signature``.
            BadData: the source is damaged, hostile or incomplete; the message names the file.
        """

    @abstractmethod
    def assemble(self, options: OptionsT, pools: Mapping[str, ImagePool]) -> Benchmark:
        """Make a benchmark of prepared pools. Raises BadData if they are too few for the split."""

    def expected(self, options: OptionsT) -> Mapping[str, int]:  # noqa: ARG002 (an interface)
        """Return how many classes the official base, val and novel have; those left out vary."""
        return {}

    def unit(self, options: OptionsT) -> str:  # noqa: ARG002 (an interface)
        """Return what its tasks are made of, as ``TaskDistribution.unit``, without reading data."""
        return "classes"

    def source_path(self, root: Path | None) -> Path:
        """Return the source's path. Raises MissingData if ``root`` is None."""
        if root is None:
            raise MissingData(f"{self.name} is prepared from its files: set benchmark.root.")
        return root.expanduser()


def append_images(
    pool: PoolWriter,
    parts: Iterable[Part],
    side: int,
    progress: Progress,
    total: int | None = None,
) -> None:
    """Append centre squares of images, scaled with antialiasing, in bounded memory.

    ``total`` is the number of images, where ``parts`` can be gone through only once.
    """
    if total is None:
        parts = [*parts]
        total = sum(len(items) for _, items, _ in parts)
    done = 0
    for label, items, load in parts:
        labels = np.broadcast_to(label, len(items))
        for start in range(0, len(items), BATCH):
            batch = slice(start, start + BATCH)
            images = np.stack([squared(load(item), side) for item in items[batch]])
            pool.append(images, labels[batch])
            done += len(images)
            progress(done, total)
