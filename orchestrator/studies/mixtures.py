"""Methods from base to novel classes, over P_BN(lambda)."""

import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from math import isnan
from pathlib import Path
from typing import Any, final

import numpy as np

from fsl_sweep.orchestrator.errors import RunFolderError
from fsl_sweep.orchestrator.report.document import blocks
from fsl_sweep.orchestrator.report.figures.studies.mixtures import mixtures_figure
from fsl_sweep.orchestrator.selection.comparing.mixture_curve import (
    MixtureCurve,
    PairCurve,
    band,
    mixture_curve,
)
from fsl_sweep.orchestrator.selection.evidence import Evidence
from fsl_sweep.orchestrator.selection.methods import Summary
from fsl_sweep.orchestrator.selection.results import Strategy
from fsl_sweep.orchestrator.statistics import Interval
from fsl_sweep.orchestrator.studies.base import (
    Drawings,
    Progress,
    Study,
    StudyOptions,
    class_tuples_of,
    lead_of,
    selectors,
)
from fsl_sweep.orchestrator.studies.trained_on import unit_of
from fsl_sweep.orchestrator.text.printed import counted

_UNSURE = "undecided everywhere"
_BANDS = "of two seeds both, of more +- 95 % over seeds, of one +- 95 % over tasks"


@final
@dataclass(frozen=True)
class MixtureCurves:
    """Methods over lambda.

    Attributes:
        strategy: which chose the snapshots.
        curves: each method at each lambda, and each pair of methods.
        names: of the methods, with their complete seeds where some are missing.
        classes: |B|, |N| and |N| / (|N| + |B|), of the classes in the tasks; None where they are
            not recorded.
        every: the command that measures every snapshot at each lambda.
    """

    strategy: Strategy
    curves: MixtureCurve
    names: dict[str, str]
    classes: tuple[int, int, float] | None
    every: str


@final
class Mixtures(Study[StudyOptions, MixtureCurves]):
    """Compare methods from base to novel classes: a class of a task is novel with chance lambda.

    Reads the mixtures that `fsl-sweep measure` has measured; it says how where there are none. For
    val / val or the first strategy that is no oracle, unless another one is named.
    """

    name = "mixtures"
    heeds = ("snapshot", "hyperparameter", "choose_by", "method", "configuration")

    def result(
        self, evidence: Evidence, options: StudyOptions, progress: Progress
    ) -> MixtureCurves:
        """Read every lambda. Raises RunFolderError where no method is measured at several."""
        place = evidence.source.places[0]
        lead = lead_of(evidence)
        if place.is_file():
            raise RunFolderError(
                f"{place} is a table; give a run folder, whose snapshots are measured."
            )
        if (unit := unit_of(place)) != "classes":
            raise RunFolderError(
                f"P_BN(lambda) mixes base and novel classes, but tasks of {place} are made of "
                f"{unit}."
            )
        curves = mixture_curve(
            evidence.source,
            evidence.led,
            by=evidence.question.chosen_by,
            only={trial.trial for trial in evidence.complete},
            complete=evidence.completeness.trained,
        )
        which = "chosen" if evidence.question.as_planned else "all"
        _check(curves, evidence, place, which, progress)
        methods = [method.method for method in curves.methods]
        return MixtureCurves(
            strategy=lead,
            curves=curves,
            names={method: evidence.completeness.named(method) for method in methods},
            classes=_classes(evidence, progress),
            every=_measuring(curves, place, "all"),
        )

    def document(self, result: MixtureCurves) -> blocks.Document:
        """Say who leads where; then accuracies, and how far they are from the linear mixture."""
        return blocks.Document(
            headline="Methods from base to novel classes",
            answer=tuple(blocks.Paragraph(sentence) for sentence in _answer(result)),
            sections=(
                blocks.Section(
                    "curves", f"Accuracy over P_BN(lambda) in %, {result.strategy}", _cells(result)
                ),
                blocks.Section(
                    "gaps", "P_BN(lambda) minus the linear mixture in points", _gaps(result)
                ),
            ),
            warnings=tuple(_cautions(result.curves)),
        )

    def plain(self, result: MixtureCurves) -> dict[str, Any]:
        """Return each method at each lambda, and each pair."""
        curves, classes = result.curves, result.classes or (None, None, None)
        return {
            **selectors(result.strategy),
            "lambdas": curves.weights,
            "protocols": [planned.name for planned in curves.protocols],
            **dict(zip(("base_classes", "novel_classes", "uniform_lambda"), classes, strict=True)),
            "selection_repeated": curves.repeated,
            "methods": [
                {"method": m.method, "at": [*map(_point, m.cells, m.linear, m.gaps)]}
                for m in curves.methods
            ],
            "pairs": [_plain_pair(pair) for pair in curves.pairs],
        }

    def figures(self, result: MixtureCurves) -> Drawings:
        """Draw each method over lambda."""
        uniform = result.classes and result.classes[2]
        return {"answer": [mixtures_figure(result.curves, uniform)]}


