"""The records of a trial and the plan of a run: written, read again, damaged, and forged."""

import errno
import json
from contextlib import nullcontext
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from made import (
    DONE,
    FIVE_SHOT,
    MAIN_ID,
    MAIN_PROTOCOL,
    assert_holds,
    filled,
    flip,
    forge,
    plan,
    planned,
    record,
    recorded,
    spec,
)

from fsl_sweep.orchestrator.errors import Damaged, MachineFailure, RunFolderError, UnknownName
from fsl_sweep.orchestrator.ledger.ledger import Ledger
from fsl_sweep.orchestrator.ledger.lock import run_lock
from fsl_sweep.orchestrator.records.measures import TrialEnd
from fsl_sweep.orchestrator.records.protocol import Episode, Protocol

COMPACTED = f"measured/{MAIN_ID}.parquet"
REPORT = "novel", "report"


def forge_end(storage, **changes):
    """Put other content into a trial's end, with the right checksum; give its path."""
    end = storage.folder.read_json("end.json")
    forge(storage.folder.root, storage.folder.place("end.json"), {**end, **changes})
    return str(storage.folder.path / "end.json")


def test_what_is_recorded_is_read_before_and_after_compaction(tmp_path):
    """Which removes only what the trial wrote."""
    storage, trial = filled(tmp_path)
    assert_holds(storage.history(trial, MAIN_ID), [1, 2, 3])
    assert storage.read_epoch(2, MAIN_ID).scores[REPORT].mean == record(2).scores[REPORT].mean
    assert storage.unfinished(trial, MAIN_ID)
    foreign = {"00001.json", "0001.json.bak", "1.json"}
    for name in foreign:
        (storage.folder.path / "epochs" / name).write_text("mine")
    storage.end(DONE, MAIN_ID)
    assert_holds(storage.history(trial, MAIN_ID), [1, 2, 3])
    assert not storage.unfinished(trial, MAIN_ID)
    weights = {f"000{epoch}.safetensors" for epoch in (1, 2, 3)}
    names = {p.name for p in storage.folder.path.rglob("*") if p.is_file()}
    assert names == {"spec.json", "end.json", f"{MAIN_ID}.parquet", *weights, *foreign}
    means = [record(epoch).scores[REPORT].mean for epoch in (1, 2, 3)]
    # Any tool reads the compacted file.
    table = pq.read_table(storage.folder.path / COMPACTED)
    assert (table["epoch"].to_pylist(), table["novel_report_mean"].to_pylist()) == (
        [1, 2, 3],
        means,
    )


def test_means_are_known_without_the_tasks_and_damaged_tasks_are_named_when_they_are_read(tmp_path):
    """Of an ended trial, from its end: the file of tasks is read when tasks are asked for."""
    storage, trial = filled(tmp_path, end=DONE)
    for epoch in (1, 2, 3):
        storage.write_measured(epoch, FIVE_SHOT.id, record(epoch).scores)
    storage.compact(FIVE_SHOT.id)
    for protocols in ((MAIN_ID,), (FIVE_SHOT.id, MAIN_ID)):
        history = storage.history(trial, *protocols, checked=False)
        assert_holds(history, [1, 2, 3])
        for table in history.scores.values():
            largest = table.load().std(axis=1).max()
            assert largest <= table.deviation <= largest + 1.01e-6
    storage, trial = filled(tmp_path / "damaged", end=DONE)
    flip(storage.folder.path / COMPACTED)
    history = storage.history(trial, MAIN_ID, checked=False)
    assert (history.complete, history.damaged) == (True, ())
    assert history.scores[REPORT].means[1] == record(2).scores[REPORT].mean
    with pytest.raises(Damaged, match=f"{MAIN_ID}.parquet"):
        history.scores[REPORT].load()


