"""Ray and the driver of a sweep's trials, in a process of their own, seen from the command.

Ray's library exits its process when the cluster is lost, takes over signals, and writes to the
terminal. The command must do none of that. So it keeps the locks on the run folder and the session
folder, and talks over a pipe to a process that holds Ray (``driver``). Each cleans up after the
other: when the command dies, the pipe closes and the driver ends Ray; when the driver dies, the
command ends Ray.
"""

import json
import multiprocessing
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, NamedTuple

from fsl_sweep.datasets.benchmark import Benchmark
from fsl_sweep.orchestrator.errors import MachineFailure
from fsl_sweep.orchestrator.ledger.ledger import Ledger
from fsl_sweep.orchestrator.records.measures import EpochRecord
from fsl_sweep.orchestrator.records.plan import Plan
from fsl_sweep.orchestrator.records.protocol import MAIN
from fsl_sweep.orchestrator.sweep.cluster_address import Place, Watch, check_reachable
from fsl_sweep.orchestrator.sweep.listener import SweepListener
from fsl_sweep.orchestrator.sweep.session_folder import end_session, session_folder
from fsl_sweep.orchestrator.sweep.stopping import ended_at_once
from fsl_sweep.orchestrator.upkeep.recording import note_environment
from fsl_sweep.orchestrator.upkeep.remaining import Todo

_PROGRAM = """\
import json, sys
sys.path[:] = json.loads(sys.argv[1])
from fsl_sweep.orchestrator.sweep.driver import main
main(int(sys.argv[2]), sys.argv[3], sys.argv[4] or None)
"""
_LOG = "driver.log"
_OF_A_TRIAL = ("fsl_sweep.orchestrator.sweep.worker", "fsl_sweep.orchestrator.trial.trial")
# No advice of Ray's.
_QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_AIR_NEW_OUTPUT": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "TUNE_DISABLE_STRICT_METRIC_CHECKING": "1",
}
# Makes Ray bind every port to 127.0.0.1; it is Ray's default on other systems than Linux.
_LOOPBACK = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
# Seconds of silence after which Ray counts as gone. A cluster's head may be restarting.
_PATIENCE_HERE, _PATIENCE_CLUSTER = 3.0, 30.0
_TO_START = 120.0
RESUMES = "What was recorded is kept: run the same command again to continue."


class Job(NamedTuple):
    """Trials to train, or whose snapshots to measure, and how.

    Attributes:
        run: the run folder, on a path that all nodes share.
        plan: the sweep, on the data that the command opened.
        trials: ids of the trials.
        todo: what to measure of each of them; None to train them.
        retries: attempts after the first.
        stall: seconds without a record after which a trial hangs; None as of `stalling.Stalls`.
    """

    run: Path
    plan: Plan
    trials: tuple[str, ...]
    todo: Mapping[str, Todo] | None = None
    retries: int = 0
    stall: float | None = None

    @property
    def protocols(self) -> set[str]:
        """Return the names of the protocols under which snapshots are measured."""
        each = (names for todo in (self.todo or {}).values() for names in todo.values())
        return {name for names in each for name in names}

    def on_gpu(self, trial: str) -> bool:
        """Return whether a trial runs on a GPU: if there is one, unless none is to be reserved."""
        import torch

        return torch.cuda.is_available() and self.plan.resources_of(trial).gpu != 0

    def steps(self, trial: str, benchmarks: Mapping[str, Benchmark]) -> Iterator[EpochRecord | int]:
        """Train a trial, or measure its snapshots; yield each once it is recorded.

        Yields:
            What training recorded of an epoch; of a snapshot that is only measured, its epoch.
        """
        import torch

        from fsl_sweep.orchestrator.measuring.snapshots import Measuring
        from fsl_sweep.orchestrator.trial.trial import Trial

        plan, spec, answers = self.plan, self.plan.specs[trial], self.plan.records_answers
        storage = Ledger(self.run, standing=True).trial(trial)
        device = torch.device("cuda" if self.on_gpu(trial) else "cpu")
        if self.todo is None:
            data, keep = benchmarks[MAIN], plan.kept_while_training
            yield from Trial(spec, storage, data, plan.main, keep, answers, device).run()
        else:
            todo = {e: [*map(plan.protocol, names)] for e, names in self.todo[trial].items()}
            yield from Measuring(spec, storage, benchmarks, todo, device, answers).run()


class TimeIsUp(Exception):
    """The time that a run was given has passed."""


