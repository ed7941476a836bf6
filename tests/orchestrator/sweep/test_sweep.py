"""Trials through real Ray: equal to trials without it, and surviving what kills workers."""

import contextlib
import json
import os
import re
import signal
import stat
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import faulty
import made
import pytest
import torch
from commands import ONE_CORE, in_session, living
from made import trainable
from noting import Noting
from places import HELPERS
from trained import BATCHES, content, history, run

from fsl_sweep.datasets.preparing.opening import open_benchmark
from fsl_sweep.orchestrator.errors import MachineFailure
from fsl_sweep.orchestrator.ledger.ledger import Ledger
from fsl_sweep.orchestrator.sweep.process import Job, RayProcess
from fsl_sweep.orchestrator.sweep.users import pickled
from fsl_sweep.orchestrator.sweepfile.grammar import Resources
from fsl_sweep.orchestrator.trial.trial import use_threads
from fsl_sweep.orchestrator.upkeep.recording import locked

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("ray")]

OPTIONS = {"base_alphabets": 2, "val_alphabets": 1, "novel_alphabets": 1}
OPTIONS |= {"classes_per_alphabet": 4, "examples": 12, "image_size": 16}


def spec(**changes):
    return trainable(**{"benchmark": {"name": "glyphs", **OPTIONS}, "epochs": 2, **changes})


class Listener:
    """Remembers what it hears of a sweep, and may act when an epoch was measured."""

    def __init__(self, on_measured=lambda trial, record: None):
        self.heard, self._on_measured = [], on_measured

    def __getattr__(self, event):
        return lambda *content: self.heard.append((event, *content))

    def measured(self, trial, record):
        self.heard.append(("measured", trial, record))
        self._on_measured(trial, record)

    def of(self, event):
        return [content for kind, *content in self.heard if kind == event]


def job_of(folder, specs, data, cpu, retries):
    """Training these trials on the made data, under its main protocol."""
    plan = made.plan(*map(made.planned, specs), fingerprint=data.fingerprint)
    resources = Resources(cpu=cpu, gpu=0.0)
    plan = replace(plan, protocols=(made.main_of(data),), resources=resources)
    return Job(folder, plan, tuple(plan.specs), retries=retries)


def recorded(ledger, spec, data):
    """As `content`, of a finished trial."""
    storage = ledger.trial(spec.id)
    assert history(storage, spec, data).complete
    return content(storage, data)


def without_ray(folder, specs, data, threads):
    use_threads(threads)
    for trial in specs:
        run(folder, trial, data)
    return Ledger(folder)


def listening(pids):
    """Addresses on which processes wait for connections, as /proc/net/tcp writes them."""
    sockets = set()
    for link in (link for pid in pids for link in Path(f"/proc/{pid}/fd").glob("*")):
        with contextlib.suppress(OSError):
            sockets.add(os.readlink(link).removeprefix("socket:[").rstrip("]"))
    tables = [Path(f"/proc/net/{table}").read_text() for table in ("tcp", "tcp6")]
    lines = [line.split() for table in tables for line in table.splitlines()[1:]]
    return {line[1].partition(":")[0] for line in lines if line[3] == "0A" and line[9] in sockets}


def holds_a_trial(pid):
    """Whether a process is a worker of Ray's that holds a trial."""
    with contextlib.suppress(OSError):
        title = Path(f"/proc/{pid}/cmdline").read_bytes()
        return title.startswith(b"ray::") and b"Trainable" in title
    return False


def check_seen(path, listener, finished):
    """Check what a user's Tune callback saw: what is recorded, on the selection tasks."""
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [line["event"] for line in lines].count("setup") == 1
    seen = [line for line in lines if line["event"] == "result" and line["epoch"]]
    measured = listener.of("measured")
    assert [(line["trial"], line["epoch"]) for line in seen] == [(t, r.epoch) for t, r in measured]
    for line, (_, record) in zip(seen, measured, strict=True):
        assert line["method"] == "PN"
        for name, measure in {"BaseGen": "base", "ValGen": "val", "NovelGen": "novel"}.items():
            assert line[name] == record.scores[measure, "selection"].mean
        for curve in ("train_loss", "learning_rate"):
            assert line[curve] == getattr(record, curve)
    last = {line["trial"]: line["epoch"] for line in lines if line["event"] == "complete"}
    assert {trial.id: trial.epochs for trial in finished}.items() <= last.items()


def check_places(listener, killed, pid, raising):
    """Check that a failure says where it happened; give the reasons of all."""
    reasons = dict(listener.of("failed_once"))
    dead = "its worker died: killed without a message, as by SIGKILL"
    assert reasons[killed.id].startswith(f"{dead} (node 127.0.0.1, pid {pid})")
    assert re.search(r" \(node 127.0.0.1, pid \d+\)$", reasons[raising.id])
    return reasons


