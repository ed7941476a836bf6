"""Faults of workers and nodes, and what users give Tune, without a Ray."""

import threading
from collections import deque
from dataclasses import replace
from types import SimpleNamespace

import made
import pytest
import ray
import torch
from made import trainable
from noting import Failing, Noting
from ray import tune
from ray.exceptions import ActorDiedError, OutOfMemoryError, RayActorError
from ray.tune.schedulers import ASHAScheduler

from fsl_sweep.orchestrator.errors import MachineFailure, PluginError, UserError
from fsl_sweep.orchestrator.records.spec import Resources
from fsl_sweep.orchestrator.sweep import failing, stalling, worker
from fsl_sweep.orchestrator.sweep.controller import SweepTrial, TrialQueue, _Workers
from fsl_sweep.orchestrator.sweep.failing import Nodes, reason_of
from fsl_sweep.orchestrator.sweep.process import Job
from fsl_sweep.orchestrator.sweep.stalling import Stalls
from fsl_sweep.orchestrator.sweep.users import named, pickled
from fsl_sweep.orchestrator.sweep.worker import OutOfGpuMemory, SetupError, Shared, TrialError

DIED = """The actor died unexpectedly before finishing this task.
\tclass_name: TrialTrainable
\tactor_id: 3a
\tpid: 4242
\tnamespace: 0c
\tip: 10.0.0.3
The actor is dead because its worker process has died. Worker exit type: SYSTEM_ERROR"""
LOW = """Task was killed due to the node running low on memory.
Memory on the node (IP: 10.0.0.3, ID: 2b) where the task (actor ID: 3a, pid=4242, memory used=9GB)
was running was 9.60GB / 10.00GB (0.96), which exceeds the memory usage threshold of 0.95."""
LOW_FOR_TWO = """2 worker(s) were killed due to the node running low on memory. Memory on the node
(IP: 10.0.0.3, ID: 50) was 8.77GB used / 9.00GB limit (0.97)
Considered workers: [
Selected to kill: (Task: job ID=01, task name=TrialTrainable.__init__, pid=6729, worker ID=94)
Selected to kill: (Task: job ID=01, task name=TrialTrainable.train, pid=6730, worker ID=2c)
]
Top 10 memory users: PID	MEM(GB)	COMMAND
5889	0.25	ray::TrialTrainable.train"""
TASK = "ray::TrialTrainable.train() (pid=4242, ip=10.0.0.3, actor_id=3a)\nTrialError: KeyError: 'x'"
GONE = "The actor died unexpectedly before finishing this task.\n\tip: 10.0.0.3\nIts node has died."
SEGV = ["*** SIGSEGV received at time=17 on cpu 1 ***", "Fatal Python error: Segmentation fault"]


def raised(cause):
    """An error of a worker's, as Ray raises it in the driver."""
    return ray.exceptions.RayTaskError("train", TASK, cause).as_instanceof_cause()


def test_every_failure_names_node_pid_signal_and_the_last_words(snapshot, monkeypatch):
    words = {"value": []}
    monkeypatch.setattr(failing, "last_words", lambda node, pid: words["value"])
    said = []
    for failure, known, log in (
        (raised(TrialError("KeyError: 'x'")), None, []),
        (RayActorError(error_msg=DIED), None, []),
        (RayActorError(error_msg=DIED), None, SEGV),
        (RayActorError(error_msg=DIED), None, ["MemoryError: 9 GB"]),
        (RayActorError(error_msg=LOW), None, []),
        (RayActorError(error_msg=LOW_FOR_TWO), None, ["another's words"]),
        (RayActorError(error_msg=DIED), "no epoch for 30 min 00 s (`stall`)", ["waiting"]),
        (RayActorError(error_msg=GONE), None, []),
        (ActorDiedError(None), None, []),
    ):
        words["value"] = log
        said.append(reason_of(failure, known))
    assert "\n".join(said) == snapshot


