"""Snapshots that are measured after training give the bytes that training recorded."""

import shutil
from dataclasses import replace

import hostile
import numpy as np
from evaluated import CPU, main
from made import trainable
from trained import run

from fsl_sweep.learners.methods.protonet import Protonet
from fsl_sweep.orchestrator.ledger.ledger import Ledger
from fsl_sweep.orchestrator.measuring.common_tasks import CommonTasks
from fsl_sweep.orchestrator.measuring.snapshots import Measuring
from fsl_sweep.orchestrator.records.protocol import MAIN, Episode


def measuring(storage, spec, data, protocols, epochs=None):
    """Measures a trial's snapshots under protocols, epoch by epoch."""
    todo = dict.fromkeys(epochs or storage.snapshots(), protocols)
    return Measuring(spec, storage, {MAIN: data}, todo, CPU).run()


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
    assert storage.folder.read(f"{name}.parquet") == at_once.folder.read(f"{name}.parquet")
    after = hostile.state(storage.folder.path)
    changed = {path for path in before.keys() | after if before.get(path) != after.get(path)}
    assert changed == {"end.json", "measured", f"{name}.parquet"}


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
    sizes = {"embed": [], "head": []}
    for name, seen in sizes.items():
        method = getattr(Protonet, name)

        def counting(self, *parts, seen=seen, method=method):
            seen.append(len(parts[0]))
            return method(self, *parts)

        monkeypatch.setattr(Protonet, name, counting)
    assert [*measuring(storages[0], spec, data, protocols)] == [1]
    embedded, heads = map(sum, sizes.values())
    for protocol in protocols:
        assert [*measuring(storages[1], spec, data, [protocol])] == [1]
    for name in ("end.json", *(f"measured/{protocol.id}.parquet" for protocol in protocols)):
        assert storages[0].folder.read(name) == storages[1].folder.read(name) is not None
    tasks = [CommonTasks.draw(data, protocol.protocol) for protocol in protocols]
    sets = [episodes for common in tasks for episodes in common.episodes.values()]
    used = np.unique(np.concatenate([part.ravel() for e in sets for part in (e.support, e.query)]))
    # The made benchmark has one pool; the last chunk of 64 overlaps the one before.
    assert embedded == 64 * -(-len(used) // 64)
    # few: 3 x (8 + 5); more: 3 x 9, as its selection tasks are those of few; the 2-shot ones are
    # all its own; mixed: novel ones only.
    assert heads == 3 * 13 + 3 * 9 + 3 * 13 + 13
    assert sum(sizes["embed"]) - embedded > 2 * embedded
