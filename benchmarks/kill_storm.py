"""Kill a sweep at random moments, again and again, and check what is left.

    python -m benchmarks.kill_storm [KILLS] [SEED]

Each time a command is started, which trains and then measures its snapshots under further
protocols, and killed (SIGKILL) a random while later: itself, its process group, the process that
holds Ray, both of these, or everything at once. What is alive ten seconds
later is counted; the next command has to clear up. When a sweep ends before it is killed, the next
one starts. At the end each is finished, and its report has to be that of an undisturbed sweep.
"""

import collections
import contextlib
import ctypes
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.orchestrator.commands import TINY, living

SWEEP = f"""{TINY.replace("name: tiny", "name: storm").replace("epochs: 3", "epochs: 6")}
measure:
  2-shot: {{episode: {{shot: 2}}, evaluation: {{report_tasks: 10000}}}}
  mixtures: {{mixture: [0, 0.5, 1], evaluation: {{report_tasks: 10000}}}}
"""
TARGETS = ("command", "group", "driver", "command and driver", "everything")
_SUBREAPER = 36
_TRIALS = 8


def main(kills: int = 60, seed: int = 0) -> int:
    """Run the storm. Returns 0 if nothing was left and the reports are the same."""
    ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)  # orphans come to this process
    place = Path(tempfile.mkdtemp(prefix="storm", dir="/tmp"))
    environment = {**os.environ, "TMPDIR": str(place)}
    (place / "storm.yaml").write_text(SWEEP)
    rng, counts = random.Random(seed), collections.Counter[str]()
    began = time.monotonic()
    _command(place, "undisturbed", environment).wait()
    whole = time.monotonic() - began
    names = ["killed-1"]
    for number in range(kills):
        process = _command(place, names[-1], environment)
        time.sleep(rng.uniform(0, whole))
        target = rng.choice(TARGETS)
        if process.poll() is None:
            counts[f"killed while {_phase(place / names[-1])}: {target}"] += 1
        else:
            names.append(f"killed-{len(names) + 1}")
        _kill(process, target)
        left = _left(place, seconds=10)
        if target != "everything" and (left or _folders(place)):
            counts[f"left by a kill of the {target}: {len(left)} processes"] += 1
        counts["swept by the next run"] += bool(left or _folders(place))
        print(f"{number + 1:3d} {target:20s} left {len(left)}, {len(_folders(place))}", flush=True)
    counts["failed runs"] = sum(_command(place, one, environment).wait() != 0 for one in names)
    left, folders = _left(place, seconds=10), _folders(place)
    expected = _report(place, "undisturbed", environment)
    same = all(_report(place, name, environment) == expected for name in names)
    print(dict(counts), f"left: {left}, {folders}; same {len(names)} reports: {same}")
    shutil.rmtree(place)
    return int(bool(left or folders or not same))


def _command(place: Path, run: str, environment: dict[str, str]) -> subprocess.Popen[bytes]:
    program = [sys.executable, "-m", "fsl_sweep", "run", place / "storm.yaml"]
    with (place / f"{run}.log").open("ab") as log:
        return subprocess.Popen(
            [*program, "-o", place / run],
            stdout=log,
            stderr=log,
            env=environment,
            start_new_session=True,
        )


def _report(place: Path, run: str, environment: dict[str, str]) -> bytes:
    program = [sys.executable, "-m", "fsl_sweep", "report", place / run]
    return subprocess.run([*program, "--format", "json"], stdout=-1, env=environment).stdout


def _phase(run: Path) -> str:
    """What a command was doing, or had come to do when it was last stopped."""
    ended = len([*run.glob("trials/*/end.json")])
    return "measuring" if ended == _TRIALS else "training"


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


def _left(place: Path, seconds: float) -> list[int]:
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
    sys.exit(main(*map(int, sys.argv[1:])))
