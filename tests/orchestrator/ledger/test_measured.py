"""What was measured apart from training: kills, damage, other weights, and lost weights."""

from dataclasses import replace

import pytest
from made import DONE, FIVE_SHOT, MAIN_ID, assert_holds, flip, plan, planned, record, recorded, spec

from fsl_sweep.orchestrator.errors import RunFolderError
from fsl_sweep.orchestrator.ledger.storage import Folder
from fsl_sweep.orchestrator.ledger.trial_ledger import TrialLedger
from fsl_sweep.orchestrator.upkeep.remaining import to_measure

TRIAL = planned(spec())
PROTOCOLS = (MAIN_ID, FIVE_SHOT.id)


class Killed(Exception):
    pass


def train(storage: TrialLedger, done: set[int]) -> None:
    """What a trial does: it goes on after what is recorded and measured; ``done`` tells how far."""
    if not storage.unfinished(TRIAL, MAIN_ID):
        return
    storage.begin(TRIAL.spec)
    for epoch in {1, 2, 3} - storage.recorded(MAIN_ID):
        storage.write_epoch(record(epoch), MAIN_ID, b"weights %d" % epoch)
        done.add(epoch)
    storage.end(DONE, MAIN_ID)


def measure(storage: TrialLedger) -> None:
    """What measuring does, of whatever is missing."""
    for number, protocol in enumerate(PROTOCOLS):
        for epoch in storage.to_measure(protocol):
            storage.write_measured(epoch, protocol, record(epoch, number).scores)
        storage.compact(protocol)


def content(storage: TrialLedger) -> dict[str, bytes]:
    folder = storage.folder.path
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


@pytest.fixture
def storage(tmp_path) -> TrialLedger:
    """A finished trial, measured under two protocols."""
    finished = TrialLedger(Folder(tmp_path, f"trials/{TRIAL.id}"))
    train(finished, set())
    measure(finished)
    return finished


@pytest.mark.parametrize("operation", ["write", "remove"])
def test_a_kill_between_any_two_operations_changes_no_byte_of_the_end(
    tmp_path, monkeypatch, storage, operation
):
    """The n-th write or removal is the last; then everything is run again, as a user would.

    What was recorded before the kill is read as it was.
    """
    undisturbed, original, kills, killed = content(storage), getattr(Folder, operation), 0, True
    while killed:
        left, done = iter(range(kills)), set()

        def counted(self, *arguments, left=left):
            if next(left, None) is None:
                raise Killed
            return original(self, *arguments)

        storage = TrialLedger(Folder(tmp_path / str(kills), f"trials/{TRIAL.id}"))
        monkeypatch.setattr(Folder, operation, counted)
        killed = False
        try:
            train(storage, done)
            measure(storage)
        except Killed:
            kills, killed = kills + 1, True
        monkeypatch.undo()
        kept = storage.recorded(MAIN_ID)
        assert done <= kept
        assert_holds(storage.history(TRIAL, MAIN_ID), sorted(kept))
        for protocol in PROTOCOLS:
            assert storage.history(TRIAL, protocol).damaged == ()
        train(storage, done)
        measure(storage)
        after = content(storage)
        assert {name: after.get(name) for name in undisturbed} == undisturbed
        # What a kill left of single files is not read any more.
        assert all(name.startswith("epochs/") for name in after.keys() - undisturbed.keys())
    # Writes: spec, 3 x (weights, measurements, epoch), end, file, end; 3 x measurements, file, end.
    assert kills == {"write": 18, "remove": 11}[operation]


def test_measurements_of_other_weights_are_not_used(storage):
    name = f"measured/{FIVE_SHOT.id}.parquet"
    other = TrialLedger(Folder(storage.folder.root / "other", f"trials/{TRIAL.id}"))
    other.begin(TRIAL.spec)
    for epoch in (1, 2, 3):
        other.write_epoch(record(epoch), MAIN_ID, b"Weights %d" % epoch)
    other.end(DONE, MAIN_ID)
    row = f"measured/{FIVE_SHOT.id}/0002.record"
    other.write_measured(2, FIVE_SHOT.id, record(2).scores)
    storage.folder.remove(name)
    storage.folder.write(row, other.folder.read(row))
    assert storage.recorded(FIVE_SHOT.id) == set()
    # Nor are they where the end names their file: it is another training's.
    measure(other)
    theirs = other.folder.read_json("end.json")["measured"]
    storage.folder.write(name, other.folder.read(name))
    end = storage.folder.read_json("end.json")
    storage.folder.write_json("end.json", {**end, "measured": theirs})
    assert storage.recorded(FIVE_SHOT.id) == set()
    places = [storage.folder.place(f"measured/{protocol}.parquet") for protocol in theirs]
    assert storage.damaged() == places


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("lost", [[], [2], [1, 2, 3]])
def test_damaged_measurements_are_made_again_of_the_weights_or_by_training(storage, protocol, lost):
    undamaged = content(storage)
    storage.prune(lost)
    flip(storage.folder.path / f"measured/{protocol}.parquet")
    assert storage.to_measure(protocol) == [1, 2, 3]
    assert storage.unfinished(TRIAL, protocol) is bool(lost)
    if lost:
        return
    # What was measured again is used, although the file that it replaces is still damaged.
    storage.write_measured(1, protocol, record(1, PROTOCOLS.index(protocol)).scores)
    assert storage.to_measure(protocol) == [2, 3]
    assert len(storage.history(TRIAL, protocol).damaged) == 1
    measure(storage)
    assert content(storage) == undamaged


def test_pruned_weights_that_were_never_measured_are_refused_and_not_trained_again(tmp_path):
    ledger = recorded(tmp_path / "run", TRIAL)
    both = replace(plan(TRIAL), protocols=(*plan(TRIAL).protocols, FIVE_SHOT))
    ledger.trial(TRIAL.id).prune([1, 3])
    assert not ledger.trial(TRIAL.id).unfinished(TRIAL, FIVE_SHOT.id)
    with pytest.raises(RunFolderError, match=r"2 of 3 snapshots .*pruned.* under 5-shot\."):
        to_measure(ledger, both, [FIVE_SHOT], [TRIAL.id])
    assert to_measure(ledger, both, both.protocols[:1], [TRIAL.id]) == {}
    # Weights that are missing and were not pruned are trained again.
    (ledger.trial(TRIAL.id).folder.path / "snapshots/0002.safetensors").unlink()
    assert ledger.trial(TRIAL.id).unfinished(TRIAL, FIVE_SHOT.id)
