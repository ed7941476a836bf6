"""Signals: the first stops tidily, the second at once, and what was ignored stays ignored."""

import os
import signal
import subprocess
import sys

import pytest
from commands import heed_signals

SCRIPT = """
import signal, sys, time
from fsl_sweep.orchestrator.cli.app import _guarded
from fsl_sweep.orchestrator.sweep.stopping import ended_at_once

def command():
    try:
        print("running", flush=True)
        time.sleep(60)
    except KeyboardInterrupt as stop:  # what handles Ctrl-C handles the others
        print("stopping", stop.code, flush=True)
        time.sleep(float(sys.argv[1]))
        raise

def handlers():
    return [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]

before = handlers()
with ended_at_once(lambda: print("at once", flush=True)):
    code = _guarded(command)
print("tidily", handlers() == before)
sys.exit(code)
"""
CODES = {"SIGINT": 130, "SIGTERM": 143, "SIGHUP": 129}


def under_nohup():
    heed_signals()
    signal.signal(signal.SIGHUP, signal.SIG_IGN)


@pytest.mark.parametrize(
    ("sent", "prepare"),
    [
        *(([name], heed_signals) for name in CODES),
        (["SIGINT", "SIGINT"], heed_signals),
        (["SIGTERM", "SIGTERM"], heed_signals),
        (["SIGHUP", "SIGTERM"], heed_signals),
        (["SIGTERM", "SIGINT"], under_nohup),
    ],
)
def test_a_signal_ends_a_command_with_its_code_and_a_second_one_at_once(sent, prepare):
    seconds, pipes = str(60 * (len(sent) - 1)), dict.fromkeys(("stdout", "stderr"), subprocess.PIPE)
    command = [sys.executable, "-c", SCRIPT, seconds]
    process = subprocess.Popen(command, **pipes, text=True, preexec_fn=prepare)
    assert process.stdout.readline() == "running\n"
    if prepare is under_nohup:
        process.send_signal(signal.SIGHUP)
    process.send_signal(getattr(signal, sent[0]))
    assert process.stdout.readline() == f"stopping {CODES[sent[0]]}\n"
    for name in sent[1:]:
        process.send_signal(getattr(signal, name))
    with process:  # not communicate(), which would miss what readline() has buffered
        rest, errors = process.stdout.read(), process.stderr.read()
    end = "tidily True\n" if len(sent) == 1 else "at once\n"
    assert (rest, process.returncode) == (end, CODES[sent[0]])
    assert errors.startswith("Stopped. What was recorded is kept") is (len(sent) == 1)


WITHIN = """
import os, signal, sys, time
from typing import Any
from pydantic import BaseModel, model_serializer
from fsl_sweep.orchestrator.cli.app import _guarded

class Options(BaseModel):
    @model_serializer(mode="wrap")
    def _plain(self, handler) -> Any:
        os.kill(os.getpid(), signal.SIGTERM)
        print("inside", flush=True)
        return handler(self)

def command():
    if sys.argv[1] == "import":
        import stops_itself
    else:
        Options().model_dump()
    print("after", flush=True)
    time.sleep(60 if sys.argv[2] == "goes on" else 0)
    return 0

sys.exit(_guarded(command))
"""


@pytest.mark.parametrize("then", ["goes on", "is over"])
@pytest.mark.parametrize("place", ["import", "pydantic"])
def test_native_code_is_not_interrupted(tmp_path, place, then):
    """An exception within torch's import ends the process by SIGABRT; pydantic swallows it."""
    lines = "import os, signal\nos.kill(os.getpid(), signal.SIGTERM)\nprint('inside', flush=True)\n"
    (tmp_path / "stops_itself.py").write_text(lines)
    program = [sys.executable, "-c", WITHIN, place, then]
    path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        program,
        capture_output=True,
        text=True,
        preexec_fn=heed_signals,
        env={**os.environ, "PYTHONPATH": path},
        check=False,
    )
    assert (done.returncode, done.stdout.split()[0]) == (143, "inside")
    assert done.stderr.startswith("Stopped. What was recorded is kept")
    assert done.stderr.count("\n") == 1


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