def lose_the_head(ray, job):
    """Kill the head of Ray during a job, whose workers go on until it is noticed; what Ray was.

    As in a sweep, Ray is ended before the lock on the run folder is released.
    """
    job.run.mkdir()
    held = in_session(ray._process.pid)
    (head,) = (p for p in held if Path(f"/proc/{p}/comm").read_text() == "gcs_server\n")

    def kill_head(*_):
        with contextlib.suppress(ProcessLookupError):
            os.kill(head, signal.SIGKILL)

    gone = pytest.raises(MachineFailure, match="The Ray of this run is gone")
    with gone, locked(Ledger(job.run)), contextlib.ExitStack() as stack:
        stack.callback(ray.stop)
        ray.run(job, [Listener(kill_head)])
    return held


def test_trials_are_what_fresh_processes_give_bit_for_bit(tmp_path, place, monkeypatch):
    """In a reused actor, and after one was killed; what fails does so by itself, and is recorded.

    One worker at a time, so that one actor runs trials of all kinds in turn. Ray is private
    meanwhile: every port is on loopback, every file in a closed folder.
    """
    data = open_benchmark("glyphs", OPTIONS, None)
    victim = spec(seed=3, epochs=4, learner={"name": "ridge"})
    hopeless = spec(seed=3, train={"way": 9, "shot": 1, "query": 2})
    diverging = spec(seed=0, optimizer={"lr": 1e30}, schedule=[[0, 1e30]])
    faults = ("raising", "mapping", "unbuilt")
    raising, mapping, unbuilt = (spec(seed=0, learner={"name": name}) for name in faults)
    faulty.install(tmp_path / "faulty", monkeypatch)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))  # of the workers
    good = [
        spec(seed=0),
        spec(seed=0, learner={"name": "supervised"}, train=BATCHES),
        spec(seed=0, fold={"folds": 2, "index": 1}),
        victim,
    ]
    monkeypatch.setenv("TMPDIR", str(place))
    monkeypatch.setenv(*ONE_CORE)
    ports, modes, killed = set(), set(), []
    ledger, seen = Ledger(tmp_path / "ray"), tmp_path / "seen"

    def look_and_kill_once(trial, record):
        ours = in_session(ray._process.pid)
        ports.update(listening(ours))
        sessions = place.glob("fsl-ray-*/r/session_*")
        modes.update(stat.S_IMODE(path.parents[1].stat().st_mode) for path in sessions)
        if trial == victim.id and record.epoch == 2 and not killed:
            killed.extend(filter(holds_a_trial, ours))
            for pid in killed:
                os.kill(pid, signal.SIGKILL)

    listener = Listener(look_and_kill_once)
    specs = [*good[:3], diverging, victim, unbuilt, hopeless, raising, mapping]
    ledger.path.mkdir()
    with RayProcess(None, len(specs), pickled([Noting(seen)])) as ray:
        ray.run(job_of(ledger.path, specs, data, 1, retries=1), [listener])
        check_seen(seen, listener, good)
        held = lose_the_head(ray, job_of(tmp_path / "longer", [spec(epochs=9000)], data, 1, 0))
    assert not {*held} & living().keys()
    assert not [*tmp_path.rglob("longer/**/.unfinished*")]
    # 127.0.0.1, and the same within tcp6.
    assert ports
    assert ports <= {"0100007F", "0000000000000000FFFF00000100007F", "0" * 24 + "01000000"}
    assert modes == {0o700}
    alone = without_ray(tmp_path / "alone", good, data, 1)
    for trial in good:
        assert recorded(ledger, trial, data) == recorded(alone, trial, data)
    ended = {trial: (end.status, end.reason) for trial, end in listener.of("ended")}
    assert ended.keys() == {trial.id for trial in specs}
    assert {ended[trial.id] for trial in good} == {("done", "")}
    fault = "The learner plug-in 'unbuilt' (faulty) raised KeyError: 'no such\\nlayer'"
    for trial, status, reason in (
        (diverging, "diverged", "the training loss became nan"),
        (hopeless, "failed", "9-way tasks need 9 classes"),
        (unbuilt, "failed", fault),
        (raising, "failed", "RuntimeError: first line last line"),
        # A worker keeps what tensors free, unless it has a GPU.
        (
            mapping,
            "failed",
            f"RuntimeError: mapped {faulty.mapped() and int(torch.cuda.is_available())}",
        ),
    ):
        end = history(ledger.trial(trial.id), trial, data).end
        assert (end.status, end.retriable) == (status, status == "failed")
        assert end.reason.startswith(reason)
        assert end.reason.isprintable()
        assert ended[trial.id] == (end.status, end.reason)
    again = check_places(listener, victim, killed[0], raising)
    # A mistake of the user's is not tried again.
    assert again.keys() == {trial.id for trial in (victim, raising, mapping)}
    # At most the epoch in flight is repeated: no epoch is measured more than twice.
    measured = [(trial, record.epoch) for trial, record in listener.of("measured")]
    assert {m for m in measured if m[0] != diverging.id} == {
        (trial.id, epoch) for trial in good for epoch in range(1, trial.epochs + 1)
    }
    assert len([m for m in measured if m[0] == victim.id]) <= 5


