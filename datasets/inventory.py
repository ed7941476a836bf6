"""What ``fsl-sweep data`` does: list, check, prepare and download benchmarks."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fsl_sweep.datasets.benchmark import SPLITS, SplitCounts, SplitName
from fsl_sweep.datasets.catalogue import BENCHMARKS
from fsl_sweep.datasets.copies import copy_remarks
from fsl_sweep.datasets.download import fetch
from fsl_sweep.datasets.opening import (
    find_store,
    prepare_store,
    prepared_stores,
    resolve,
    silent,
)
from fsl_sweep.datasets.source import AbstractBenchmark, Progress
from fsl_sweep.datasets.store import Store, datasets_folder, open_store
from fsl_sweep.orchestrator.errors import BadData, FslSweepError, MissingData, PluginError
from fsl_sweep.orchestrator.local_path import check_local


@dataclass(frozen=True)
class StoredPools:
    """A prepared store on this machine.

    Attributes:
        path: its folder.
        options: the pool options that it was prepared with.
        origin: where its source was; empty for an embedded benchmark.
        classes: how many classes it holds.
        images: how many images.
        bytes: size of its arrays.
        problem: why it cannot be used, or None; then the numbers are 0.
    """

    path: Path
    options: Mapping[str, Any]
    origin: str
    classes: int
    images: int
    bytes: int
    problem: str | None = None


@dataclass(frozen=True)
class Availability:
    """One benchmark of the catalogue.

    Attributes:
        name: as a sweep file names it.
        description: one line.
        paper: where it comes from; may be empty.
        embedded: whether it needs no files.
        download: where the official files are; empty where it is embedded.
        stores: what is prepared on this machine.
        problem: why a plug-in does not load, or None.
    """

    name: str
    description: str
    paper: str
    embedded: bool
    download: str
    stores: tuple[StoredPools, ...]
    problem: str | None = None


@dataclass(frozen=True)
class Checked:
    """The result of checking a benchmark.

    Attributes:
        name: the benchmark.
        path: the store that was read.
        fingerprint: the benchmark's.
        image_shape: channels, height, width.
        features: whether it holds features, as many as there are channels, and no images.
        counts: classes and images of each split.
        expected: classes that the official splits have; empty where any number is right.
        problems: full sentences; empty when all is well.
        remarks: what else a user should know of its tasks.
    """

    name: str
    path: Path
    fingerprint: str
    image_shape: tuple[int, int, int]
    features: bool
    counts: Mapping[SplitName, SplitCounts]
    expected: Mapping[str, int]
    problems: tuple[str, ...]
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Prepared:
    """The result of preparing a benchmark.

    Attributes:
        store: what is on this machine now.
        already: whether it was prepared before, so that nothing was done.
    """

    store: StoredPools
    already: bool


def available(home: Path | None = None) -> list[Availability]:
    """Every benchmark of the catalogue, with what is prepared of it; sorted by name."""
    stores: dict[str, list[StoredPools]] = {}
    for path in prepared_stores(home):
        stores.setdefault(path.name.rpartition("-")[0], []).append(_stored(path))
    return [_availability(name, tuple(stores.get(name, ()))) for name in BENCHMARKS.names()]


def check(
    name: str,
    options: Mapping[str, Any] | None = None,
    root: Path | None = None,
    home: Path | None = None,
) -> Checked:
    """Read every byte of a prepared benchmark, and count its splits.

    Nothing is prepared, except an embedded benchmark.

    Raises:
        pydantic.ValidationError: an option is unknown or its value is not allowed.
        UnknownName: no benchmark has that name.
        MissingData: it has not been prepared; says how.
        BadData: a checksum or the store is wrong, or it has too few classes or examples.
        ConfigError: several prepared stores fit.
    """
    source, chosen = resolve(name, options or {})
    store = find_store(source, chosen, root, home)
    if store is None and source.download is None:
        store = prepare_store(source, chosen, None, home, silent)
    if store is None:
        raise MissingData(
            f"'{name}' has not been prepared from {root} with these options; run "
            f"`fsl-sweep data prepare {name} --from {root}`."
        )
    store.verify()
    benchmark = source.assemble(chosen, store.pools())
    counts, expected = benchmark.counts, source.expected(chosen)
    return Checked(
        name=name,
        path=store.path,
        fingerprint=benchmark.fingerprint,
        image_shape=benchmark.image_shape,
        features=source.holds_features,
        counts=counts,
        expected=expected,
        problems=_unexpected(counts, expected),
        remarks=(
            *_images_missing(source, store),
            *benchmark.cautions,
            *source.remarks(benchmark),
            *copy_remarks(benchmark),
        ),
    )


def _images_missing(source: AbstractBenchmark[Any], store: Store) -> tuple[str, ...]:
    official = source.official_images
    if official is None or store.images == official:
        return ()
    return (f"{store.images:,} images in all, where the official data set has {official:,}",)


def prepare(
    name: str,
    source: Path | None,
    options: Mapping[str, Any] | None = None,
    home: Path | None = None,
    progress: Progress | None = None,
) -> Prepared:
    """Prepare a benchmark from its official files, unless that is done already.

    A damaged store of the same source is replaced.

    Args:
        name: the benchmark.
        source: the files; None for an embedded benchmark.
        options: as in a sweep file; those of the split make no difference.
        home: where prepared data is kept.
        progress: called with the images done and their total.

    Raises:
        pydantic.ValidationError: an option is unknown or its value is not allowed.
        UnknownName: no benchmark has that name.
        MissingData: the files are not there; says what was looked for.
        BadData: the files are damaged or hostile.
        RunFolderError: the store cannot be written.
    """
    benchmark, chosen = resolve(name, options or {})
    if source is None and benchmark.download is not None:
        raise MissingData(
            f"'{name}' is prepared from its files: `fsl-sweep data prepare {name} --from PATH`. "
            f"Get {benchmark.download}."
        )
    try:
        found = find_store(benchmark, chosen, source, home)
    except BadData:
        found = None  # preparing reports a damaged source, and replaces a damaged store
    if found is not None:
        return Prepared(_described(found), already=True)
    store = prepare_store(benchmark, chosen, source, home, progress or silent)
    return Prepared(_described(store), already=False)


@dataclass(frozen=True)
class Downloaded:
    """The result of downloading a benchmark's official files.

    Attributes:
        folder: where they are, for ``prepare``.
        files: each file, and whether it was there already.
    """

    folder: Path
    files: tuple[tuple[Path, bool], ...]


def download(
    name: str,
    folder: Path | None = None,
    home: Path | None = None,
    progress: Progress | None = None,
) -> Downloaded:
    """Fetch a benchmark's official files, with their checksums; nothing is prepared.

    Args:
        name: the benchmark.
        folder: where to; by default ``downloads/NAME`` beside the prepared data sets.
        home: where prepared data is kept.
        progress: called with the bytes of a file done and their total.

    Raises:
        UnknownName: no benchmark has that name.
        MissingData: they cannot be fetched; says where to get them.
        BadData: what came is truncated or not the official file.
        RunFolderError: the folder cannot be written.
    """
    source = BENCHMARKS.find(name).cls()
    if source.download is None:
        return Downloaded(folder or Path(), ())
    if not source.files:
        raise MissingData(
            f"fsl-sweep cannot download '{name}'. Get {source.download}, then run "
            f"`fsl-sweep data prepare {name} --from PATH`."
        )
    place = (folder or datasets_folder(home).parent / "downloads" / name).expanduser()
    check_local(place)
    try:
        files = tuple(fetch(file, place, progress or silent) for file in source.files)
    except MissingData as failure:
        raise MissingData(
            f"{failure} On a machine with a network get {source.download}; put them into {place} "
            f"and run `fsl-sweep data prepare {name} --from {place}`."
        ) from failure
    return Downloaded(place, files)


def _unexpected(
    counts: Mapping[SplitName, SplitCounts], expected: Mapping[str, int]
) -> tuple[str, ...]:
    return tuple(
        f"The {split} split has {counts[split].classes} {counts[split].unit}; "
        f"{expected[split]} are expected."
        for split in SPLITS
        if split in expected and counts[split].classes != expected[split]
    )


def _availability(name: str, stores: tuple[StoredPools, ...]) -> Availability:
    try:
        info = BENCHMARKS.find(name)
    except PluginError as failure:
        return Availability(name, "", "", False, "", stores, str(failure))
    download = info.cls.download
    embedded = download is None
    return Availability(name, info.description, info.paper, embedded, download or "", stores)


def _stored(path: Path) -> StoredPools:
    try:
        return _described(open_store(path))
    except FslSweepError as failure:
        return StoredPools(path, {}, "", 0, 0, 0, str(failure))


def _described(store: Store) -> StoredPools:
    return StoredPools(
        path=store.path,
        options=store.options,
        origin=store.origin,
        classes=store.classes,
        images=store.images,
        bytes=store.bytes,
    )
