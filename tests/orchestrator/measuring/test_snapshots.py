"""Snapshots that are measured after training give the bytes that training recorded."""

import shutil
from dataclasses import replace

import hostile
import numpy as np
import pytest
import submitted
from made import benchmark, trainable
from trained import BATCHES, CPU, EPISODES, history, main, run

from fsl_sweep.datasets.benchmarks.in_distribution import in_distribution
from fsl_sweep.learners.methods.protonet import Protonet
from fsl_sweep.orchestrator.ledger.ledger import Ledger
from fsl_sweep.orchestrator.measuring.common_tasks import CommonTasks
from fsl_sweep.orchestrator.measuring.snapshots import Measuring
from fsl_sweep.orchestrator.records.protocol import MAIN, Episode

MAML = {"way": 3, "inner_steps": 1, "inner_steps_test": 2}
UNTRAINED = {"backbone": {"name": "identity"}, "optimizer": None, "schedule": [], "train": None}
META = {**BATCHES, "meta": {"epochs": 1, **EPISODES}}


def two(**changes):
    """A trial of two epochs."""
    return trainable(**{"epochs": 2, **changes})


KINDS = {
    "protonet": two(),
    "ridge, bf16": two(learner={"name": "ridge"}, precision="bf16"),
    "meta-baseline": two(learner={"name": "meta-baseline"}, train=META),
    "metadelta": two(learner={"name": "metadelta", "encoders": 2}, train=BATCHES),
    "pt-map": two(learner={"name": "pt-map"}, train=BATCHES),
    "conv-qda": two(learner={"name": "conv-qda"}),
    "maml, running": two(learner={"name": "maml", **MAML, "batch_norm": "running"}),
    "finetune": two(learner={"name": "finetune", "steps": 2}, train=BATCHES),
    "classifier": two(learner={"name": "classifier"}, train=BATCHES),
    "submission": submitted.spec(epochs=2),
    "untrained": two(**UNTRAINED, learner={"name": "logistic"}, epochs=1, batches=0),
    "fold": two(fold={"folds": 2, "index": 1, "over": "base+val"}),
}


def measured_files(storage):
    """What was measured, and the end with its checksum, byte for byte."""
    place = storage.folder.path
    files = [*place.glob("measured/**/*"), place / "end.json"]
    return {str(f.relative_to(place)): f.read_bytes() for f in files if f.is_file()}


def measuring(storage, spec, data, protocols, epochs=None):
    """Measures a trial's snapshots under protocols, epoch by epoch."""
    todo = dict.fromkeys(epochs or storage.snapshots(), protocols)
    return Measuring(spec, storage, {MAIN: data}, todo, CPU).run()


@pytest.mark.parametrize("kind", KINDS)
def test_a_finished_trial_measured_again_has_the_same_bytes(tmp_path, data, kind, monkeypatch):
    submitted.install(tmp_path / "site", monkeypatch)
    if kind == "classifier":
        data = in_distribution(benchmark(examples=40), seed=0)
    spec, protocol = KINDS[kind], main(data, 4, 3)
    storage = run(tmp_path / "run", spec, data, protocol=protocol)
    assert history(storage, spec, data, protocol).complete
    expected = measured_files(storage)
    (storage.folder.path / "measured" / f"{protocol.id}.parquet").unlink()
    assert [*storage.to_measure(protocol.id)] == spec.recorded_epochs
    assert [*measuring(storage, spec, data, [protocol])] == spec.recorded_epochs
    assert measured_files(storage) == expected
    assert len(expected) == 2


def test_an_interrupted_measuring_goes_on_and_touches_nothing_else(tmp_path, data):
    """As after a raised number of tasks: the weights and what was measured before stay."""
    spec, more = trainable(), main(data, 8, 50)
    storage = run(tmp_path, spec, data, protocol=main(data, 8, 5))
    before = hostile.state(storage.folder.path)
    cut = measuring(storage, spec, data, [more])
    assert next(cut) == 1
    del cut
    assert storage.to_measure(more.id) == [2, 3]
    assert [*measuring(storage, spec, data, [more], storage.to_measure(more.id))] == [2, 3]
    assert storage.to_measure(more.id) == []
    at_once, name = run(tmp_path / "at once", spec, data, protocol=more), f"measured/{more.id}"
    expected = measured_files(at_once)[f"{name}.parquet"]
    assert measured_files(storage)[f"{name}.parquet"] == expected
    after = hostile.state(storage.folder.path)
    changed = {path for path in before.keys() | after if before.get(path) != after.get(path)}
    assert changed == {"end.json", "measured", name, f"{name}.parquet"}


def test_equal_tasks_are_answered_once_and_shared_pools_embedded_once(tmp_path, data, monkeypatch):
    spec = trainable(epochs=1)
    first = run(tmp_path / "together", spec, data)
    shutil.copytree(tmp_path / "together", tmp_path / "apart")
    storages = [first, Ledger(tmp_path / "apart").trial(spec.id)]
    two_shot = Episode(way=3, shot=2, query=1)
    protocols = [
        replace(main(data, 8, report, **changes), name=name)
        for name, report, changes in (
            ("few", 5, {}),
            ("more", 9, {}),  # the selection tasks of `few`
            ("2-shot", 5, {"episode": two_shot}),
            ("mixed", 5, {"mixture": 0.5}),  # base and val as `few`
        )
    ]
    embedded, heads = [], []
    embed, head = Protonet.embed, Protonet.head
    monkeypatch.setattr(
        Protonet, "embed", lambda self, images: embedded.append(len(images)) or embed(self, images)
    )
    monkeypatch.setattr(
        Protonet, "head", lambda self, s, q: heads.append(len(s)) or head(self, s, q)
    )
    assert [*measuring(storages[0], spec, data, protocols)] == [1]
    counts = sum(embedded), sum(heads)
    for protocol in protocols:
        assert [*measuring(storages[1], spec, data, [protocol])] == [1]
    assert measured_files(storages[0]) == measured_files(storages[1])
    tasks = [CommonTasks.draw(data, protocol.protocol) for protocol in protocols]
    sets = [episodes for common in tasks for episodes in common.episodes.values()]
    used = np.unique(np.concatenate([part.ravel() for e in sets for part in (e.support, e.query)]))
    # The made benchmark has one pool; the last chunk of 32 overlaps the one before.
    assert counts[0] == 32 * -(-len(used) // 32)
    # few: 3 x (8 + 5); more: 3 x 9, as its selection tasks are those of few; the 2-shot ones are
    # all its own; mixed: novel ones only.
    assert counts[1] == 3 * 13 + 3 * 9 + 3 * 13 + 13
    assert sum(embedded) - counts[0] > 2 * counts[0]