def test_what_no_one_can_have_written_is_damaged_whatever_its_checksum(tmp_path):
    storage, trial = filled(tmp_path, end=DONE)
    summary = storage.folder.read_json("end.json")["summaries"][MAIN_ID]
    changes = [{"novel_report_mean": each} for each in ([0.5] * 2, [0.5, 0.5, 1.5], [0.5, None, 1])]
    for change in (*changes, {"novel_report_deviation": "large"}):
        assert storage.history(trial, MAIN_ID, checked=False).damaged == ()
        end = forge_end(storage, summaries={MAIN_ID: {**summary, **change}})
        assert storage.history(trial, MAIN_ID, checked=False).damaged == (end,), change
        forge_end(storage, summaries={MAIN_ID: summary})
    path = storage.folder.path / COMPACTED
    path.write_bytes(b"PAR1 nothing")
    forge_end(storage, measured={MAIN_ID: sha256(b"PAR1 nothing").hexdigest()})
    assert storage.history(trial, MAIN_ID).damaged == (str(path),)
    Path(end).write_text("[" * 100_000)
    assert storage.history(trial, MAIN_ID).damaged == (end,)


def test_a_trial_without_an_epoch_has_an_empty_history_and_is_not_complete(tmp_path):
    trial = planned(spec())
    history = Ledger(tmp_path).trial(trial.id).history(trial, MAIN_ID)
    assert history.epochs.shape == history.scores[REPORT].means.shape == (0,)
    assert (history.end, history.complete, history.damaged) == (None, False, ())
    storage, trial = filled(tmp_path, epochs=0, end=TrialEnd("budget", "spent"))
    complete = storage.history(trial, MAIN_ID).complete
    assert (complete, storage.unfinished(trial, MAIN_ID)) == (False, False)


@pytest.mark.parametrize("harm", [flip, lambda path: path.write_bytes(b"")])
def test_a_damaged_epoch_is_named_skipped_and_not_counted(tmp_path, harm):
    storage, trial = filled(tmp_path)
    path = storage.folder.path / "epochs" / "0002.json"
    harm(path)
    history = storage.history(trial, MAIN_ID)
    assert_holds(history, [1, 3])
    assert history.damaged == (str(path),)
    assert storage.recorded(MAIN_ID) == {1, 3}
    with pytest.raises(KeyError, match="epoch 2"):
        storage.read_epoch(2, MAIN_ID)
    # Even a trial that says it is done is not believed when an epoch is missing.
    storage.end(DONE, MAIN_ID)
    assert not storage.history(trial, MAIN_ID).complete
    assert storage.unfinished(trial, MAIN_ID)
    storage, trial = filled(tmp_path / "other")
    (storage.folder.path / "epochs" / "0002.json").unlink()
    missing = f"{trial.id}: epochs are missing from its records"
    assert storage.history(trial, MAIN_ID).damaged == (missing,)


@pytest.mark.parametrize("name", [COMPACTED, "end.json"])
@pytest.mark.parametrize("harm", [flip, Path.unlink, lambda path: path.write_bytes(b"{")])
def test_a_damaged_finished_trial_is_run_again(tmp_path, name, harm):
    """Measurements are made again of the weights; where an epoch's are gone, it is trained."""
    storage, trial = filled(tmp_path, end=DONE)
    path = storage.folder.path / name
    harm(path)
    history = storage.history(trial, MAIN_ID)
    assert (history.complete, history.damaged) == (False, (str(path),))
    assert storage.unfinished(trial, MAIN_ID) is (name == "end.json")
    storage.prune([2])
    assert storage.unfinished(trial, MAIN_ID)


