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


def under_nohup():
    heed_signals()
    signal.signal(signal.SIGHUP, signal.SIG_IGN)


@pytest.mark.parametrize(
    ("prepare", "ignored", "first", "second", "code"),
    [
        (heed_signals, [], "SIGINT", "SIGINT", 130),
        (heed_signals, [], "SIGTERM", "SIGTERM", 143),
        (heed_signals, [], "SIGHUP", "SIGTERM", 129),
        (under_nohup, ["SIGHUP"], "SIGTERM", "SIGINT", 143),
    ],
)
def test_a_second_signal_ends_at_once_with_the_code_of_the_first(
    prepare, ignored, first, second, code
):
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT], stdout=subprocess.PIPE, text=True, preexec_fn=prepare
    )
    assert process.stdout.readline() == "running\n"
    for name in [*ignored, first]:
        process.send_signal(getattr(signal, name))
    assert process.stdout.readline() == f"stopping {code}\n"
    process.send_signal(getattr(signal, second))
    rest, _ = process.communicate(timeout=30)
    assert (rest, process.returncode) == ("at once\n", code)


@pytest.mark.parametrize(("name", "code"), [("SIGINT", 130), ("SIGTERM", 143), ("SIGHUP", 129)])
def test_each_signal_ends_a_command_with_its_code(name, code, capsys):
    def command():
        os.kill(os.getpid(), getattr(signal, name))
        raise AssertionError("the signal came too late")

    numbers = [getattr(signal, name) for name in SIGNALS]
    before = [signal.signal(number, signal.SIG_DFL) for number in numbers]
    try:
        assert app._guarded(command) == code
        assert [signal.getsignal(number) for number in numbers] == [signal.SIG_DFL] * 3
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)
    assert capsys.readouterr().err.startswith("Stopped. What was recorded is kept")
    with pytest.raises(KeyboardInterrupt), signals_stop():  # what handles Ctrl-C handles the others
        raise Stopped(getattr(signal, name))


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


def errors_of(*arguments, interrupted="", **options):
    """What a command prints as errors, and its exit code."""
    program = [sys.executable, "-c", MAIN.format(interrupted=interrupted), *map(str, arguments)]
    process = subprocess.Popen(program, stderr=subprocess.PIPE, text=True, **options)
    return process.communicate(timeout=60)[1], process.returncode


@pytest.mark.parametrize("module", ["typer", "fsl_sweep.orchestrator.planning.prepare"])
def test_ctrl_c_while_modules_are_imported_is_no_traceback(module):
    errors, code = errors_of("run", "quickstart", interrupted=module)
    assert ("Traceback" in errors, code) == (False, 130)


def test_a_reader_that_goes_early_hides_no_exit_code(whole_run):
    """As ``| head -1`` does, with or without ``2>&1``."""
    reading, writing = os.pipe()
    os.close(reading)
    try:
        assert errors_of("status", whole_run, stdout=writing) == ("", 1)  # a trial is not done
    finally:
        os.close(writing)
