"""Snapshots that are measured after training give the bytes that training recorded."""

import shutil

import pytest
import submitted
from made import benchmark, trainable
from trained import CPU, history, main, run

from fsl_sweep.datasets.benchmarks.in_distribution import in_distribution
from fsl_sweep.orchestrator.ledger.ledger import Ledger
from fsl_sweep.orchestrator.measuring.snapshots import Measuring
from fsl_sweep.orchestrator.records.protocol import MAIN
from fsl_sweep.orchestrator.trial.trial import use_threads

EPISODES = {"way": 3, "shot": 1, "query": 2, "tasks_per_batch": 2}
BATCHES = {"batch_size": 8}
UNTRAINED = {
    "backbone": {"name": "identity"},
    "optimizer": None,
    "schedule": [],
    "epochs": 1,
    "batches": 0,
    "train": None,
}
MAML = {"way": 3, "inner_steps": 1, "inner_steps_test": 2}
RESNET = {"name": "resnet12", "drop_rate": 0.1}
PROGRAM = {
    **UNTRAINED,
    "learner": {"name": "metadl", "submission": "protos", "mode": "episode", "options": {}},
    "epochs": 2,
    "batches": 2,
    "train": EPISODES,
    "validation": {"way": 3, "shot": 1, "query": 2},
}
KINDS = {
    "protonet": {},
    "ridge, bf16": {"learner": {"name": "ridge"}, "precision": "bf16"},
    "resnet12": {"backbone": RESNET},
    "meta-baseline": {
        "learner": {"name": "meta-baseline"},
        "train": {**BATCHES, "meta": {"epochs": 1, **EPISODES}},
    },
    "metadelta": {"learner": {"name": "metadelta", "encoders": 2}, "train": BATCHES},
    "pt-map": {"learner": {"name": "pt-map"}, "train": BATCHES},
    "conv-qda": {"learner": {"name": "conv-qda"}},
    "fomaml": {"learner": {"name": "fomaml", **MAML}},
    "maml, running": {"learner": {"name": "maml", **MAML, "batch_norm": "running"}},
    "finetune": {"learner": {"name": "finetune", "steps": 2}, "train": BATCHES},
    "transfer": {"learner": {"name": "transfer", "steps": 2}, "train": BATCHES},
    "classifier": {"learner": {"name": "classifier"}, "train": BATCHES},
    "program": PROGRAM,
    "untrained": {**UNTRAINED, "learner": {"name": "logistic"}},
    "fold": {"fold": {"folds": 2, "index": 1, "over": "base+val"}},
}


@pytest.fixture
def data(request):
    use_threads(1)
    if request.node.callspec.params.get("kind") == "classifier":
        return in_distribution(benchmark(examples=40), seed=0)
    return benchmark()


def measured_files(storage):
    """What was measured, and the end with its checksum, byte for byte."""
    place = storage.folder.path
    files = [*place.glob("measured/**/*"), place / "end.json"]
    return {str(f.relative_to(place)): f.read_bytes() for f in files if f.is_file()}


def measure(storage, spec, data, protocols, epochs=None):
    """Measure a trial's snapshots under protocols."""
    todo = dict.fromkeys(epochs or storage.snapshots(), protocols)
    return [*Measuring(spec, storage, {MAIN: data}, todo, CPU).run()]


@pytest.mark.parametrize("kind", KINDS)
def test_a_finished_trial_measured_again_has_the_same_bytes(tmp_path, data, kind, monkeypatch):
    submitted.install(tmp_path / "site", monkeypatch)
    spec, protocol = trainable(**{"epochs": 2, **KINDS[kind]}), main(data, 8, 5)
    storage = run(tmp_path / "run", spec, data, protocol=protocol)
    assert history(storage, spec, data, protocol).complete
    expected = measured_files(storage)
    (storage.folder.path / "measured" / f"{protocol.id}.parquet").unlink()
    assert [*storage.to_measure(protocol.id)] == spec.recorded_epochs
    assert measure(storage, spec, data, [protocol]) == spec.recorded_epochs
    assert measured_files(storage) == expected
    assert len(expected) == 2
