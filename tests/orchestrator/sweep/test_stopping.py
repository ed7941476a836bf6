"""Signals: the first stops tidily, the second at once, and what was ignored stays ignored."""

import os
import signal
import subprocess
import sys

import pytest
from commands import SIGNALS, heed_signals

from fsl_sweep.orchestrator.cli import app
from fsl_sweep.orchestrator.sweep.stopping import Stopped, signals_stop

SCRIPT = """
import signal, sys, time
from fsl_sweep.orchestrator.sweep.stopping import Stopped, ended_at_once, signals_stop
with signals_stop(), ended_at_once(lambda: print("at once", flush=True)):
    try:
        print("running", flush=True)
        time.sleep(60)
        print("slept")
    except Stopped as stop:
        print("stopping", stop.code, flush=True)
        time.sleep(60)
"""


def script(ignored=None):
    def prepare():
        heed_signals()
        if ignored:
            signal.signal(ignored, signal.SIG_IGN)

    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT], stdout=subprocess.PIPE, text=True, preexec_fn=prepare
    )
    assert process.stdout.readline() == "running\n"
    return process


@pytest.mark.parametrize(
    ("first", "second", "code"),
    [("SIGINT", "SIGINT", 130), ("SIGTERM", "SIGTERM", 143), ("SIGHUP", "SIGTERM", 129)],
)
def test_a_second_signal_ends_at_once_with_the_code_of_the_first(first, second, code):
    process = script()
    process.send_signal(getattr(signal, first))
    assert process.stdout.readline() == f"stopping {code}\n"
    process.send_signal(getattr(signal, second))
    rest, _ = process.communicate(timeout=30)
    assert (rest, process.returncode) == ("at once\n", code)


def test_a_signal_that_is_ignored_stays_ignored():
    """As ``nohup`` has it."""
    process = script(ignored=signal.SIGHUP)
    process.send_signal(signal.SIGHUP)
    process.send_signal(signal.SIGTERM)
    assert process.stdout.readline() == "stopping 143\n"
    process.kill()
    process.communicate()


@pytest.mark.parametrize(("name", "code"), [("SIGINT", 130), ("SIGTERM", 143), ("SIGHUP", 129)])
def test_each_signal_ends_a_command_with_its_code(name, code, capsys):
    def command():
        os.kill(os.getpid(), getattr(signal, name))
        raise AssertionError("the signal came too late")

    numbers = [getattr(signal, one) for one in SIGNALS]
    before = [signal.signal(one, signal.SIG_DFL) for one in numbers]
    try:
        assert app._guarded(command) == code
        assert [signal.getsignal(one) for one in numbers] == [signal.SIG_DFL] * 3
    finally:
        for one, handler in zip(numbers, before, strict=True):
            signal.signal(one, handler)
    assert capsys.readouterr().err.startswith("Stopped. What was recorded is kept")


def test_what_handles_ctrl_c_handles_the_others():
    with pytest.raises(KeyboardInterrupt), signals_stop():
        raise Stopped(signal.SIGTERM)


MAIN = """
import sys
class Block:
    def find_spec(self, name, path=None, target=None):
        if name == {interrupted!r}:
            raise KeyboardInterrupt
sys.meta_path.insert(0, Block())
from fsl_sweep.orchestrator.cli import main
main()
"""


def main(*arguments, interrupted="", **options):
    program = [sys.executable, "-c", MAIN.format(interrupted=interrupted), *map(str, arguments)]
    return subprocess.Popen(program, stderr=subprocess.PIPE, text=True, **options)


@pytest.mark.parametrize("module", ["typer", "fsl_sweep.orchestrator.planning.prepare"])
def test_ctrl_c_while_modules_are_imported_is_no_traceback(module):
    process = main("run", "quickstart", interrupted=module)
    assert "Traceback" not in process.communicate(timeout=60)[1]
    assert process.returncode == 130


def test_a_reader_that_goes_early_hides_no_exit_code(whole_run):
    """As ``| head -1`` does, with or without ``2>&1``."""
    reading, writing = os.pipe()
    os.close(reading)
    try:
        process = main("status", whole_run, stdout=writing)
        assert process.communicate(timeout=60)[1] == ""
        assert process.returncode == 1  # a trial is not done
    finally:
        os.close(writing)
