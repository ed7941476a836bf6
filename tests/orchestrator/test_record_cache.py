import json
import os

import numpy as np
import pytest
from made import plan, planned, record, spec

from fsl_sweep import load_run
from fsl_sweep.orchestrator import compacted, record_cache
from fsl_sweep.orchestrator.errors import RunFolderError
from fsl_sweep.orchestrator.ledger import Ledger
from fsl_sweep.orchestrator.records import TrialEnd
from fsl_sweep.orchestrator.report import FORMATS
from fsl_sweep.orchestrator.storage import Folder

STRATEGIES = (["last", "val"], ["base"])


@pytest.fixture
def settled(monkeypatch):
    """Let files count as left alone at once."""
    monkeypatch.setattr(record_cache, "_SETTLED", -(10**12))


@pytest.fixture
def files_read(monkeypatch):
    """Paths of the trials' files, in the order in which they are opened."""
    paths = []
    read, opened = compacted.CompactedRecords.read, compacted._opened.__wrapped__

    def counted_read(folder, checksum):
        paths.append(folder.path / compacted.NAME)
        return read(folder, checksum)

    def counted_opened(path, checksum):
        paths.append(path)
        return opened(path, checksum)

    monkeypatch.setattr(compacted.CompactedRecords, "read", counted_read)
    monkeypatch.setattr(compacted, "_opened", counted_opened)
    return paths


def run(folder, seeds=(0, 1)):
    """A finished run of two configurations, whose one is planned by two methods."""
    trials = [planned(spec(seed, way)) for way in (5, 20) for seed in seeds]
    trials += [planned(spec(seed, 5), "FIX-PN") for seed in seeds]
    ledger = Ledger(folder)
    ledger.write_plan(plan(*trials), "")
    for number, one in enumerate(trials):
        finish(ledger, one, number)
    return folder, trials


def finish(ledger, one, number):
    storage = ledger.trial(one.id)
    storage.begin(one.spec)
    for epoch in range(1, 4):
        storage.write_epoch(record(epoch, number), b"")
    storage.end(TrialEnd("done"))


def as_json(folder, strategies=STRATEGIES):
    return FORMATS["json"](load_run(folder).report(*strategies, bootstrap=0))


def caches(folder):
    return sorted(path.name for path in (folder / "report").glob("*"))


def test_a_second_report_is_the_same_and_opens_no_trial(tmp_path, settled, files_read):
    folder, _ = run(tmp_path)
    first = as_json(folder)
    assert len(files_read) >= 4
    assert caches(folder) == ["summaries.cache", "tasks.cache"]
    files_read.clear()
    assert as_json(folder) == first
    assert files_read == []
    # A strategy that shows other snapshots reads what it needs, and no more.
    other = as_json(folder, (["base"], ["val"]))
    assert set(json.loads(other)["run"]) == set(json.loads(first)["run"])
    assert 0 < len(set(files_read)) <= 4


def test_a_cached_report_has_the_numbers_of_one_without(tmp_path, settled):
    folder, _ = run(tmp_path)
    as_json(folder)
    for strategies in (STRATEGIES, (["oracle", "train_loss"], ["val", "oracle"])):
        cached = as_json(folder, strategies)
        for path in (folder / "report").glob("*"):
            path.unlink()
        assert as_json(folder, strategies) == cached


def test_what_was_just_written_is_not_trusted_by_its_times(tmp_path):
    folder, _ = run(tmp_path)
    as_json(folder)
    assert caches(folder) == ["tasks.cache"]


@pytest.mark.parametrize("harm", ["flip", "replace", "truncate", "remove"])
def test_a_file_that_was_damaged_since_is_named(tmp_path, settled, harm):
    folder, trials = run(tmp_path)
    as_json(folder)
    path = folder / "trials" / trials[0].id / compacted.NAME
    data, times = bytearray(path.read_bytes()), path.stat()
    data[len(data) // 2] ^= 1
    if harm == "replace":
        path.with_name("other").write_bytes(data)
        path.with_name("other").rename(path)
    elif harm == "flip":
        path.write_bytes(data)
    elif harm == "truncate":
        path.write_bytes(data[:-1])
    else:
        path.unlink()
    if harm != "remove":  # someone who hides what was done
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    report = json.loads(as_json(folder))
    assert not report["run"]["complete"]
    assert all(one["seed"] == 1 for one in report["selections"])


def test_damage_that_no_time_tells_stops_a_report_that_needs_the_tasks(
    tmp_path, settled, monkeypatch
):
    folder, trials = run(tmp_path)
    before = as_json(folder)
    for one in {one.id for one in trials}:
        path = folder / "trials" / one / compacted.NAME
        path.write_bytes(b"\0" * path.stat().st_size)
    stamps = record_cache.RecordCache(Folder(folder))._summaries
    known = {trial: stamp for (trial, _), (_, stamp) in stamps.items()}
    monkeypatch.setattr(Folder, "stamp", lambda self, _: known[self.path.name])
    # What was read while it was whole still holds, and nothing else is made up.
    assert as_json(folder) == before
    with pytest.raises(RunFolderError, match=r"records\.parquet is not what it was"):
        as_json(folder, (["base", "val", "oracle", "train_loss"], ["oracle"]))
    monkeypatch.undo()
    assert json.loads(as_json(folder))["selections"] == []


@pytest.mark.parametrize("name", ["summaries.cache", "tasks.cache"])
@pytest.mark.parametrize("harm", ["truncate", "flip", "empty", "junk", "other"])
def test_a_damaged_cache_is_as_good_as_none(tmp_path, settled, name, harm):
    folder, _ = run(tmp_path)
    first = as_json(folder)
    path = folder / "report" / name
    whole = path.read_bytes()
    data = bytearray(whole)
    if harm == "flip":
        data[len(data) // 2] ^= 1
    swapped = {"summaries.cache": "tasks.cache", "tasks.cache": "summaries.cache"}[name]
    other = (folder / "report" / swapped).read_bytes()
    harms = {"truncate": data[:-9], "flip": data, "empty": b"", "junk": b"junk", "other": other}
    path.write_bytes(harms[harm])
    assert as_json(folder) == first
    assert path.read_bytes() == whole


def test_a_trial_that_was_run_again_is_read_again(tmp_path, settled):
    folder, trials = run(tmp_path)
    before = json.loads(as_json(folder))
    for path in (folder / "trials" / trials[0].id).glob("*.*"):
        path.unlink()
    finish(Ledger(folder), trials[0], 77)
    after = json.loads(as_json(folder))
    assert after["run"]["complete"]
    assert after["selections"] != before["selections"]


def test_a_folder_that_cannot_be_written_is_reported_all_the_same(tmp_path, settled):
    folder, _ = run(tmp_path)
    (folder / "report").write_text("a file where the cache's folder would be")
    first = as_json(folder)
    assert json.loads(first)["run"]["complete"]
    assert as_json(folder) == first


def test_rows_are_those_of_the_file(tmp_path, settled):
    folder, trials = run(tmp_path)
    as_json(folder)
    for history in load_run(folder).histories:
        table = history.scores["novel", "report"]
        np.testing.assert_array_equal(table.rows([2, 0, 2]), table.load()[[2, 0, 2]])
    assert {history.trial for history in load_run(folder).histories} == {t.id for t in trials}
