"""The protocols of a sweep file: what is part of which id, and what is refused before a run."""

from pathlib import Path

import pytest
import submitted
import yaml
from made import benchmark
from planning_of import SMALL, changed, planned

from fsl_sweep.orchestrator.planning.plan_sweep import plan_sweep
from fsl_sweep.orchestrator.planning.prepare import opened_plan
from fsl_sweep.orchestrator.records.protocol import MAIN
from fsl_sweep.orchestrator.records.spec import TrialSpec
from fsl_sweep.orchestrator.sweepfile.reading import load_sweep

PROGRAM = "M.learner={name: metadl, submission: protos}"
TRAINING = [
    *("benchmark.image_size=20", "M.learner.name=ridge", "M.learner.scale=5"),
    *("defaults.backbone.width=16", "defaults.optimizer.lr=0.2"),
    *("defaults.optimizer.weight_decay=0.0", "defaults.schedule={2: 0.01}"),
    *("defaults.batches=5", "defaults.augment=crop-jitter-flip"),
    *("defaults.precision=bf16", "M.train.way=4", "M.train.shot=4", "M.train.query=4"),
    *("M.train.tasks_per_batch=3", "M.train.fixed_support=true"),
    *("evaluation.every=2", "budget={seconds: 9}", "seeds=[1]"),
    *("M.train.augment_support=false", "M.train.query_counts=multinomial"),
    "M.train={way: 3, shot: 1, query: 2, fixed_support: true, queries_from: all}",
    "M.learner.passes=joint",
]
MEASURING = [
    *("evaluation.selection_tasks=9", "evaluation.report_tasks=9", "evaluation.seed=1"),
    *("evaluation.replacement=false", "measure.more.episode.query=3"),
]
SHAPES = ["episode.way=2", "episode.shot=2", "episode.query=3"]
NEITHER = [
    *(
        "defaults.epochs=5",
        "keep=last",
        "resources={cpu: 2}",
        "retries=0",
        "selectors={snapshot: [last]}",
    ),
    *("name=other", "measure.more={snapshots: last, episode: {query: 3}}"),
    "methods={Renamed: {learner: {name: protonet}, train: {way: 3, shot: 1, query: 2}}}",
    "M.learner={name: protonet, scale: 10.0, passes: separate}",  # the defaults, written out
    "M.train={way: 3, shot: 1, query: 2, augment_support: true, query_counts: equal}",
    "M.train={way: 3, shot: 1, query: 2, queries_from: others}",
]


def ids(*changes):
    """The ids of the trial, and of the main protocol."""
    plan = opened_plan(planned(*changes), {MAIN: benchmark()})
    return plan.trials[0].id, plan.main.id


@pytest.mark.parametrize(
    ("change", "retrains", "remeasures"),
    [
        *((change, True, False) for change in TRAINING),
        *((change, False, not change.startswith("measure")) for change in [*MEASURING, *SHAPES]),
        *((change, False, False) for change in NEITHER),
    ],
)
def test_what_training_depends_on_is_the_trials_and_how_it_is_measured_the_protocols(
    change, retrains, remeasures
):
    (trial, protocol), (before, main) = ids(change), ids()
    assert (trial != before, protocol != main) == (retrains, remeasures)


def test_every_part_of_a_specification_is_tried():
    plain, parts, known = planned().trials[0].spec.canonical(), set(), set()
    for change in TRAINING:
        trained = planned(change).trials[0].spec
        spec = trained.canonical()
        assert TrialSpec.model_validate(spec, strict=False) == trained
        assert trained.id not in known
        known.add(trained.id)
        parts |= {key for key in plain if spec[key] != plain[key]}
    assert parts == set(spec) - {"validation", "fold", "epochs"}


@pytest.mark.parametrize("change", [*MEASURING, *SHAPES])
def test_a_program_is_told_the_shape_that_it_may_validate_on(change, tmp_path, monkeypatch):
    submitted.install(tmp_path / "site", monkeypatch)
    assert (ids(change, PROGRAM)[0] != ids(PROGRAM)[0]) == (change in SHAPES)


def test_what_is_not_said_is_as_in_the_main_protocol():
    main, shot, precise, *mixtures = planned(
        "measure.5-shot.episode.shot=5",
        "measure.precise={evaluation: {report_tasks: 10000}, snapshots: chosen}",
        "measure.mixtures={lambda: [0, 0.25, 1.0], snapshots: last}",
    ).protocols
    former = planned("measure.mixtures={mixture: [0, 0.25, 1.0], snapshots: last}").protocols
    assert [*former[1:]] == mixtures
    assert (main.name, shot.name, precise.name) == (MAIN, "5-shot", "precise")
    assert shot.protocol.episode == main.protocol.episode.model_copy(update={"shot": 5})
    assert shot.protocol.tasks == precise.protocol.tasks.model_copy(update={"report_tasks": 20})
    assert precise.protocol.tasks.selection_tasks == 20
    named = [(planned.name, planned.protocol.mixture, planned.snapshots) for planned in mixtures]
    assert named == [
        (f"mixtures({weight})", float(weight), "last") for weight in ("0", "0.25", "1")
    ]


def test_a_list_of_classes_may_be_a_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("list.txt").write_text("class 20\nclass 0\n\nclass 13\n")
    Path("s.yaml").write_text(yaml.safe_dump(changed(SMALL, "measure.x.classes=list.txt")))
    (_, listed) = plan_sweep(load_sweep("s.yaml")).protocols
    (_, named) = planned("measure.x.classes=[class 20, class 0, class 13]").protocols
    assert listed.protocol == named.protocol


@pytest.mark.parametrize(("shot", "queries"), [(1, 1), (5, 5), (10, 7)])
def test_the_preset_of_the_papers_open_tasks(shot, queries):
    """Queries as in "Oops, I Sampled it Again", section 4.1.1; what is written beside it wins."""
    (_, oops) = planned(f"measure.x={{preset: oops, episode: {{shot: {shot}}}}}").protocols
    (_, whole) = planned(
        f"measure.x.episode={{shot: {shot}, query: {queries}}}",
        "measure.x.evaluation={replacement: false, report_tasks: 1000000}",
    ).protocols
    assert oops.protocol == whole.protocol
    beside = "{preset: oops, episode: {shot: 3, query: 4}, evaluation: {seed: 5, report_tasks: 7}}"
    (_, mine) = planned(f"measure.x={beside}").protocols
    assert (mine.protocol.episode.query, mine.protocol.tasks.seed) == (4, 5)
    assert (mine.protocol.tasks.report_tasks, mine.protocol.tasks.replacement) == (7, False)
