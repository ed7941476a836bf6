"""Two methods by closed, open and paired intervals, and over seeds."""

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from math import inf, isnan
from pathlib import Path
from typing import Any, final

from fsl_sweep.orchestrator.errors import ConfigError, RunFolderError, UnknownName
from fsl_sweep.orchestrator.records.protocol import MAIN, PlannedProtocol
from fsl_sweep.orchestrator.report import wording
from fsl_sweep.orchestrator.report.document import blocks
from fsl_sweep.orchestrator.selection.comparing.closed_and_open import (
    OnTasks,
    closed_and_open,
    reuse_of,
)
from fsl_sweep.orchestrator.selection.comparing.comparison import rank_methods
from fsl_sweep.orchestrator.selection.evidence import Evidence
from fsl_sweep.orchestrator.selection.results import Strategy
from fsl_sweep.orchestrator.statistics import Comparison
from fsl_sweep.orchestrator.statistics.sampling.closed_open_paired import (
    ThreeIntervals,
    three_intervals,
)
from fsl_sweep.orchestrator.studies.base import (
    QUESTION,
    Progress,
    Study,
    StudyOptions,
    argument,
    selectors,
)
from fsl_sweep.orchestrator.studies.trained_on import unit_of

_SAYS = {"better": "higher", "worse": "lower", "undecided": "not told apart"}
"""What an interval says of snapshots, in words that no claim about methods has."""

_SHOWN_SEEDS = 4
"""Up to so many, the value of each seed is shown."""


class CompareOptions(StudyOptions):
    """Which two methods; by default the two that lead."""

    a: str | None = argument("A method. [the one that leads]", "[A]", None)
    b: str | None = argument("Another method. [the next]", "[B]", None)


@final
@dataclass(frozen=True)
class Compared:
    """What is said of methods a and b.

    Attributes:
        strategy: which chose the snapshots.
        protocol: whose report tasks methods are compared on; None for a table.
        metric: what they are compared by, in words.
        values: of each seed, of a and of b.
        closed, without: the snapshots on tasks with and without replacement, where measured.
        snapshots: about those snapshots.
        methods: about training again.
        place: the run.
        drawing_nothing: those of a and b that no seed changes.
    """

    strategy: Strategy
    protocol: PlannedProtocol | None
    metric: str
    a: str
    b: str
    values: tuple[tuple[float, ...], tuple[float, ...]]
    closed: OnTasks | None
    without: OnTasks | None
    snapshots: ThreeIntervals
    methods: Comparison
    place: Path
    drawing_nothing: tuple[str, ...] = ()


@final
class Compare(Study[CompareOptions, Compared]):
    """Compare two methods on novel tasks: their snapshots on these and other data, and over seeds.

    For val / val or the first strategy of the sweep file that is no oracle, unless another one is
    named. Closed and open tasks have the ways, shots and novel classes of the protocol. From the
    records only: torch and Ray are not needed.
    """

    name = "compare"
    Options = CompareOptions
    heeds = (*QUESTION, "metric", "rope", "bootstrap")

    def result(self, evidence: Evidence, options: CompareOptions, progress: Progress) -> Compared:
        """Compare the two methods. Raises RunFolderError where one has nothing to compare."""
        question, strategy = evidence.question, evidence.lead
        a, b = names = _names(evidence, options)
        cells = [strategy and evidence.selected.cell(name, strategy) for name in names]
        for name, cell in zip(names, cells, strict=True):
            if not cell:
                raise _incomplete(evidence, name)
        assert strategy is not None
        closed, without = closed_and_open(evidence.source, evidence.led, names, question.protocol)
        if closed is None and without is None:
            raise RunFolderError(
                f"{a} and {b} have no common tasks: there must be two or more, recorded one by one "
                "and the same for all seeds."
            )
        values = [tuple(choice.reported_mean for choice in cell or ()) for cell in cells]
        return Compared(
            strategy=strategy,
            protocol=question.protocol,
            metric=wording.metric(question.base_weight),
            a=a,
            b=b,
            values=(values[0], values[1]),
            closed=closed,
            without=without,
            snapshots=_of_snapshots(
                closed, without, len({c.method for c in evidence.led.selections})
            ),
            methods=_over_seeds(evidence, names),
            place=evidence.source.places[0],
            drawing_nothing=tuple(
                cell.method
                for cell in evidence.summaries
                if cell.strategy == strategy and cell.method in names and cell.draws_nothing
            ),
        )

    def document(self, result: Compared) -> blocks.Document:
        """Say which is better, trained again; then what intervals say of these snapshots."""
        cautions = (*result.snapshots.cautions, *filter(None, [result.methods.caution]))
        again = f"The methods, trained again{_under(result)}"
        return blocks.Document(
            headline=f"{result.a} against {result.b}",
            answer=(blocks.Paragraph(_answer(result)),),
            sections=(
                blocks.Section("methods", again, (blocks.Paragraph(_of_methods(result)),)),
                blocks.Section(
                    "snapshots", "These snapshots, NovelGen in %", tuple(_intervals(result))
                ),
            ),
            warnings=tuple(dict.fromkeys(cautions)),
        )

    def plain(self, result: Compared) -> dict[str, Any]:
        """Return both claims with their intervals."""
        intervals = result.snapshots
        return {
            "a": result.a,
            "b": result.b,
            **selectors(result.strategy),
            "protocol": result.protocol and result.protocol.name,
            "snapshots": {
                **asdict(intervals),
                "closed_protocol": result.closed and result.closed.name,
                "open_protocol": result.without and result.without.name,
                "agree": intervals.agree,
                "inverted": intervals.inverted,
                "verdict": intervals.verdict(result.a, result.b),
            },
            "methods": {**result.methods.as_dict(), "values": result.values}
            | {"drawing_nothing": result.drawing_nothing},
        }


