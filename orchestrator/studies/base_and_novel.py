"""Methods as pairs of BaseGen and NovelGen: which is better in both, and which trade them."""

from dataclasses import asdict, dataclass
from math import isnan
from typing import Any, final

from fsl_sweep.orchestrator.replay.lacking import check_reported
from fsl_sweep.orchestrator.report import wording
from fsl_sweep.orchestrator.report.document import blocks
from fsl_sweep.orchestrator.selection.comparing.base_and_novel import (
    BaseAndNovel as PairInBoth,
)
from fsl_sweep.orchestrator.selection.comparing.base_and_novel import compare_base_and_novel
from fsl_sweep.orchestrator.selection.evidence import Evidence
from fsl_sweep.orchestrator.selection.methods import Summary, summarise
from fsl_sweep.orchestrator.selection.results import Strategy
from fsl_sweep.orchestrator.statistics.joint import Joint
from fsl_sweep.orchestrator.studies.base import Progress, Study, StudyOptions, lead_of, selectors


@final
@dataclass(frozen=True)
class BaseNovel:
    """Methods in both measures.

    Attributes:
        strategy: which chose the snapshots.
        methods: the cell of each method, by the names to show.
        pairs: each pair of methods.
    """

    strategy: Strategy
    methods: dict[str, Summary]
    pairs: tuple[PairInBoth, ...]


@final
class BaseAndNovel(Study[StudyOptions, BaseNovel]):
    """Say which methods are better in both BaseGen and NovelGen, and which trade them.

    For val / val or the first strategy that is no oracle, unless another one is named. From the
    records only: torch and Ray are not needed.
    """

    name = "base-and-novel"

    def result(self, evidence: Evidence, options: StudyOptions, progress: Progress) -> BaseNovel:
        """Compare each pair. Raises RunFolderError where no method is complete."""
        lead = lead_of(evidence)
        if evidence.question.protocol is None:
            check_reported(evidence.source.places, evidence.complete, "mixture(0.5)")
        cells = {cell.method: cell for cell in summarise(evidence.led)}
        complete = evidence.completeness.trained
        pairs = compare_base_and_novel(evidence.complete, evidence.led, complete=complete)
        shown = {evidence.completeness.named(method): cell for method, cell in cells.items()}
        return BaseNovel(lead, shown, pairs)

    def document(self, result: BaseNovel) -> blocks.Document:
        """Say who is better in both; then the two accuracies of each method."""
        claims = (
            ("methods", "The methods, trained again", [(p, p.methods) for p in result.pairs]),
            ("snapshots", "These snapshots", [(p, p.snapshots) for p in result.pairs]),
        )
        cells = [
            (name, f"{100 * cell.base.mean:.2f}", f"{100 * cell.novel.mean:.2f}")
            for name, cell in result.methods.items()
        ]
        columns = blocks.words("method") + blocks.numbers(["BaseGen, %", "NovelGen, %"])
        return blocks.Document(
            headline="BaseGen and NovelGen together",
            answer=(blocks.Paragraph(_answer(result)),),
            sections=(
                *(
                    blocks.Section(
                        key, title, (blocks.Bullets(tuple(_said(*claim) for claim in claimed)),)
                    )
                    for key, title, claimed in claims
                    if claimed
                ),
                blocks.Section(
                    "accuracies",
                    f"Accuracies under {result.strategy}",
                    (blocks.table(columns, cells),),
                ),
            ),
            warnings=tuple(dict.fromkeys(c for pair in result.pairs for c in pair.cautions)),
        )

    def plain(self, result: BaseNovel) -> dict[str, Any]:
        """Return the two accuracies of each method, and both claims of each pair."""
        return {
            **selectors(result.strategy),
            "methods": [
                {"method": cell.method, "base": cell.base.mean, "novel": cell.novel.mean}
                for cell in result.methods.values()
            ],
            "pairs": [asdict(pair) for pair in result.pairs],
        }


def _answer(result: BaseNovel) -> str:
    if not result.pairs:
        return "No two methods have per-task scores on the same tasks."
    decided = [_said(p, p.methods) for p in result.pairs if p.methods.verdict != "undecided"]
    if decided:
        return f"Trained again: {'; '.join(decided)}."
    return (
        "Trained again, no method is shown to be better than another in both measures, or to be "
        "better in one and worse in the other."
    )


def _said(pair: PairInBoth, joint: Joint) -> str:
    """Write the verdict on two methods, or on their snapshots, in words that only these have."""
    base, novel = joint.effects
    snapshots = joint is pair.snapshots
    more, less = ("higher", "lower") if snapshots else ("better", "worse")
    ahead, behind = (pair.a, pair.b) if joint.verdict != "worse" else (pair.b, pair.a)
    who, than = f"{ahead} is", behind
    if snapshots:
        who, than = f"snapshots of {ahead} score", f"those of {behind}"
    said = {
        "trades": f"{who} {more if base > 0 else less} than {than} in BaseGen, and "
        f"{more if novel > 0 else less} in NovelGen",
        "undecided": f"{pair.a} and {pair.b}: {'not told apart' if snapshots else 'undecided'}",
    }.get(joint.verdict, f"{who} {more} than {than} in both")
    p = "" if isnan(joint.p_adjusted) else f", p {wording.p_value(joint.p_adjusted)}"
    apart = f"BaseGen {100 * base:+.2f}, NovelGen {100 * novel:+.2f}"
    return f"{said} ({pair.a} - {pair.b}: {apart} points{p})"
