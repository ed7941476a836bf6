"""Trials run in this process, what was recorded of them, and the steps that they train on."""

import io
import itertools

import numpy as np
import pyarrow.parquet as pq
import torch
from evaluated import CPU, built, counts
from made import main_of, planned, trainable

from fsl_sweep.orchestrator.ledger.columns import scores_of
from fsl_sweep.orchestrator.ledger.ledger import Ledger
from fsl_sweep.orchestrator.trial.training import Training
from fsl_sweep.orchestrator.trial.trial import Trial

AUGMENTED = "crop-jitter-flip"
EPISODES = {"way": 3, "shot": 1, "query": 2, "tasks_per_batch": 2}
FIXED = {**EPISODES, "fixed_support": True}
BATCHES = {"batch_size": 8}


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
    return snapshots, *numbers(storage, data, protocol)


def numbers(storage, data, protocol=None):
    """Counts and losses of the epochs of a trial that has ended."""
    name = f"measured/{(protocol or main_of(data)).id}.parquet"
    table = pq.read_table(storage.folder.path / name)
    rows = [counts(scores_of(table.slice(at, 1))) for at in range(len(table))]
    return rows, storage.folder.read_json("end.json")["epochs"]["train_loss"]


def training(data, **changes):
    """The training of a learner."""
    spec = trainable(**changes)
    learner = built(data, spec.learner.name, **spec.learner.options)
    return Training(spec, data, learner.train(), CPU)


def batches(run, epoch):
    """What each step of an epoch trains a learner on."""
    return list(run._batches(epoch, torch.Generator().manual_seed(0)))


def pool_index(data, unit):
    """Pool indices of training images ``[..., C, H, W]`` in [0, 1]; -1 of what is none of them."""
    pool = data.train.pool
    known = {image.tobytes(): i for i, image in enumerate(pool.images)}
    raw = np.asarray(unit * 255).round().astype(np.uint8).reshape(-1, *pool.images.shape[1:])
    return np.array([known.get(image.tobytes(), -1) for image in raw]).reshape(unit.shape[:-3])


def indices(data, images):
    """Pool indices of normalised images."""
    return pool_index(data, images * data.pixel_std[0] + data.pixel_mean[0])


def put_state(storage, state):
    """Write a state to resume from, as a trial does."""
    torch.save(state, buffer := io.BytesIO())
    storage.write_resume(buffer.getvalue(), state.get("epoch", 2))


def state_of(storage):
    """The state that a trial would resume from."""
    return torch.load(io.BytesIO(storage.read_resume()), weights_only=True)