def test_a_failure_worth_another_try_keeps_the_state_to_resume_from(tmp_path):
    storage, trial = filled(tmp_path)
    storage.write_resume(b"state", 3)
    died = TrialEnd("failed", "the node died", retriable=True)
    storage.end(died, MAIN_ID)
    assert storage.unfinished(trial, MAIN_ID)
    assert storage.read_resume() == b"state"
    assert storage.history(trial, MAIN_ID).end == died
    storage.begin(trial.spec)
    assert storage.history(trial, MAIN_ID).end is None
    storage.end(TrialEnd("failed", "NaN"), MAIN_ID)
    assert not storage.unfinished(trial, MAIN_ID)
    assert storage.read_resume() is None
    assert_holds(storage.history(trial, MAIN_ID), [1, 2, 3])


def test_a_state_is_only_of_the_records_that_it_follows(tmp_path, snapshot):
    """Up to the epoch that it was written after, whether that was recorded or not."""
    whole, ledger = plan(planned(spec())), Ledger(tmp_path)
    ledger.write_plan(whole, "")
    storage, trial = filled(tmp_path)
    for epoch in (2, 5):
        storage.write_resume(b"state", epoch)
        assert storage.read_resume() == b"state"
    storage.write_resume(b"state", 2)
    storage.write_epoch(record(3), MAIN_ID, b"other weights")
    assert (storage.read_resume(), [*ledger.notices(whole)]) == (b"state", [])
    for harm in (
        lambda: storage.write_epoch(record(2), MAIN_ID, b"other weights"),
        lambda: storage.folder.write_sealed("resume.state", b"as versions before wrote it"),
        lambda: flip(storage.folder.path / "resume.state"),
    ):
        harm()
        assert storage.read_resume() is None
        (remark,) = ledger.notices(whole)
        assert remark.replace(str(tmp_path), "RUN").replace(trial.id, "ID") == snapshot
    storage.end(TrialEnd("failed", "the node died", retriable=True), MAIN_ID)
    assert len([*ledger.notices(whole)]) == 1
    storage.write_epoch(record(3), MAIN_ID, b"other weights")
    storage.end(DONE, MAIN_ID)
    assert [*ledger.notices(whole)] == []


@pytest.mark.parametrize(
    ("reason", "status"),
    [
        ("the training loss became nan in epoch 3", "diverged"),
        ("the training loss became -inf in epoch 12", "diverged"),
        (
            "epoch 1 could not be measured: the learner's answers to 3 of 40 tasks are not numbers",
            "diverged",
        ),
        (
            "epoch 1 could not be measured: submission 'x': its answers to a task are not numbers",
            "failed",
        ),
        ("out of memory: the training loss became nan in epoch 3", "failed"),
    ],
)
def test_what_former_versions_called_a_failure_is_read_as_what_it_was(tmp_path, reason, status):
    """A node that dies while the loss is NaN may be tried again, and is no divergence."""
    storage, trial = filled(tmp_path, end=TrialEnd("failed", reason))
    before = storage.folder.read("end.json")
    history = storage.history(trial, MAIN_ID)
    assert (history.end.status, history.end.reason) == (status, reason)
    assert history.complete is history.diverged is (status == "diverged")
    assert_holds(history, [1, 2, 3])
    assert not storage.unfinished(trial, MAIN_ID)
    assert storage.folder.read("end.json") == before
    forge_end(storage, retriable=True)
    assert storage.read_end().status == "failed"


def test_plan_round_trip_and_pending(tmp_path):
    ledger = Ledger(tmp_path)
    trials = [planned(spec(seed, way)) for way in (5, 20) for seed in (0, 1)]
    ledger.write_plan(plan(*trials), "name: made\n")
    assert ledger.read_plan() == plan(*trials)
    assert list(ledger.pending(plan(*trials))) == [t.id for t in trials]
    recorded(tmp_path, trials[0])
    assert list(ledger.pending(plan(*trials))) == [t.id for t in trials[1:]]
    # Adding a grid value leaves what is done; dropping one leaves it out and names it.
    more = plan(*trials, planned(spec(0, 10)))
    ledger.write_plan(more, "name: made\n")
    assert len(ledger.pending(more)) == 4
    assert ledger.unplanned(plan(*trials[1:])) == [trials[0].id]
    (tmp_path / "plan.json").unlink()
    with pytest.raises(RunFolderError, match="it is not a run folder"):
        ledger.write_plan(more, "")


