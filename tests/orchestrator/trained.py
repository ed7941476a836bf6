"""Trials run and snapshots measured in this process, and what was recorded of them."""

import io
import itertools
from dataclasses import replace

import numpy as np
import torch
from made import TASKS, main_of, planned

from fsl_sweep.learners.building import build_learner
from fsl_sweep.orchestrator.ledger.ledger import Ledger
from fsl_sweep.orchestrator.measuring.common_tasks import CommonTasks
from fsl_sweep.orchestrator.measuring.evaluator import Evaluator
from fsl_sweep.orchestrator.records.protocol import MAIN, Tasks
from fsl_sweep.orchestrator.trial.trial import Trial

CPU = torch.device("cpu")
CONV = {"name": "conv4", "width": 8}
EPISODES = {"way": 3, "shot": 1, "query": 2, "tasks_per_batch": 2}
BATCHES = {"batch_size": 8}
NOVEL = "novel", "report"


def built(data, name, classes=12, backbone=CONV, **options):
    """A learner in evaluation mode, on a small network, for the images of a benchmark."""
    learner = {"name": name, **options}
    return build_learner(learner, backbone, data.image_shape, classes, 0).eval()


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


def counts(scores):
    """The correct answers to each task, by set of tasks."""
    return {key: of.correct.tolist() for key, of in scores.items()}


def images_by_hand(data, pool, indices):
    """Images of a pool, normalised by the statistics of a benchmark."""
    mean, std = (np.array(part).reshape(-1, 1, 1) for part in (data.pixel_mean, data.pixel_std))
    return torch.tensor((pool.images[indices] / 255 - mean) / std, dtype=torch.float32)


def surely_above(scores, bound):
    """Whether the mean accuracy is above a bound by two standard errors."""
    accuracy = scores.accuracy
    return accuracy.mean() - 2 * accuracy.std(ddof=1) / np.sqrt(len(accuracy)) > bound


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
    losses = [str(record.train_loss) for record in records]  # a submission's are not numbers
    return [counts(record.scores) for record in records], losses


def put_state(storage, state):
    """Write a state to resume from, as a trial does."""
    torch.save(state, buffer := io.BytesIO())
    storage.write_resume(buffer.getvalue())


def state_of(storage):
    """The state that a trial would resume from."""
    return torch.load(io.BytesIO(storage.read_resume()), weights_only=True)