def _names(evidence: Evidence, options: CompareOptions) -> tuple[str, str]:
    """Return the methods that were named, or those that lead. Raises UnknownName, ConfigError."""
    known = list(evidence.selected.methods)
    for name in filter(None, (options.a, options.b)):
        if name not in known:
            raise UnknownName("method", name, known)
    rankings = {ranking.strategy: ranking.methods for ranking in rank_methods(evidence.summaries)}
    order = list(rankings.get(evidence.lead, ())) if evidence.lead else []
    left = [name for name in (*order, *known) if name not in (options.a, options.b)]
    a = options.a or (left.pop(0) if left else "")
    b = options.b or (left.pop(0) if left else "")
    if a == b:
        raise ConfigError("", "B", f"{b} cannot be compared with itself")
    if not a or not b:
        raise ConfigError("", "B", f"there is no other method to compare {a or b} with")
    return a, b


def _incomplete(evidence: Evidence, name: str) -> RunFolderError:
    """Say why a method has nothing to compare: of several reasons the first."""
    question, selected = evidence.question, evidence.selected
    left_out = [
        gap for gap in (*evidence.completeness.problems, *selected.left_out) if gap.method == name
    ]
    if question.protocol is not None and any(gap.epoch is not None for gap in left_out):
        count = len(selected.unmeasured)
        places = evidence.source.places
        return RunFolderError(
            wording.unmeasured(count, question.protocol, question.as_planned, places)
        )
    if not left_out and any(method == name for method, _ in selected.diverged):
        return RunFolderError(f"{name} cannot be compared, because it diverged in every seed.")
    why = "nothing could be chosen"
    if left_out:
        first = left_out[0]
        trial = f", trial {first.trial}" if first.trial else ""
        why = f"seed {first.seed}{trial}: {first.reason}"
    return RunFolderError(f"{name} cannot be compared, because it is not complete ({why}).")


def _of_snapshots(closed: OnTasks | None, without: OnTasks | None, methods: int) -> ThreeIntervals:
    """Return the three intervals, with cautions about the tasks and about the other methods."""
    pairs = [None if tasks is None else (tasks.a, tasks.b) for tasks in (closed, without)]
    intervals = three_intervals(pairs[0], pairs[1], reuse=reuse_of(closed, without))
    more = list(intervals.cautions)
    if without is not None and not without.used_up:
        more.append("open: the tasks ended before the examples were used up; measure more of them")
    if methods > 2:
        more.append(f"intervals of snapshots are not corrected for all pairs of {methods} methods")
    return replace(intervals, cautions=tuple(more))


def _over_seeds(evidence: Evidence, names: tuple[str, str]) -> Comparison:
    """Return the claim about methods, corrected for all pairs of the run as in its report."""
    differences = evidence.differences(*names)
    result = next(pair.result for pair in differences if (pair.a, pair.b) == names)
    question, repeated = evidence.question, {cell.method for cell in evidence.resampled_lead}
    why: list[str | None] = [result.caution]
    there = evidence.completeness
    if incomplete := [there.named(name) for name in names if there.partial(name)]:
        why.append(f"only complete seeds of {' and '.join(incomplete)} take part")
    elsewhere = question.protocol not in (None, question.chosen_by)
    if elsewhere and question.protocol and not repeated >= {*names}:
        how = wording.measuring(question.protocol, evidence.source.places, every=True)
        why.append(f"nothing is decided before every snapshot is measured: {how}")
    return replace(result, caution="; ".join(filter(None, why)) or None)