@pytest.mark.parametrize("file", ["plan.json", "sweep.yaml"])
def test_a_first_start_that_a_full_disk_ends_at_any_file_is_taken_up(tmp_path, monkeypatch, file):
    """But not a folder with a sweep file of somebody's, which would be lost."""
    ledger, first = Ledger(tmp_path / "run"), plan(planned(spec()))
    replace_file = Path.replace

    def full(path, target):
        if Path(target).name == file:
            raise OSError(errno.ENOSPC, "No space left on device")
        return replace_file(path, target)

    with monkeypatch.context() as patch, run_lock(ledger.path):
        patch.setattr(Path, "replace", full)
        with pytest.raises(MachineFailure, match="No space left"):
            ledger.write_plan(first, "name: made\n")
    assert ledger.write_plan(first, "name: made\n") == ledger.read_plan() == first
    assert [*ledger.notices(first)] == []
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "sweep.yaml").write_text("mine")
    with pytest.raises(RunFolderError, match="it is not a run folder"):
        Ledger(tmp_path / "mine").write_plan(first, "name: made\n")
    assert (tmp_path / "mine" / "sweep.yaml").read_text() == "mine"


def test_epochs_that_give_a_snapshot_are_every_nth_and_the_last(tmp_path):
    assert spec(epochs=7, every=3).recorded_epochs == [3, 6, 7]
    assert spec(epochs=6, every=3).recorded_epochs == [3, 6]
    assert spec(epochs=2, every=5).recorded_epochs == [2]
    # Records are in their order, also beyond four digits.
    trial = planned(spec(epochs=10_000, every=9_999))
    storage = Ledger(tmp_path).trial(trial.id)
    for epoch in trial.spec.recorded_epochs:
        storage.write_epoch(record(epoch), MAIN_ID, b"")
    assert storage.history(trial, MAIN_ID).epochs.tolist() == [9_999, 10_000]


def test_any_change_of_a_plan_is_damage_but_not_its_layout_and_ids_are_of_their_specs(tmp_path):
    ledger, path = Ledger(tmp_path), tmp_path / "plan.json"
    whole = plan(planned(spec()), planned(spec(way=20)))
    ledger.write_plan(whole, "")
    content = json.loads(path.read_text())
    path.write_text(json.dumps(content))
    assert ledger.read_plan() == whole
    path.write_text(json.dumps({**content, "name": "x"}))
    with pytest.raises(RunFolderError, match="its checksum does not match"):
        ledger.read_plan()
    first, second = content["trials"]
    for key in ("id", "configuration"):
        trials = [{**first, key: second[key]}, second]
        forge(tmp_path, "plan.json", {**content, "trials": trials})
        with pytest.raises(RunFolderError, match=rf"trials\.0\.{key}: .* is not that of its spec"):
            ledger.read_plan()


def test_undamaged_files_in_the_places_of_others_are_damaged(tmp_path):
    ledger, trials = Ledger(tmp_path), [planned(spec(seed)) for seed in (0, 1)]
    storages = [ledger.trial(trial.id) for trial in trials]
    for number, (trial, storage) in enumerate(zip(trials, storages, strict=True)):
        storage.begin(trial.spec)
        for epoch in (1, 2, 3):
            storage.write_epoch(record(epoch, number), MAIN_ID, b"")
        storage.write_resume(b"state %d" % number, 3)
    first, second = (storage.folder.path for storage in storages)

    def swap(a, b):
        kept = a.read_bytes()
        a.write_bytes(b.read_bytes())
        b.write_bytes(kept)

    def swap_epochs():
        swap(first / "epochs/0001.json", second / "epochs/0001.json")
        swap(second / "epochs/0002.json", second / "epochs/0003.json")

    swap_epochs()
    swap(first / "resume.state", second / "resume.state")
    assert [storage.recorded(MAIN_ID) for storage in storages] == [{2, 3}, set()]
    assert storages[0].read_resume() is None
    swap_epochs()
    for storage in storages:
        storage.end(DONE, MAIN_ID)
    for name in ("end.json", COMPACTED):
        swap(first / name, second / name)
    # Both files of each are undamaged, and fit together: they are another trial's.
    for trial, storage in zip(trials, storages, strict=True):
        assert not storage.history(trial, MAIN_ID).complete


