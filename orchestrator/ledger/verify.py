"""Every file of a run folder, compared with its checksum, and what follows where it differs."""

import hashlib
import re
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fsl_sweep.datasets.files.plain_file import kind_of
from fsl_sweep.orchestrator.errors import Damaged, RunFolderError
from fsl_sweep.orchestrator.ledger.ledger import RETRIED, Ledger, tasks_folder
from fsl_sweep.orchestrator.ledger.measured import MEASURED, epoch_of
from fsl_sweep.orchestrator.ledger.proposals import PROPOSALS, proposals_name, read_proposals
from fsl_sweep.orchestrator.ledger.storage import TEMPORARY, Folder
from fsl_sweep.orchestrator.ledger.training import END, EPOCHS
from fsl_sweep.orchestrator.ledger.trial_ledger import (
    PRUNED,
    RESUME,
    SNAPSHOTS,
    TrialLedger,
    snapshot_name,
)
from fsl_sweep.orchestrator.records.measures import MEASURES, TASK_SETS
from fsl_sweep.orchestrator.records.plan import PROTOCOL_ID, Plan, PlannedTrial
from fsl_sweep.orchestrator.records.spec import ids_of

_VIEW = ("tensorboard", "tensorboard.new", "tensorboard.old")
_NOTES = ("plan.json", "sweep.yaml", "environment.json", "lock")
_RUN = (*_NOTES, "tasks", "trials", PROPOSALS, RETRIED, *_VIEW)
_TRIAL = ("spec.json", END, RESUME, PRUNED, EPOCHS, MEASURED, SNAPSHOTS)
_MEASURED_OF = re.compile(rf"{PROTOCOL_ID.pattern}(\.parquet)?")
_UNTIL = "nothing can be written there until it is removed"
_AGAIN = "the next `fsl-sweep run` writes it again"
_MEASURED_AGAIN = (
    "what it held is not used; `fsl-sweep run` measures the weights again, or trains again where "
    "they are gone"
)
_ANSWERED_AGAIN = (
    "ensembles cannot use it, and nothing else depends on it; `fsl-sweep run` of a sweep that "
    "records predictions measures the weights again where they are there"
)


@dataclass(frozen=True)
class Finding:
    """A file that is not as it was written, or that no run writes.

    Attributes:
        place: where it is below the run folder.
        problem: what is wrong with it, as a clause.
        follows: what that means, and what to do about it.
        harm: whether something that was recorded is lost or cannot be used.
    """

    place: str
    problem: str
    follows: str
    harm: bool = True


class _Findings(list[Finding]):
    """The findings so far."""

    def add(self, place: str, problem: str, follows: str, harm: bool = True) -> None:
        self.append(Finding(place, problem, follows, harm))

    @contextmanager
    def damage(self, follows: str) -> Iterator[None]:
        """Name the file that is found damaged in the block; the rest of the block is left out."""
        try:
            yield
        except Damaged as damage:
            self.add(damage.place, damage.reason, follows)

    def note(
        self,
        folder: Folder,
        name: str,
        follows: str,
        is_right: Callable[[dict[str, Any]], bool] = lambda _: True,
        may_miss: bool = False,
    ) -> None:
        """Add what is wrong with a JSON file."""
        with self.damage(follows):
            plain = folder.read_json(name)
            if plain is None and not may_miss:
                self.add(folder.place(name), "it is missing", follows)
            elif plain is not None and not is_right(plain):
                self.add(folder.place(name), "it is not what was recorded", follows)

    def unknown_files(self, folder: Folder, is_known: Callable[[str], object]) -> None:
        """Add names that no run makes, and what a killed run left. Raises Damaged."""
        for name in folder.every_name():
            place = folder.place(name)
            if TEMPORARY.fullmatch(name):
                then = "the next `fsl-sweep run` removes it"
                self.add(place, "a write was interrupted", then, harm=False)
            elif not is_known(name):
                then = "nothing reads or removes it"
                self.add(place, "no run makes a file of this name", then, harm=False)


def check_run(path: Path) -> Sequence[Finding]:
    """Find everything in a run folder that is not as a run wrote it.

    Raises:
        RunFolderError: there is no run there.
    """
    ledger, plan, findings = Ledger(path), None, _Findings()
    follows = "nothing else can be checked; run the sweep into another folder, or restore it"
    with findings.damage(follows):
        plan = ledger.checked_plan()
        if plan is None:
            raise RunFolderError(f"{path} is not a run folder: it has no plan.json.")
    if plan is None:
        return findings
    findings += check_outside_trials(ledger, plan)
    trials, planned = ledger.trial_ids(), {trial.id: trial for trial in plan.trials}
    follows = "its trial counts as not done, and cannot be trained until it is removed"
    with findings.damage("no trial counts as done until it is removed"):
        findings.unknown_files(ledger.folder / "trials", trials.__contains__)
        for trial in trials:
            storage = ledger.trial(trial)
            with findings.damage(follows):
                findings.unknown_files(storage.folder, _TRIAL.__contains__)
                _check_trial(findings, storage, trial, planned.get(trial), plan.main.id)
    return findings


