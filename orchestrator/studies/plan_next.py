"""What would decide which method is better: more seeds, tasks or classes, and what they cost."""

import shlex
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, final

import numpy as np

from fsl_sweep.orchestrator.errors import RunFolderError
from fsl_sweep.orchestrator.records.protocol import MAIN
from fsl_sweep.orchestrator.report import wording
from fsl_sweep.orchestrator.report.answer.deciding import would_decide
from fsl_sweep.orchestrator.report.document import blocks
from fsl_sweep.orchestrator.selection.comparing.power import (
    PowerAnalysis,
    SampleSize,
    cheapest,
    plan_next,
)
from fsl_sweep.orchestrator.selection.evidence import Evidence
from fsl_sweep.orchestrator.selection.question import Question
from fsl_sweep.orchestrator.statistics.intervals import FEW_SEEDS
from fsl_sweep.orchestrator.studies.base import (
    QUESTION,
    Difference,
    Progress,
    Share,
    Study,
    StudyOptions,
    option,
    selectors,
)
from fsl_sweep.orchestrator.text.durations import duration

_COLUMNS = (
    *blocks.words("methods"),
    *blocks.numbers(["difference now (95 %)"]),
    *blocks.words("by more"),
    *blocks.numbers(["have", "needed", "time"]),
)


_WHICH_MATTERS = (
    "So few seeds hardly know the difference. Say which one matters to you: `--effect 0.01` plans "
    "for 1 point."
)


class PlanNextOptions(StudyOptions):
    """What is to be found, and with which chance."""

    effect: Difference | None = option(
        "Difference to find, such as 0.01 for 1 point. [the observed ones]", None
    )
    power: Share = option("Chance to find it.", 0.8)


@final
@dataclass(frozen=True)
class Planned:
    """What each pair of methods needs.

    Attributes:
        needs: leading pairs first.
        question: what was asked.
        effect: the difference that was asked for; None for the observed ones.
        complete: whether the run is.
    """

    needs: tuple[PowerAnalysis, ...]
    question: Question
    effect: float | None
    complete: bool


@final
class PlanNext(Study[PlanNextOptions, Planned]):
    """Say how many more seeds or tasks would tell methods apart, and what they cost.

    For val / val or the first strategy of the sweep file that is no oracle, unless another one is
    named. From the records only: torch and Ray are not needed.
    """

    name = "plan-next"
    Options = PlanNextOptions
    heeds = (*QUESTION, "metric", "bootstrap")

    def result(self, evidence: Evidence, options: PlanNextOptions, progress: Progress) -> Planned:
        """Plan every pair. Raises RunFolderError where nothing can be planned."""
        _check(evidence)
        needs = plan_next(
            evidence.complete,
            evidence.led,
            options.effect,
            resampled=evidence.resampled_lead,
            classes=_classes(evidence),
            power=options.power,
            timed=evidence.question.timed,
            complete=evidence.completeness.complete,
        )
        complete = evidence.completeness.complete
        _check_planned(needs, evidence)
        return Planned(needs, evidence.question, options.effect, complete)

    def document(self, result: Planned) -> blocks.Document:
        """Say what would decide the best two; then every pair, cheapest first."""
        first = result.needs[0]
        decided = f"What there is tells {first.a} and {first.b} apart."
        answer = [blocks.Paragraph(would_decide(first) if first.ways else decided)]
        if first.plausible and first.now.effect.n < FEW_SEEDS and first.ways:
            answer.append(blocks.Paragraph(_WHICH_MATTERS))
        if not result.complete:
            text = "The run is incomplete: seeds that it still plans count as more seeds."
            answer.append(blocks.Paragraph(text))
        rows = [_row(needs, way) for needs, way in cheapest(result.needs)]
        rows += [(*_now(n), "decided", "", "", "") for n in result.needs if not n.ways]
        content = blocks.Paragraph(_under(result)), blocks.table(_COLUMNS, rows)
        cautions = dict.fromkeys(needs.caution for needs in result.needs if needs.caution)
        return blocks.Document(
            headline="What would decide it",
            answer=tuple(answer),
            sections=(blocks.Section("pairs", "Every pair", content),),
            warnings=tuple(cautions),
        )

    def plain(self, result: Planned) -> list[dict[str, Any]]:
        """Return what each pair needs."""
        return [_plain(needs) for needs in result.needs]


