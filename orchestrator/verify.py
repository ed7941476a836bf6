"""Every file of a run folder, compared with its checksum, and what follows where it differs."""

import hashlib
import stat
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fsl_sweep.orchestrator.compacted import NAME as COMPACTED
from fsl_sweep.orchestrator.config import digest
from fsl_sweep.orchestrator.epoch_records import FOLDER as EPOCHS
from fsl_sweep.orchestrator.epoch_records import name_of
from fsl_sweep.orchestrator.errors import Damaged, RunFolderError
from fsl_sweep.orchestrator.ledger import RESUME, SNAPSHOTS, Ledger, TrialLedger, snapshot_name
from fsl_sweep.orchestrator.plan import Plan, PlannedTrial
from fsl_sweep.orchestrator.record_cache import CACHES
from fsl_sweep.orchestrator.records import MEASURES, TASK_SETS
from fsl_sweep.orchestrator.storage import TEMPORARY, Folder, kind_of

_VIEW = ("tensorboard", "tensorboard.new", "tensorboard.old")
_FOLDERS = ("tasks", "trials", "report", *_VIEW)
_FILES = ("plan.json", "sweep.yaml", "environment.json", "lock")
_TRIAL = ("spec.json", "end.json", COMPACTED, RESUME, EPOCHS, SNAPSHOTS)
_AGAIN = "the next `fsl-sweep run` writes it again"


@dataclass(frozen=True)
class Finding:
    """A file that is not as it was written, or that no run writes.

    Attributes:
        place: where it is below the run folder.
        problem: what is wrong with it, as a clause.
        follows: what that means, and what to do where something is to be done.
        harm: whether something that was recorded is lost or cannot be used.
    """

    place: str
    problem: str
    follows: str
    harm: bool = True


def check_run(path: Path) -> Iterator[Finding]:
    """What is not whole in a run folder.

    Raises:
        RunFolderError: there is no run there.
    """
    ledger = Ledger(path)
    try:
        plan = ledger.read_plan()
    except RunFolderError as failure:
        yield Finding("plan.json", str(failure), "nothing else can be checked without it")
        return
    if plan is None:
        raise RunFolderError(f"{path} is not a run folder: it has no plan.json.")
    yield from _strangers(ledger.folder, (*_FILES, *_FOLDERS))
    yield from _sweep_file(ledger)
    yield from _lock(ledger.folder)
    begun = bool(ledger.trial_ids())
    follows = f"which versions made the records is not known; {_AGAIN} where it trains"
    yield from _note(ledger.folder, "environment.json", follows, may_miss=not begun)
    yield from _tasks(ledger.folder / "tasks", plan)
    yield from _caches(ledger.folder / "report")
    yield from _view(path)
    yield from _trials(ledger, plan)


def _sweep_file(ledger: Ledger) -> Iterator[Finding]:
    try:
        changed, problem = ledger.sweep_file_changed(), "it is not the file that was planned last"
    except Damaged as damage:
        changed, problem = True, damage.reason
    if changed:
        yield Finding("sweep.yaml", problem, "it was edited, damaged or removed; no record is lost")


def _lock(folder: Folder) -> Iterator[Finding]:
    try:
        folder.read("lock")
    except Damaged as damage:
        yield Finding("lock", damage.reason, "no run can hold the folder until it is removed")


def _tasks(folder: Folder, plan: Plan) -> Iterator[Finding]:
    prefixes = ["", *(f"fold-{fold.index}-" for fold in plan.folds)]
    names = [f"{p}{m}-{s}.json" for p in prefixes for m in MEASURES for s in TASK_SETS]
    try:
        yield from _strangers(folder, names)
    except Damaged as damage:
        yield Finding(damage.place, damage.reason, f"once it is removed, {_AGAIN}")
        return
    for name in names:
        yield from _note(folder, name, f"`report --classes` cannot read it; {_AGAIN}")


def _caches(folder: Folder) -> Iterator[Finding]:
    try:
        yield from _strangers(folder, CACHES)
    except Damaged as damage:
        yield Finding(damage.place, damage.reason, "reports do without a cache until it is removed")
        return
    for name in CACHES:
        try:
            folder.read_sealed(name)
        except Damaged as damage:
            yield Finding(
                damage.place, damage.reason, "it is not used; the next report replaces it"
            )


def _view(run: Path) -> Iterator[Finding]:
    """Whether TensorBoard's view holds nothing but files; it is a copy, without checksums."""
    for name in _VIEW:
        for path in (run / name, *(run / name).rglob("*")):
            with suppress(FileNotFoundError):
                mode = path.lstat().st_mode
                if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
                    place, problem = path.relative_to(run).as_posix(), f"it is a {kind_of(mode)}"
                    yield Finding(place, problem, "the view is not written until it is removed")