def test_the_last_lines_of_a_workers_log_without_those_of_rays(tmp_path, monkeypatch):
    node = SimpleNamespace(get_logs_dir_path=lambda: str(tmp_path))
    monkeypatch.setattr(failing.ray_worker, "_global_node", node)
    lines = [":job_id:01", *SEGV, "  @ 0x7f2 abort", "one", "two", "[2026] (raylet) x", "three"]
    (tmp_path / "worker-ab-01-4242.err").write_text("\n".join(lines))
    (tmp_path / "worker-ab-01-42.err").write_text("another's")
    assert failing._tail("4242") == [SEGV[0], "one", "two", "three"]
    assert failing._tail("7") == []


def test_a_worker_that_the_memory_monitor_kills_is_a_dead_worker():
    """Tune ends the experiment at an error that it does not know."""
    heard, workers = [], _Workers(SimpleNamespace())
    workers._cleanup_actor = lambda tracked_actor: None
    actor = SimpleNamespace(actor_id=1, _on_error=None)
    task = SimpleNamespace(_tracked_actor=actor, _on_error=lambda _, failure: heard.append(failure))
    workers._actor_task_failed(task, OutOfMemoryError(LOW))
    (failure,) = heard
    assert isinstance(failure, RayActorError)
    assert reason_of(failure).startswith("Ray's memory monitor killed its worker")


def test_a_trial_that_hangs_is_found_by_the_pace_of_its_method(monkeypatch):
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr(stalling.time, "monotonic", lambda: clock.now)
    killed = []
    monkeypatch.setattr(stalling.ray, "kill", killed.append)
    trials = [
        SimpleNamespace(
            trial_id=name, temporary_state=SimpleNamespace(ray_actor=f"worker of {name}")
        )
        for name in "abc"
    ]

    def after(seconds, stalls):
        clock.now += seconds
        stalls.check(trials)
        return [killed.pop() for _ in [*killed]]

    stalls = Stalls(None, {"a": "PN", "b": "PN", "c": "RR"})
    for trial in "ab":
        stalls.heard(trial, trial)
    stalls.begun("c", "c")
    for trial, seconds in (("a", 50), ("b", 50), ("a", 0)):
        clock.now += seconds
        stalls.heard(trial, trial)
    # The median of 50, 100 and 50 seconds: b is killed after 1,000; c, whose method has no pace and
    # whose worker is new, is waited for.
    assert after(999, stalls) == []
    stalls.begun("a", "a")
    assert after(2, stalls) == ["worker of b"]
    assert stalls.reason("b") == "no epoch for 16 min 40 s (`stall`), so its worker was killed"
    assert (stalls.reason("b"), stalls.reason("c")) == (None, None)
    stalls.begun("b", "another")  # its node may prepare the data
    stalls.begun("c", "b")
    assert after(998, stalls) == []
    assert after(2, stalls) == ["worker of a"]
    quick = Stalls(None, dict.fromkeys("abc", "PN"))
    quick.heard("a", "a")
    quick.heard("a", "a")
    assert (after(599, quick), after(2, quick)) == ([], ["worker of a"])  # ten minutes at least
    short = Stalls(30.0, dict.fromkeys("abc", "RR"))
    short.begun("c", "c")
    assert (after(29, short), after(2, short)) == ([], ["worker of c"])


def test_two_failures_in_a_row_leave_a_node_out(monkeypatch):
    known = [
        {"NodeID": n, "NodeManagerAddress": f"10.0.0.{n}", "Alive": n != "4", "Resources": r}
        for n, r in (("1", {"CPU": 2.0}), ("2", {"CPU": 8.0}), ("3", {}), ("4", {"CPU": 64.0}))
    ]
    monkeypatch.setattr(failing.ray, "nodes", lambda: known)
    nodes, failure = Nodes(), SetupError("2", "no data")
    assert nodes.failed(failure) == ""
    nodes.works("2")
    assert [nodes.failed(failure) for _ in range(3)] == [
        "",
        "node 10.0.0.2 is left out: no data",
        "",
    ]
    nodes.check({"CPU": 2.0})  # fits on the first
    with pytest.raises(
        MachineFailure, match=r"^No node can run a trial \(node 10.0.0.2: no data\)"
    ):
        nodes.check({"CPU": 4.0})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"versions": {"fsl-sweep": "9.9", "torch": None}},
            "this node has fsl-sweep .* driver has 9.9",
        ),
        ({"versions": {"torch": "9.9"}}, "this node has torch .*, and the driver has 9.9;"),
        ({"mark": "0" * 64}, "run folder .* is not the driver's: put it on a path that all nodes"),
    ],
)
def test_a_worker_of_another_kind_is_refused(tmp_path, change, message):
    (tmp_path / "plan.json").write_text("{}")
    shared = Shared.of(Job(tmp_path, made.plan(), ()))
    with pytest.raises(UserError, match=message):
        worker._set_up(shared._replace(**change))


