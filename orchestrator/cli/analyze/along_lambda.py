"""``fsl-sweep analyze lambda``: methods from base to novel classes, over P_BN(lambda)."""

import shlex
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from itertools import groupby
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fsl_sweep.orchestrator.cli.analyze.led import Led, led, unit_of
from fsl_sweep.orchestrator.cli.figures import Plot, check_plot, put_figure
from fsl_sweep.orchestrator.cli.options import AsJson, Hyperparameter, Snapshot
from fsl_sweep.orchestrator.errors import RunFolderError
from fsl_sweep.orchestrator.text.printed import columns, counted, say, say_json

if TYPE_CHECKING:
    from fsl_sweep.orchestrator.selection.comparing.mixture_curve import MixtureCurve, PairCurve
    from fsl_sweep.orchestrator.selection.methods import Summary
    from fsl_sweep.orchestrator.statistics import Interval


def along_lambda(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.")],
    snapshot: Snapshot = None,
    hyperparameter: Hyperparameter = None,
    plot: Plot = None,
    as_json: AsJson = False,
) -> int:
    """Compare methods from base to novel classes: a class of a task is novel with chance lambda.

    Reads the mixtures that `fsl-sweep measure` has measured; it says how where there are none. For
    val / val or the first strategy that is no oracle, unless another one is named.
    """
    from fsl_sweep.orchestrator.selection.comparing.mixture_curve import mixture_curve

    check_plot(plot)
    own = led(run, snapshot, hyperparameter)
    found = mixture_curve(own.source, own.selected)
    which = "chosen" if own.as_planned else "all"
    there = [one.method for one in found.methods]
    if run.is_file():
        raise RunFolderError(f"{run} is a table; give a run folder, whose snapshots are measured.")
    if (unit := unit_of(run)) != "classes":
        raise RunFolderError(
            f"P_BN(lambda) mixes base and novel classes, but tasks of {run} are made of {unit}."
        )
    if len(found.protocols) < 2:
        ten = [text for i in range(11) for text in ("--mixture", f"{i / 10:g}")]
        command = shlex.join(["fsl-sweep", "measure", str(run), *ten, "--snapshots", which])
        raise RunFolderError(
            "Of the tasks of P_BN(lambda), with the ways, shots and queries of the main ones, "
            "fewer than two lambdas are measured. This measures those of the paper (`--snapshots "
            f"all`, which takes longer, can decide methods too): {command}"
        )
    for method in own.selected.methods:
        if own.selected.cell(method, own.strategy) and method not in there:
            command = _measuring(found, run, which)
            say(f"{method} is not measured at every lambda; this does it: {command}", sys.stderr)
    if not there:
        raise RunFolderError("No method is measured at every lambda.")
    classes = _classes(own)
    if as_json:
        say_json(_as_plain(found, own, classes))
    else:
        say("\n".join(_lines(found, own, classes, run)))
    if plot is not None:
        from fsl_sweep.orchestrator.report.figures.studies.mixtures import mixtures_figure

        put_figure(plot, mixtures_figure(found, classes and classes[2]))
    return 0 if own.run.complete else 1


def _measuring(found: "MixtureCurve", run: Path, which: str) -> str:
    """The command that measures ``which`` snapshots at each lambda that is known."""
    name = found.protocols[0].name.partition("(")[0]
    return shlex.join(["fsl-sweep", "measure", str(run), name, "--snapshots", which])


def _classes(own: Led) -> tuple[int, int, float] | None:
    """|B|, |N| and |N| / (|N| + |B|), of the classes in the tasks; None where not recorded."""
    import numpy as np

    try:
        tuples = own.run.class_tuples()
    except RunFolderError:
        return None
    base, novel = (
        len(np.unique(np.concatenate([tuples[m, s].ravel() for s in ("selection", "report")])))
        for m in ("base", "novel")
    )
    return base, novel, novel / (base + novel)