class RayProcess:
    """Ray for the length of a block, starting when it is entered: a cluster, or one of our own.

    Args:
        address: a cluster to join; None starts Ray on this machine, for loopback only.
        trials: how many are to run, as far as is known.
        callbacks: of Tune, as packed by `users.pickled`.
        deadline: of `time.monotonic`, at which a job is stopped.

    Raises:
        ConfigError: the address is not one.
        MachineFailure: there is no place for Ray's files, or no cluster at the address.
    """

    def __init__(
        self,
        address: str | None = None,
        trials: int = 0,
        callbacks: bytes = b"",
        deadline: float | None = None,
    ) -> None:
        self._address, self._trials = address, trials
        self._callbacks, self._deadline = callbacks, deadline
        self._stack = ExitStack()
        self._folder: Path | None = None
        self._session = 0
        self._watching: Watch | None = None

    def __enter__(self) -> "RayProcess":
        if self._address:
            check_reachable(self._address)
        with self._stack:
            self._stack.enter_context(ended_at_once(self._end_at_once))
            self._folder = self._stack.enter_context(session_folder())
            self._pipe, theirs = multiprocessing.Pipe()
            self._stack.callback(self._pipe.close)
            with theirs:
                self._process = self._spawned(theirs.fileno(), self._folder)
            self._session = self._process.pid
            self._stack.callback(self._kill)
            with suppress(BrokenPipeError):
                self._pipe.send(self._callbacks)
            self._stack = self._stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """End Ray, or leave the cluster; none of its processes and files is left."""
        self._stack.close()

    def run(self, job: Job, listeners: Sequence[SweepListener]) -> None:
        """Do one job, and wait until it is done; another may follow.

        Each trial is retried from its last recorded epoch where it fails.

        Raises:
            ConfigError: a trial asks for more than the cluster has.
            MachineFailure: Ray did not start or went away, a disk is full, the run folder has
                vanished, or no node can run a trial.
            PluginError: a callback raised an error.
            TimeIsUp: the deadline has passed.
        """
        self._do(job, job.run, listeners)

    def finish(self, run: Path) -> None:
        """Tell the callbacks that no other job follows. Raises as ``run``."""
        if self._callbacks:
            self._do(None, run, ())

    def _do(self, job: Job | None, run: Path, listeners: Sequence[SweepListener]) -> None:
        before = _identity(run)
        begun = checked = time.monotonic()
        with suppress(BrokenPipeError):  # its last message is read below
            self._pipe.send(job)
        while True:
            spoke = self._pipe.poll(1.0)
            if time.monotonic() - checked > 1.0:
                if self._watching is None:
                    self._check_starting(begun)
                else:
                    self._watching.check()
                _check_there(run, before)
                checked = time.monotonic()
            if self._deadline is not None and time.monotonic() > self._deadline:
                raise TimeIsUp
            if not spoke:
                continue
            kind, content = self._receive()
            if kind == "ready":
                self._watching = self._watch(content)
            elif kind == "failed":
                _check_there(run, before)  # that it is gone explains any failure
                raise content
            elif kind == "finished":
                return
            else:
                if kind == "machine":
                    note_environment(Ledger(run), *content)
                for listener in listeners:
                    getattr(listener, kind, _ignored)(*content)
                with suppress(BrokenPipeError):
                    self._pipe.send(None)

    def _spawned(self, pipe: int, folder: Path) -> subprocess.Popen[bytes]:
        arguments = [json.dumps(sys.path), str(pipe), str(folder), self._address or ""]
        with (folder / _LOG).open("wb") as log:
            return subprocess.Popen(  # noqa: S603
                [sys.executable, "-c", _PROGRAM, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=[pipe],
                env=self._environment(folder),
                start_new_session=True,  # so that a terminal's signals reach the command only
            )

    def _environment(self, folder: Path) -> dict[str, str]:
        environment = {**_QUIET, **os.environ, "TMPDIR": str(folder)}
        if self._address is None:
            # With a token of its own no other user of this machine can join, and Ray writes none
            # to the home folder.
            token = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
            environment = {**environment, **_LOOPBACK, **token}
            # Ray starts a worker for each core long before the first trial. Where most of them will
            # run one, they import what it needs meanwhile.
            if 2 * self._trials >= (os.cpu_count() or 1):
                environment["RAY_preload_python_modules"] = ",".join(_OF_A_TRIAL)
        return environment

    def _receive(self) -> tuple[str, Any]:
        try:
            return self._pipe.recv()
        except (EOFError, OSError):
            time.sleep(0.5)  # a signal sent to all processes arrives here too, and says more
            code = self._process.poll()
            how = "" if code is None else f" (exit code {code})" if code >= 0 else _killed_by(-code)
            raise MachineFailure(
                f"The process that held Ray ended unexpectedly{how}{self._last_words()}. {RESUMES}"
            ) from None

    def _last_words(self) -> str:
        """Return the last error in the driver's log, as ``: TEXT``; empty if there is none."""
        with suppress(OSError):
            lines = Path(self._folder or "", _LOG).read_text(errors="replace").splitlines()
            errors = [line.partition("] ")[2] for line in lines if " E " in line or " C " in line]
            if errors:
                return f": {''.join(filter(str.isprintable, errors[-1]))[:300].rstrip('.')}"
        return ""

    def _watch(self, places: Sequence[Place]) -> Watch:
        if self._address:
            return Watch(f"The Ray cluster at {self._address}", places, _PATIENCE_CLUSTER)
        return Watch("The Ray of this run", places, _PATIENCE_HERE)

    def _check_starting(self, begun: float) -> None:
        if time.monotonic() - begun > _TO_START:
            where = f"at {self._address}" if self._address else "on this machine"
            raise MachineFailure(
                f"Ray {where} did not start within {_TO_START:.0f} seconds{self._last_words()}. "
                "Nothing was run; run the same command to try again."
            )

    def _kill(self) -> None:
        if self._address:  # its workers on other nodes end when it leaves
            with suppress(subprocess.TimeoutExpired):
                self._pipe.close()
                self._process.wait(timeout=10)
        self._end_at_once()
        with suppress(ProcessLookupError):  # without /proc, nothing else shows what is Ray's
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def _end_at_once(self) -> None:
        if self._folder is not None:
            end_session(self._folder, self._session)


def _ignored(*_: object) -> None:
    """Stand in for what a listener does not hear of."""


def _killed_by(number: int) -> str:
    likely = "; perhaps the machine ran out of memory" if number == signal.SIGKILL else ""
    return f" (killed by signal {number}{likely})"


def _identity(folder: Path) -> tuple[int, int] | None:
    try:
        status = folder.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _check_there(folder: Path, before: tuple[int, int] | None) -> None:
    if before is not None and _identity(folder) != before:
        raise MachineFailure(
            f"The run folder {folder} is gone: it was deleted or moved while the sweep ran. "
            "Nothing more is written there. Put it back, or run the same command to start over."
        )
