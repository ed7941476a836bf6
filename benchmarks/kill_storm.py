"""Kill sweeps at random moments, again and again, and check what is left.

    python -m benchmarks.kill_storm [KILLS] [SEED] [SWEEP ...]

A command of each of `SWEEPS` is started, with one, two or four workers, and something of it is
killed a random while later: a worker (or it is only halted, which ``stall`` ends), the command, its
process group, the process that holds Ray, the latter two, or everything at once. What is alive ten
seconds after a command is counted; the next one has to clear up. When a sweep ends before it is
killed, the next one starts. At the end each is finished: its report and the ends of its trials have
to be those of an undisturbed sweep, and no epoch was recorded twice.
"""

import collections
import contextlib
import ctypes
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from fsl_sweep.orchestrator.ledger.ledger import Ledger
from tests.orchestrator.commands import NO_SPARE_WORKERS, TINY, living

TASKS = {"evaluation": {"report_tasks": 10000}}
LR = {"optimizer.lr": {"loguniform": [0.01, 1.0]}}
WAYS = {"train.way": {"grid": [2, 3, 4]}, "train.shot": {"grid": [1, 2, 3, 4]}}
HALVING = {"name": "halving", "grace": 1, "factor": 3, "finalists": 2}
SWEEPS: dict[str, dict[str, Any]] = {
    "measure": {
        "defaults.epochs": 6,
        "measure": {
            "2-shot": {"episode": {"shot": 2}, **TASKS},
            "mixed": {"mixture": 0.5, **TASKS},
        },
    },
    "halving": {
        "methods.SVM": {"learner": {"name": "svm"}},
        "defaults.train.tasks_per_batch": 1,
        **{f"defaults.{axis}": values for axis, values in WAYS.items()},
        "seeds": [0, 1, 2],
        "scheduler": HALVING,
        "selectors": "all",
    },
    "folds": {
        "cross_validation": {"folds": 2},
        "defaults.train.way": {"grid": [2, 3]},
        "scheduler": {**HALVING, "factor": 2, "finalists": 1},
    },
    "optuna": {
        **{f"defaults.{axis}": values for axis, values in LR.items()},
        "search": {"name": "optuna", "configurations": 12, "round": 4},
        "scheduler": {**HALVING, "finalists": 1},
    },
    "random": {
        "defaults.epochs": 2,
        **{f"defaults.{axis}": values for axis, values in LR.items()},
        "search": {"name": "random", "configurations": 8, "round": 2},
    },
    "epochs": {"defaults.epochs": 24},
}
"""What differs from the tiny sweep, by name; epochs of the last are raised with each command."""

WORKERS = ("worker", "halted worker")
TARGETS = (*WORKERS, "worker", "command", "group", "driver", "command and driver", "everything")
_SUBREAPER = 36
_EPOCH = re.compile(r"^(?!.* measured$)(.*)  (\d+)/\d+  ", re.MULTILINE)


def main(kills: int = 120, seed: int = 0, names: Sequence[str] = ()) -> int:
    """Run the storm. Returns 0 if nothing was left and the reports are the same."""
    ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)  # orphans come to this process
    place, rng = Path(tempfile.mkdtemp(prefix="storm", dir="/tmp")), random.Random(seed)
    wrong, chosen = 0, names or tuple(SWEEPS)
    for name in chosen:
        storm = Storm(place, name, rng)
        while storm.counts["kills"] < kills / len(chosen):
            storm.strike()
        wrong += storm.differs()
    shutil.rmtree(place)
    return int(bool(wrong))


