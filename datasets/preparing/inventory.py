"""What ``fsl-sweep data`` does: list, check, prepare and download benchmarks."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fsl_sweep.datasets.benchmark import MEASURED, SPLITS, Benchmark
from fsl_sweep.datasets.catalogue import BENCHMARKS
from fsl_sweep.datasets.files.download import fetch
from fsl_sweep.datasets.files.local_path import check_local
from fsl_sweep.datasets.preparing.opening import (
    find_store,
    prepare_command,
    prepare_store,
    prepared_stores,
    resolve,
    silent,
)
from fsl_sweep.datasets.source import Progress
from fsl_sweep.datasets.splits.attributes import pair_remarks
from fsl_sweep.datasets.store.reading import Store, datasets_folder, open_store
from fsl_sweep.orchestrator.errors import BadData, FslSweepError, MissingData, PluginError


@dataclass(frozen=True)
class Availability:
    """One benchmark of the catalogue.

    Attributes:
        embedded: whether it needs no files.
        stores: what is prepared on this machine.
        damaged: for each store that cannot be used, why.
        problem: why a plug-in does not load, or None.
    """

    name: str
    description: str
    embedded: bool
    stores: tuple[Store, ...]
    damaged: tuple[str, ...] = ()
    problem: str | None = None


@dataclass(frozen=True)
class Checked:
    """The result of checking a benchmark.

    Attributes:
        store: what was read.
        expected: classes that the official splits have; empty where any number is right.
        problems: full sentences; empty when all is well.
        remarks: what else a user should know of its tasks.
    """

    store: Store
    benchmark: Benchmark
    expected: Mapping[str, int]
    problems: tuple[str, ...]
    remarks: tuple[str, ...]


def available(home: Path | None = None) -> list[Availability]:
    """List every benchmark of the catalogue, with what is prepared of it, by name."""
    return [_availability(name, home) for name in BENCHMARKS.names()]


def check(
    name: str,
    options: Mapping[str, Any] | None = None,
    root: Path | None = None,
    home: Path | None = None,
) -> Checked:
    """Read every byte of a prepared benchmark, and count its splits.

    Nothing is prepared, except an embedded benchmark. Raises as `open_benchmark`: MissingData where
    it has not been prepared, BadData where a checksum is wrong.
    """
    source, chosen = resolve(name, options or {})
    with BENCHMARKS.named_faults(name):
        store = find_store(source, chosen, root, home)
        if store is None and source.download is None:
            store = prepare_store(source, chosen, None, home, silent)
        if store is None:
            raise MissingData(
                f"'{name}' has not been prepared from {root} with these options; run "
                f"`{prepare_command(source, chosen, root or 'PATH')}`."
            )
        store.verify()
        benchmark = source.assemble(chosen, store.pools())
        expected = source.expected(chosen)
    remarks = [*benchmark.cautions, *pair_remarks(benchmark), *_copies(benchmark)]
    official = source.official_images
    if official not in (None, store.images):
        remarks.insert(0, f"{store.images:,} images; the official data set has {official:,}")
    splits = {split: benchmark.distribution(split) for split in SPLITS if split in expected}
    problems = [
        f"The {split} split has {tasks.size} {tasks.unit}; {expected[split]} are expected."
        for split, tasks in splits.items()
        if tasks.size != expected[split]
    ]
    return Checked(store, benchmark, expected, tuple(problems), tuple(remarks))


def prepare(
    name: str,
    source: Path | None,
    options: Mapping[str, Any] | None = None,
    home: Path | None = None,
    progress: Progress = silent,
) -> tuple[Store, bool]:
    """Prepare a benchmark from its official files, unless that is done already.

    A damaged store of the same source is replaced. Options of the split make no difference.
    ``progress`` is called with the images done and their total. Raises as `open_benchmark`.

    Returns:
        The store, and whether it was there already.
    """
    benchmark, chosen = resolve(name, options or {})
    with BENCHMARKS.named_faults(name):
        try:
            store = find_store(benchmark, chosen, source, home)
        except BadData:
            store = None  # preparing reports a damaged source, and replaces a damaged store
        return store or prepare_store(benchmark, chosen, source, home, progress), store is not None


def download(
    name: str,
    folder: Path | None = None,
    home: Path | None = None,
    progress: Progress = silent,
) -> tuple[Path, list[tuple[Path, bool]]]:
    """Fetch a benchmark's official files, with their checksums; nothing is prepared.

    They go into ``downloads/NAME`` beside the prepared data sets, unless a folder is given.
    ``progress`` is called with the bytes of a file done and their total.

    Returns:
        The folder, and each file with whether it was there already; none for an embedded benchmark.

    Raises:
        As `fetch`; UnknownName where no benchmark has that name.
    """
    source = BENCHMARKS.find(name).cls()
    place = (folder or datasets_folder(home).parent / "downloads" / name).expanduser()
    if source.download is None:
        return place, []
    if not source.files:
        raise MissingData(
            f"fsl-sweep cannot download '{name}'. Get {source.download}, then run "
            f"`fsl-sweep data prepare {name} --from PATH`."
        )
    check_local(place)
    try:
        return place, [fetch(file, place, progress) for file in source.files]
    except MissingData as failure:
        raise MissingData(
            f"{failure} On a machine with a network get {source.download}; put them into {place} "
            f"and run `{prepare_command(source, source.Options(), place)}`."
        ) from failure


def _copies(benchmark: Benchmark) -> Iterator[str]:
    """Say for each measured split how many images are exact copies of training images.

    Every image is read. Splits that are meant to share images with training are left out.
    """
    if not benchmark.fresh_base:
        return
    trained = set(benchmark.train.image_digests())
    for split in MEASURED:
        measured = benchmark.distribution(split)
        if count := sum(digest in trained for digest in measured.image_digests()):
            yield (
                f"{split}: {count} of {len(measured.examples)} images are exact copies of training "
                "images; accuracies count them"
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
        return Availability(name, "", False, *here, str(failure))
    return Availability(name, info.description, info.cls.download is None, *here)
