"""A small sweep, commands in processes of their own, and which processes are alive."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

import fsl_sweep
from fsl_sweep.orchestrator.ledger.ledger import Ledger
from fsl_sweep.orchestrator.planning.prepare import open_benchmarks
from fsl_sweep.orchestrator.sweep import execute
from fsl_sweep.orchestrator.trial.trial import use_threads

TINY = """
name: tiny
benchmark:
  {name: glyphs, base_alphabets: 2, val_alphabets: 1, novel_alphabets: 1, classes_per_alphabet: 5,
   examples: 12, image_size: 16}
episode: {way: 3, shot: 1, query: 2}
evaluation: {selection_tasks: 12, report_tasks: 10}
defaults:
  backbone: {name: conv4, width: 8}
  optimizer: {name: sgd, lr: 0.1}
  epochs: 3
  batches: 4
  train: {way: 3, shot: 1, query: 2, tasks_per_batch: {grid: [1, 2]}}
methods:
  PN: {learner: {name: protonet}}
  RR: {learner: {name: ridge}}
seeds: [0, 1]
resources: {cpu: 1, gpu: 0.0}
"""
"""A sweep of eight short trials."""


ONE_CORE = ("RAY_OVERRIDE_RESOURCES", '{"CPU": 1}')
"""Of Ray: one worker runs all trials in turn."""

NO_SPARE_WORKERS = ("RAY_prestart_worker_first_driver", "0")
"""Of Ray: on a loaded machine it starts all workers again before the first ones are ready."""

SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")


def heed_signals():
    """Undo what ``nohup`` and background jobs of a shell make a process and its children ignore."""
    for name in SIGNALS:
        signal.signal(getattr(signal, name), signal.SIG_DFL)


class WithoutRay:
    """Runs the trials of a job in this process; takes the place of ``execute.RayProcess``."""

    def __init__(self, address=None, trials=0, callbacks=b"", deadline=None):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        pass

    def finish(self, run):
        pass

    def run(self, job, listeners):
        def tell(event, *arguments):
            for listener in listeners:
                getattr(listener, event)(*arguments)

        use_threads(1)
        benchmarks = open_benchmarks(job.plan, job.protocols)
        for trial in job.trials:
            storage = Ledger(job.run).trial(trial)
            tell("started", trial)
            for record in job.steps(trial, benchmarks):
                tell("measured" if job.todo is None else "measured_again", trial, record)
            tell("ended", trial, storage.read_end())


def finished(run, sweep):
    """The folder ``run``, after all trials of a sweep, given as text or plain data."""
    content = yaml.safe_load(sweep) if isinstance(sweep, str) else sweep
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(execute, "RayProcess", WithoutRay)
        fsl_sweep.run_sweep(content, run)
    return run


def started(*arguments, place=None, **options):
    """``fsl-sweep ARGUMENTS`` in a session of its own, with its temporary files in ``place``."""
    program = [sys.executable, "-m", "fsl_sweep", *map(str, arguments)]
    folder = {"TMPDIR": str(place)} if place else {}
    environment = {**os.environ, **dict([NO_SPARE_WORKERS]), **folder}
    pipes = dict.fromkeys(("stdout", "stderr"), subprocess.PIPE)
    options = {"text": True, "start_new_session": True, "preexec_fn": heed_signals, **options}
    return subprocess.Popen(program, env=environment, **pipes, **options)


def wait_for(condition, seconds=120):
    """Wait until a condition holds, and give what it gave."""
    deadline = time.monotonic() + seconds
    while not (answer := condition()):
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.1)
    return answer


def living():
    """Every process that has not ended, as pid: (state, parent, group, session)."""
    processes = {}
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            state, *ids = (entry / "stat").read_text().rpartition(") ")[2].split()[:4]
            if state not in "ZX":
                processes[int(entry.name)] = (state, *map(int, ids))
    return processes


def driver_of(command):
    """The process that holds Ray for a command."""
    return next((pid for pid, fields in living().items() if fields[1] == command.pid), None)


def in_session(session):
    """Processes of a session: Ray's all belong to that of the process that holds it."""
    return [pid for pid, fields in living().items() if fields[3] == session]
