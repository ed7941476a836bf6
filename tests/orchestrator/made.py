"""Made plans and records for tests of what stands above them."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np

from fsl_sweep.datasets.benchmark import Benchmark
from fsl_sweep.datasets.pool import ImagePool
from fsl_sweep.datasets.tasks.classes import ClassTasks
from fsl_sweep.datasets.tasks.writers import WriterTasks
from fsl_sweep.orchestrator.ledger.envelope import sealed_json
from fsl_sweep.orchestrator.ledger.ledger import Ledger
from fsl_sweep.orchestrator.ledger.proposals import write_proposals
from fsl_sweep.orchestrator.ledger.trial_ledger import TrialLedger
from fsl_sweep.orchestrator.planning.protocols import further
from fsl_sweep.orchestrator.records.measures import (
    SCORE_KEYS,
    EpochRecord,
    TaskScores,
    TrialEnd,
    TrialHistory,
)
from fsl_sweep.orchestrator.records.model import Named
from fsl_sweep.orchestrator.records.plan import Plan, PlannedTrial
from fsl_sweep.orchestrator.records.protocol import (
    MAIN,
    Episode,
    PlannedProtocol,
    Protocol,
    Tasks,
)
from fsl_sweep.orchestrator.records.scheduler import Scheduler
from fsl_sweep.orchestrator.records.search import Outcome, Proposals, Search, Searched, Values
from fsl_sweep.orchestrator.records.spec import (
    EpisodicTraining,
    Optimizer,
    Selectors,
    TrialSpec,
    configuration_of,
)
from fsl_sweep.orchestrator.selection.chosen import chosen_snapshots
from fsl_sweep.orchestrator.sweepfile.grammar import MeasureConfig

TASKS = 20
MAIN_PROTOCOL = PlannedProtocol(
    MAIN, Protocol(tasks=Tasks(selection_tasks=TASKS, report_tasks=TASKS)), fingerprint="f" * 16
)
MAIN_ID = MAIN_PROTOCOL.id
FIVE_SHOT = replace(
    MAIN_PROTOCOL,
    name="5-shot",
    protocol=Protocol(episode=Episode(shot=5), tasks=MAIN_PROTOCOL.protocol.tasks),
    written={"episode": {"shot": 5}},
)
"""A further protocol."""
DONE = TrialEnd("done")

GLYPHS = Named(name="glyphs")
OF_WRITERS = Named.model_validate({"name": "glyphs", "tasks": "writers"})


def spec(seed: int = 0, way: int = 5, epochs: int = 3, every: int = 1) -> TrialSpec:
    return TrialSpec(
        benchmark=GLYPHS,
        every=every,
        learner=Named(name="protonet"),
        backbone=Named(name="conv4"),
        optimizer=Optimizer(lr=0.1),
        schedule=[(0, 0.1)],
        epochs=epochs,
        batches=2,
        augment="none",
        precision="fp32",
        train=EpisodicTraining(way=way),
        budget=None,
        seed=seed,
    )


def planned(spec: TrialSpec, method: str = "PN") -> PlannedTrial:
    axes = {"train.way": spec.train.way} if isinstance(spec.train, EpisodicTraining) else {}
    return PlannedTrial(spec.id, method, configuration_of(spec.canonical()), axes, spec)


def plan(*trials: PlannedTrial, name: str = "made", fingerprint: str = "f" * 16) -> Plan:
    protocol = replace(MAIN_PROTOCOL, fingerprint=fingerprint)
    return Plan(
        name=name,
        sweep="s" * 16,
        fingerprint=fingerprint,
        protocols=(protocol,),
        selectors=Selectors(),
        parts={},
        trials=trials,
    )


def main_of(benchmark: Benchmark, **changes: object) -> PlannedProtocol:
    """The main protocol on a benchmark: 3-way 1-shot with 2 queries, as `trainable` trains."""
    tasks = Tasks(selection_tasks=6, report_tasks=6)
    plain = {"episode": Episode(way=3, shot=1, query=2), "tasks": tasks, **changes}
    return PlannedProtocol(MAIN, Protocol(**plain), fingerprint=benchmark.fingerprint)


def recorded(path: Path, *trials: PlannedTrial, ends: Sequence[TrialEnd] = ()) -> Ledger:
    """A run folder of these trials with three epochs each; they are done where no end is given."""
    ledger = Ledger(path)
    ledger.write_plan(plan(*trials), "name: made\n")
    for number, (one, end) in enumerate(zip_longest(trials, ends, fillvalue=DONE)):
        storage = ledger.trial(one.id)
        storage.begin(one.spec)
        for epoch in (1, 2, 3):
            storage.write_epoch(record(epoch, number), MAIN_ID, b"weights")
        storage.end(end, MAIN_ID)
    return ledger


def filled(
    path: Path, epochs: int = 3, end: TrialEnd | None = None
) -> tuple[TrialLedger, PlannedTrial]:
    """One trial that has recorded some epochs, and has not ended where no end is given."""
    trial = planned(spec())
    storage = Ledger(path).trial(trial.id)
    storage.begin(trial.spec)
    for epoch in range(1, epochs + 1):
        storage.write_epoch(record(epoch), MAIN_ID, b"weights")
    if end is not None:
        storage.end(end, MAIN_ID)
    return storage, trial


def assert_holds(history: TrialHistory, epochs: Sequence[int]) -> None:
    """A history holds exactly what `filled` recorded of epochs, to the last count."""
    assert history.epochs.tolist() == [*epochs]
    for row, written in enumerate(map(record, epochs)):
        assert history.curves["train_loss"][row] == written.train_loss
        for key, scores in written.scores.items():
            assert history.scores[key].means[row] == scores.mean
            np.testing.assert_array_equal(history.scores[key].load()[row], scores.accuracy)


def with_protocols(
    path: Path,
    report_tasks: int = TASKS,
    measure: Mapping[str, Mapping[str, Any]] = {},
    skipped: Collection[str] = (),
    seeds: Sequence[int] = (0, 1, 2),
    benchmark: Named = GLYPHS,
) -> Ledger:
    """A finished run of two methods with two configurations, measured under further protocols.

    Called again, it measures what is missing. Numbers are a function of protocol, seed, way, method
    and epoch. Protocols that are ``skipped`` are planned only.
    """
    tasks = Tasks(selection_tasks=TASKS, report_tasks=report_tasks)
    main = PlannedProtocol(MAIN, Protocol(tasks=tasks), fingerprint="f" * 16)
    more = [
        replace(one, fingerprint="f" * 16)
        for name, given in measure.items()
        for one in further(name, MeasureConfig(**given), main.protocol, name)
    ]
    first = [spec(seed, way, epochs=6) for way in (5, 20) for seed in seeds]
    first = [one.model_copy(update={"benchmark": benchmark}) for one in first]
    second = [one.model_copy(update={"batches": 3}) for one in first]
    trials = [planned(one, "PN") for one in first] + [planned(one, "RR") for one in second]
    ledger = Ledger(path)
    whole = replace(plan(*trials), protocols=(main, *more))
    ledger.write_plan(whole, "name: made\n")
    ledger.folder.write_json("environment.json", {"machines": []})
    for number, trial in enumerate(trials):
        storage = ledger.trial(trial.id)
        if storage.read_end() is None:
            storage.begin(trial.spec)
            for epoch in range(1, 7):
                storage.write_epoch(protocol_record(main, epoch, number), main.id, b"weights")
            storage.end(DONE, main.id)
    chosen = chosen_snapshots(ledger.histories(whole), whole.selectors) if more else set()
    for one in (one for one in (main, *more) if one.name not in skipped):
        _measure(ledger, whole, one, chosen)
    return ledger


def protocol_record(protocol: PlannedProtocol, epoch: int, number: int) -> EpochRecord:
    """What is measured of one snapshot of a trial under a protocol."""
    rng = np.random.default_rng([epoch, number, int(protocol.id, 16)])
    tasks = protocol.protocol.tasks
    counts = {"selection": tasks.selection_tasks, "report": tasks.report_tasks}
    scores = {
        key: TaskScores(rng.integers(20, 60, counts[key[1]]), np.full(counts[key[1]], 75))
        for key in SCORE_KEYS
    }
    return EpochRecord(epoch, 1.0 / epoch, 0.1, scores, 2.0, 1.0)


def _measure(
    ledger: Ledger, plan: Plan, protocol: PlannedProtocol, chosen: Collection[tuple[str, int]]
) -> None:
    for number, trial in enumerate(plan.trials):
        storage = ledger.trial(trial.id)
        missing = storage.to_measure(protocol.id)
        for epoch in missing:
            if protocol.snapshots == "all" or (trial.id, epoch) in chosen:
                scores = protocol_record(protocol, epoch, number).scores
                storage.write_measured(epoch, protocol.id, scores)
        if missing:
            storage.compact(protocol.id)
    for measure, task_set in SCORE_KEYS:
        shift = 50 if measure == "novel" and protocol.protocol.replaces_novel else 0
        count = getattr(protocol.protocol.tasks, f"{task_set}_tasks")
        rng = np.random.default_rng(shift)
        tuples = [(shift + rng.permutation(9)[:5]).tolist() for _ in range(count)]
        name = f"tasks/{protocol.id}/{measure}-{task_set}.json"
        ledger.folder.write_json(name, {"classes": tuples})


def every_kind_of_file(path: Path) -> Path:
    """A run of two methods with two seeds each: three trials done, one begun.

    Of the first trial the weights of an epoch were pruned. Under `FIVE_SHOT` the snapshots of the
    first two trials are measured, and one of the third.
    """
    trials = [planned(spec(seed, way), f"W{way}") for way in (5, 20) for seed in (0, 1)]
    ledger, rng = recorded(path, *trials[:3]), np.random.default_rng(0)
    whole = plan(*trials)
    protocols = (*whole.protocols, FIVE_SHOT)
    ledger.write_plan(replace(whole, protocols=protocols), "name: made\n")
    for number, epochs in enumerate([(1, 2, 3), (1, 2, 3), (2,)]):
        done = ledger.trial(trials[number].id)
        for epoch in epochs:
            done.write_measured(epoch, FIVE_SHOT.id, record(epoch, 10 + number).scores)
        done.compact(FIVE_SHOT.id)
    ledger.trial(trials[0].id).prune([1])
    begun = ledger.trial(trials[3].id)
    begun.begin(trials[3].spec)
    for epoch in (1, 2):
        begun.write_epoch(record(epoch, 3), MAIN_ID, rng.bytes(200))
    begun.write_resume(rng.bytes(300), 2)
    ledger.folder.write_json("environment.json", {"machines": [{"packages": {"torch": "2.13.0"}}]})
    for measure, task_set in SCORE_KEYS:
        tuples = [rng.permutation(9)[:5].tolist() for _ in range(TASKS)]
        for one in protocols:
            name = f"tasks/{one.id}/{measure}-{task_set}.json"
            ledger.folder.write_json(name, {"classes": tuples})
    (path / "lock").write_bytes(b"")
    (path / "tensorboard" / "PN").mkdir(parents=True)
    (path / "tensorboard" / "PN" / "events.out.tfevents.0.fsl-sweep").write_bytes(b"events")
    return path


def searched_and_stopped(path: Path) -> Path:
    """A search of two rounds of three, whose second configuration a scheduler stopped; two seeds.

    The states that its trials would go on from are there, and what they were trained with.
    """
    trials = [planned(spec(seed, way)) for way in (5, 20) for seed in (0, 1)]
    rounds: list[list[Values]] = [[{"train.way": 5}], [{"train.way": 20}]]
    searched = Searched("0" * 16, 3, tuple(map(tuple, rounds)))
    search, scheduler = Search(name="random", configurations=3, round=1), Scheduler(name="halving")
    changes = {"search": search, "searched": {"PN": searched}, "scheduler": scheduler}
    ledger = Ledger(path)
    ledger.write_plan(replace(plan(*trials), **changes), "name: made\n")
    told = tuple(Outcome(values, 0.5) for (values,) in rounds)
    for number, proposed in enumerate(rounds):
        here = number + 1, "0" * 16, {"random": "1.0"}, 0, tuple(proposed), told[:number]
        write_proposals(ledger, Proposals("PN", *here))
    for number, trial in enumerate(trials):
        storage, last = ledger.trial(trial.id), 3 if number < 2 else 2
        storage.begin(trial.spec)
        for epoch in range(1, last + 1):
            facts = {"torch": "2.13.0", "threads": str(1 + (number == 0 and epoch == 3))}
            storage.write_epoch(replace(record(epoch, number), environment=facts), MAIN_ID, b"w")
            storage.write_resume(b"state" * 60, epoch)
        stopped = TrialEnd("stopped", "halving at epoch 2: rank 2 of 2 by ValGen", trained=2)
        storage.end(DONE if last == 3 else stopped, MAIN_ID)
    ledger.folder.write_json("environment.json", {"machines": []})
    for measure, task_set in SCORE_KEYS:
        tuples = [[*range(5)]] * TASKS
        name = f"tasks/{MAIN_ID}/{measure}-{task_set}.json"
        ledger.folder.write_json(name, {"classes": tuples})
    return path


def flip(path: Path) -> None:
    """Change one bit in the middle of a file."""
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def forge(run: Path, place: str, content: dict) -> None:
    """Put JSON with a right checksum into a run folder, as only someone who means to would."""
    rest = {key: value for key, value in content.items() if key != "checksum"}
    (run / place).parent.mkdir(parents=True, exist_ok=True)
    (run / place).write_bytes(sealed_json(rest, place))


def record(epoch: int, seed: int = 0, queries: int = 75) -> EpochRecord:
    rng = np.random.default_rng([epoch, seed])
    scores = {
        key: TaskScores(rng.integers(0, queries + 1, TASKS), np.full(TASKS, queries))
        for key in SCORE_KEYS
    }
    return EpochRecord(epoch, 1.0 / epoch, 0.1, scores, 2.0, 1.0)


def benchmark(classes: int = 24, examples: int = 12, image_size: int = 16) -> Benchmark:
    """Noisy prototypes: 12 base classes with 9 training and 3 held-out images, 6 val, 6 novel."""
    rng = np.random.default_rng(0)
    prototypes = rng.random((classes, 1, 1, image_size, image_size))
    noise = 0.3 * rng.standard_normal((classes, examples, 1, image_size, image_size))
    images = (np.clip(prototypes + noise, 0, 1) * 255).astype(np.uint8)
    pool = ImagePool(
        images=images.reshape(-1, 1, image_size, image_size),
        labels=np.repeat(np.arange(classes), examples),
        class_names=tuple(f"class {i}" for i in range(classes)),
        fingerprint="made",
    )
    index = np.arange(classes * examples).reshape(classes, examples)
    base, val, novel = np.split(np.arange(classes), [classes // 2, 3 * classes // 4])
    held_out = examples // 4
    return Benchmark.of(
        "made",
        train=ClassTasks(pool, base, index[base, held_out:].ravel()),
        base=ClassTasks(pool, base, index[base, :held_out].ravel()),
        val=ClassTasks(pool, val),
        novel=ClassTasks(pool, novel),
    )


def writer_benchmark(image_size: int = 16) -> Benchmark:
    """Sixteen writers, four a split, who all wrote at least three examples of three characters."""
    rng = np.random.default_rng(0)
    table = rng.integers(0, 6, (16, 5))
    table[:, :3] += 3
    writer, label = np.indices(table.shape)
    writers, labels = (np.repeat(part.ravel(), table.ravel()) for part in (writer, label))
    prototypes = rng.random((5, 1, image_size, image_size))
    noise = 0.3 * rng.standard_normal((len(labels), 1, image_size, image_size))
    images = (np.clip(prototypes[labels] + noise, 0, 1) * 255).astype(np.uint8)
    names = tuple(f"character {i}" for i in range(5))
    pool = ImagePool(images, labels, names, "made of writers", writers=writers)
    tasks = [WriterTasks(pool, np.arange(first, first + 4)) for first in (0, 4, 8, 12)]
    return Benchmark.of("made", *tasks)


def trainable(**changes: object) -> TrialSpec:
    """A specification that trains on ``benchmark()`` in a fraction of a second."""
    plain: dict[str, object] = {
        **spec().model_dump(),
        "learner": {"name": "protonet", "scale": 10.0},
        "backbone": {"name": "conv4", "width": 8},
        "train": {"way": 3, "shot": 1, "query": 2, "tasks_per_batch": 2},
        **changes,
    }
    return TrialSpec.model_validate(plain, strict=False)
