import os
import re
import signal
import socket
import urllib.request
from collections.abc import Callable
from pathlib import Path

import made
import pytest
from commands import in_session, started, wait_for
from tensorboard.backend.event_processing.event_multiplexer import EventMultiplexer

from fsl_sweep.orchestrator.cli import invoke
from fsl_sweep.orchestrator.records.measures import TrialEnd
from fsl_sweep.orchestrator.sweep.stopping import Stopped
from fsl_sweep.orchestrator.tensorboard import serving


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run folder with two finished trials."""
    path = tmp_path_factory.mktemp("view") / "run"
    made.recorded(path, *(made.planned(made.spec(way=way)) for way in (5, 10)))
    return path


def test_the_view_has_the_reports_figures(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for trial, date in zip(run.glob("trials/*"), (1.6e9, 1.7e9 + 0.5), strict=True):
        for file in trial.rglob("*"):
            os.utime(file, (date, date))
    assert invoke(["tensorboard", str(run), "--no-serve"]) == 0
    folder = run / "tensorboard"
    assert str(folder) in capsys.readouterr().out
    events = EventMultiplexer(size_guidance={"tensors": 0})
    events.AddRunsFromDirectory(str(folder)).Reload()
    tags = [tag for tag in events.Runs()["report"]["tensors"] if tag.startswith("figures")]
    assert "figures 3: curves/PN, way=10" in tags
    assert {tag.split("/")[0] for tag in tags} == {
        *("figures 1: forest", "figures 2: trade-off", "figures 3: curves", "figures 4: response")
    }
    # Pictures are dated by the newest record.
    assert {e.wall_time for tag in tags for e in events.Tensors("report", tag)} == {1.7e9 + 0.5}


@pytest.mark.slow
def test_a_signal_ends_tensorboard_and_what_it_started(run: Path) -> None:
    process = started("tensorboard", run, "--port", "0")
    line = next(line for line in process.stdout if "TensorBoard: http://" in line)
    address = re.findall(r"TensorBoard: (\S+)", line)[0]
    assert address.endswith("/?smoothing=0#timeseries&_smoothingWeight=0")
    with urllib.request.urlopen(address) as page:
        assert b"TensorBoard" in page.read()
    assert len(in_session(process.pid)) > 1
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=30)
    assert process.returncode == 128 + signal.SIGTERM
    wait_for(lambda: not in_session(process.pid))


def test_stopping_the_server_leaves_nothing_to_continue(
    run: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(*_: object) -> None:
        raise Stopped(signal.SIGINT)

    monkeypatch.setattr(serving, "serve", stopped)
    assert invoke(["tensorboard", str(run), "--port", "0"]) == 130
    assert capsys.readouterr().err == ""


def test_a_place_that_cannot_be_served_is_an_error_before_anything_is_written(
    tmp_path: Path, refused: Callable[..., str]
) -> None:
    made.recorded(tmp_path, made.planned(made.spec()), ends=[TrialEnd("done")])
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        for place, expected in (
            (("--port", port), f"port {port} of 127.0.0.1: Address already in use; give another"),
            (("--host", "no such host"), "port 6006 of no such host: "),
            (("--host", "192.0.2.1"), "port 6006 of 192.0.2.1: Cannot assign requested address"),
        ):
            said = refused("tensorboard", tmp_path, *place)
            assert said.startswith(f"--host or --port: cannot listen on {expected}")
    assert not (tmp_path / "tensorboard").exists()
