"""Every file of a run folder, compared with its checksum, and what follows where it differs."""

import hashlib
import stat
from collections.abc import Callable, Collection, Generator, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fsl_sweep.orchestrator.errors import Damaged, RunFolderError
from fsl_sweep.orchestrator.ledger.ledger import Ledger
from fsl_sweep.orchestrator.ledger.storage import TEMPORARY, Folder, kind_of
from fsl_sweep.orchestrator.ledger.trial_ledger import (
    COMPACTED,
    EPOCHS,
    RESUME,
    SNAPSHOTS,
    TrialLedger,
    record_name,
    snapshot_name,
)
from fsl_sweep.orchestrator.records.measures import MEASURES, TASK_SETS
from fsl_sweep.orchestrator.records.plan import Plan, PlannedTrial
from fsl_sweep.orchestrator.records.spec import digest

_VIEW = ("tensorboard", "tensorboard.new", "tensorboard.old")
_RUN = ("plan.json", "sweep.yaml", "environment.json", "lock", "tasks", "trials", *_VIEW)
_TRIAL = ("spec.json", "end.json", COMPACTED, RESUME, EPOCHS, SNAPSHOTS)
_AGAIN = "the next `fsl-sweep run` writes it again"


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


def check_run(path: Path) -> Iterator[Finding]:
    """Everything in a run folder that is not as a run wrote it.

    Raises:
        RunFolderError: there is no run there.
    """
    ledger = Ledger(path)
    try:
        plan = ledger.checked_plan()
    except Damaged as damage:
        follows = "nothing else can be checked; run the sweep into another folder, or restore it"
        yield Finding(damage.place, damage.reason, follows)
        return
    if plan is None:
        raise RunFolderError(f"{path} is not a run folder: it has no plan.json.")
    yield from check_outside_trials(ledger, plan)
    trials, planned = ledger.trial_ids(), {trial.id: trial for trial in plan.trials}
    follows = "no trial counts as done until it is removed"
    if (yield from _strangers(ledger.folder / "trials", trials, follows)):
        for trial in trials:
            yield from _trial(ledger.trial(trial), trial, planned.get(trial))


def check_outside_trials(ledger: Ledger, plan: Plan) -> Iterator[Finding]:
    """The same for the files outside ``trials/``, which takes little time."""
    folder = ledger.folder
    yield from _strangers(folder, _RUN)
    yield from _sweep_file(ledger)
    yield from _damage(lambda: folder.read("lock"), "no run can start until it is removed")
    follows = f"the versions that made the records are not known; {_AGAIN} where it trains"
    yield from _note(folder, "environment.json", follows, may_miss=not ledger.trial_ids())
    prefixes = ["", *(f"fold-{fold.index}-" for fold in plan.folds)]
    names = [f"{p}{m}-{s}.json" for p in prefixes for m in MEASURES for s in TASK_SETS]
    if (yield from _strangers(folder / "tasks", names, f"once it is removed, {_AGAIN}")):
        for name in names:
            yield from _note(folder / "tasks", name, f"`report --classes` cannot read it; {_AGAIN}")
    yield from _view(folder.path)


def _sweep_file(ledger: Ledger) -> Iterator[Finding]:
    follows = "it was edited, damaged or removed; no record is lost"
    try:
        if ledger.sweep_file_changed():
            yield Finding("sweep.yaml", "it is not the file that was planned last", follows)
    except Damaged as damage:
        yield Finding(damage.place, damage.reason, follows)


def _view(run: Path) -> Iterator[Finding]:
    """What is neither file nor folder in TensorBoard's view, a copy without checksums."""
    for name in _VIEW:
        for path in (run / name, *(run / name).rglob("*")):
            with suppress(FileNotFoundError):
                mode = path.lstat().st_mode
                if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
                    place, problem = path.relative_to(run).as_posix(), f"it is a {kind_of(mode)}"
                    yield Finding(place, problem, "the view is not written until it is removed")


