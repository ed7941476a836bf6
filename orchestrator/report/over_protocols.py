"""The chosen snapshots under every protocol of the run: chosen once, measured in many ways."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import PurePath

from fsl_sweep.orchestrator.records.measures import TrialHistory
from fsl_sweep.orchestrator.records.protocol import PlannedProtocol
from fsl_sweep.orchestrator.selection.methods import Summary, summarise
from fsl_sweep.orchestrator.selection.select import Selected, measured

Reader = Callable[[PlannedProtocol, Collection[str]], Sequence[TrialHistory]]
"""Reads some trials, by id, with their report scores under a protocol."""


@dataclass(frozen=True)
class UnderProtocol:
    """The chosen snapshots under one protocol.

    Attributes:
        planned: which one.
        summaries: by method and strategy, where all chosen snapshots are measured.
        unmeasured: how many distinct chosen snapshots are not.
        damaged: names of damaged files, which were skipped.
    """

    planned: PlannedProtocol
    summaries: tuple[Summary, ...]
    unmeasured: int
    damaged: tuple[str, ...]


def over_protocols(
    protocols: Sequence[PlannedProtocol], known: UnderProtocol, selected: Selected, read: Reader
) -> tuple[UnderProtocol, ...]:
    """Return the choices of ``selected`` by protocol, mixtures of one name by their weight.

    One that the sweep file does not ask for is left out if it lacks a snapshot in each cell of the
    table, unless it is the ``known`` one of the report.
    """
    results = (
        known if p.id == known.planned.id else _under(p, selected, read(p, selected.trials))
        for p in _ordered(protocols)
    )
    return tuple(r for r in results if r.summaries or r.planned.asked or r is known)


def _under(
    planned: PlannedProtocol, selected: Selected, histories: Sequence[TrialHistory]
) -> UnderProtocol:
    reported = measured(selected, histories)
    damaged = {PurePath(name).name for trial in histories for name in trial.damaged}
    return UnderProtocol(
        planned, summarise(reported), len(reported.unmeasured), tuple(sorted(damaged))
    )


def _ordered(protocols: Sequence[PlannedProtocol]) -> list[PlannedProtocol]:
    families = [protocol.name.partition("(")[0] for protocol in protocols]
    first = {name: families.index(name) for name in families}
    pairs = sorted(
        zip(families, protocols, strict=True),
        key=lambda pair: (first[pair[0]], pair[1].protocol.mixture or 0.0),
    )
    return [planned for _, planned in pairs]