def check_outside_trials(ledger: Ledger, plan: Plan) -> Sequence[Finding]:
    """Check the files outside ``trials/``, which takes little time."""
    folder, findings = ledger.folder, _Findings()
    findings.unknown_files(folder, _RUN.__contains__)
    follows = "it was edited, damaged or removed; no record is lost"
    with findings.damage(follows):
        if ledger.sweep_file_changed():
            findings.add("sweep.yaml", "it is not the file that was planned last", follows)
    with findings.damage("no run can start until it is removed"):
        folder.read("lock")
    follows = f"the versions that made the records are not known; {_AGAIN} where it trains"
    findings.note(folder, "environment.json", follows, may_miss=not ledger.trial_ids())
    prefixes = ["", *(f"fold-{fold.index}-" for fold in plan.folds)]
    names = [f"{p}{m}-{s}.json" for p in prefixes for m in MEASURES for s in TASK_SETS]
    follows = f"`report --classes` cannot read it; {_AGAIN}"
    ids = [protocol.id for protocol in plan.protocols]
    with findings.damage(_UNTIL):
        findings.unknown_files(folder / "tasks", ids.__contains__)
        for protocol in plan.protocols:
            tasks = folder / tasks_folder(protocol.id)
            with findings.damage(_UNTIL):
                findings.unknown_files(tasks, names.__contains__)
                for name in names:
                    folds = protocol.snapshots != "all" and name.startswith("fold-")
                    findings.note(tasks, name, follows, may_miss=folds or not protocol.asked)
    _check_proposals(findings, ledger, plan)
    for name in _VIEW:  # TensorBoard's, a copy without checksums
        for path in (folder.path / name, *(folder.path / name).rglob("*")):
            with suppress(FileNotFoundError):
                mode = path.lstat().st_mode
                if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
                    place = path.relative_to(folder.path).as_posix()
                    follows = "the view is not written until it is removed"
                    findings.add(place, f"it is a {kind_of(mode)}", follows)
    return findings


def _check_proposals(findings: _Findings, ledger: Ledger, plan: Plan) -> None:
    folder = ledger.folder / PROPOSALS
    names = {
        proposals_name(method, number): (method, number)
        for method, searched in plan.searched.items()
        for number in range(1, len(searched.rounds) + 1)
    }
    follows = (
        "the plan holds the same configurations; what their searcher was told is not known, and no "
        "number depends on it"
    )
    with findings.damage(_UNTIL):
        # One more was asked for just before a kill; others are of methods no longer planned.
        findings.unknown_files(folder, re.compile(r".+-\d{4,}\.json").fullmatch)
        for name, (method, number) in names.items():
            with findings.damage(follows):
                proposals = read_proposals(ledger, method, number)
                if proposals is None:
                    findings.add(folder.place(name), "it is missing", follows)
                elif proposals.proposed != plan.searched[method].rounds[number - 1]:
                    findings.add(folder.place(name), "it is not what was planned", follows)


def _check_trial(
    findings: _Findings, storage: TrialLedger, trial: str, planned: PlannedTrial | None, main: str
) -> None:
    folder = storage.folder
    follows = "the plan holds the same; no number depends on it"
    findings.note(folder, "spec.json", follows, lambda plain: trial in ids_of(plain))
    follows = "its trial counts as not done; `fsl-sweep run` trains it again"
    if planned is None:
        follows = "its trial is no longer planned; it would be trained again if it were"
    damaged = storage.damaged()
    for place in damaged:
        then = _MEASURED_AGAIN if place.startswith(folder.place(MEASURED)) else follows
        findings.add(place, _kind(folder.root / place), then)
    if planned is not None and not damaged and storage.history(planned, main).damaged:
        findings.add(folder.place(EPOCHS), "epochs are missing from its records", follows)
    with suppress(Damaged):  # named above
        findings.unknown_files(folder / EPOCHS, lambda name: epoch_of(name, "json"))
        records, weights = folder / MEASURED, storage.snapshots()
        findings.unknown_files(records, lambda name: _MEASURED_OF.fullmatch(name))
        for protocol in storage.measurements.protocols():
            findings.unknown_files(
                records / protocol, lambda name: epoch_of(name, "record", "answers")
            )
            answered = storage.measurements.answered(protocol)
            # After a kill an epoch may have answers and no record: they will be written again.
            for epoch in (epoch for epoch in answered if epoch in weights):
                with findings.damage(_ANSWERED_AGAIN):
                    storage.read_answers(epoch, protocol)
    follows = "whether missing weights were pruned is not known"
    findings.note(folder, PRUNED, follows, may_miss=True)
    with findings.damage("its trial is trained again from the beginning"):
        storage.check_resume()
    _check_snapshots(findings, storage, not damaged)


def _kind(path: Path) -> str:
    """Say why a file is damaged, as far as its kind shows."""
    try:
        kind = kind_of(path.lstat().st_mode)
    except OSError:
        return "it is missing"
    return "it is not what was recorded" if kind == "file" else f"it is a {kind}"


def _check_snapshots(findings: _Findings, storage: TrialLedger, undamaged: bool) -> None:
    """Find weights that are damaged or missing, and, where all records are undamaged, unknown."""
    folder, digests, pruned = storage.folder, storage.snapshots(), storage.pruned()
    follows = (
        "the recorded numbers stand, the weights cannot be used; to make them again, remove the "
        f"folder {folder.path} and run the sweep again"
    )
    with findings.damage(follows):
        there = storage.snapshot_epochs()
        findings.unknown_files(folder / SNAPSHOTS, lambda name: epoch_of(name, "safetensors"))
        # A kill between an epoch's weights and its record leaves one snapshot without a record.
        unnamed = [epoch for epoch in there if epoch not in digests] if undamaged else []
        killed = len(unnamed) == 1
        for epoch in unnamed:
            problem = "no record names it" + (", as after a kill" if killed else "")
            again = "it is not used; `fsl-sweep run` trains that epoch again"
            findings.add(folder.place(snapshot_name(epoch)), problem, again, harm=not killed)
        for epoch, recorded in sorted(digests.items()):
            with findings.damage(follows):
                name = snapshot_name(epoch)
                data = folder.read(name)
                if data is None and epoch in pruned:
                    continue
                if data is None or hashlib.sha256(data).hexdigest() != recorded:
                    problem = "it is missing" if data is None else "it is not what was recorded"
                    findings.add(folder.place(name), problem, follows)
