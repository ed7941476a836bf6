"""``fsl-sweep data ...``: benchmarks, and whether they are prepared on this machine."""

import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fsl_sweep.orchestrator.text.printed import counted, on_disk, say

if TYPE_CHECKING:
    from fsl_sweep.datasets.benchmark import Benchmark

Name = Annotated[str, typer.Argument(help="A benchmark's name, as `fsl-sweep data list` shows.")]
Options = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="An option of the benchmark; repeatable."),
]


def list_benchmarks() -> int:
    """Show every benchmark and whether it is prepared, and how many features are kept."""
    from rich.table import Table

    from fsl_sweep.datasets.preparing.inventory import available
    from fsl_sweep.datasets.store.features import kept_bytes, limit
    from fsl_sweep.orchestrator.text.console import SafeConsole

    table = Table("benchmark", "on this machine", "description", box=None, pad_edge=False)
    for row in available():
        table.add_row(row.name, _whereabouts(row), row.problem or row.description)
    SafeConsole().print(table)
    say(
        f"features of frozen backbones: {on_disk(kept_bytes())}, at most {on_disk(limit())} "
        "(`fsl-sweep data clear` deletes them)"
    )
    return 0


def clear() -> int:
    """Delete the kept features of frozen backbones; they are computed again when needed."""
    from fsl_sweep.datasets.store import features
    from fsl_sweep.orchestrator.errors import folder_error

    try:
        freed = features.clear()
    except OSError as failure:
        folder = features.features_folder()
        problem = f"Cannot delete {folder}: {failure.strerror or failure}. Delete it yourself."
        raise folder_error(failure, problem) from failure
    say(f"deleted {on_disk(freed)} of features")
    return 0


def check(
    name: Name,
    root: Annotated[Path | None, typer.Option(help="Where the official files are.")] = None,
    options: Options = None,
) -> int:
    """Verify a prepared benchmark, and count its images."""
    from fsl_sweep.datasets.benchmark import SPLITS
    from fsl_sweep.datasets.preparing import inventory

    checked = _with_options(name, options, lambda chosen: inventory.check(name, chosen, root))
    benchmark = checked.benchmark
    say(f"{name}: {checked.store.path}")
    say(f"{_content(checked)}, fingerprint {benchmark.fingerprint}")
    for split in SPLITS:
        tasks = benchmark.distribution(split)
        expected = checked.expected.get(split)
        beside = f" (expected {expected})" if expected is not None else ""
        say(f"  {split:6} {tasks.size:5} {tasks.unit}{beside}, {len(tasks.examples):7,} images")
    for remark in checked.remarks:
        say(f"  {remark}")
    for problem in checked.problems:
        say(f"problem: {problem}")
    say("checksums: OK")
    return 1 if checked.problems else 0


def show(
    name: Annotated[str, typer.Argument(help="A benchmark, or a sweep file or a preset.")],
    root: Annotated[Path | None, typer.Option(help="Where the official files are.")] = None,
    options: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="An option, or a key of the sweep file."),
    ] = None,
    laptop: Annotated[bool, typer.Option("--laptop", help="Of the sweep's small variant.")] = False,
) -> int:
    """Show which classes are base, validation and novel ones."""
    from fsl_sweep.datasets.benchmark import MEASURED
    from fsl_sweep.datasets.catalogue import BENCHMARKS
    from fsl_sweep.datasets.preparing.opening import open_benchmark
    from fsl_sweep.orchestrator.sweepfile.text import presets

    preset = name in presets() and name not in BENCHMARKS.names()
    if preset or Path(name).is_file() or Path(name).suffix:
        places = [] if root is None else [f"benchmark.root={root}"]
        title, benchmark = _of_sweep(name, [*(options or []), *places], laptop)
    else:
        title = name
        benchmark = _with_options(name, options, lambda chosen: open_benchmark(name, chosen, root))
    say(f"{title}: fingerprint {benchmark.fingerprint}")
    for split in MEASURED:
        tasks = benchmark.distribution(split)
        say(f"{split}: {len(tasks.members)} {tasks.unit}")
        for member in tasks.members.values():
            say(f"  {member}")
    return 0


