"""A study: how much the seeds of each method differ."""

from typing import Any, ClassVar, NamedTuple, final

from fsl_sweep.orchestrator.catalogue import Info
from fsl_sweep.orchestrator.errors import RunFolderError
from fsl_sweep.orchestrator.report.document.blocks import (
    Document,
    Paragraph,
    Section,
    numbers,
    table,
    words,
)
from fsl_sweep.orchestrator.selection.evidence import Evidence
from fsl_sweep.orchestrator.studies.base import Progress, Study, StudyOptions, option


class SpreadOptions(StudyOptions):
    """Options of the study, beside those of its question."""

    fewest: int = option("Fewest seeds of a method that is shown.", 2, "N", ge=2)


class Spread(NamedTuple):
    """NovelGen of a method over its seeds, in [0, 1]."""

    method: str
    seeds: int
    least: float
    most: float

    @property
    def range(self) -> float:
        """Return the difference between the best and the worst seed."""
        return self.most - self.least


@final
class SpreadOverSeeds(Study[SpreadOptions, tuple[Spread, ...]]):
    """Show the range of NovelGen over the seeds of each method.

    Under val / val or the first strategy that is no oracle, unless another one is named.
    """

    name: ClassVar[str] = "spread-over-seeds"
    Options: ClassVar[type[StudyOptions]] = SpreadOptions

    def result(
        self, evidence: Evidence, options: SpreadOptions, progress: Progress
    ) -> tuple[Spread, ...]:
        """Read the chosen snapshots. Raises RunFolderError where no method has enough seeds."""
        chosen = evidence.led.selections if evidence.lead else ()
        scores: dict[str, list[float]] = {}
        for choice in chosen:
            scores.setdefault(choice.method, []).append(choice.means["novel"])
        spreads = tuple(
            Spread(method, len(values), min(values), max(values))
            for method, values in scores.items()
            if len(values) >= options.fewest
        )
        if not spreads:
            raise RunFolderError(f"No method has {options.fewest} complete seeds.")
        return spreads

    def document(self, result: tuple[Spread, ...]) -> Document:
        """Say which method differs most, then the numbers of each."""
        widest = max(result, key=lambda spread: spread.range)
        points = f"{100 * widest.range:.2f} points over {widest.seeds} seeds"
        rows = [
            (
                s.method,
                str(s.seeds),
                *(f"{100 * value:.2f}" for value in (s.least, s.most, s.range)),
            )
            for s in result
        ]
        columns = words("method") + numbers(["seeds", "least, %", "most, %", "range"])
        return Document(
            headline="NovelGen over seeds",
            answer=(Paragraph(f"{widest.method} varies most, by {points}."),),
            sections=(Section("methods", "Each method", (table(columns, rows),)),),
        )

    def plain(self, result: tuple[Spread, ...]) -> list[dict[str, Any]]:
        """Return the same numbers for JSON."""
        return [{**spread._asdict(), "range": spread.range} for spread in result]


SPREAD = Info("spread-over-seeds", SpreadOverSeeds, "", "Show how much seeds of a method differ.")
