"""What ``fsl-sweep data`` does: list, check, prepare and download benchmarks."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fsl_sweep.datasets.benchmark import SPLITS, SplitCounts, SplitName
from fsl_sweep.datasets.catalogue import BENCHMARKS
from fsl_sweep.datasets.files.download import fetch
from fsl_sweep.datasets.files.local_path import check_local
from fsl_sweep.datasets.preparing.copies import copy_remarks
from fsl_sweep.datasets.preparing.opening import (
    find_store,
    prepare_store,
    prepared_stores,
    resolve,
    silent,
)
from fsl_sweep.datasets.source import Progress
from fsl_sweep.datasets.store.reading import Store, datasets_folder, open_store
from fsl_sweep.orchestrator.errors import BadData, FslSweepError, MissingData, PluginError


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
        damaged: why a prepared store cannot be used, for each one that cannot.
        problem: why a plug-in does not load, or None.
    """

    name: str
    description: str
    paper: str
    embedded: bool
    download: str
    stores: tuple[Store, ...]
    damaged: tuple[str, ...] = ()
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

    store: Store
    already: bool


def available(home: Path | None = None) -> list[Availability]:
    """Every benchmark of the catalogue, with what is prepared of it; sorted by name."""
    return [_availability(name, home) for name in BENCHMARKS.names()]


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
    missing: tuple[str, ...] = ()
    if source.official_images not in (None, store.images):
        official = source.official_images
        missing = (f"{store.images:,} images in all, where the official data set has {official:,}",)
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
            *missing,
            *benchmark.cautions,
            *source.remarks(benchmark),
            *copy_remarks(benchmark),
        ),
    )


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
        return Prepared(found, already=True)
    store = prepare_store(benchmark, chosen, source, home, progress or silent)
    return Prepared(store, already=False)


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


def _availability(name: str, home: Path | None) -> Availability:
    stores: list[Store] = []
    damaged: list[str] = []
    for path in prepared_stores(name, home):
        try:
            store = open_store(path)
            store.pools()  # says whether the arrays can be read
            stores.append(store)
        except FslSweepError as failure:
            damaged.append(str(failure))
    here = tuple(stores), tuple(damaged)
    try:
        info = BENCHMARKS.find(name)
    except PluginError as failure:
        return Availability(name, "", "", False, "", *here, str(failure))
    download = info.cls.download or ""
    return Availability(name, info.description, info.paper, not download, download, *here)
