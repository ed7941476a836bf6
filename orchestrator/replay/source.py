"""Where a report's records come from: run folders, tables from elsewhere, several of either."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from fsl_sweep.orchestrator.errors import RunFolderError, UnknownName
from fsl_sweep.orchestrator.ledger.trial_ledger import TrialLedger
from fsl_sweep.orchestrator.records.measures import Measure, ScoreKey, TaskScores, TrialHistory
from fsl_sweep.orchestrator.records.protocol import MAIN, PlannedProtocol, of_today
from fsl_sweep.orchestrator.records.scheduler import Scheduler
from fsl_sweep.orchestrator.records.spec import Selectors

ProtocolOrMain = PlannedProtocol | None
"""A protocol; None for the main one."""
TrialIds = Collection[str] | None
"""Trials to read; None for all."""


@dataclass(frozen=True)
class SourceInfo:
    """What a report needs to know of its source besides the records.

    Attributes:
        sweep: digest of the sweep's content, or of the table's.
        fingerprint: of the benchmark's content; None where it is not known.
        measured: episode shape and evaluation settings; None where they are not known.
        selectors: the strategies to compare unless others are asked for.
        parts: name, source and version of every learner, backbone and benchmark in use.
        versions: versions of packages that the records were made with.
        per_task: whether the accuracy of each task is known, and not only their mean.
        tasks: digest of the names of a table's tasks by measure; None for a run folder, whose
            tasks follow from ``fingerprint`` and ``measured``.
        benchmark: of a table by its column ``benchmark``; None where there is no column.
        scheduler: the rule by which configurations were stopped early, if any.
        stands_in: what stands in for what, where a sweep's laptop variant was run; its ``name``
            says so too.
        proposed: how many configurations a search has proposed, and of how many, by method.
    """

    name: str
    sweep: str
    fingerprint: str | None
    measured: Mapping[str, Any] | None
    selectors: Selectors
    parts: Mapping[str, Any] = field(default_factory=dict)
    versions: Mapping[str, str | None] = field(default_factory=dict)
    cautions: tuple[str, ...] = ()
    per_task: bool = True
    tasks: Mapping[str, str] | None = None
    benchmark: str | None = None
    stands_in: str = ""
    scheduler: Scheduler | None = None
    proposed: Mapping[str, tuple[int, int]] = field(default_factory=dict)


class Source(ABC):
    """Records, read when they are asked for, and what is known about them.

    Attributes:
        places: the folders and files behind it.
        info: what a report says about it.
        checked: whether every file is compared with its checksum; see ``check``.
    """

    places: tuple[Path, ...]
    info: SourceInfo
    checked: bool = False

    @abstractmethod
    def protocols(self) -> tuple[PlannedProtocol, ...]:
        """Return the protocols that all records may be reported under, the main one first.

        There are none where some records are those of a table.
        """

    def protocol(self, name: str | None = None) -> PlannedProtocol | None:
        """Return the protocol of a name or an id; by default the main one, or None without any.

        Raises:
            UnknownName: there is no such protocol.
            RunFolderError: there are none, or the name has another meaning in another run.
        """
        known = self.protocols()
        if not known:
            if name is None:
                return None
            shown = ", ".join(map(str, self.places))
            raise RunFolderError(
                f"Protocol '{name}' cannot be reported: the records of a table have no protocols "
                f"({shown}). Leave out --protocol and --choose-by, or report the run folder "
                "without the table."
            )
        for written in (name or MAIN, of_today(name or MAIN)):
            for protocol in known:
                if written in (protocol.name, protocol.id):
                    return protocol
        raise UnknownName("protocol", str(name), [protocol.name for protocol in known])

    @abstractmethod
    def histories(
        self, reported: ProtocolOrMain = None, by: ProtocolOrMain = None, /, only: TrialIds = None
    ) -> list[TrialHistory]:
        """Return a history for each planned trial, in plan order, recorded or not.

        Args:
            reported: the protocol whose report tasks are shown.
            by: the one whose selection tasks are shown.
            only: ids of the trials to read.

        Raises:
            RunFolderError: records contradict each other.
        """

    def check(self) -> None:
        """Compare all files of measurements with their checksums in ``histories`` from now on.

        Until then, those that no number depends on are not read, and ``ScoreTable.load`` raises
        Damaged for one that is.
        """
        self.checked = True

    @abstractmethod
    def class_tuples(self, protocol: ProtocolOrMain, /) -> dict[ScoreKey, np.ndarray]:
        """Return classes of the common tasks by measure and task set, int64 ``[tasks, ways]``.

        Raises:
            RunFolderError: they were not recorded, or tasks differ in their ways.
        """

    def class_names(self, measure: Measure, protocol: ProtocolOrMain = None, /) -> tuple[str, ...]:  # noqa: ARG002
        """Return the names of the classes (writers, attributes) that a measure draws tasks from.

        Raises:
            RunFolderError: they were not recorded.
        """
        shown = ", ".join(map(str, self.places))
        raise RunFolderError(f"Which classes are {measure} ones is not recorded in {shown}.")

    @abstractmethod
    def trials(self) -> Mapping[str, TrialLedger]:
        """Return what is recorded of each trial that has a folder, by id; snapshots too."""

    def answers(
        self, protocol: PlannedProtocol | None
    ) -> Callable[[str, int], Mapping[ScoreKey, TaskScores]]:
        """Return what reads a snapshot's answers; it raises RunFolderError where there are none."""
        trials = self.trials()

        def read(trial: str, epoch: int) -> Mapping[ScoreKey, TaskScores]:
            scores = None
            if protocol is not None and trial in trials:
                scores = trials[trial].read_answers(epoch, protocol.id)
            if scores is None:
                raise RunFolderError(
                    f"The answers of trial {trial}, epoch {epoch} are not recorded under this "
                    "protocol. Write `record: predictions` into the sweep file and run it again: "
                    "snapshots that are there are measured again, and not trained."
                )
            return scores

        return read


def beside(
    protocols: Sequence[PlannedProtocol], choosing: PlannedProtocol
) -> tuple[PlannedProtocol, ...]:
    """Return the protocols that a report compares where ``choosing`` chooses, in plan order.

    They are the ones that differ from its main protocol as was written. Beside the present main
    protocol also stands each that has a name of its own; beside a former one only what was planned
    with it, so that its report stays as it was.

    ``choosing`` is one of the ``protocols``, of which the main one is the first.
    """
    main, *others = protocols
    if _former(choosing) and not _follows(choosing, main):
        roots = (other for other in others if not other.written and _former(other))
        main = next((root for root in roots if _follows(choosing, root)), choosing)
    return tuple(
        protocol
        for protocol in protocols
        if protocol in (main, choosing)
        or _follows(protocol, main)
        or (main is protocols[0] and not _former(protocol))
    )


def _former(planned: PlannedProtocol) -> bool:
    """Tell whether another has taken its name."""
    return planned.name == planned.id


def _follows(planned: PlannedProtocol, main: PlannedProtocol) -> bool:
    """Tell whether it is what was written, with all else as in ``main``."""
    written, protocol, base = planned.written, planned.protocol, main.protocol
    return (
        bool(written)
        and protocol.episode == base.episode.model_copy(update=written.get("episode"))
        and protocol.tasks == base.tasks.model_copy(update=written.get("evaluation"))
    )