# It joins a cluster, and loses the node that its trial runs on, or its run folder.
SCRIPT = """
import json, os, sys
from pathlib import Path

os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"  # every port on loopback
from ray.cluster_utils import Cluster

sys.path[:0] = {helpers!r}
from fsl_sweep.orchestrator.errors import MachineFailure
from fsl_sweep.orchestrator.ledger.ledger import Ledger
from fsl_sweep.orchestrator.sweep.process import RayProcess
from test_sweep import OPTIONS, Listener, job_of, recorded, spec, without_ray
from fsl_sweep.datasets.preparing.opening import open_benchmark

# A dead node is noticed within a second; the default is half a minute.
config = {{"health_check_period_ms": 200, "health_check_failure_threshold": 3}}
config["prestart_worker_first_driver"] = False  # nothing would run on these workers
head = {{"num_cpus": 1, "include_dashboard": False, "_system_config": config}}
cluster = Cluster(initialize_head=True, head_node_args=head)
data, folder = open_benchmark("glyphs", OPTIONS, None), Path(sys.argv[1])


def job(name, specs, cores, retries=0):
    (folder / name).mkdir()
    return job_of(folder / name, specs, data, cores, retries)


# A node without the run folder: one trial runs on the head, and two are set up there in vain.
without = {{"FSL_SWEEP_HOME": "/dev/null/none"}}
bad = cluster.add_node(num_cpus=2, env_vars=without)
listener, three = Listener(), [spec(seed=seed) for seed in range(3)]
with RayProcess(cluster.address, 1) as ray:
    ray.run(job("left-out", three, 1), [listener])
    try:
        ray.run(job("none", [spec()], 2), [])
    except MachineFailure as failure:
        none_left = str(failure)
left_out = [text for text, in listener.of("remark")], none_left
ends = sorted(end.status for _, end in listener.of("ended"))
cluster.remove_node(bad)

only = cluster.add_node(num_cpus=2)  # the only one that a trial of two cores fits on
killed = []


def kill_once(trial, record):
    if record.epoch == 2 and not killed:
        killed.append(trial)
        cluster.remove_node(only, allow_graceful=False)
        cluster.add_node(num_cpus=2)


trial, listener = spec(epochs=4), Listener(kill_once)
ledger = Ledger(folder / "cluster")
with RayProcess(cluster.address, 1) as ray:
    ray.run(job("cluster", [trial], 2, 1), [listener])
    # Moved away while its worker writes: nothing is written where it was.
    gone, moved = folder / "gone", folder / "moved"
    longer, away = spec(epochs=9000), Listener(lambda *_: gone.exists() and gone.rename(moved))
    try:
        ray.run(job("gone", [longer], 2, 1), [away])
    except MachineFailure as failure:
        message = str(failure)
assert message.startswith(f"The run folder {{gone}} is gone"), message
assert moved.exists() and not gone.exists()
cluster.shutdown()
other = without_ray(folder / "other", [trial], data, 2)
same = recorded(ledger, trial, data) == recorded(other, trial, data)
measured = [record.epoch for _, record in listener.of("measured")]
print(json.dumps([left_out, ends]))
print(json.dumps([same, len(killed), len(listener.of("failed_once")), measured]))
"""


def test_trials_of_a_dead_node_go_on_elsewhere_with_the_same_numbers(tmp_path):
    script = SCRIPT.format(helpers=[str(HELPERS.parent), str(HELPERS), str(HELPERS / "sweep")])
    command = [sys.executable, "-c", script, tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, timeout=400)
    assert done.returncode == 0, done.stderr[-3000:]
    *_, nodes, trials = done.stdout.splitlines()
    assert json.loads(trials) == [True, 1, 1, [1, 2, 3, 4]]
    (remarks, none_left), ends = json.loads(nodes)
    assert ends == ["done"] * 3
    (remark,) = remarks
    assert re.match(r"node 127\.0\.0\.1 is left out: .*/dev/null/none", remark)
    assert re.match(r"No node can run a trial \(node 127\.0\.0\.1: .*/dev/null/none", none_left)
    assert "warning: joining 127.0.0.1" not in done.stderr  # loopback needs no token