def _trial(storage: TrialLedger, trial: str, planned: PlannedTrial | None) -> Iterator[Finding]:
    folder = storage.folder
    follows = "its trial counts as not done, and cannot be trained until it is removed"
    if not (yield from _strangers(folder, _TRIAL, follows)):
        return
    follows = "the plan holds the same; no number depends on it"
    yield from _note(folder, "spec.json", follows, lambda plain: digest(plain) == trial)
    follows = "its trial counts as not done; `fsl-sweep run` trains it again"
    if planned is None:
        follows = "its trial is no longer planned; it would be trained again if it were"
    damaged = storage.damaged()
    for place in damaged:
        yield Finding(place, _kind(folder.root / place), follows)
    if planned is not None and not damaged and storage.history(planned).damaged:
        yield Finding(folder.place(EPOCHS), "epochs are missing from its records", follows)
    with suppress(Damaged):  # named above
        names = [*map(record_name, storage.record_epochs())]
        yield from _strangers(folder, names, inside=EPOCHS)
    follows = "its trial is trained again from the beginning"
    yield from _damage(lambda: folder.read_sealed(RESUME), follows)
    yield from _snapshots(storage, not damaged)


def _kind(path: Path) -> str:
    """Why a file is damaged, as far as its kind shows."""
    try:
        kind = kind_of(path.lstat().st_mode)
    except OSError:
        return "it is missing"
    return "it is not what was recorded" if kind == "file" else f"it is a {kind}"


def _snapshots(storage: TrialLedger, whole: bool) -> Iterator[Finding]:
    """Weights that are damaged, missing or unknown; the last only where all records are whole."""
    folder, digests = storage.folder, storage.snapshots()
    follows = (
        "the recorded numbers stand, the weights cannot be used; to make them again, remove the "
        f"folder {folder.path} and run the sweep again"
    )
    try:
        there = storage.snapshot_epochs()
    except Damaged as damage:
        yield Finding(damage.place, damage.reason, follows)
        return
    yield from _strangers(folder, [*map(snapshot_name, there)], inside=SNAPSHOTS)
    # A kill between an epoch's weights and its record leaves one snapshot without a record.
    unnamed = [epoch for epoch in there if epoch not in digests] if whole else []
    killed = len(unnamed) == 1
    for epoch in unnamed:
        problem = "no record names it" + (", as after a kill" if killed else "")
        again = "it is not used; `fsl-sweep run` trains that epoch again"
        yield Finding(folder.place(snapshot_name(epoch)), problem, again, harm=not killed)
    for epoch in sorted(digests):
        name = snapshot_name(epoch)
        try:
            data = folder.read(name)
        except Damaged as damage:
            yield Finding(damage.place, damage.reason, follows)
            continue
        if data is None or hashlib.sha256(data).hexdigest() != digests[epoch]:
            problem = "it is missing" if data is None else "it is not what was recorded"
            yield Finding(folder.place(name), problem, follows)


def _damage(read: Callable[[], object], follows: str) -> Iterator[Finding]:
    """What is found damaged by reading a file."""
    try:
        read()
    except Damaged as damage:
        yield Finding(damage.place, damage.reason, follows)


def _note(
    folder: Folder,
    name: str,
    follows: str,
    is_right: Callable[[dict[str, Any]], bool] = lambda _: True,
    may_miss: bool = False,
) -> Iterator[Finding]:
    """What is wrong with a JSON file."""
    try:
        plain = folder.read_json(name)
    except Damaged as damage:
        yield Finding(damage.place, damage.reason, follows)
        return
    if plain is None and not may_miss:
        yield Finding(folder.place(name), "it is missing", follows)
    elif plain is not None and not is_right(plain):
        yield Finding(folder.place(name), "it is not what was recorded", follows)


def _strangers(
    folder: Folder, ours: Collection[str], follows: str = "", inside: str = ""
) -> Generator[Finding, None, bool]:
    """Names that no run makes, and what a killed run left; whether it is a folder at all."""
    searched, prefix = (folder / inside, f"{inside}/") if inside else (folder, "")
    try:
        names = searched.every_name()
    except Damaged as damage:
        yield Finding(damage.place, damage.reason, follows)
        return False
    for name in names:
        if TEMPORARY.fullmatch(name):
            problem, then = "a write was interrupted", "the next `fsl-sweep run` removes it"
            yield Finding(searched.place(name), problem, then, harm=False)
        elif prefix + name not in ours:
            problem, then = "no run makes a file of this name", "nothing reads or removes it"
            yield Finding(searched.place(name), problem, then, harm=False)
    return True