def _check(
    curves: MixtureCurve, evidence: Evidence, place: Path, which: str, progress: Progress
) -> None:
    """Raise RunFolderError, or remark on methods that are not measured at every lambda."""
    if len(curves.protocols) < 2:
        ten = [text for i in range(11) for text in ("--lambda", f"{i / 10:g}")]
        command = shlex.join(["fsl-sweep", "measure", str(place), *ten, "--snapshots", which])
        raise RunFolderError(
            "Of the tasks of P_BN(lambda), with the ways, shots and queries of the main ones, "
            "fewer than two lambdas are measured. This measures those of the paper (`--snapshots "
            f"all`, which takes longer, can decide methods too): {command}"
        )
    measured = [method.method for method in curves.methods]
    for method in evidence.led.methods:
        if evidence.led.cell(method, evidence.led.strategies[0]) and method not in measured:
            command = _measuring(curves, place, which)
            progress(f"{method} is not measured at every lambda; this does it: {command}")
    if not measured:
        raise RunFolderError("No method is measured at every lambda.")


def _measuring(curves: MixtureCurve, place: Path, which: str) -> str:
    """Return the command that measures ``which`` snapshots at each lambda that is known."""
    name = curves.protocols[0].name.partition("(")[0]
    return shlex.join(["fsl-sweep", "measure", str(place), name, "--snapshots", which])


def _classes(evidence: Evidence, progress: Progress) -> tuple[int, int, float] | None:
    tuples = class_tuples_of(evidence, evidence.source.protocol(), progress)
    if tuples is None:
        return None
    base, novel = (
        len(np.unique(np.concatenate([tuples[m, s].ravel() for s in ("selection", "report")])))
        for m in ("base", "novel")
    )
    return base, novel, novel / (base + novel)


def _answer(result: MixtureCurves) -> Iterator[str]:
    curves = result.curves
    yield from (f"On average {_led(curves, pair)}." for pair in curves.pairs)
    yield _largest_gap(curves)
    if not curves.repeated:
        why = "there is one seed."
        if len(curves.methods[0].cells[0].choices) > 1:
            why = "only chosen snapshots are measured, and other tasks may choose others; this "
            why += f"measures all: {result.every}"
        yield f"Nothing can be said of the methods, trained again, because {why}"
    if curves.pairs:
        yield (
            "'Decided' is at 95 % for all pairs and lambdas together (Holm). `fsl-sweep analyze "
            "base-and-novel` makes fewer tests."
        )


def _cells(result: MixtureCurves) -> tuple[blocks.Block, ...]:
    shown = [[_shown(cell) for cell in method.cells] for method in result.curves.methods]
    content: list[blocks.Block] = [
        _table(result, shown),
        blocks.Paragraph(f"Intervals: {_BANDS}.", "note"),
    ]
    if result.classes:
        base, novel, weight = result.classes
        text = f"{novel} novel and {base} base classes are drawn alike"
        content.append(
            blocks.Paragraph(f"At lambda {weight:.2f} = |N| / (|N| + |B|), {text}.", "note")
        )
    return tuple(content)


def _gaps(result: MixtureCurves) -> tuple[blocks.Block, ...]:
    shown = [[_signed(gap) for gap in method.gaps] for method in result.curves.methods]
    note = (
        "+- 95 % for all of these together. The linear mixture is of BaseGen and NovelGen on the "
        "main tasks, not of rows 0 and 1."
    )
    return _table(result, shown), blocks.Paragraph(note, "note")


def _table(result: MixtureCurves, columns: Sequence[Sequence[str]]) -> blocks.Table:
    """Return a row for each lambda that has any cell, a column for each method."""
    pairs = zip(result.curves.weights, zip(*columns, strict=True), strict=True)
    rows = [(f"{weight:g}", *cells) for weight, cells in pairs if any(cells)]
    return blocks.table(blocks.words("lambda") + blocks.numbers([*result.names.values()]), rows)


def _cautions(curves: MixtureCurve) -> Iterable[str]:
    """Return the cautions of all that is claimed, each once."""
    results: list[Any] = [claim for pair in curves.pairs for claim in pair.snapshots]
    cells = [cell for method in curves.methods for cell in method.cells]
    results += [cell.novel for cell in cells if len(cell.choices) > 2]
    if curves.repeated:
        results += [claim for pair in curves.pairs for claim in pair.methods]
    results += [gap for method in curves.methods for gap in method.gaps if gap]
    return dict.fromkeys(claim.caution for claim in results if claim.caution)


