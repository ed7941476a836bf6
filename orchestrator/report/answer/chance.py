"""Methods whose accuracy is not told from guessing, in words."""

from collections.abc import Iterable, Sequence

from fsl_sweep.orchestrator.report.content import RunContent
from fsl_sweep.orchestrator.report.wording import some
from fsl_sweep.orchestrator.selection.methods import Summary


def at_chance(report: RunContent, cells: Sequence[Summary]) -> Iterable[str]:
    """Name the methods whose snapshots a guesser may equal: their interval reaches 1 / way.

    Nothing where the ways are not known, as of a table, or differ between tasks. A method that
    answers among all base classes has a lower chance.
    """
    planned = report.info.protocol
    way = planned.protocol.episode.way if planned is not None else None
    if not isinstance(way, int):
        return
    names = [
        cell.method
        for cell in cells
        if not cell.among_all and cell.novel_tasks is not None and cell.novel_tasks.low <= 1 / way
    ]
    if names:
        are, their = ("are", "their") if len(names) > 1 else ("is", "its")
        yield (
            f"{some(names)} {are} not told from chance: over tasks, the 95 % "
            f"interval of {their} NovelGen reaches {100 / way:.3g} %, 1 of "
            f"{way} ways."
        )
