"""Trials run in this process, and what was recorded of them."""

import io
import itertools

import torch
from evaluated import counts
from made import main_of, planned

from fsl_sweep.orchestrator.ledger.ledger import Ledger
from fsl_sweep.orchestrator.trial.trial import Trial

EPISODES = {"way": 3, "shot": 1, "query": 2, "tasks_per_batch": 2}
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