def test_a_gpu_without_memory_is_tried_once_more_without_costing_an_attempt(tmp_path):
    place = tune.PlacementGroupFactory([{"CPU": 1.0}])
    storage = SimpleNamespace(trial_dir_name=None)
    trial = SweepTrial("0" * 16, {"method": "PN"}, place, 1, storage)

    def tried_again(cause):
        trial.handle_error(raised(cause))
        return trial.should_recover()

    memory, fault, node = OutOfGpuMemory("x"), TrialError("x"), SetupError("1", "x")
    assert [tried_again(c) for c in (memory, node, node, fault, memory, fault)] == [
        True,
        True,
        True,
        True,
        False,
        False,
    ]


def test_trials_of_every_kind_wait_in_their_order():
    queue, waiting = TrialQueue(), deque()
    queue.make = lambda name, kind: SimpleNamespace(name=name, placement_group_factory=kind)
    queue.follow(lambda: waiting)
    for number in range(20):
        queue.add(f"a{number}", "gpu")
    queue.add("b0", "cpu")
    while (trial := queue.next_trial()) is not None:
        waiting.append(trial)
    assert sorted(trial.name for trial in waiting) == [*(f"a{n}" for n in range(8)), "b0"]
    waiting.popleft()
    assert queue.next_trial().name == "a8"
    assert (queue.kinds(), queue.is_finished()) == ({"gpu", "cpu"}, False)


def test_what_trials_reserve_is_not_what_they_are(monkeypatch):
    specs = [trainable(seed=seed) for seed in range(2)]
    trials = [replace(made.planned(s), method=m) for s, m in zip(specs, ("PN", "RR"), strict=True)]
    plan = replace(made.plan(*trials), method_resources={"RR": Resources(cpu=2, gpu=0)})
    (first, second), job = plan.specs, Job(None, plan, ())
    assert [plan.resources_of(trial).cpu for trial in plan.specs] == [1, 2]
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert (job.on_gpu(first), job.on_gpu(second)) == (True, False)
    bounds = []
    monkeypatch.setattr(torch.cuda, "set_per_process_memory_fraction", bounds.append)
    monkeypatch.setattr("fsl_sweep.orchestrator.trial.trial.use_threads", lambda _: None)
    for gpu in (0.25, 1.0, 2.0, "auto"):
        some = replace(plan, resources=Resources(gpu=gpu))
        for trial in some.specs:
            worker._use_resources(job._replace(plan=some), trial)
    assert bounds == [0.25]
    assert type(plan).from_plain(plan.to_plain()) == plan


@pytest.mark.parametrize(
    ("callback", "message"),
    [
        (
            ASHAScheduler(),
            "AsyncHyperBandScheduler decides which trials run, .* NovelGen",
        ),
        (print, "is not a Tune callback: derive it from ray.tune.Callback"),
        (tune.Callback, "is not a Tune callback"),
    ],
)
def test_what_is_no_callback_is_refused(callback, message):
    with pytest.raises(UserError, match=message):
        pickled([callback])


def test_a_callback_that_cannot_be_sent_or_fails_is_named(tmp_path):
    callback = Noting(tmp_path / "seen")
    callback.lock = threading.Lock()
    with pytest.raises(
        UserError, match=r"cannot be sent .* TypeError: .*Open files and connections"
    ):
        pickled([callback])
    failures = []
    named(Failing(), failures.append).on_trial_start(1, [], None)
    (failure,) = failures
    assert isinstance(failure, PluginError)
    assert (
        str(failure) == "The Tune callback Failing.on_trial_start raised KeyError: 'no such\\nkey'"
    )