@pytest.mark.parametrize("where", ["trials", "trial", "epochs", "measured"])
def test_ending_a_trial_deletes_nothing_through_a_link(tmp_path, where):
    storage, trial = filled(tmp_path / "run")
    outside = tmp_path / "thesis"
    place = {"trials": storage.folder.path.parent, "trial": storage.folder.path}
    linked = place.get(where, storage.folder.path / where)
    linked.rename(outside)
    linked.symlink_to(outside)
    before = {path: path.read_bytes() for path in outside.rglob("*") if path.is_file()}
    refusal = "it is a symbolic link, not a folder"
    expected = pytest.raises(RunFolderError, match=refusal)
    with expected if where != "measured" else nullcontext():  # what is not there to compact
        storage.end(DONE, MAIN_ID)
    with pytest.raises(RunFolderError, match=refusal):
        storage.write_epoch(record(4), MAIN_ID, b"")
    assert {path: path.read_bytes() for path in before} == before
    assert storage.history(trial, MAIN_ID).damaged == (str(linked),)


def of(further, **changes):
    """The plan of one trial with a main and a further protocol."""
    first = plan(planned(spec()))
    return replace(first, protocols=(*first.protocols, replace(further, **changes)))


def test_former_protocols_stay_and_a_name_with_another_meaning_is_refused(tmp_path):
    ledger = recorded(tmp_path, planned(spec()))
    ledger.write_plan(of(FIVE_SHOT), "")
    storage = ledger.trial(spec().id)
    ten_shot = Protocol(episode=Episode(shot=10), tasks=FIVE_SHOT.protocol.tasks)
    other = of(FIVE_SHOT, protocol=ten_shot, written={"episode": {"shot": 10}})
    ledger.check_plan(other)  # nothing was measured under the former
    storage.write_measured(1, FIVE_SHOT.id, record(1).scores)
    with pytest.raises(RunFolderError, match=r"another protocol '5-shot' .5-way 5-shot.*10-shot"):
        ledger.write_plan(other, "")
    kept = ledger.write_plan(plan(planned(spec())), "").protocol("5-shot")
    assert (kept.id, kept.asked) == (FIVE_SHOT.id, False)
    # A former main protocol is kept under its id.
    main = replace(MAIN_PROTOCOL, protocol=ten_shot)
    now = ledger.write_plan(replace(plan(planned(spec())), protocols=(main,)), "")
    assert [protocol.name for protocol in now.protocols] == ["main", MAIN_ID, "5-shot"]
    assert ledger.read_plan() == now
    with pytest.raises(UnknownName, match="did you mean '5-shot'"):
        now.protocol("5-shoot")


def test_control_characters_in_a_protocol_are_refused(tmp_path):
    Ledger(tmp_path).write_plan(of(FIVE_SHOT), "")
    content = json.loads((tmp_path / "plan.json").read_text())
    main, further = content["protocols"]
    classes = {**further["protocol"], "classes": ["a", "b\x1b[2J"]}
    for change in ({"name": "5\x1b[2J"}, {"protocol": classes}):
        forge(tmp_path, "plan.json", {**content, "protocols": [main, {**further, **change}]})
        with pytest.raises(RunFolderError, match="holds the control character") as refused:
            Ledger(tmp_path).read_plan()
        assert "\x1b" not in str(refused.value)
