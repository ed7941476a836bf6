"""Whether plans can be run on data, with every refusal and caution, before anything runs."""

from dataclasses import replace

import numpy as np
from made import benchmark, writer_benchmark
from planning_of import planned

from fsl_sweep.datasets.benchmark import Benchmark
from fsl_sweep.datasets.benchmarks.in_distribution import in_distribution
from fsl_sweep.datasets.pool import ImagePool
from fsl_sweep.datasets.preparing.opening import open_benchmark
from fsl_sweep.datasets.tasks.classes import ClassTasks
from fsl_sweep.datasets.tasks.writers import WriterTasks
from fsl_sweep.orchestrator.errors import BadData
from fsl_sweep.orchestrator.planning.feasibility import check_feasible, check_protocols
from fsl_sweep.orchestrator.records.protocol import MAIN

PAIRS = {"tasks": "attributes-ood", "held_out": 0.6, "training_tasks": 6}
PLANS = """
classes, writers: M.train={way: 2, shot: 1, query: 1} | episode.way=all | FEW
classes, writers: M.train={way: 3, shot: 1, query: rest} | FEW
writers: M.train={way: 6, shot: 1, query: 1}
writers: ALL | FEW
writers: ALL | evaluation={selection_tasks: 4, report_tasks: 3}
writers, 3 writers, 1 writer: ALL | evaluation={selection_tasks: 4, report_tasks: 5}
classes, writers: M.train={way: 2, shot: 1, query: 1, fixed_support: true} | FEW
classes, writers: M.train={way: 2, shot: 1, query: 1, query_counts: multinomial} | FEW
classes: M.train={way: 4, shot: 1, query: 3, query_counts: multinomial}
classes: M.train={way: 3, shot: 2, query: 3, query_counts: multinomial, fixed_support: true}
classes: M.train={way: 3, shot: 3, query: 3, query_counts: multinomial, fixed_support: true}
classes: M.learner.name=meta-baseline | M.train={meta: META} | M.train.meta.way=13
classes: cross_validation={folds: 4}
classes: cross_validation={folds: 5}
classes: cross_validation={folds: 6, over: base+val}
classes: cross_validation={folds: 2, by: superclass}
40 of a class, 20 of a class: CLASSIFIER
classes, pairs: episode.way=5 | M.train={way: 2, shot: 1, query: 1}
classes, pairs: episode.way=2 | M.train={way: 2, shot: 1, query: 1}
classes, pairs: episode.way=2 | M.train={way: 2, shot: 1, query: 1, fixed_support: true}
classes, pairs: episode.way=2 | M={learner: {name: supervised}}
classes, pairs: episode.way=2 | M.learner.name=meta-baseline | M.train={meta: META}
classes: measure.x.classes=[class 0, class 1, class 20]
classes: measure.x.classes=[class 1, klass]
classes: measure.x.episode.shot=12
writers: FEW | measure.x.mixture=0.5
writers: FEW | measure.x.evaluation.replacement=false
classes + few: OTHER
classes + features: OTHER
features + classes: NCC | OTHER
features + 8 features: NCC | OTHER
classes + elsewhere: OTHER | measure.x.mixture=0.5
"""
"""Data, with what a protocol `x` is measured on, and changes of a small sweep; in the snapshot with
what is said of them."""
WORDS = {
    "FEW": ["evaluation={selection_tasks: 2, report_tasks: 2}"],
    "ALL": ["episode.way=all", "M.train={way: all, shot: 1, query: rest}"],
    "CLASSIFIER": ["benchmark.name=in-distribution:glyphs", "M={learner: {name: classifier}}"],
    "NCC": ["defaults={backbone: {name: identity}}", "M={learner: {name: ncc}}"],
    "OTHER": ["measure.x.benchmark={name: glyphs, seed: 1}"],
}


def repooled(pool):
    """A benchmark with the same examples of another pool."""
    like = benchmark()
    parts = {name: like.distribution(name) for name in ("train", "base", "val", "novel")}
    made = {name: ClassTasks(pool, part.classes, part.examples) for name, part in parts.items()}
    return Benchmark.of("repooled", **made)


def features(numbers=16):
    pool = benchmark().train.pool
    rows = np.random.default_rng(0).random((len(pool), numbers, 1, 1)).astype(np.float32)
    return repooled(ImagePool(rows, pool.labels, pool.class_names, f"{numbers} features"))


def few(whole, examples, tasks):
    """A benchmark with few examples of its novel tasks only."""
    return replace(whole, novel=tasks(whole.novel.pool, np.array(examples)))


def said(data, changes):
    """What is said of a plan on data: the refusal, or its cautions."""
    meta = "{way: 2, shot: 1, query: 1, epochs: 2}"
    words = [
        word.replace("META", meta) for change in changes for word in WORDS.get(change, [change])
    ]
    plan = planned(*words)
    try:
        return list(check_feasible(plan, data)) or ["feasible"]
    except BadData as refusal:
        return [str(refusal)]


def test_every_plan_is_checked_against_its_data(tmp_path, snapshot):
    data = {
        "classes": benchmark(),
        "writers": writer_benchmark(),
        "3 writers": few(writer_benchmark(), [12, 13, 14], WriterTasks),
        "1 writer": few(writer_benchmark(), [12], WriterTasks),
        "40 of a class": in_distribution(benchmark(examples=40), seed=0),
        "20 of a class": in_distribution(benchmark(examples=20), seed=0),
        "pairs": open_benchmark("glyphs", {**PAIRS, "image_size": 16}, None, tmp_path),
        "few": few(benchmark(), [22, 23], ClassTasks),
        "features": features(),
        "8 features": features(8),
        "elsewhere": repooled(replace(benchmark().train.pool, fingerprint="elsewhere")),
    }
    told = []
    for line in PLANS.strip().splitlines():
        names, _, changes = line.partition(": ")
        for name in names.split(", "):
            main, _, other = name.partition(" + ")
            opened = {MAIN: data[main]} | ({"x": data[other]} if other else {})
            told.append("\n  ".join([f"{name}: {changes}", *said(opened, changes.split(" | "))]))
    assert "\n".join(told) == snapshot


def test_cautions_about_a_protocol_are_those_about_it_only():
    plan, data = planned("measure.x.classes=[class 0, class 20, class 21]"), {MAIN: benchmark()}
    assert len(check_protocols(plan, plan.protocols, data)) == 1
    assert check_protocols(plan, [plan.main], data) == []