def _check(evidence: Evidence) -> None:
    """Raise RunFolderError where the leading strategy has nothing to plan by."""
    question, selected, lead = evidence.question, evidence.selected, evidence.lead
    if lead is None or sum(bool(selected.cell(m, lead)) for m in selected.methods) < 2:
        if selected.unmeasured and question.protocol is not None:
            count = len(selected.unmeasured)
            planned = question.protocol
            raise RunFolderError(wording.unmeasured(count, planned, question.as_planned))
        raise RunFolderError(
            "Fewer than two methods have a seed with all of its trials done: none to compare."
        )
    if any(len(choice.novel_tasks) < 2 for choice in evidence.led.selections):
        raise RunFolderError(
            "Without the scores of two tasks or more it is not known what more tasks or seeds "
            "would change. Give a run folder, or a table with one row a task."
        )
    repeated = {cell.method for cell in evidence.resampled_lead}
    chosen = {choice.method for choice in evidence.led.selections}
    if question.protocol not in (None, question.chosen_by) and not repeated >= chosen:
        assert question.protocol is not None
        how = wording.measuring(question.protocol, every=True)
        raise RunFolderError(f"Nothing can be planned before every snapshot is measured: {how}")


def _check_planned(needs: tuple[PowerAnalysis, ...], evidence: Evidence) -> None:
    """Raise RunFolderError where no pair can be planned."""
    if not needs:
        raise RunFolderError(
            "No two methods can be compared: they were measured on different tasks, or one answers "
            "among all base classes."
        )
    if all(pair.now.effect.n < 2 for pair in needs):
        few, advice = "There is one seed", "Add a second one to the sweep file, and run it again."
        if not evidence.completeness.complete:
            command = shlex.join(["fsl-sweep", "status", str(evidence.source.places[0])])
            few = "A method has one complete seed"
            advice = f"Finish the run first: `{command}` says what is missing."
        raise RunFolderError(f"{few}, which tells nothing about others. {advice}")


def _classes(evidence: Evidence) -> np.ndarray | None:
    """Return the classes of the novel report tasks, where they were recorded."""
    try:
        return evidence.source.class_tuples(evidence.question.protocol).get(("novel", "report"))
    except RunFolderError:
        return None


def _under(result: Planned) -> str:
    first, question = result.needs[0], result.question
    shown = "the present differences"
    if result.effect is not None:
        shown = f"a difference of {100 * result.effect:.2f} points"
    time = "on one device"
    if question.protocol is not None and question.protocol.name != MAIN:
        name = question.protocol.name
        time += f", without measuring under '{name}', whose time is not recorded"
    power = f"{100 * first.power:g} %"
    return (
        f"What it takes to show {shown} with a chance of {power} each, under {first.strategy}. "
        f"Differences are in points; time is {time}."
    )


def _row(needs: PowerAnalysis, way: SampleSize) -> tuple[str, ...]:
    have, other = way.have
    drawn = " drawn" if way.what == "classes" else ""  # of those that there are
    return (
        *_now(needs),
        way.what,
        f"{have:,}{drawn}" if have == other else f"{have:,} and {other:,}",
        _needed(way),
        "-" if way.seconds is None else duration(way.seconds),
    )


def _needed(way: SampleSize) -> str:
    """Write ``12``, or ``12 (4 to never)`` with what plausible differences take."""
    counts = ["never" if n is None else f"{n:,}" for n in (way.required, *way.between)]
    if counts[0] == "never":
        counts[0] = "never enough"
    return f"{counts[0]} ({' to '.join(counts[1:])})" if way.between else counts[0]


def _now(needs: PowerAnalysis) -> Iterable[str]:
    now = needs.now.effect
    low, high = (100 * wording.bounded(end) for end in (now.low, now.high))
    shown = f"{100 * now.mean:+.2f} ({low:+.2f} to {high:+.2f})"
    return f"{needs.a} - {needs.b}", shown


def _plain(needs: PowerAnalysis) -> dict[str, Any]:
    return {
        "a": needs.a,
        "b": needs.b,
        **selectors(needs.strategy),
        "leading": needs.leading,
        "effect": needs.effect,
        "power": needs.power,
        "now": needs.now.as_dict(),
        "plausible": needs.plausible,
        "components": {k: v for k, v in asdict(needs.components).items() if k != "pilot"},
        "ways": [_plain_way(way) for way in needs.ways],
    }


def _plain_way(way: SampleSize) -> dict[str, Any]:
    return {
        "what": way.what,
        "have": way.have,
        "needed": way.required,
        "seconds": way.seconds,
        "more": way.more,
        "between": way.between,
    }