def _answer(result: Compared) -> str:
    """Say which method is better, trained again."""
    ahead = result.methods.effect.mean >= 0
    first, second = (result.a, result.b) if ahead else (result.b, result.a)
    over = f"({_seeds(result)}, under {result.strategy})"
    if result.methods.verdict == "undecided":
        return f"Whether {first} or {second} is better, trained again, is undecided {over}."
    if result.methods.verdict == "equivalent":
        return f"{first} and {second} are equivalent, trained again {over}."
    return f"{first} is better than {second}, trained again {over}."


def _seeds(result: Compared) -> str:
    counts = dict(zip((result.a, result.b), map(len, result.values), strict=True))
    return wording.over_seeds(counts, result.drawing_nothing)


def _under(result: Compared) -> str:
    """Name the protocol, where the methods are not a table's, and a metric besides NovelGen."""
    by = "" if result.metric == wording.metric(None) else f", by {result.metric}"
    return f"{by}, on tasks of '{result.protocol.name}'" if result.protocol else by


def _of_methods(result: Compared) -> str:
    """Give the verdict over seeds; the values in place of an interval where there are two."""
    effect, names = result.methods.effect, (result.a, result.b)
    values = dict(zip(names, result.values, strict=True))
    drawing = [len(values[name]) for name in names if name not in result.drawing_nothing]
    fewest = min(drawing, default=inf)
    text = f"{result.a} - {result.b} is {100 * effect.mean:+.2f} points"
    if fewest > 2 and not isnan(effect.low):
        low, high = wording.bounded(effect.low), wording.bounded(effect.high)
        text += f" (95 %: {100 * low:+.2f} to {100 * high:+.2f})"
    verdict = result.methods.verdict
    claim = f"{result.a} is {verdict}" if verdict in ("better", "worse") else verdict
    text += f" over {_seeds(result)}: {claim}."
    if fewest <= _SHOWN_SEEDS:
        each = (
            f"{name} {', '.join(f'{100 * value:.2f}' for value in of_seeds)}"
            for name, of_seeds in values.items()
        )
        text += f" By seed: {'; '.join(each)}."
    return text


def _intervals(result: Compared) -> Iterable[blocks.Block]:
    intervals = result.snapshots
    rows: list[Sequence[str]] = []
    for kind, pair in (("closed", intervals.closed), ("open", intervals.open)):
        if pair is not None:
            a, b = (f"{100 * of.mean:.2f} +- {wording.half_width(of)}" for of in pair)
            rows.append((kind, a, b, "", _SAYS[intervals.says[kind]], f"{pair[0].n:,}"))
    for kind, paired in (
        ("closed paired", intervals.closed_paired),
        ("paired", intervals.paired),
    ):
        if paired is not None:
            name = f"{intervals.paired_on} paired" if kind == "paired" else kind
            difference = f"{100 * paired.mean:+.2f} +- {wording.half_width(paired)}"
            rows.append((name, "", "", difference, _SAYS[intervals.says[kind]], f"{paired.n:,}"))
    heads = blocks.numbers([result.a, result.b, f"{result.a} - {result.b}"])
    columns = (
        *blocks.words("95 % interval"),
        *heads,
        *blocks.words(f"snapshots of {result.a} score"),
        *blocks.numbers(["tasks"]),
    )
    yield blocks.table(columns, rows)
    for kind, tasks in (("Closed", result.closed), ("Open", result.without)):
        if tasks is not None and tasks.planned is not None:
            text = f"{kind} tasks: '{tasks.name}', {tasks.planned.protocol.described}."
            yield blocks.Paragraph(text, "note")
    yield blocks.Paragraph(intervals.verdict(result.a, result.b))
    if result.without is None:
        yield from _hint(result)


def _hint(result: Compared) -> Iterable[blocks.Block]:
    """Say how to measure open intervals, or why not; nothing for a table or other classes."""
    if result.protocol is None or result.protocol.protocol.replaces_novel:
        return
    if (unit := unit_of(result.place)) != "classes":
        yield blocks.Paragraph(
            f"No open intervals: tasks of {unit} cannot be drawn without replacement."
        )
        return
    shape = result.protocol.protocol.episode
    episode = ["--way", shape.way, "--shot", shape.shot, "--query", shape.query]
    like = ["open"] if result.protocol.name == MAIN else episode
    arguments = ["measure", result.place, *like, "--without-replacement", "--tasks", 1000000]
    command = shlex.join(map(str, ["fsl-sweep", *arguments, "--snapshots", "chosen"]))
    yield blocks.Paragraph("Open intervals are not measured yet. This measures them:")
    yield blocks.Paragraph(command, "command")