class Storm:
    """A sweep that is killed.

    Attributes:
        counts: what was killed, and what that left.
    """

    def __init__(self, place: Path, name: str, rng: random.Random) -> None:
        self._name, self._rng, self.counts = name, rng, collections.Counter[str]()
        self._place = place / name
        self._place.mkdir()
        (self._place / "sweep.yaml").write_text(yaml.safe_dump(sweep(name)))
        _command(self._place, "undisturbed").wait()
        self._runs, self._begun, self._epochs = 1, 0, 2
        self._process = self._next()

    @property
    def _run(self) -> str:
        return f"killed-{self._runs}"

    def _next(self) -> subprocess.Popen[bytes]:
        more = [f"defaults.epochs={self._epochs}"] if self._name == "epochs" else []
        self._begun = len(_log(self._place, self._run))
        return _command(self._place, self._run, self._rng.choice((1, 2, 4)), *more)

    def strike(self) -> None:
        """Kill something a while after now, and start the next command if this one is over."""
        target, when = self._rng.choice(TARGETS), self._rng.random()
        if when > 0.3 or target in WORKERS:
            while self._process.poll() is None and not self._trained():
                time.sleep(0.05)
            time.sleep(self._rng.uniform(0, 4))
        else:
            time.sleep(self._rng.uniform(0, 10))
        if self._process.poll() is not None:
            self._epochs += 2
            if self._name != "epochs" or self._epochs > 24:
                self._runs, self._epochs = self._runs + 1, 2
        elif target in WORKERS:
            workers = [pid for pid in _descendants() if _holds_a_trial(pid)]
            for pid in self._rng.sample(workers, min(1, len(workers))):
                self._count(target)
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL if target == "worker" else signal.SIGSTOP)
            return
        else:
            self._count(target)
            _kill(self._process, target)
            self._epochs = min(self._epochs + 2, 24)
        self._check_left(target)
        self._process = self._next()

    def _trained(self) -> bool:
        return bool(_EPOCH.search(_log(self._place, self._run)[self._begun :]))

    def _count(self, target: str) -> None:
        self.counts["kills"] += 1
        what = target + (" after an epoch" if self._trained() else " before any epoch")
        self.counts[what] += 1
        print(f"{self._name} {self.counts['kills']}: {what}", flush=True)

    def _check_left(self, target: str) -> None:
        left, folders = _left(seconds=10), _folders(self._place)
        if left or folders:
            cleared_up = target in ("command", "group", "driver")  # by the other of the two
            what = f"left by a kill of the {target}" if cleared_up else "swept by the next run"
            self.counts[what] += 1

    def differs(self) -> bool:
        """Finish each run, and print what was counted and whether it is as it should be."""
        _kill(self._process, "everything")
        names = [f"killed-{number + 1}" for number in range(self._runs)]
        codes = [_command(self._place, one).wait() for one in names]
        outcomes = [_outcome(self._place, one) for one in ("undisturbed", *names)]
        lines = [collections.Counter(_EPOCH.findall(_log(self._place, one))) for one in names]
        wrong = {
            "runs that failed": sum(code != 0 for code in codes),
            "reports that differ": sum(one[0] != outcomes[0][0] for one in outcomes),
            "ends that differ": sum(one[1] != outcomes[0][1] for one in outcomes),
            "damaged": sum(one[2] != 0 for one in outcomes),
            "epochs lost": sum(line.total() - len(line) for line in lines),
            "left": len(_left(seconds=10)) + len(_folders(self._place)),
        }
        self.counts["epochs"] = sum(map(len, lines))
        counts = dict(sorted(self.counts.items()))
        print(f"{self._name}: {len(names)} runs, {counts}; {wrong}", flush=True)
        return any(wrong.values()) or any(key.startswith("left") for key in counts)


def sweep(name: str) -> dict[str, Any]:
    """Return the tiny sweep with the changes of that name."""
    plain = yaml.safe_load(TINY) | {"name": "storm", "retries": 50, "stall": "30s"}
    plain["defaults"] |= {"epochs": 9, "batches": 2, "backbone": {"name": "conv4", "width": 4}}
    for key, value in SWEEPS[name].items():
        *above, last = key.split(".")
        section = plain
        for part in above:
            section = section[part]
        section[last] = value
    return plain


def _command(place: Path, run: str, workers: int = 2, *changes: str) -> subprocess.Popen[bytes]:
    program = [sys.executable, "-m", "fsl_sweep", "run", place / "sweep.yaml", "-o", place / run]
    cores = {"RAY_OVERRIDE_RESOURCES": json.dumps({"CPU": workers}), "TMPDIR": str(place)}
    with (place / f"{run}.log").open("ab") as log:
        return subprocess.Popen(
            [*program, *(part for change in changes for part in ("--set", change))],
            stdout=log,
            stderr=log,
            env=os.environ | cores | dict([NO_SPARE_WORKERS]),
            start_new_session=True,
        )


def _log(place: Path, run: str) -> str:
    log = place / f"{run}.log"
    return log.read_text() if log.exists() else ""


def _outcome(place: Path, run: str) -> tuple[bytes, dict[str, tuple[str, str]], int]:
    """Give the report without times, status and reason of each trial, and what `verify` says."""
    program, ledger = [sys.executable, "-m", "fsl_sweep"], Ledger(place / run)
    report = [*program, "report", place / run, "--format", "json", "--bootstrap", "100"]
    shown = subprocess.run(report, stdout=-1).stdout
    ends = {trial: ledger.trial(trial).read_end() for trial in ledger.planned().specs}
    outcomes = {trial: (end.status, end.reason) if end else ("", "") for trial, end in ends.items()}
    return shown, outcomes, subprocess.run([*program, "verify", place / run], stdout=-1).returncode


def _kill(process: subprocess.Popen[bytes], target: str) -> None:
    drivers = [pid for pid, one in living().items() if one[1] == process.pid]
    chosen = {
        "command": [process.pid],
        "group": [-process.pid],
        "driver": drivers or [process.pid],
        "command and driver": [process.pid, *drivers],
        "everything": _descendants(),
    }[target]
    for pid in chosen:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL) if pid > 0 else os.killpg(-pid, signal.SIGKILL)
    process.wait()


def _holds_a_trial(pid: int) -> bool:
    with contextlib.suppress(OSError):
        title = Path(f"/proc/{pid}/cmdline").read_bytes()
        return title.startswith(b"ray::") and b"Trainable" in title
    return False


def _left(seconds: float) -> list[int]:
    """Processes of the sweep that live on for so long."""
    deadline = time.monotonic() + seconds
    while (left := _descendants()) and time.monotonic() < deadline:
        time.sleep(0.1)
    return left


def _folders(place: Path) -> list[Path]:
    return list(place.glob("fsl-ray-*"))


def _descendants() -> list[int]:
    """Every living process that descends from this one; those that ended are reaped."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    everyone, found = living(), {os.getpid()}
    while more := {pid for pid, one in everyone.items() if one[1] in found} - found:
        found |= more
    return [*found - {os.getpid()}]


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:3]), names=sys.argv[3:]))
