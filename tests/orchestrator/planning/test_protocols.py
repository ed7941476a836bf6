"""The protocols of a sweep file: what is part of which id, and what is refused before a run."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import submitted
import yaml
from made import benchmark, writer_benchmark
from planning_of import mistake

from fsl_sweep.datasets.benchmark import Benchmark
from fsl_sweep.datasets.pool import ImagePool
from fsl_sweep.datasets.tasks.classes import ClassTasks
from fsl_sweep.orchestrator.errors import BadData
from fsl_sweep.orchestrator.planning.feasibility import check_feasible, check_protocols
from fsl_sweep.orchestrator.planning.plan_sweep import plan_sweep
from fsl_sweep.orchestrator.planning.prepare import opened_plan
from fsl_sweep.orchestrator.records.protocol import MAIN
from fsl_sweep.orchestrator.records.spec import TrialSpec
from fsl_sweep.orchestrator.sweepfile.reading import load_sweep

SWEEP = {
    "name": "tiny",
    "benchmark": {"name": "glyphs"},
    "episode": {"way": 3, "shot": 1, "query": 2},
    "evaluation": {"selection_tasks": 20, "report_tasks": 20},
    "defaults": {
        "backbone": {"name": "conv4", "width": 8},
        "optimizer": {"lr": 0.1},
        "epochs": 3,
        "batches": 2,
        "train": {"way": 3, "shot": 1, "query": 2},
    },
    "methods": {"PN": {"learner": {"name": "protonet"}}},
}
PROGRAM = {"methods": {"P": {"learner": {"name": "metadl", "submission": "protos"}}}}
TRAINING = [
    "benchmark.image_size=20",
    "methods.PN.learner.name=ridge",
    "methods.PN.learner.scale=5",
    "defaults.backbone.width=16",
    "defaults.optimizer.lr=0.2",
    "defaults.optimizer.weight_decay=0.0",
    "defaults.schedule={2: 0.01}",
    "defaults.epochs=4",
    "defaults.batches=5",
    "defaults.augment=crop-jitter-flip",
    "defaults.precision=bf16",
    "defaults.train.way=4",
    "defaults.train.shot=4",
    "defaults.train.query=4",
    "defaults.train.tasks_per_batch=3",
    "defaults.train.fixed_support=true",
    "evaluation.every=2",
    "budget={seconds: 9}",
    "seeds=[1]",
]
MEASURING = [
    "evaluation.selection_tasks=9",
    "evaluation.report_tasks=9",
    "evaluation.seed=1",
    "evaluation.replacement=false",
    "measure={more: {episode: {query: 3}}}",
]
SHAPES = ["episode.way=2", "episode.shot=2", "episode.query=3"]
NEITHER = [
    "keep=last",
    "resources={cpu: 2}",
    "retries=0",
    "selectors={snapshot: [last]}",
    "name=other",
    "measure={more: {snapshots: last, episode: {query: 3}}}",
]


def planned(*overrides, **changes):
    return plan_sweep(load_sweep({**SWEEP, **changes}, overrides))


def ids(*overrides, **changes):
    """The ids of the trial, and of the main protocol."""
    plan = opened_plan(planned(*overrides, **changes), {MAIN: benchmark()})
    return plan.trials[0].id, plan.main.id


@pytest.mark.parametrize(
    ("change", "retrains", "remeasures"),
    [
        *((one, True, False) for one in TRAINING),
        *((one, False, not one.startswith("measure")) for one in [*MEASURING, *SHAPES]),
        *((one, False, False) for one in NEITHER),
    ],
)
def test_what_training_depends_on_is_the_trials_and_how_it_is_measured_the_protocols(
    change, retrains, remeasures
):
    (trial, protocol), (before, main) = ids(change), ids()
    assert (trial != before, protocol != main) == (retrains, remeasures)


def test_every_part_of_a_specification_is_tried():
    plain, parts = planned().trials[0].spec.canonical(), set()
    for change in TRAINING:
        spec = planned(change).trials[0].spec.canonical()
        parts |= {key for key in plain if spec[key] != plain[key]}
    assert parts == set(TrialSpec.model_fields) - {"validation", "fold"}


@pytest.mark.parametrize("change", [*MEASURING, *SHAPES])
def test_a_program_is_told_the_shape_that_it_may_validate_on(change, tmp_path, monkeypatch):
    submitted.install(tmp_path / "site", monkeypatch)
    assert (ids(change, **PROGRAM)[0] != ids(**PROGRAM)[0]) == (change in SHAPES)


def test_what_is_not_said_is_as_in_the_main_protocol():
    more = {
        "5-shot": {"episode": {"shot": 5}},
        "precise": {"evaluation": {"report_tasks": 10000}, "snapshots": "chosen"},
        "mixtures": {"mixture": [0, 0.25, 1.0], "snapshots": "last"},
    }
    main, shot, precise, *mixtures = planned(measure=more).protocols
    assert (main.name, shot.name, precise.name) == (MAIN, "5-shot", "precise")
    assert shot.protocol.episode == main.protocol.episode.model_copy(update={"shot": 5})
    assert shot.protocol.tasks == precise.protocol.tasks.model_copy(update={"report_tasks": 20})
    assert precise.protocol.tasks.selection_tasks == 20
    named = [(one.name, one.protocol.mixture, one.snapshots) for one in mixtures]
    assert named == [
        ("mixtures(0)", 0, "last"),
        ("mixtures(0.25)", 0.25, "last"),
        ("mixtures(1)", 1, "last"),
    ]


MAML = {"methods": {"M": {"learner": {"name": "fomaml", "way": 3}}}}
CLASSIFIER = {
    "benchmark": {"name": "in-distribution:glyphs", "examples": 60},
    "methods": {"IC": {"learner": {"name": "classifier"}, "train": {"batch_size": 8}}},
    "defaults": {k: v for k, v in SWEEP["defaults"].items() if k != "train"},
}
MAIN_AGAIN = "measure.x: it is the same protocol as 'main'; leave one out"
MISTAKES = [  # what stands under `measure`, and the message
    ("x: {shot: 5}", "measure.x.shot: unknown key 'shot'; did you mean 'episode.shot'?"),
    ("x: {mixtures: 1}", "measure.x.mixtures: unknown key 'mixtures'; did you mean 'mixture'?"),
    ("x: {episode: {shots: 5}}", "measure.x.episode.shots: unknown key 'shots'; did you mean 'sh"),
    ("x: {evaluation: {every: 2}}", "measure.x.evaluation.every: "),
    ("x: {mixture: 1.5}", "measure.x.mixture: "),
    ("x: {mixture: [0.5, 0.5]}", "measure.x.mixture: give each weight once"),
    ("x: {mixture: []}", "measure.x.mixture: give each weight once"),
    ("x: {snapshots: best}", "measure.x.snapshots: "),
    ("x: {classes: [a, b, a]}", "measure.x.classes: 'a' is named twice; "),
    ("x: {classes: nowhere.txt}", "measure.x.classes: "),
    ("x: {classes: steering.txt}", "measure.x.classes.0: 'a\\x1b' holds the control character"),
    ("x: {benchmark: {name: glyph}}", "measure.x.benchmark"),
    ("x: {benchmark: {name: glyphs, sed: 1}}", "measure.x.benchmark"),
    ("{x: {mixture: 0}, y: {mixture: 0}}", "measure.y: it is the same protocol as 'x'; leave one"),
    ("x: {snapshots: last}", MAIN_AGAIN),
    ("main: {mixture: 0}", "measure: a further protocol cannot be called"),
    ("a b: {mixture: 0}", "measure: may hold only letters, digits"),
    ("0123456789abcdef: {mixture: 0}", "measure: a further protocol cannot"),
]


@pytest.mark.parametrize(
    ("measure", "message", "changes"),
    [
        *((measure, message, {}) for measure, message in MISTAKES),
        (
            "x: {episode: {way: 5}}",
            "measure.x.episode.way: M: fomaml is built for 3-way tasks, not for 5-way tasks; ",
            MAML,
        ),
        (
            "x: {mixture: [0.25, 0.5]}",
            "measure.x: IC: classifier answers with one of the base classes, so it cannot be ",
            CLASSIFIER,
        ),
    ],
)
def test_what_cannot_be_measured_is_refused_with_its_key(
    measure, changes, message, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    Path("steering.txt").write_text("a\x1b\n")
    said = mistake(planned, **changes, measure=yaml.safe_load(measure))
    assert said.startswith(message)
    assert "\n" not in said


def repooled(like, pool):
    """A benchmark with the same examples of another pool."""
    parts = {name: like.distribution(name) for name in ("train", "base", "val", "novel")}
    made = {name: ClassTasks(pool, one.classes, one.examples) for name, one in parts.items()}
    return Benchmark.of("repooled", **made)


def features(numbers=16):
    like = benchmark()
    pool = like.train.pool
    rows = np.random.default_rng(0).random((len(pool), numbers, 1, 1)).astype(np.float32)
    return repooled(like, ImagePool(rows, pool.labels, pool.class_names, f"{numbers} features"))


def elsewhere():
    like = benchmark()
    return repooled(like, replace(like.train.pool, fingerprint="elsewhere"))


def few_classes():
    made = benchmark()
    parts = {name: made.distribution(name) for name in ("train", "base", "val")}
    return Benchmark.of("few", **parts, novel=ClassTasks(made.novel.pool, np.array([22, 23])))


OTHER = {"benchmark": {"name": "glyphs", "seed": 1}}


@pytest.mark.parametrize(
    ("given", "made", "other", "problem"),
    [
        ({"mixture": 0.5}, writer_benchmark, None, "A mixture is of tasks of classes"),
        ({"mixture": 0.5, **OTHER}, benchmark, elsewhere, "are in two"),
        ({"classes": ["class 1", "klass"]}, benchmark, None, "There is no class 'klass'"),
        (OTHER, benchmark, few_classes, "3-way tasks need 3 classes, but only 2 are there"),
        (OTHER, benchmark, features, "One benchmark holds images, the other"),
        (OTHER, features, benchmark, "One benchmark holds images, the other"),
        (OTHER, features, lambda: features(8), "have 8 numbers, those that were trained on 16"),
        ({"episode": {"shot": 12}}, benchmark, None, "need 14 examples a class"),
        ({"evaluation": {"replacement": False}}, writer_benchmark, None, "without replacement"),
    ],
)
def test_what_the_data_cannot_give_is_refused_before_anything_runs(given, made, other, problem):
    ours = made()
    methods = {"NCC": {"learner": {"name": "ncc"}}}
    few = {"selection_tasks": 2, "report_tasks": 2}
    plan = planned(
        evaluation=few,
        measure={"x": given},
        defaults={"backbone": {"name": "identity"}},
        methods=methods,
    )
    benchmarks = {MAIN: ours} | ({} if other is None else {"x": other()})
    with pytest.raises(BadData, match=problem) as caught:
        check_feasible(plan, benchmarks)
    assert "protocol 'x'" in str(caught.value)


def test_a_list_of_classes_may_be_a_file(tmp_path):
    (tmp_path / "list.txt").write_text("class 20\nclass 0\n\nclass 13\n")
    sweep = {**SWEEP, "measure": {"x": {"classes": "list.txt"}}}
    (tmp_path / "s.yaml").write_text(json.dumps(sweep))
    from_file = plan_sweep(load_sweep(str(tmp_path / "s.yaml"))).protocols[1].protocol
    named = {"x": {"classes": ["class 20", "class 0", "class 13"]}}
    assert from_file == planned(measure=named).protocols[1].protocol


def test_listed_classes_that_were_trained_on_are_a_caution():
    data = {MAIN: benchmark()}
    plan = planned(measure={"x": {"classes": ["class 0", "class 1", "class 20"]}})
    assert check_protocols(plan, plan.protocols, data) == [
        "protocol 'x': 2 of its 3 classes are base classes, so that its NovelGen is not accuracy "
        "on new classes"
    ]
    assert check_protocols(plan, [plan.main], data) == []


@pytest.mark.parametrize(("shot", "queries"), [(1, 1), (5, 5), (10, 7)])
def test_the_preset_of_the_papers_open_tasks(shot, queries):
    """Queries as in "Oops, I Sampled it Again", section 4.1.1; what is given beside it wins."""
    (_, one) = planned(measure={"oops": {"preset": "oops", "episode": {"shot": shot}}}).protocols
    written = {"episode": {"shot": shot, "query": queries}}
    written["evaluation"] = {"replacement": False, "report_tasks": 1_000_000}
    (_, other) = planned(measure={"oops": written}).protocols
    assert one.protocol == other.protocol
    given = {"preset": "oops", "episode": {"shot": 3, "query": 4}, "evaluation": {"seed": 5}}
    (_, mine) = planned(measure={"mine": given}).protocols
    assert (mine.protocol.episode.query, mine.protocol.tasks.seed) == (4, 5)
    assert not mine.protocol.tasks.replacement
    unknown = {"x": {"preset": "oops", "episode": {"shot": 3}}}
    assert "measure.x.preset: 'oops' knows the queries" in mistake(planned, measure=unknown)
