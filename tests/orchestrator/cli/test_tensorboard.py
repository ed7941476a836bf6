import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from made import plan, planned, record, spec
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.backend.event_processing.event_multiplexer import EventMultiplexer

from fsl_sweep.orchestrator.cli import invoke
from fsl_sweep.orchestrator.errors import FslSweepError
from fsl_sweep.orchestrator.ledger.ledger import Ledger
from fsl_sweep.orchestrator.records.measures import TrialEnd
from fsl_sweep.orchestrator.tensorboard.serving import serve


def test_the_view_has_the_reports_figures(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trials = [planned(spec(way=way)) for way in (5, 10)]
    ledger = Ledger(tmp_path / "run")
    ledger.write_plan(plan(*trials), "name: made\n")
    for seed, one in enumerate(trials):
        trial = ledger.trial(one.id)
        trial.begin(one.spec)
        for epoch in (1, 2, 3):
            trial.write_epoch(record(epoch, seed), b"weights")
        trial.end(TrialEnd("done"))
    command = ["tensorboard", str(tmp_path / "run"), "--no-serve"]
    assert invoke(command) == 0
    folder = tmp_path / "run" / "tensorboard"
    assert str(folder) in capsys.readouterr().out
    events = EventAccumulator(str(folder / "report"), size_guidance={"tensors": 0})
    tags = [tag for tag in events.Reload().Tags()["tensors"] if tag.startswith("figures/")]
    assert "figures/progressions/PN, way=10, seed 0" in tags
    assert {tag.split("/")[1] for tag in tags} == {"trade-off", "progressions"}
    before = {path: path.read_bytes() for path in folder.rglob("events.*")}
    assert invoke(command) == 0
    assert {path: path.read_bytes() for path in folder.rglob("events.*")} == before


def test_pictures_are_dated_by_the_newest_record_and_every_run_has_a_name(tmp_path: Path) -> None:
    run = recorded(tmp_path / "run")
    (end,) = run.glob("trials/*/end.json")
    os.utime(end, (1_700_000_000.5, 1_700_000_000.5))
    assert invoke(["tensorboard", str(run), "--no-serve"]) == 0
    events = EventMultiplexer(size_guidance={"tensors": 0})
    events.AddRunsFromDirectory(str(run / "tensorboard")).Reload()
    assert "." not in events.Runs()
    tags = [tag for tag in events.Runs()["report"]["tensors"] if tag.startswith("figures/")]
    assert tags
    assert {e.wall_time for tag in tags for e in events.Tensors("report", tag)} == {1_700_000_000.5}


def recorded(path: Path) -> Path:
    """A run folder with one finished trial."""
    ledger, one = Ledger(path), planned(spec())
    ledger.write_plan(plan(one), "name: made\n")
    trial = ledger.trial(one.id)
    trial.begin(one.spec)
    for epoch in (1, 2, 3):
        trial.write_epoch(record(epoch), b"weights")
    trial.end(TrialEnd("done"))
    return path


def descendants(pid: int) -> list[int]:
    """Processes that one started, and those that they started."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [found for child in map(int, children) for found in (child, *descendants(child))]


def running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.mark.slow
def test_what_tensorboard_started_ends_with_the_command(tmp_path: Path) -> None:
    run = recorded(tmp_path / "run")
    command = [sys.executable, "-m", "fsl_sweep.orchestrator.cli", "tensorboard", str(run)]
    with open(tmp_path / "said", "w") as said:
        process = subprocess.Popen([*command, "--port", "0"], stdout=said, stderr=said)
    until(lambda: "http://127.0.0.1" in (tmp_path / "said").read_text(), process)
    below = descendants(process.pid)
    assert below
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=30) == 128 + signal.SIGTERM
    until(lambda: not any(map(running, below)))


def until(true: Callable[[], bool], process: "subprocess.Popen[bytes] | None" = None) -> None:
    deadline = time.monotonic() + 60
    while not true():
        assert time.monotonic() < deadline
        assert process is None or process.poll() is None
        time.sleep(0.05)


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Put a shell script in TensorBoard's place."""

    def stand_in(script: str) -> None:
        path = tmp_path / "python"
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        monkeypatch.setattr(sys, "executable", str(path))

    return stand_in


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_tensorboard_first(
    tmp_path: Path, stand_in: Callable[[str], None], number: signal.Signals
) -> None:
    stand_in(f"echo $$ > {tmp_path}/pid; kill -{number.value} $PPID; exec sleep 60")
    before = signal.signal(number, signal.SIG_DFL)  # tests in the background ignore SIGINT
    try:
        assert serve(tmp_path, "127.0.0.1", 0) == 128 + number
        assert signal.getsignal(number) is signal.SIG_DFL
    finally:
        signal.signal(number, before)
    assert not running(int((tmp_path / "pid").read_text()))


def test_a_second_signal_does_not_wait(tmp_path: Path, stand_in: Callable[[str], None]) -> None:
    stand_in(
        f"trap 'kill -TERM $PPID' TERM; echo $$ > {tmp_path}/pid; kill -TERM $PPID\n"
        "while :; do sleep 0.05; done"
    )
    assert serve(tmp_path, "127.0.0.1", 0) == 128 + signal.SIGTERM
    assert not running(int((tmp_path / "pid").read_text()))


def test_a_signal_that_is_ignored_stays_so(tmp_path: Path, stand_in: Callable[[str], None]) -> None:
    stand_in("kill -HUP $PPID; sleep 0.1; exit 0")
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        assert serve(tmp_path, "127.0.0.1", 0) == 0
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_tensorboard_that_fails_is_told(tmp_path: Path, stand_in: Callable[[str], None]) -> None:
    stand_in("exit 3")
    with pytest.raises(FslSweepError, match="TensorBoard ended with exit code 3"):
        serve(tmp_path, "127.0.0.1", 0)


def test_a_place_that_cannot_be_served_is_told_before_anything_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = recorded(tmp_path / "run")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        for place, expected in (
            (("--port", port), f"--port: port {port} of 127.0.0.1 is taken, by another TensorB"),
            (("--host", "no such host"), "--host: 'no such host' is no address: "),
            (("--host", "192.0.2.1"), "--host: nothing can listen on port 6006 of 192.0.2.1: "),
        ):
            assert invoke(["tensorboard", str(run), *place]) == 2
            out, err = capsys.readouterr()
            assert (out, err.count("\n")) == ("", 1)
            assert err.startswith(f"fsl-sweep: {expected}")
    assert not (run / "tensorboard").exists()