def _led(curves: MixtureCurve, pair: PairCurve) -> str:
    claims: dict[str, Sequence[Any]] = {"these snapshots": pair.snapshots}
    if curves.repeated:
        claims["the methods, trained again"] = pair.methods
    sure = [f"{name}: {_sure(curves, pair, tests)}" for name, tests in claims.items() if tests]
    order = _order(pair)
    if len(pair.crossings) > 1 and all(claim.endswith(_UNSURE) for claim in sure):
        at = ", ".join(f"{weight:.2f}" for weight in pair.crossings)
        order = f"{pair.a} and {pair.b} lie close together, and change places at lambda {at}"
    return f"{order} ({'; '.join(sure)})" if sure else order


def _order(pair: PairCurve) -> str:
    """Say who leads where."""
    first = next((effect for effect in pair.effects if round(effect, 9)), 0.0)
    lead, other = (pair.a, pair.b) if first > 0 else (pair.b, pair.a)
    if not first:
        return f"{lead} and {other} are equal at every lambda"
    if not pair.crossings:
        return f"{lead} leads {other} at every lambda"
    at = [f"{weight:.2f}" for weight in pair.crossings]
    if len(at) == 1:
        return f"{lead} leads {other} below lambda {at[0]}, {other} above it"
    again = ", ".join(at[1:])
    return f"{lead} leads {other} below lambda {at[0]}, and they change places again at {again}"


def _sure(curves: MixtureCurve, pair: PairCurve, tests: Sequence[Any]) -> str:
    """Say where the order is decided."""
    names = {"better": pair.a, "worse": pair.b}
    sure: dict[str, list[str]] = {}
    steps = groupby(zip(curves.weights, tests, strict=True), lambda step: step[1].verdict)
    for verdict, step in steps:
        at = [f"{weight:g}" for weight, _ in step]
        if verdict in names:
            each = f"each measured lambda from {at[0]} to {at[-1]}"
            sure.setdefault(names[verdict], []).append(at[0] if len(at) == 1 else each)
    decided = ", ".join(f"{name} at {' and '.join(at)}" for name, at in sure.items())
    return f"decided for {decided}" if decided else _UNSURE


def _largest_gap(curves: MixtureCurve) -> str:
    """Say how far P_BN(lambda) is from the linear mixture."""
    every = [(gap, m, i) for m in curves.methods for i, gap in enumerate(m.gaps) if gap]
    if not every:
        return "There is no lambda between 0 and 1 to compare with the linear mixture."
    gap, method, i = max(every, key=lambda case: abs(case[0].mean))
    clear = sum(not case[0].low <= 0 <= case[0].high for case in every)
    linear = "from the linear mixture (1 - lambda) BaseGen + lambda NovelGen"
    text = f"These snapshots do not differ clearly {linear} at any lambda"
    if clear:
        cases = counted(len(every), "case")
        text = f"These snapshots differ clearly {linear} in {clear} of {cases}"
    both = f"{100 * method.cells[i].novel.mean:.2f}, linear {100 * method.linear[i]:.2f}"
    at = f"{method.method} at lambda {curves.weights[i]:g}"
    return f"{text}: the largest difference is {_signed(gap)} points ({at}: {both})."


def _shown(cell: Summary) -> str:
    low, high, _ = band(cell)
    if len(cell.choices) == 2:
        return ", ".join(f"{100 * choice.novel.mean:.2f}" for choice in cell.choices)
    half = "" if isnan(low) else f" +- {50 * (high - low):.2f}"
    return f"{100 * cell.novel.mean:.2f}{half}"


def _signed(gap: Interval | None) -> str:
    return "" if gap is None else f"{100 * gap.mean:+.2f} +- {50 * (gap.high - gap.low):.2f}"


def _point(cell: Summary, linear: float, gap: Interval | None) -> dict[str, Any]:
    low, high, over = band(cell)
    values = [choice.means["novel"] for choice in cell.choices]
    ends = {"mean": cell.novel.mean, "low": low, "high": high, "over": over, "seeds": values}
    return {**ends, "linear": linear, "gap": gap and asdict(gap)}


def _plain_pair(pair: PairCurve) -> dict[str, Any]:
    return {
        "a": pair.a,
        "b": pair.b,
        "effects": pair.effects,
        "crossings": pair.crossings,
        "snapshots": [{**c.as_dict(), "effect": asdict(c.effect)} for c in pair.snapshots],
        "methods": [comparison.as_dict() for comparison in pair.methods],
    }