def _lines(
    found: "MixtureCurve", own: Led, classes: tuple[int, int, float] | None, run: Path
) -> Iterator[str]:
    yield from (f"On average {_told(found, pair)}." for pair in found.pairs)
    yield _largest_gap(found)
    if not found.repeated:
        why = "there is one seed."
        if len(found.methods[0].cells[0].choices) > 1:
            why = "only chosen snapshots are measured, and other tasks may choose others; this "
            why += f"measures all: {_measuring(found, run, 'all')}"
        yield f"Nothing can be said of the methods, trained again, because {why}"
    if found.pairs:
        yield (
            "Decided: at 95 % for all pairs and lambdas together (Holm). `fsl-sweep analyze pairs` "
            "has fewer tests."
        )
    yield f"\n{own.strategy}, accuracy over P_BN(lambda) in %; {_BANDS}"
    yield from _table(found, [[_shown(cell) for cell in one.cells] for one in found.methods])
    if classes:
        base, novel, weight = classes
        told = f"{novel} novel and {base} base classes are drawn alike"
        yield f"At lambda {weight:.2f} = |N| / (|N| + |B|), {told}."
    yield "\nP_BN(lambda) minus the linear mixture in points, +- 95 % for all of these together"
    yield from _table(found, [[_signed(gap) for gap in one.gaps] for one in found.methods])
    yield "The linear mixture is of BaseGen and NovelGen on the main tasks, not of rows 0 and 1."
    yield from (f"Caution: {caution}." for caution in _cautions(found))


def _cautions(found: "MixtureCurve") -> Iterable[str]:
    """Of all that is claimed, each once."""
    results: list[Any] = [x for pair in found.pairs for x in pair.snapshots]
    cells = [cell for one in found.methods for cell in one.cells]
    results += [cell.novel for cell in cells if len(cell.choices) > 2]
    if found.repeated:
        results += [x for pair in found.pairs for x in pair.methods]
    results += [gap for one in found.methods for gap in one.gaps if gap]
    return dict.fromkeys(one.caution for one in results if one.caution)


_UNSURE = "undecided everywhere"
_BANDS = "of two seeds both, of more +- 95 % over seeds, of one +- 95 % over tasks"


def _told(found: "MixtureCurve", pair: "PairCurve") -> str:
    """Who leads where, and what of it is decided."""
    claims: dict[str, Sequence[Any]] = {"these snapshots": pair.snapshots}
    if found.repeated:
        claims["the methods, trained again"] = pair.methods
    sure = [f"{name}: {_sure(found, pair, results)}" for name, results in claims.items() if results]
    order = _order(pair)
    if len(pair.crossings) > 1 and all(one.endswith(_UNSURE) for one in sure):
        at = ", ".join(f"{one:.2f}" for one in pair.crossings)
        order = f"{pair.a} and {pair.b} lie close together, and change places at lambda {at}"
    return f"{order} ({'; '.join(sure)})" if sure else order


def _order(pair: "PairCurve") -> str:
    """Who leads where."""
    first = next((effect for effect in pair.effects if round(effect, 9)), 0.0)
    lead, other = (pair.a, pair.b) if first > 0 else (pair.b, pair.a)
    if not first:
        return f"{lead} and {other} are equal at every lambda"
    if not pair.crossings:
        return f"{lead} leads {other} at every lambda"
    at = [f"{one:.2f}" for one in pair.crossings]
    if len(at) == 1:
        return f"{lead} leads {other} below lambda {at[0]}, {other} above it"
    again = ", ".join(at[1:])
    return f"{lead} leads {other} below lambda {at[0]}, and they change places again at {again}"


def _sure(found: "MixtureCurve", pair: "PairCurve", results: Sequence[Any]) -> str:
    """Where the order is decided."""
    names = {"better": pair.a, "worse": pair.b}
    sure: dict[str, list[str]] = {}
    for verdict, own in groupby(zip(found.weights, results, strict=True), lambda x: x[1].verdict):
        at = [f"{weight:g}" for weight, _ in own]
        if verdict in names:
            each = f"each measured lambda from {at[0]} to {at[-1]}"
            stretch = at[0] if len(at) == 1 else each
            sure.setdefault(names[verdict], []).append(stretch)
    told = ", ".join(f"{name} at {' and '.join(at)}" for name, at in sure.items())
    return f"decided for {told}" if told else _UNSURE