def _trials(ledger: Ledger, plan: Plan) -> Iterator[Finding]:
    planned: Mapping[str, PlannedTrial] = {trial.id: trial for trial in plan.trials}
    trials = ledger.trial_ids()
    try:
        yield from _strangers(ledger.folder / "trials", trials)
    except Damaged as damage:
        yield Finding(damage.place, damage.reason, "no trial counts as done until it is removed")
        return
    for trial in trials:
        storage = ledger.trial(trial)
        try:
            yield from _strangers(storage.folder, _TRIAL)
        except Damaged as damage:
            follows = "its trial counts as not done, and cannot be trained until it is removed"
            yield Finding(damage.place, damage.reason, follows)
            continue
        yield from _trial(storage, trial, planned.get(trial))


def _trial(storage: TrialLedger, trial: str, planned: PlannedTrial | None) -> Iterator[Finding]:
    folder = storage.folder
    follows = "the plan holds the same; no number depends on it"
    yield from _note(folder, "spec.json", follows, lambda plain: digest(plain) == trial)
    damaged = storage.damaged() if planned is None else storage.history(planned).damaged
    for name in damaged:
        yield _damaged_record(folder, name, planned is not None)
    with suppress(Damaged):  # named above
        epochs = storage.epochs.epochs()
        yield from _strangers(folder, list(map(name_of, epochs)), EPOCHS)
    try:
        folder.read_sealed(RESUME)
    except Damaged as damage:
        yield Finding(damage.place, damage.reason, "its trial is trained again from the beginning")
    yield from _snapshots(storage, not damaged)


def _damaged_record(folder: Folder, name: str, planned: bool) -> Finding:
    """What a trial's history names: a file by its path, or a trial and what it lacks."""
    path, _, lacking = name.partition(": ")
    place = f"{folder.inside}/{EPOCHS}" if lacking else name.removeprefix(f"{folder.root}/")
    follows = "its trial counts as not done; `fsl-sweep run` trains it again"
    if not planned:
        follows = "its trial is no longer planned; it would be trained again if it were"
    return Finding(place, lacking or _kind(Path(path)), follows)


def _kind(path: Path) -> str:
    """Why a damaged file is damaged, as far as a look at it tells."""
    try:
        kind = kind_of(path.lstat().st_mode)
    except OSError:
        return "it is missing"
    return "it is not what was recorded" if kind == "file" else f"it is a {kind}"


def _snapshots(storage: TrialLedger, whole: bool) -> Iterator[Finding]:
    """Weights that are damaged, missing or unknown; the last only where all records are whole."""
    folder, digests = storage.folder, storage.snapshots()
    follows = (
        "the recorded numbers stand, the weights cannot be used; to make them again, remove "
        f"{folder.inside} and run the sweep"
    )
    try:
        there = storage.snapshot_epochs()
        yield from _strangers(folder, [*map(snapshot_name, there)], SNAPSHOTS)
    except Damaged as damage:
        yield Finding(damage.place, damage.reason, follows)
        return
    # A kill between an epoch's weights and its record leaves one snapshot without.
    unnamed = [epoch for epoch in there if epoch not in digests] if whole else []
    for epoch in unnamed:
        problem = (
            "no record names it, as after a kill" if len(unnamed) == 1 else "no record names it"
        )
        again = "it is not used; `fsl-sweep run` trains that epoch again"
        yield Finding(folder.place(snapshot_name(epoch)), problem, again, len(unnamed) > 1)
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


def _note(
    folder: Folder,
    name: str,
    follows: str,
    is_right: Callable[[dict[str, Any]], bool] = lambda _: True,
    may_miss: bool = False,
) -> Iterator[Finding]:
    """A JSON file with its checksum."""
    try:
        plain = folder.read_json(name)
    except Damaged as damage:
        yield Finding(damage.place, damage.reason, follows)
        return
    if plain is None and not may_miss:
        yield Finding(folder.place(name), "it is missing", follows)
    elif plain is not None and not is_right(plain):
        yield Finding(folder.place(name), "it is not what was recorded", follows)


def _strangers(folder: Folder, ours: Collection[str], inside: str = "") -> Iterator[Finding]:
    """Names that no run makes, and what a killed run left. Raises Damaged: it is no folder."""
    searched, prefix = (folder / inside, f"{inside}/") if inside else (folder, "")
    for name in searched.every_name():
        if TEMPORARY.fullmatch(name):
            problem, follows = "a write was cut short", "the next `fsl-sweep run` removes it"
            yield Finding(searched.place(name), problem, follows, harm=False)
        elif prefix + name not in ours:
            problem, follows = "no run makes a file of this name", "nothing reads or removes it"
            yield Finding(searched.place(name), problem, follows, harm=False)
