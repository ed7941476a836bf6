"""``fsl-sweep measure``: kept snapshots of a run, under another protocol."""

import shlex
import sys
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fsl_sweep.orchestrator.cli.options import RunFolder
from fsl_sweep.orchestrator.cli.run import followed, say_unmeasured
from fsl_sweep.orchestrator.errors import ConfigError
from fsl_sweep.orchestrator.text.printed import counted, say

if TYPE_CHECKING:
    from fsl_sweep.orchestrator.planning.measure_request import MeasureRequest
    from fsl_sweep.orchestrator.sweep.execute import Executed

_FLAGS = {
    "preset": "--preset",
    "episode.way": "--way",
    "episode.shot": "--shot",
    "episode.query": "--query",
    "evaluation.report_tasks": "--tasks",
    "evaluation.selection_tasks": "--selection-tasks",
    "evaluation.seed": "--seed",
    "evaluation.base_query": "--base-query",
    "evaluation.replacement": "--without-replacement",
    "mixture": "--mixture",
    "classes": "--classes",
    "benchmark.name": "--benchmark",
    "benchmark.root": "--root",
    "benchmark": "--set",
    "snapshots": "--snapshots",
}
"""The option for each key path of a protocol; of two that fit, the first."""


def measure(
    run: RunFolder,
    name: Annotated[
        str | None, typer.Argument(help="A protocol of the run, or the name of a new one.")
    ] = None,
    preset: Annotated[
        str | None, typer.Option(metavar="oops", help="A paper's protocol; see docs/measuring.md.")
    ] = None,
    way: Annotated[str | None, typer.Option(metavar="N", help="Classes of a task.")] = None,
    shot: Annotated[int | None, typer.Option(metavar="K", help="Support of a class.")] = None,
    query: Annotated[str | None, typer.Option(metavar="Q", help="Queries of a class.")] = None,
    base_query: Annotated[
        int | None, typer.Option(metavar="Q", help="Queries of a class of BaseGen.")
    ] = None,
    tasks: Annotated[int | None, typer.Option(metavar="N", help="Report tasks.")] = None,
    selection_tasks: Annotated[
        int | None, typer.Option(metavar="N", help="Selection tasks.")
    ] = None,
    seed: Annotated[int | None, typer.Option(metavar="S", help="Seed of the tasks.")] = None,
    without_replacement: Annotated[
        bool, typer.Option("--without-replacement", help="No example in two tasks.")
    ] = False,
    mixture: Annotated[
        list[float] | None,
        typer.Option(metavar="W", help="Share of novel classes in a task; repeatable."),
    ] = None,
    classes: Annotated[
        str | None,
        typer.Option(metavar="FILE|NAME,NAME", help="Classes in place of the novel ones."),
    ] = None,
    benchmark: Annotated[
        str | None, typer.Option(metavar="NAME", help="Benchmark whose novel classes to take.")
    ] = None,
    root: Annotated[
        str | None,
        typer.Option(
            metavar="PATH", help="Where the files of that benchmark are, or of the run's."
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Option of --benchmark; repeatable."),
    ] = None,
    snapshots: Annotated[
        str | None, typer.Option(metavar="all|chosen|last", help="Which snapshots; default all.")
    ] = None,
    address: Annotated[
        str | None, typer.Option(help="Ray cluster to join; default: start one here.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what it would measure.")] = False,
    progress: Annotated[
        bool, typer.Option("--progress/--no-progress", help="Show progress.")
    ] = True,
) -> int:
    """Measure snapshots of a run under another protocol."""
    from fsl_sweep.orchestrator.planning.measure_request import SECTION, measure_request
    from fsl_sweep.orchestrator.sweep import execute

    episode = _given(way=_number(way), shot=shot, query=_number(query))
    replacement = False if without_replacement else None
    counts = {"report_tasks": tasks, "selection_tasks": selection_tasks, "base_query": base_query}
    written = _given(
        preset=preset,
        episode=episode,
        evaluation=_given(**counts, seed=seed, replacement=replacement),
        mixture=mixture,
        classes=_classes(classes),
        benchmark=_benchmark(benchmark, root, settings or []),
        snapshots=snapshots,
    )
    try:
        request = measure_request(run, name, written, None if benchmark else root)
    except ConfigError as error:
        raise ConfigError("", _option(error.path, SECTION), error.problem) from None
    if dry_run:
        from fsl_sweep.orchestrator.cli.planned import show_protocols

        return show_protocols(request)

    following, begun = partial(followed, request.ledger, progress), time.monotonic()
    done = execute.measure(request, address, following, lambda remark: say(remark, sys.stderr))
    return _summary(request, done, time.monotonic() - begun)


def _summary(request: "MeasureRequest", done: "Executed", seconds: float) -> int:
    """Say what was measured, and how to see it; return the exit code."""
    from fsl_sweep.orchestrator.report import wording

    names = [protocol.name for protocol in request.protocols]
    report = shlex.join(["fsl-sweep", "report", str(request.ledger.path), "--protocol", names[0]])
    others = f" (or {', '.join(names[1:])})" if names[1:] else ""
    did = "nothing was left to measure"
    if done.measured:
        did = f"measured {counted(done.measured, 'snapshot')} in {wording.duration(seconds)}"
    if done.unmeasured:
        say_unmeasured(done)
    say(f"{', '.join(names)}: {did}; to report: {report}{others}")
    return 1 if done.unmeasured or request.ledger.pending(request.plan) else 0


def _given(**written: Any) -> dict[str, Any]:
    """Leave out options that were not given."""
    return {key: value for key, value in written.items() if value not in (None, {}, [])}


def _number(text: str | None) -> int | str | None:
    """Read a count; words such as ``all`` stay."""
    return int(text) if text is not None and text.isdecimal() else text


def _classes(text: str | None) -> list[str] | str | None:
    if text is None or Path(text).is_file() or "," not in text:
        return text
    return [name.strip() for name in text.split(",") if name.strip()]


def _benchmark(
    name: str | None, root: str | None, settings: Sequence[str]
) -> dict[str, Any] | None:
    from fsl_sweep.orchestrator.sweepfile.reading import assignments

    if name is None:
        if settings:
            raise ConfigError("--set", settings[0], "it is an option of --benchmark; name that too")
        return None
    place = {} if root is None else {"root": root}
    return {**assignments(settings), **place, "name": name}


def _option(path: str, section: str) -> str:
    """Return name the option that a key path stands for."""
    inside = path.removeprefix(section).lstrip(".")
    fitting = (flag for key, flag in _FLAGS.items() if f"{inside}.".startswith(f"{key}."))
    return next(fitting, inside)