def _largest_gap(found: "MixtureCurve") -> str:
    """How far P_BN(lambda) is from the linear mixture."""
    every = [(gap, one, i) for one in found.methods for i, gap in enumerate(one.gaps) if gap]
    if not every:
        return "There is no lambda between 0 and 1 to compare with the linear mixture."
    gap, one, i = max(every, key=lambda own: abs(own[0].mean))
    clear = sum(not own.low <= 0 <= own.high for own, *_ in every)
    linear = "from the linear mixture (1 - lambda) BaseGen + lambda NovelGen"
    told = f"These snapshots do not differ clearly {linear} at any lambda"
    if clear:
        told = (
            f"These snapshots differ clearly {linear} in {clear} of {counted(len(every), 'case')}"
        )
    both = f"{100 * one.cells[i].novel.mean:.2f}, linear {100 * one.linear[i]:.2f}"
    at = f"{one.method} at lambda {found.weights[i]:g}"
    return f"{told}: the largest difference is {_signed(gap)} points ({at}: {both})."


def _shown(cell: "Summary") -> str:
    from fsl_sweep.orchestrator.selection.comparing.mixture_curve import band

    low, high, _ = band(cell)
    if len(cell.choices) == 2:
        return ", ".join(f"{100 * one.novel.mean:.2f}" for one in cell.choices)
    half = "" if isnan(low) else f" +- {50 * (high - low):.2f}"
    return f"{100 * cell.novel.mean:.2f}{half}"


def _signed(gap: "Interval | None") -> str:
    return "" if gap is None else f"{100 * gap.mean:+.2f} +- {50 * (gap.high - gap.low):.2f}"


def _table(found: "MixtureCurve", cells: Sequence[Sequence[str]]) -> list[str]:
    """A row for each lambda that has any cell, a column for each method."""
    rows = [("lambda", *(one.method for one in found.methods))]
    pairs = zip(found.weights, zip(*cells, strict=True), strict=True)
    rows += [(f"{weight:g}", *own) for weight, own in pairs if any(own)]
    return columns(rows, 0)


def _as_plain(
    found: "MixtureCurve", own: Led, classes: tuple[int, int, float] | None
) -> dict[str, Any]:
    from fsl_sweep.orchestrator.selection.comparing.mixture_curve import band

    def point(cell: "Summary", linear: float, gap: "Interval | None") -> dict[str, Any]:
        low, high, over = band(cell)
        values = [choice.means["novel"] for choice in cell.choices]
        ends = {"mean": cell.novel.mean, "low": low, "high": high, "over": over, "seeds": values}
        return {**ends, "linear": linear, "gap": gap and asdict(gap)}

    return {
        "snapshot_selector": own.strategy.snapshot,
        "hyperparameter_selector": own.strategy.hyperparameter,
        "lambdas": found.weights,
        "protocols": [one.name for one in found.protocols],
        **dict(
            zip(
                ("base_classes", "novel_classes", "uniform_lambda"),
                classes or 3 * [None],
                strict=True,
            )
        ),
        "selection_repeated": found.repeated,
        "methods": [
            {"method": m.method, "at": [*map(point, m.cells, m.linear, m.gaps)]}
            for m in found.methods
        ],
        "pairs": [
            {
                "a": pair.a,
                "b": pair.b,
                "effects": pair.effects,
                "crossings": pair.crossings,
                "snapshots": [
                    {**result.as_dict(), "effect": asdict(result.effect)}
                    for result in pair.snapshots
                ],
                "methods": [result.as_dict() for result in pair.methods],
            }
            for pair in found.pairs
        ],
    }
