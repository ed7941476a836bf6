"""What was measured apart from training: kills, damage, other weights, and lost weights."""

import shutil
from dataclasses import replace

import pytest
from made import DONE, FIVE_SHOT, MAIN_ID, assert_holds, flip, plan, planned, record, recorded, spec

from fsl_sweep.orchestrator.errors import RunFolderError
from fsl_sweep.orchestrator.ledger.storage import Folder
from fsl_sweep.orchestrator.ledger.trial_ledger import TrialLedger
from fsl_sweep.orchestrator.records.measures import TrialEnd
from fsl_sweep.orchestrator.records.plan import PlannedTrial
from fsl_sweep.orchestrator.upkeep.remaining import to_measure

TRIAL = planned(spec())
LONGER = planned(spec(epochs=5))
PROTOCOLS = (MAIN_ID, FIVE_SHOT.id)


class Killed(Exception):
    pass


def train(storage: TrialLedger, done: set[int], trial: PlannedTrial = TRIAL) -> None:
    """What a trial does: it goes on after what is recorded and measured; ``done`` tells how far."""
    if not storage.unfinished(trial, MAIN_ID):
        return
    storage.begin(trial.spec)
    for epoch in {*trial.spec.recorded_epochs} - storage.recorded(MAIN_ID):
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
    assert kills == {"write": 18, "remove": 10}[operation]


@pytest.mark.parametrize("operation", ["write", "remove"])
def test_a_kill_of_a_trial_that_goes_on_changes_no_byte_and_loses_no_epoch(
    tmp_path, monkeypatch, storage, operation
):
    """It had ended, and was measured under two protocols: what it held is there at each moment."""
    at_once = TrialLedger(Folder(tmp_path / "at once", f"trials/{TRIAL.id}"))
    train(at_once, set(), LONGER)
    measure(at_once)
    expected, original, kills, killed = content(at_once), getattr(Folder, operation), 0, True
    expected.pop("spec.json")  # it says how far the trial was to be trained last
    while killed:
        shutil.copytree(tmp_path / "trials", tmp_path / str(kills) / "trials")
        further, left = TrialLedger(Folder(tmp_path / str(kills), at_once.folder.inside)), kills

        def counted(self, *arguments):
            nonlocal left
            left -= 1
            if left < 0:
                raise Killed
            return original(self, *arguments)

        with monkeypatch.context() as patch:
            patch.setattr(Folder, operation, counted)
            killed = False
            try:
                train(further, set(), LONGER)
                measure(further)
            except Killed:
                kills, killed = kills + 1, True
        assert further.history(TRIAL, MAIN_ID).damaged == ()
        assert_holds(further.history(TRIAL, MAIN_ID), [1, 2, 3])
        assert further.history(TRIAL, FIVE_SHOT.id).unmeasured == 0
        # Planned with fewer epochs again, it ends with what it has.
        train(further, done := set())
        assert (done, further.history(TRIAL, MAIN_ID).complete) == (set(), True)
        train(further, set(), LONGER)
        measure(further)
        after = content(further)
        assert {name: after.get(name) for name in expected} == expected
        beside = after.keys() - expected.keys() - {"spec.json"}
        assert all(name.startswith("epochs/") for name in beside)
    assert kills > 12


def test_what_follows_an_epoch_of_another_training_is_not_mixed_with_it(tmp_path):
    """As when a trial without a state is trained again on another machine, and diverges sooner."""
    further = TrialLedger(Folder(tmp_path, f"trials/{TRIAL.id}"))
    train(further, set())
    further.reopen()
    for epoch, weights in ((1, b"weights 1"), (2, b"other")):
        assert [*further.snapshots()] == [1, 2, 3]
        further.write_epoch(record(epoch), MAIN_ID, weights)
    assert [*further.snapshots()] == [1, 2]


ENDED = {"done": 3, "stopped": 3, "diverged": 3, "budget": 3}
READ = {
    2: dict.fromkeys(ENDED, "done"),
    3: dict.fromkeys(ENDED, "done"),
    4: {**{status: status for status in ENDED}, "done": None},
}


@pytest.mark.parametrize("epochs", READ)
@pytest.mark.parametrize("status", ENDED)
def test_how_a_trial_ended_is_read_for_the_epochs_that_are_planned(tmp_path, status, epochs):
    """What ended it after these does not concern them; that they are done, no more than these."""
    storage = TrialLedger(Folder(tmp_path, f"trials/{TRIAL.id}"))
    storage.begin(TRIAL.spec)
    for epoch in (1, 2, 3):
        storage.write_epoch(record(epoch), MAIN_ID, b"weights")
    storage.end(TrialEnd(status, "because", trained=ENDED[status]), MAIN_ID)
    history = storage.history(planned(spec(epochs=epochs)), MAIN_ID)
    assert_holds(history, range(1, min(epochs, 3) + 1))
    assert (history.end and history.end.status) == READ[epochs][status]
    assert storage.unfinished(planned(spec(epochs=epochs)), MAIN_ID) is (history.end is None)


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
