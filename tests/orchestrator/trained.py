"""Trials run and snapshots measured in this process, and what was recorded of them."""

import itertools
from dataclasses import replace

import torch
from made import TASKS, main_of, planned

from fsl_sweep.orchestrator.ledger.ledger import Ledger
from fsl_sweep.orchestrator.measuring.common_tasks import CommonTasks
from fsl_sweep.orchestrator.measuring.evaluator import Evaluator
from fsl_sweep.orchestrator.records.protocol import MAIN, Tasks
from fsl_sweep.orchestrator.trial.trial import Trial

CPU = torch.device("cpu")


def main(data, selection=TASKS, report=TASKS, **changes):
    """The main protocol on a benchmark, with so many tasks."""
    tasks = Tasks(selection_tasks=selection, report_tasks=report)
    return main_of(data, tasks=tasks, **changes)


def drawn(data, selection=TASKS, report=TASKS, **changes):
    """Its common tasks."""
    return CommonTasks.draw(data, main(data, selection, report, **changes).protocol)


def only(tasks, key, episodes=None):
    """One set of common tasks, or these episodes in its place."""
    return replace(tasks, episodes={key: tasks.episodes[key] if episodes is None else episodes})


def measured(data, tasks, learner):
    """A learner's results on common tasks."""
    return Evaluator(data, {MAIN: tasks}, CPU).measure(learner)[MAIN]


def run(folder, spec, data, epochs=None, protocol=None, **options):
    """Run a trial, all of it or some epochs, as a fresh process would; give its storage."""
    storage = Ledger(folder).trial(spec.id)
    trial = Trial(spec, storage, data, protocol or main_of(data), **options)
    for _ in itertools.islice(trial.run(), epochs):
        torch.rand(3)  # whatever others draw does not matter
    return storage


def history(storage, spec, data, protocol=None):
    """All that a trial recorded."""
    return storage.history(planned(spec), (protocol or main_of(data)).id)


def content(storage, data, protocol=None):
    """Snapshots byte for byte, counts and losses of each epoch that a trial recorded."""
    files = sorted((storage.folder.path / "snapshots").iterdir())
    snapshots = {file.name: file.read_bytes() for file in files}
    return snapshots, *numbers(storage, data, protocol, [int(name[:4]) for name in snapshots])


def numbers(storage, data, protocol=None, epochs=(1, 2, 3)):
    """Counts and losses of epochs."""
    main_id = (protocol or main_of(data)).id
    records = [storage.read_epoch(epoch, main_id) for epoch in epochs]
    counts = [{k: s.correct.tolist() for k, s in one.scores.items()} for one in records]
    return counts, [str(one.train_loss) for one in records]  # a program's are not numbers
