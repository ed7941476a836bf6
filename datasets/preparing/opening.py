"""From a benchmark's name and options to task distributions; pools are prepared where needed."""

import fcntl
import json
import shlex
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel

from fsl_sweep.datasets.benchmark import Benchmark
from fsl_sweep.datasets.catalogue import BENCHMARKS
from fsl_sweep.datasets.files.local_path import check_local
from fsl_sweep.datasets.files.plain_file import check_plain
from fsl_sweep.datasets.source import AbstractBenchmark, Progress
from fsl_sweep.datasets.store.reading import SHEET, Store, datasets_folder, open_store, store_path
from fsl_sweep.datasets.store.writing import reporting, writing_store
from fsl_sweep.orchestrator.errors import BadData, ConfigError, MissingData


def open_benchmark(
    name: str, options: Mapping[str, Any], root: Path | None, home: Path | None = None
) -> Benchmark:
    """Open the benchmark called ``name``.

    Args:
        name: as in the catalogue.
        options: as in the sweep file's ``benchmark`` section, without ``name`` and ``root``.
        root: the official files, which are prepared if necessary; None uses what is prepared.
        home: where prepared data is kept; by default ``$FSL_SWEEP_HOME``, else
            ``~/.cache/fsl-sweep``.

    Raises:
        pydantic.ValidationError: an option is unknown or its value is not allowed.
        UnknownName: no benchmark has that name.
        MissingData: its files are not on this machine; says how to get them.
        BadData: its files or its prepared store are damaged, hostile or too few.
        RunFolderError: the prepared store cannot be written.
        ConfigError: several prepared stores fit.
        PluginError: it is a plug-in, which raised another error.
    """
    source, chosen = resolve(name, options)
    with BENCHMARKS.named_faults(name):
        store = find_store(source, chosen, root, home)
        store = store or prepare_store(source, chosen, root, home, silent)
        return source.assemble(chosen, store.pools())


def resolve(name: str, options: Mapping[str, Any]) -> tuple[AbstractBenchmark[Any], BaseModel]:
    """Return a benchmark's source and checked options. Raises UnknownName, ValidationError."""
    source = BENCHMARKS.find(name).cls()
    return source, source.Options.model_validate(dict(options))


def find_store(
    source: AbstractBenchmark[Any], options: BaseModel, root: Path | None, home: Path | None
) -> Store | None:
    """Find the prepared store for these options and source; None if it is still to be prepared.

    Raises:
        MissingData: no source is given and nothing is prepared.
        ConfigError: no source is given and stores of different sources fit.
        BadData: the store or the source is damaged.
    """
    if root is not None or source.download is None:
        path = store_path(home, _head(source, options, root))
        return open_store(path) if (path / SHEET).exists() else None
    fitting = _fitting_stores(source, options, home)
    if len(fitting) > 1:
        listed = "; ".join(f"{store.path} from {store.origin}" for store in fitting.values())
        problem = (
            f"'{source.name}' has been prepared from several sources with different content "
            f"({listed}); set benchmark.root to the one you mean"
        )
        raise ConfigError("", "benchmark.root", problem)
    if not fitting:
        raise _missing(source, options, home)
    return next(iter(fitting.values()))


def prepare_store(
    source: AbstractBenchmark[Any],
    options: BaseModel,
    root: Path | None,
    home: Path | None,
    progress: Progress,
) -> Store:
    """Prepare the store for these options and source, unless another process just has.

    Concurrent callers wait for the first one. A damaged store is replaced. Raises as
    `open_benchmark`.
    """
    head = _head(source, options, root)
    path = store_path(home, head)
    with _locked(path):
        try:
            return open_store(path)
        except (MissingData, BadData):
            shutil.rmtree(path, ignore_errors=True)  # a damaged store
        with writing_store(path, head) as writer:
            source.prepare(options, root, writer, progress)
        return open_store(path)


def prepared_stores(name: str, home: Path | None) -> list[Path]:
    """List the folders that hold prepared stores of a benchmark, whole or damaged, sorted."""
    folders = datasets_folder(home).glob(f"{name}-*")
    return sorted(p for p in folders if p.name.rpartition("-")[0] == name and p.is_dir())


def _fitting_stores(
    source: AbstractBenchmark[Any], options: BaseModel, home: Path | None
) -> dict[str, Store]:
    """Find stores by fingerprint: a zip and the folder that it extracts to are the same."""
    wanted = source.pool_options(options)
    fitting: dict[str, Store] = {}
    damage: BadData | None = None
    for path in prepared_stores(source.name, home):
        try:
            store = open_store(path)
            if (store.sheet["options"], store.sheet["version"]) == (wanted, source.version):
                fitting[store.fingerprint] = store
        except MissingData:
            continue
        except BadData as failure:
            damage = failure
    if damage is not None and not fitting:
        raise damage
    return fitting


def _head(source: AbstractBenchmark[Any], options: BaseModel, root: Path | None) -> dict[str, Any]:
    """Say what a store is prepared from, as its sheet does."""
    if root is not None:
        check_local(root)
        root = root.expanduser().absolute()
        if not root.exists():
            raise MissingData(f"There is nothing at {root}. {_advice(source, options)}")
        check_plain(root)
    return {
        "benchmark": source.name,
        "version": source.version,
        "options": source.pool_options(options),
        "source": {"path": str(root or ""), "signature": source.signature(options, root)},
    }


def _missing(source: AbstractBenchmark[Any], options: BaseModel, home: Path | None) -> MissingData:
    others = ", ".join(map(str, prepared_stores(source.name, home)))
    elsewhere = f" (it has been prepared with other options, in {others})" if others else ""
    wanted = ", ".join(f"{key}={value}" for key, value in source.pool_options(options).items())
    prepared = f"prepared with {wanted}" if wanted else "prepared for it"
    return MissingData(
        f"The files of benchmark '{source.name}' are not on this machine: benchmark.root is not "
        f"set, and {datasets_folder(home)} holds nothing {prepared}{elsewhere}. "
        f"{_advice(source, options)}"
    )


def _advice(source: AbstractBenchmark[Any], options: BaseModel) -> str:
    fetched = f" (`fsl-sweep data download {source.name}` fetches them)" if source.files else ""
    return (
        f"Get {source.download}{fetched}, then run `{prepare_command(source, options)}` or set "
        "benchmark.root to PATH."
    )


def prepare_command(
    source: AbstractBenchmark[Any], options: BaseModel, root: Path | str = "PATH"
) -> str:
    """Return the command that prepares what a benchmark with these options looks for."""
    words = ["fsl-sweep", "data", "prepare", source.name, "--from", str(root)]
    changed = options.model_dump(exclude_defaults=True)
    for key, value in source.pool_options(options).items():
        if key in changed:
            plain = isinstance(value, str) and yaml.safe_load(value) == value
            words += ["--set", f"{key}={value if plain else json.dumps(value)}"]
    return shlex.join(words)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    lock = path.with_name(f".{path.name}.lock")
    with reporting(path):
        lock.parent.mkdir(parents=True, exist_ok=True)
        file = lock.open("a")
    with file:
        fcntl.flock(file, fcntl.LOCK_EX)  # until the file is closed, or the process dies
        yield


def silent(done: int, total: int | None) -> None:
    """Show no progress."""
