"""``fsl-sweep measure``: kept snapshots of a run, under another protocol."""

import shlex
import sys
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fsl_sweep.orchestrator.cli.options import (
    Address,
    RunFolder,
    ShowProgress,
    parameter,
    taking,
    written,
)
from fsl_sweep.orchestrator.cli.run import followed, say_unmeasured
from fsl_sweep.orchestrator.errors import ConfigError
from fsl_sweep.orchestrator.text.durations import duration
from fsl_sweep.orchestrator.text.printed import counted, say

if TYPE_CHECKING:
    from fsl_sweep.orchestrator.planning.measure_request import MeasureRequest
    from fsl_sweep.orchestrator.sweep.execute import Executed

_OPTIONS: dict[str, tuple[str, Any, str | None, str]] = {
    "preset": ("preset", str, "oops", "A paper's protocol; see docs/measuring.md."),
    "way": ("episode.way", str, "N", "Classes of a task."),
    "shot": ("episode.shot", int, "K", "Support of a class."),
    "query": ("episode.query", str, "Q", "Queries of a class."),
    "base_query": ("evaluation.base_query", int, "Q", "Queries of a class of BaseGen."),
    "tasks": ("evaluation.report_tasks", int, "N", "Report tasks."),
    "selection_tasks": ("evaluation.selection_tasks", int, "N", "Selection tasks."),
    "seed": ("evaluation.seed", int, "S", "Seed of the tasks."),
    "without_replacement": ("evaluation.replacement", bool, None, "No example in two tasks."),
    "mixture": ("lambda", list[float], "L", "Share of novel classes in a task; repeatable."),
    "classes": ("classes", str, "FILE|NAME,NAME", "Classes in place of the novel ones."),
    "benchmark": ("benchmark.name", str, "NAME", "Benchmark whose novel classes to take."),
    "root": ("benchmark.root", str, "PATH", "Where the files of that benchmark are, or the run's."),
    "set": ("benchmark", list[str], "KEY=VALUE", "Option of --benchmark; repeatable."),
    "snapshots": ("snapshots", str, "all|chosen|last", "Which snapshots; default all."),
}
"""For each option the key path of a protocol that it stands for, its type, metavar and help."""


def _flags(name: str) -> list[str]:
    """Return how an option is written, its former name last."""
    flag = f"--{name.replace('_', '-')}"
    return ["--lambda", flag] if name == "mixture" else [flag]


@taking(
    parameter(name, Annotated[kind | None, typer.Option(*_flags(name), metavar=metavar, help=text)])
    for name, (_, kind, metavar, text) in _OPTIONS.items()
)
def measure(
    run: RunFolder,
    name: Annotated[
        str | None, typer.Argument(help="A protocol of the run, or the name of a new one.")
    ] = None,
    address: Address = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what it would measure.")] = False,
    progress: ShowProgress = True,
    **options: Any,
) -> int:
    """Measure snapshots of a run under another protocol."""
    from fsl_sweep.orchestrator.planning.measure_request import SECTION, measure_request
    from fsl_sweep.orchestrator.sweep import execute

    options = written(options)
    root = None if "benchmark" in options else options.pop("root", None)
    section = _section(options)
    try:
        request = measure_request(run, name, section, root)
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
    names = [protocol.name for protocol in request.protocols]
    report = shlex.join(["fsl-sweep", "report", str(request.ledger.path), "--protocol", names[0]])
    others = f" (or {', '.join(names[1:])})" if names[1:] else ""
    did = "nothing was left to measure"
    if done.measured:
        did = f"measured {counted(done.measured, 'snapshot')} in {duration(seconds)}"
    if done.unmeasured:
        say_unmeasured(done)
    say(f"{', '.join(names)}: {did}; to report: {report}{others}")
    return 1 if done.unmeasured or request.ledger.pending(request.plan) else 0


def _section(options: dict[str, Any]) -> dict[str, Any]:
    """Return what the options stand for, as a section ``measure`` of a sweep file has it."""
    from fsl_sweep.orchestrator.sweepfile.reading import assignments

    settings, section = options.pop("set", []), dict[str, Any]()
    if settings and "benchmark" not in options:
        raise ConfigError("--set", settings[0], "it is an option of --benchmark; name that too")
    if settings:
        section["benchmark"] = assignments(settings)
    for name, value in options.items():
        parent, _, key = _OPTIONS[name][0].rpartition(".")
        place = section.setdefault(parent, {}) if parent else section
        if name == "without_replacement":
            value = False
        elif name in ("way", "query") and value.isdecimal():
            value = int(value)  # words such as ``all`` stay
        elif name == "classes" and "," in value and not Path(value).is_file():
            value = [part.strip() for part in value.split(",") if part.strip()]
        place[key] = value
    return section


def _option(path: str, section: str) -> str:
    """Return the option that a key path stands for; of two that fit, the first."""
    inside = path.removeprefix(section).lstrip(".")
    paths = ((name, key) for name, (key, *_) in _OPTIONS.items())
    return next(
        (_flags(name)[0] for name, key in paths if f"{inside}.".startswith(f"{key}.")), inside
    )
