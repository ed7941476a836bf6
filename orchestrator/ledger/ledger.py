"""The run folder: what was planned, what was measured, and how each trial ended.

    RUN/
      sweep.yaml  plan.json  environment.json  lock
      tasks/PROTOCOL/SPLIT-SET.json   class tuples of the common tasks
      proposals/METHOD-0001.json      what a search proposed, and from which history
      trials/ID/
        spec.json                     the resolved specification
        epochs/0001.json              an epoch's curves; removed when the trial has ended
        measured/PROTOCOL/0001.record what was measured of a snapshot; removed when compacted
        measured/PROTOCOL.parquet     what was measured of all snapshots, once the trial has ended
        snapshots/0001.safetensors    weights after an epoch
        pruned.json                   epochs whose weights were removed
        resume.state                  state to go on from, also after the end; until it is pruned
        end.json                      done, stopped, diverged, failed or budget, and why; the epochs
      retried/ID-1/                   what a trial had recorded that was run again by `--retry`

PROTOCOL is the id of a protocol. Every file appears complete or not at all, and has a checksum:
records and states in an envelope, JSON in a key, a Parquet file in ``end.json``, a snapshot in its
epoch's record, ``sweep.yaml`` in the plan. A file that does not match is damaged: it is named and
not used.
"""

import hashlib
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from fsl_sweep.datasets.files.local_path import check_local
from fsl_sweep.orchestrator.errors import Damaged, RunFolderError
from fsl_sweep.orchestrator.ledger import envelope
from fsl_sweep.orchestrator.ledger.storage import Folder
from fsl_sweep.orchestrator.ledger.trial_ledger import TrialLedger
from fsl_sweep.orchestrator.records.measures import TrialHistory
from fsl_sweep.orchestrator.records.plan import TRIAL_ID, Plan
from fsl_sweep.orchestrator.records.protocol import PlannedProtocol
from fsl_sweep.orchestrator.records.spec import TrialSpec
from fsl_sweep.orchestrator.text.printed import counted

RETRIED = "retried"
"""The folder of records that were set aside; nothing reads or removes them."""

CHECKED = 200
"""Trials of which every file is compared with its checksum; of more, those that must be read."""

COME_BACK = (
    "they stay on disk, and come back when the sweep is run with the file and the --set that "
    "planned them"
)


def tasks_folder(protocol: str) -> str:
    """Name the folder of the class tuples of a protocol's common tasks, by the protocol's id."""
    return f"tasks/{protocol}"


