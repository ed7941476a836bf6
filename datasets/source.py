"""What a benchmark must implement; one file a benchmark, and one line in the catalogue."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

from pydantic import BaseModel

from fsl_sweep.datasets.benchmark import Benchmark
from fsl_sweep.datasets.download import RemoteFile
from fsl_sweep.datasets.pool import ImagePool
from fsl_sweep.datasets.store_writer import StoreWriter

OptionsT = TypeVar("OptionsT", bound=BaseModel)

Progress = Callable[[int, int | None], None]
"""Called with the images done, and their total where it is known."""


class AbstractBenchmark(ABC, Generic[OptionsT]):
    """Reads a benchmark's official files into pools, and makes a benchmark of the pools.

    Pools are prepared once for each value of the *pool options* and source; everything else
    (the class split, the held-out examples) is an index array that is computed at opening.
    An instance holds no state; it is constructed without arguments.

    Attributes:
        name: as in the catalogue.
        Options: a frozen pydantic model that forbids unknown keys and describes each option.
        version: raised whenever ``prepare`` would write something else for the same source.
        download: where the official files are, in words for a person; None for an embedded
            benchmark, which needs no source.
        in_distribution: whether val and novel are further examples of the base classes.
        files: official files that may be fetched, together all that ``prepare`` needs; empty where
            a licence or the owner wants people to get them for themselves.
        official_images: how many images the whole official data set has; None where that is open.
        holds_features: whether its pools hold features of a frozen extractor, not images.
    """

    name: ClassVar[str]
    Options: ClassVar[type[BaseModel]]
    version: ClassVar[int]
    download: ClassVar[str | None]
    in_distribution: ClassVar[bool] = False
    files: ClassVar[tuple[RemoteFile, ...]] = ()
    official_images: ClassVar[int | None] = None
    holds_features: ClassVar[bool] = False

    @abstractmethod
    def pool_options(self, options: OptionsT) -> dict[str, Any]:
        """The part of the options that determines the prepared pools, as JSON values."""

    @abstractmethod
    def signature(self, options: OptionsT, root: Path | None) -> str:
        """Hex digest of the source's relative names and sizes: quick, and free of dates.

        Args:
            options: as validated.
            root: the source folder or file; None for an embedded benchmark.

        Raises:
            MissingData: the source is not under ``root``; the message says what was looked for.
            BadData: the source is damaged or hostile.
        """

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
        """The benchmark over prepared pools.

        Raises:
            BadData: too few classes or examples for the split.
        """

    @abstractmethod
    def expected(self, options: OptionsT) -> Mapping[str, int]:
        """How many classes the official ``base``, ``val`` and ``novel`` have; empty if any may."""

    def remarks(self, benchmark: Benchmark) -> tuple[str, ...]:  # noqa: ARG002 (an interface)
        """What a person should know of the tasks beside counts; lines for ``data check``."""
        return ()
