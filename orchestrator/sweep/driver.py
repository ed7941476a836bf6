"""The process that holds Ray: it starts Ray, runs the trials, and reports them to the command.

When the command dies, the pipe between the two closes, and all of Ray is ended.
"""

import json
import os
import queue
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from pickle import loads
from typing import Any

import ray
from ray._private.node import Node

from fsl_sweep.orchestrator.errors import FslSweepError, MachineFailure, in_one_line
from fsl_sweep.orchestrator.sweep.cluster_address import Place, place_of
from fsl_sweep.orchestrator.sweep.process import RESUMES
from fsl_sweep.orchestrator.sweep.session_folder import RAYS

_CLEANER = """\
import json, sys
sys.path[:] = json.loads(sys.argv[1])
from pathlib import Path
from fsl_sweep.orchestrator.sweep.session_folder import end_session
end_session(Path(sys.argv[2]), int(sys.argv[3]))
"""
# Ray does not say that this is the reason.
_HINT = (
    "If the cluster asks for a token, set RAY_AUTH_MODE=token and that token (docs/cluster.md). "
)
# Stamps of Ray's log lines, and the text that all its failed checks share.
_BOILERPLATE = re.compile(
    r"\[[^\]]*\] \(\w+\) \S+:\d+: ?|An unexpected system state has occurred\..*?fix it\. ?"
)


def main(pipe: int, folder: str, address: str | None) -> None:
    """Do one job after the other on Ray, until the command ends this process.

    Args:
        pipe: the descriptor of this end of the pipe to the command.
        folder: the session's private folder.
        address: a cluster to join; None starts Ray on this machine.
    """
    command = _Command(Connection(pipe), Path(folder))
    try:
        with _ray_running(address, folder) as places:
            command.tell("ready", places)
            from fsl_sweep.orchestrator.sweep.experiment import Experiment

            packed = command.next()
            callbacks = loads(packed) if packed else ()  # noqa: S301 - the command's own
            experiment = Experiment(command.event, Path(folder), callbacks)
            while (job := command.next()) is not None:
                experiment.run(job)
                command.tell("finished", ())
            experiment.end()
            command.tell("finished", ())
    except FslSweepError as failure:
        command.tell("failed", failure)
    except Exception as failure:
        message = f"Ray failed: {_one_line(failure)}. {RESUMES}"
        command.tell("failed", MachineFailure(message))
    finally:
        sys.stdout.flush()
        os._exit(0)  # Ray's library would take seconds to end, and may never


class _Command:
    """The command at the other end of the pipe."""

    def __init__(self, pipe: Connection, folder: Path) -> None:
        self._pipe, self._folder = pipe, folder
        self._said: queue.SimpleQueue[Any] = queue.SimpleQueue()
        threading.Thread(target=self._listen, daemon=True).start()

    def tell(self, kind: str, content: object) -> None:
        """Send a message. If the command is gone, wait: the other thread ends this process."""
        try:
            self._pipe.send((kind, content))
        except OSError:
            threading.Event().wait()

    def next(self) -> Any:
        """Wait until the command says what to do: first the callbacks, then jobs, None at last."""
        return self._said.get()

    def event(self, kind: str, *content: object) -> None:
        """Call this method of the command's listeners, and wait until they have returned."""
        self.tell(kind, content)
        self._said.get()

    def _listen(self) -> None:
        while True:
            try:
                self._said.put(self._pipe.recv())
            except (EOFError, OSError):
                try:
                    _clear_up(self._folder)
                finally:
                    os._exit(1)


def _clear_up(folder: Path) -> None:
    """End Ray and this process, from another process.

    This one may still be starting Ray in its other thread, which would write files again. Ray's
    library may also exit this process as soon as the rest of Ray is gone.
    """
    arguments = [json.dumps(sys.path), str(folder), str(os.getsid(0))]
    subprocess.run([sys.executable, "-c", _CLEANER, *arguments], check=False)  # noqa: S603


@contextmanager
def _ray_running(address: str | None, folder: str) -> Iterator[list[Place]]:
    """Run Ray for the length of the block; yields the addresses that answer while it runs."""
    try:
        if address:
            ray.init(address, configure_logging=False, log_to_driver=False)
        else:
            # Nothing scales this cluster or prints its logs: two processes fewer to start.
            Node.start_monitor = Node.start_log_monitor = lambda self: None  # noqa: ARG005
            ray.init(
                "local",
                include_dashboard=False,
                configure_logging=False,
                log_to_driver=False,
                _temp_dir=f"{folder}/{RAYS}",  # Ray makes this one readable to everybody
            )
    except Exception as failure:
        what = f"join the Ray cluster at {address}" if address else "start Ray on this machine"
        raise MachineFailure(
            f"Could not {what}: {_one_line(failure)}. Nothing was run. {_HINT if address else ''}"
            "Fix that and run the same command again."
        ) from failure
    yield _places(address)
    if address:
        ray.shutdown()


def _places(address: str | None) -> list[Place]:
    head = place_of(address or "auto") or place_of(ray.get_runtime_context().gcs_address)
    nodes = [] if address else ray.nodes()
    managers = [(node["NodeManagerAddress"], node["NodeManagerPort"]) for node in nodes]
    return managers if head is None else [head, *managers]


def _one_line(failure: Exception) -> str:
    """Put the failure's kind and message on one short line; of a traceback only its last line."""
    text = _BOILERPLATE.sub("", str(failure))
    if "Traceback" in text:
        text = text.strip().splitlines()[-1]
    return in_one_line(failure, text)