class Ledger:
    """Reads and writes one run folder.

    Args:
        path: the run folder.
        standing: the folder exists: if it vanishes, writing fails and does not make it again.

    Raises:
        RunFolderError: the path is an address, such as ``s3://bucket/run``.
    """

    def __init__(self, path: Path, standing: bool = False) -> None:
        check_local(path)
        self.folder = Folder(path, standing=standing)

    @property
    def path(self) -> Path:
        """Return the run folder."""
        return self.folder.path

    def trial(self, trial: str) -> TrialLedger:
        """Return the records of one trial, by its id."""
        return TrialLedger(self.folder / "trials" / trial)

    def read_plan(self) -> Plan | None:
        """Read the plan; None where nothing was planned. Raises RunFolderError if it is damaged."""
        try:
            return self.checked_plan()
        except Damaged as damage:
            raise RunFolderError(
                f"{self.path / 'plan.json'} is not a readable plan ({damage.reason}). Run the "
                "sweep into another folder, or restore this file."
            ) from damage

    def planned(self) -> Plan:
        """Read the plan. Raises RunFolderError where nothing was planned, or it is damaged."""
        plan = self.read_plan()
        if plan is None:
            raise RunFolderError(f"{self.path} is not a run folder: it has no plan.json.")
        return plan

    def checked_plan(self) -> Plan | None:
        """Read the plan as ``read_plan`` does. Raises Damaged with the reason only."""
        data = self.folder.read("plan.json")
        if data is None:
            return None
        try:
            return Plan.from_plain(envelope.checked_json(data, "plan.json"))
        except (ValueError, KeyError, TypeError, ValidationError, RecursionError) as failure:
            raise Damaged("plan.json", str(failure).splitlines()[0]) from failure

    def write_plan(self, plan: Plan, sweep_text: str) -> Plan:
        """Record a plan and the file it came from. Raises as ``check_plan``.

        Returns:
            The plan as recorded: with the protocols that the folder held before.
        """
        if (before := self.check_plan(plan)) is not None:
            plan = plan.after(before)
        text = sweep_text.encode()
        # The plan comes first: it says that the folder is a run's, which may be started again.
        self._write(plan, hashlib.sha256(text).hexdigest())
        self.folder.write("sweep.yaml", text)
        return plan

    def add_protocols(
        self,
        protocols: Sequence[PlannedProtocol],
        places: Mapping[str, str | None],
        cautions: Sequence[str] = (),
    ) -> Plan:
        """Record protocols, and where data are now; the plan is the caller's to have checked.

        Args:
            protocols: new ones, or known ones whose snapshots are others.
            places: as in a plan; those that are not named stay.
            cautions: that reports should show as well.

        Raises:
            RunFolderError: the name of one was taken.
        """
        plan = self.planned()
        by_name = {protocol.name: protocol for protocol in (*plan.protocols, *protocols)}
        places = {**plan.places, **places}
        known = tuple(dict.fromkeys([*plan.cautions, *cautions]))
        more = replace(plan, protocols=tuple(by_name.values()), places=places, cautions=known)
        if more != plan:
            self.check_plan(more)
            self._write(more, (self.folder.read_json("plan.json") or {}).get("sweep_file", ""))
        return more

    def _write(self, plan: Plan, sweep_file: str) -> None:
        self.folder.write_json("plan.json", {**plan.to_plain(), "sweep_file": sweep_file})

    def sweep_file_changed(self) -> bool:
        """Return whether ``sweep.yaml`` is not the file that was planned last. Raises Damaged."""
        plan, text = self.folder.read_json("plan.json"), self.folder.read("sweep.yaml")
        digest = None if text is None else hashlib.sha256(text).hexdigest()
        return plan is not None and plan.get("sweep_file") != digest

    def check_plan(self, plan: Plan) -> Plan | None:
        """Check that the folder is new, or holds this sweep on the same data.

        A fingerprint that is not known yet (None) is not compared.

        Returns:
            The plan that it holds; None if it is new.

        Raises:
            RunFolderError: it holds something else.
        """
        before = self.read_plan()
        if before is None and self.folder.names() not in ([], ["lock"]):
            raise RunFolderError(
                f"{self.path} holds files but no plan.json: it is not a run folder. "
                "Choose another with -o."
            )
        if before is None:
            return None
        if before.name != plan.name:
            raise RunFolderError(
                f"{self.path} holds the sweep '{before.name}', not '{plan.name}'. "
                "Choose another folder with -o."
            )
        if plan.fingerprint not in (None, before.fingerprint):
            raise RunFolderError(
                f"{self.path} was measured on other data: benchmark fingerprint "
                f"{before.fingerprint}, now {plan.fingerprint}. Its numbers and new ones cannot be "
                "compared; restore the data and the benchmark's settings, or choose another folder "
                "with -o."
            )
        for protocol in plan.protocols:
            for former in before.protocols:
                # Where only the main protocol was changed, a name follows it.
                if protocol.name == former.name and protocol.written != former.written:
                    self._check_unmeasured(protocol, former)
        return before

    def _check_unmeasured(self, protocol: PlannedProtocol, former: PlannedProtocol) -> None:
        """Raise RunFolderError if something was measured under a protocol whose name is taken."""
        if any(
            former.id in self.trial(trial).measurements.protocols() for trial in self.trial_ids()
        ):
            raise RunFolderError(
                f"{self.path} holds measurements under another protocol '{former.name}' "
                f"({former.protocol.described}). Give this one ({protocol.protocol.described}) "
                "another name."
            )

    def read_note(self, name: str) -> dict[str, Any] | None:
        """Read JSON beside the plan, such as ``environment.json``; None if missing or damaged."""
        with suppress(Damaged):
            return self.folder.read_json(name)
        return None

    def unplanned(self, plan: Plan) -> list[str]:
        """Return the ids of trials that the folder holds and the plan no longer names."""
        return [t for t in self.trial_ids() if t not in plan.specs]

    def with_its_ids(self, plan: Plan) -> Plan:
        """Return the plan with the former ids of each trial that the folder holds under those only.

        Its training draws from its id: it goes on, and its records count, under no other.
        """
        held = {*self.trial_ids()}
        if held <= plan.specs.keys():
            return plan
        known = {t.id: t.formerly for t in plan.trials if t.id not in held}
        known = {trial: former for trial, former in known.items() if former.id in held}
        # All trials of a configuration bear the same id of it.
        ids = {t.configuration: known[t.id].configuration for t in plan.trials if t.id in known}
        trials = (
            replace(known.get(t.id, t), configuration=ids.get(t.configuration, t.configuration))
            for t in plan.trials
        )
        return replace(plan, trials=tuple(trials))

    def notices(self, plan: Plan, trials: Collection[str] | None = None) -> Iterator[str]:
        """Say what a run of the plan should know of the folder before it starts. Raises Damaged.

        With ``trials``, only these of it are run.
        """
        if self.sweep_file_changed():
            yield (
                f"{self.path / 'sweep.yaml'} is not the file that was planned last: it was edited, "
                "damaged or never written. It is replaced by the sweep that runs now."
            )
        chosen = [trial for trial in plan.trials if trials is None or trial.id in trials]
        pending = {t.id: t.spec for t in chosen if self.trial(t.id).unfinished(t, None)}
        if lost := self._lost_states(pending):
            yield (
                f"{self.path / lost[0].place} cannot be used: {lost[0].reason}. "
                f"{counted(len(lost), 'trial')} with such a state to resume from "
                f"{'is' if len(lost) == 1 else 'are'} trained again from the beginning."
            )
        yield from self.going_on(pending)
        if count := len(self.unplanned(plan)):
            trials = f"{counted(count, 'trial')} {'is' if count == 1 else 'are'}"
            yield (
                f"{self.path}: {trials} no longer planned and left out of the report (`fsl-sweep "
                f"status` lists them); {COME_BACK}."
            )

    def going_on(self, pending: Mapping[str, TrialSpec]) -> Iterator[str]:
        """Say which of these trials have ended and are trained further, and from which epoch."""
        further = Counter[tuple[int, int, int]]()
        for trial, spec in pending.items():
            storage = self.trial(trial)
            if storage.planned_part(spec).end is None and storage.read_end() is not None:
                begun, start = max(storage.snapshots(), default=0), storage.resumes_after(spec)
                further[begun, start, spec.epochs] += 1
        for (begun, start, epochs), number in further.items():
            trials, goes = counted(number, "trial"), "goes" if number == 1 else "go"
            if start:
                yield f"{trials} {goes} on from epoch {start} to {epochs}."
            else:
                yield (
                    f"{trials} that ended after epoch {begun} {goes} to {epochs} from the "
                    "beginning: there is no state to go on from. On the same machine the epochs "
                    "that are recorded come out the same."
                )

    def _lost_states(self, pending: Collection[str]) -> list[Damaged]:
        """Return what is wrong with states that these trials cannot resume from."""
        lost: list[Damaged] = []
        for storage in map(self.trial, pending):
            try:
                storage.check_resume()
            except Damaged as damage:
                lost.append(damage)
        return lost

    def set_aside(self, trial: str) -> Path | None:
        """Move the records of a trial out of ``trials/``; return their place, None without any."""
        if trial not in self.trial_ids():
            return None
        taken = (self.folder / RETRIED).every_name()
        number = next(n for n in count(1) if f"{trial}-{n}" not in taken)
        place = f"{RETRIED}/{trial}-{number}"
        self.folder.move(f"trials/{trial}", place)
        return self.path / place

    def trial_ids(self) -> list[str]:
        """Return the ids of trials that the folder holds, planned or not."""
        with suppress(Damaged):  # each planned trial will say so
            return [*filter(TRIAL_ID.fullmatch, (self.folder / "trials").names())]
        return []

    def histories(
        self,
        plan: Plan,
        choose_by: str | None = None,
        report: str | None = None,
        checked: bool = True,
    ) -> list[TrialHistory]:
        """Read a history for each planned trial, in plan order; empty where nothing is recorded.

        Arguments as of `TrialLedger.history`; the protocols are by default the main one.
        """
        main = choose_by or plan.main.id
        return [
            self.trial(planned.id).history(planned, main, report, checked)
            for planned in plan.trials
        ]

    def pending(self, plan: Plan) -> dict[str, TrialSpec]:
        """Return the planned trials that have not ended, or whose failure is worth another try."""
        main = plan.main.id if plan.main.fingerprint else None
        return {
            planned.id: planned.spec
            for planned in plan.trials
            if self.trial(planned.id).unfinished(planned, main)
        }

    def resumed(self, pending: Mapping[str, TrialSpec]) -> dict[str, int]:
        """Return the epochs of each of these trials that need no training."""
        return {trial: self.trial(trial).resumes_after(spec) for trial, spec in pending.items()}
