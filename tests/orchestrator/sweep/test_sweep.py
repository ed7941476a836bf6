"""Trials through real Ray: equal to trials without it, and surviving what kills workers."""

import contextlib
import os
import signal
import stat
from pathlib import Path

import pytest
from commands import in_session, living
from made import planned, trainable

from fsl_sweep.datasets.preparing.opening import open_benchmark
from fsl_sweep.orchestrator.ledger.ledger import Ledger
from fsl_sweep.orchestrator.sweep.process import Job, RayProcess
from fsl_sweep.orchestrator.sweepfile.grammar import Resources
from fsl_sweep.orchestrator.trial.trial import Trial, use_threads

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("ray")]

GLYPHS = {
    "name": "glyphs",
    "base_alphabets": 2,
    "val_alphabets": 1,
    "novel_alphabets": 1,
    "classes_per_alphabet": 4,
    "examples": 12,
    "image_size": 16,
}


def spec(**changes):
    return trainable(**{"benchmark": GLYPHS, "epochs": 2, **changes})


class Listener:
    """Remembers what a sweep tells, and may act on it."""

    def __init__(self, on_measured=None):
        self.told, self._on_measured = [], on_measured

    def started(self, trial):
        self.told.append(("started", trial))

    def measured(self, trial, record):
        self.told.append(("measured", trial, record.epoch))
        if self._on_measured:
            self._on_measured(trial, record)

    def failed_once(self, trial, reason):
        self.told.append(("failed once", trial, reason))

    def ended(self, trial, end):
        self.told.append(("ended", trial, end.status, end.reason))

    def of(self, kind):
        return [event[1:] for event in self.told if event[0] == kind]


@pytest.fixture(scope="module")
def data():
    return open_benchmark("glyphs", {k: v for k, v in GLYPHS.items() if k != "name"}, None)


def sweep(folder, specs, data, listener, cpu=1, retries=0, address=None):
    folder.mkdir()
    resources = Resources(cpu=cpu, gpu=0.0)
    job = Job(folder, {s.id: s for s in specs}, data.fingerprint, None, resources, retries)
    with RayProcess(address, len(specs)) as ray:
        ray.run(job, [listener])
    return Ledger(folder)


def content(ledger, spec):
    """Snapshots byte for byte and every count of a finished trial."""
    storage = ledger.trial(spec.id)
    files = sorted((storage.folder.path / "snapshots").iterdir())
    history = storage.history(planned(spec))
    assert history.complete
    counts = {key: table.load().tolist() for key, table in history.scores.items()}
    return [file.read_bytes() for file in files], counts, history.curves["train_loss"].tolist()


def without_ray(folder, specs, data, threads):
    use_threads(threads)
    ledger = Ledger(folder)
    for s in specs:
        for _ in Trial(s, ledger.trial(s.id), data).run():
            pass
    return ledger


def listening(pids):
    """Addresses on which processes wait for connections, as /proc/net/tcp writes them."""
    sockets = set()
    for link in (link for pid in pids for link in Path(f"/proc/{pid}/fd").glob("*")):
        with contextlib.suppress(OSError):
            sockets.add(os.readlink(link).removeprefix("socket:[").rstrip("]"))
    lines = [
        line.split()
        for table in ("tcp", "tcp6")
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]
    ]
    return {line[1].partition(":")[0] for line in lines if line[3] == "0A" and line[9] in sockets}


def test_reused_actors_give_what_fresh_processes_give_bit_for_bit(tmp_path, data):
    """One worker at a time takes both cores, so that one actor runs all trials in turn.

    Ray is private meanwhile: every port is on loopback, every file in a closed folder.
    """
    cores = os.cpu_count() or 1
    specs = [
        spec(seed=0),
        spec(seed=0, learner={"name": "supervised"}, train={"batch_size": 8}),
        spec(seed=0, fold={"folds": 2, "index": 1}),
        spec(seed=1),
        spec(seed=0, learner={"name": "ridge"}),
    ]
    ports, folders, modes = set(), set(), set()

    def look(trial, record):
        driver = next(pid for pid, found in living().items() if found[1] == os.getpid())
        ports.update(listening(in_session(driver)))
        found = [*Path("/tmp").glob("fsl-ray-*/r/session_*")]
        folders.update(found)
        modes.update(stat.S_IMODE(one.parents[1].stat().st_mode) for one in found)

    listener = Listener(look)
    through_ray = sweep(tmp_path / "ray", specs, data, listener, cpu=cores)
    # 127.0.0.1, and the same within tcp6.
    assert ports
    assert ports <= {"0100007F", "0000000000000000FFFF00000100007F", "0" * 24 + "01000000"}
    assert modes == {0o700}
    assert not any(folder.exists() for folder in folders)
    alone = without_ray(tmp_path / "alone", specs, data, cores)
    for s in specs:
        assert content(through_ray, s) == content(alone, s)
    assert sorted(listener.of("ended")) == sorted((s.id, "done", "") for s in specs)
    assert sorted(listener.of("measured")) == sorted((s.id, e) for s in specs for e in (1, 2))


def worker_pids():
    """Workers of this process's Ray that hold a trial."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            title = (folder / "cmdline").read_bytes()
        except OSError:
            continue
        if title.startswith(b"ray::") and b"Trainable" in title:
            found.append(int(folder.name))
    return found


def descends_from_me(pid):
    while pid > 1:
        if pid == os.getpid():
            return True
        pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()[1])
    return False


def test_a_killed_worker_is_retried_from_its_last_epoch_and_a_hopeless_trial_is_recorded(
    tmp_path, data
):
    victim, hopeless = (
        spec(seed=3, epochs=4),
        spec(seed=3, episode={"way": 9, "shot": 1, "query": 2}),
    )
    killed = []

    def kill_once(trial, record):
        if trial == victim.id and record.epoch == 2 and not killed:
            for pid in worker_pids():
                if descends_from_me(pid):
                    os.kill(pid, signal.SIGKILL)
                    killed.append(pid)

    listener = Listener(kill_once)
    ledger = sweep(tmp_path / "ray", [victim, hopeless], data, listener, retries=2)
    assert killed
    assert victim.id in [trial for trial, _ in listener.of("failed once")]
    # At most the epoch in flight is repeated: no epoch is measured more than twice.
    measured = [epoch for trial, epoch in listener.of("measured") if trial == victim.id]
    assert sorted(set(measured)) == [1, 2, 3, 4]
    assert len(measured) <= 5
    alone = without_ray(tmp_path / "alone", [victim], data, 1)
    assert content(ledger, victim) == content(alone, victim)
    end = ledger.trial(hopeless.id).history(planned(hopeless)).end
    assert (end.status, end.retriable) == ("failed", True)
    assert "9-way tasks need 9 classes" in end.reason
