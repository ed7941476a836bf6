"""Why a worker failed: in one line, with its node, its process, its signal and its last words."""

import re
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import ray
from ray._private import worker as ray_worker
from ray.exceptions import RayActorError, RayTaskError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from fsl_sweep.orchestrator.errors import MachineFailure, in_one_line
from fsl_sweep.orchestrator.sweep.controller import cause_of
from fsl_sweep.orchestrator.sweep.process import RESUMES
from fsl_sweep.orchestrator.sweep.worker import SetupError, TrialError

_LAST = 3
_LONGEST = 300
_PATIENCE = 5.0
_PID, _IP = re.compile(r"\bpid[:=] ?(\d+)"), re.compile(r"\b(?:ip|IP)[:=] ?([\d.:a-fA-F]+)\b")
_OUT_OF_MEMORY = re.compile(r"^Selected to kill: .*", re.MULTILINE)
_SIGNAL = re.compile(r"\*\*\* (SIG[A-Z]+) received|Fatal Python error: (.+)")
# What Ray writes to each log, for itself.
_RAYS = re.compile(r"^:(job_id|actor_name|task_name):|^$|^\[.*\] \(|^\s*@ ")


def reason_of(failure: Any, known: str | None = None) -> str:
    """Say in one line why a worker failed, and where.

    Args:
        failure: what Ray raised in the driver.
        known: the reason, where the driver itself ended the worker.
    """
    cause, text = cause_of(failure), str(failure)
    # Its memory monitor may kill several workers at once, and does not say which was whose.
    pids = [_first(_PID, line) for line in _OUT_OF_MEMORY.findall(text)] or [_first(_PID, text)]
    pid, node = pids[0] if len(pids) == 1 else "", _first(_IP, text)
    place = f"(node {node or 'unknown'}, pid {' or '.join(pids) or 'unknown'})"
    if isinstance(cause, (TrialError, SetupError)):
        return f"{cause} {place}"
    words = last_words(node, pid) if node and pid else []
    ended = f"; its log ends: {' | '.join(words)}" if words else ""
    if known is not None:
        return f"{known} {place}{ended}"
    if "low on memory" in text:
        return f"Ray's memory monitor killed its worker: the node ran out of memory {place}{ended}"
    if isinstance(failure, RayTaskError) or not isinstance(failure, RayActorError):
        return f"{in_one_line(failure)} {place}{ended}"
    if "node" in text and ("died" in text or "dead" in text) and "worker process" not in text:
        return f"its node died {place}"
    return f"its worker died: {_signal(words)} {place}{ended}"


def _signal(words: list[str]) -> str:
    for word in words:
        if match := _SIGNAL.search(word):
            return f"killed by {match[1]}" if match[1] else match[2]
    return "killed without a message, as by SIGKILL"


def _first(pattern: re.Pattern[str], text: str) -> str:
    return match[1] if (match := pattern.search(text)) else ""


def last_words(node: str, pid: str) -> list[str]:
    """Return the last lines of a worker's log, wherever its node is; none if it is not there."""
    with suppress(Exception):  # a node that is gone, and whatever Ray raises of it
        for known in ray.nodes():
            if known["Alive"] and known["NodeManagerAddress"] == node:
                if known["NodeID"] == ray.get_runtime_context().get_node_id():
                    if words := _tail(pid):
                        return words
                    continue
                place = NodeAffinitySchedulingStrategy(known["NodeID"], soft=False)
                there = ray.remote(_tail).options(num_cpus=0, scheduling_strategy=place)
                task = there.remote(pid)
                if words := ray.get(task, timeout=_PATIENCE):
                    return words
    return []


def _tail(pid: str) -> list[str]:
    """Return the last lines that a process of this node wrote, without those of Ray's own."""
    node: Any = ray_worker._global_node
    logs = Path(node.get_logs_dir_path())
    for path in logs.glob(f"worker-*-{pid}.err"):
        lines = path.read_text(errors="replace")[-20_000:].splitlines()
        lines = [line.strip() for line in lines if not _RAYS.search(line.strip())]
        signals = [line for line in lines if _SIGNAL.search(line)][:1]
        return [line[:_LONGEST] for line in dict.fromkeys([*signals, *lines[-_LAST:]])]
    return []


class Nodes:
    """Leaves out a node on which two workers in a row could not be set up."""

    _MOST = 2

    def __init__(self) -> None:
        self._failures: Counter[str] = Counter()
        self._reasons: dict[str, str] = {}

    def works(self, node: str) -> None:
        """Note that a worker of a node ran a trial."""
        self._failures.pop(node, None)

    def failed(self, failure: SetupError) -> str:
        """Note a failure; return what to say if the node is left out now, else empty."""
        self._failures[failure.node] += 1
        if self._failures[failure.node] < self._MOST or failure.node in self._reasons:
            return ""
        self._reasons[failure.node] = failure.reason
        return f"node {_address(failure.node)} is left out: {failure.reason}"

    def is_left_out(self, node: str) -> bool:
        """Return whether a node runs no trials any more."""
        return node in self._reasons

    def check(self, wanted: Mapping[str, float]) -> None:
        """Raise MachineFailure if all nodes that are large enough for a trial are left out."""
        large = [
            node["NodeID"]
            for node in ray.nodes()
            if node["Alive"]
            and all(node["Resources"].get(kind, 0) >= amount for kind, amount in wanted.items())
        ]
        if large and all(map(self.is_left_out, large)):
            reasons = "; ".join(
                f"node {_address(node)}: {reason}" for node, reason in self._reasons.items()
            )
            raise MachineFailure(f"No node can run a trial ({reasons}). {RESUMES}")


def _address(node: str) -> str:
    for known in ray.nodes():
        if known["NodeID"] == node:
            return known["NodeManagerAddress"]
    return node