def _of_sweep(name: str, overrides: list[str], laptop: bool) -> "tuple[str, Benchmark]":
    """Open what a sweep trains on; return how the sweep is called, and the benchmark."""
    from fsl_sweep.orchestrator.planning.prepare import open_benchmarks
    from fsl_sweep.orchestrator.planning.variant import prepare_variant
    from fsl_sweep.orchestrator.records.protocol import MAIN

    plan = prepare_variant(name, None, overrides, laptop=laptop).plan
    return plan.title, open_benchmarks(plan, ())[MAIN]


def prepare(
    name: Name,
    source: Annotated[
        Path | None, typer.Option("--from", metavar="PATH", help="Its official files.")
    ] = None,
    options: Options = None,
) -> int:
    """Prepare a benchmark from its official files."""
    from fsl_sweep.datasets.preparing import inventory

    with _progress(f"preparing {name}") as advance:
        store, already = _with_options(
            name, options, lambda chosen: inventory.prepare(name, source, chosen, None, advance)
        )
    state = "already prepared" if already else "prepared"
    say(f"{name}: {state}, {_classes_and_images(store)}")
    if already and store.origin:
        say(f"from {store.origin}, where files have these names and sizes")
    say(f"{store.path} ({store.bytes / 2**20:.1f} MB)")
    return 0


def download(
    name: Name,
    folder: Annotated[
        Path | None,
        typer.Option("--to", metavar="FOLDER", help="Default: downloads/NAME in FSL_SWEEP_HOME."),
    ] = None,
) -> int:
    """Download a benchmark's official files, where its licence allows."""
    from fsl_sweep.datasets.preparing import inventory

    with _progress(f"downloading {name}") as advance:
        place, files = inventory.download(name, folder, None, advance)
    for path, already in files:
        say(f"{path}: {'already there' if already else 'downloaded'}, checksum right")
    if files:
        prepare = shlex.join(["fsl-sweep", "data", "prepare", name, "--from", str(place)])
        say(f"next: {prepare}")
    else:
        say(f"{name}: embedded, there is nothing to download")
    return 0


@contextmanager
def _progress(title: str) -> Iterator[Callable[[int, int | None], None]]:
    """Show a bar on a terminal, nothing elsewhere."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    from fsl_sweep.orchestrator.text.console import SafeConsole

    console = SafeConsole(stderr=True)
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn())
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        task = bar.add_task(title, total=None)

        def advance(done: int, total: int | None) -> None:
            bar.update(task, completed=done, total=total)

        yield advance


def _with_options(name: str, overrides: list[str] | None, action: Any) -> Any:
    """Call ``action`` with parsed options; errors in them read like those in a sweep file."""
    from pydantic import ValidationError

    from fsl_sweep.datasets.catalogue import BENCHMARKS
    from fsl_sweep.orchestrator.errors import ConfigError
    from fsl_sweep.orchestrator.sweepfile.messages import config_error
    from fsl_sweep.orchestrator.sweepfile.reading import assignments

    try:
        return action(assignments(overrides or []))
    except ValidationError as failure:
        wrong = config_error(failure, BENCHMARKS.find(name).cls.Options)
        raise ConfigError("--set", wrong.path, wrong.problem) from None


def _content(checked: Any) -> str:
    if checked.benchmark.train.pool.holds_features:
        return f"features: {checked.benchmark.image_shape[0]}"
    return f"images: {'x'.join(map(str, checked.benchmark.image_shape))}"


def _classes_and_images(store: Any) -> str:
    return f"{counted(store.classes, 'class', 'classes')}, {counted(store.images, 'image')}"


def _whereabouts(row: Any) -> str:
    if row.embedded:
        return "embedded"
    stores = "; ".join(map(_classes_and_images, row.stores))
    return stores or ("damaged: prepare it again" if row.damaged else "not prepared")
