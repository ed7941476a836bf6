"""What a sweep file may ask of learners that train in stages or answer one number of ways."""

import dataclasses
import json

import pytest
import submitted
from made import benchmark
from planning_of import planned

from fsl_sweep.orchestrator.planning.prepare import opened_plan
from fsl_sweep.orchestrator.records.plan import Plan
from fsl_sweep.orchestrator.records.protocol import MAIN
from fsl_sweep.orchestrator.records.spec import (
    BatchTraining,
    Fold,
    MetaStage,
    StagedTraining,
    TrialSpec,
)


@pytest.mark.parametrize(
    ("learner", "way", "train"),
    [
        ("{name: fomaml, way: 3}", 3, "{way: 3}"),
        ("{name: protonet}", 3, "{way: 20}"),
        ("{name: protonet}", "all", "{way: all, query: rest}"),
        ("{name: meta-baseline}", "all", "{meta: {way: all, query: rest, epochs: 1}}"),
        ("{name: supervised}", "all", "{}"),
    ],
)
def test_ways_of_training_and_evaluation_are_those_that_the_learner_can_answer(learner, way, train):
    plan = planned(f"M.learner={learner}", f"M.train={train}", f"episode.way={way}")
    spec = plan.trials[0].spec
    assert TrialSpec.model_validate(spec.canonical(), strict=False) == spec
    assert plan.main.protocol.episode.way == way


def test_a_staged_training_is_filled_in():
    staged = ("M.learner.name=meta-baseline", "defaults.epochs=40")
    (trial,) = planned(*staged, "M.train={meta: {epochs: 10, shot: 1}}").trials
    meta = MetaStage(epochs=10, way=5, shot=1, query=15, tasks_per_batch=4)
    assert trial.spec.train == StagedTraining(batch_size=128, meta=meta)
    (trial,) = planned(*staged, "M.train").trials
    assert trial.spec.train.meta.epochs == 30


def test_a_method_overrides_keys_of_the_defaults_but_not_those_of_another_part():
    plan = planned(
        text="""
name: merging
benchmark: {name: glyphs}
defaults:
  backbone: {name: conv4, width: 32}
  optimizer: {lr: 0.1, momentum: 0.5}
  schedule: {20: 0.01, 40: 0.001}
  train: {way: {grid: [5, 10]}, shot: 2}
methods:
  same: {learner: {name: protonet}, backbone: {width: 48}, optimizer: {lr: 0.2}, train: {way: 7}}
  other: {learner: {name: protonet}, backbone: {name: resnet12}, schedule: {5: 0.02}}
"""
    )
    same, *others = plan.trials
    assert len(others) == 2
    assert same.spec.backbone.options == {"width": 48}
    assert (same.spec.optimizer.lr, same.spec.optimizer.momentum) == (0.2, 0.5)
    assert same.spec.schedule == [(0, 0.2), (20, 0.01), (40, 0.001)]
    assert (same.spec.train.way, same.spec.train.shot) == (7, 2)
    assert same.hyperparameters == {}
    assert [trial.hyperparameters for trial in others] == [{"train.way": 5}, {"train.way": 10}]
    assert all(trial.spec.schedule == [(0, 0.1), (5, 0.02)] for trial in others)
    assert "width" not in others[0].spec.backbone.options


def test_where_data_are_is_no_part_of_a_trials_identity():
    bare, placed = planned("benchmark={name: omniglot}"), "benchmark={name: omniglot, root: /x}"
    assert dataclasses.replace(bare, places={MAIN: "/x"}) == planned(placed)


RATES = ("defaults.optimizer.lr={grid: [0.1, 0.2]}", "seeds=[0, 1]")


def with_folds(**options):
    """The plan of two rates and two seeds, with folds."""
    return planned(*RATES, f"cross_validation={options}")


def test_folds_follow_their_full_trial_and_leave_its_identity_alone():
    plain, folded = planned(*RATES), with_folds(folds=2, over="base+val", seed=5)
    assert [(t.id, t.fold) for t in plain.trials] == [
        (t.id, t.fold) for t in folded.trials if t.fold is None
    ]
    assert plain.trials[0].spec.canonical()["fold"] is None
    assert [(t.spec.optimizer.lr, t.spec.seed, t.fold) for t in folded.trials] == [
        (lr, seed, fold) for lr in (0.1, 0.2) for seed in (0, 1) for fold in (None, 0, 1)
    ]
    # A configuration is the full trials and the folds of all seeds.
    assert len({t.id for t in folded.trials}) == 12
    assert {t.configuration for t in folded.trials} == {t.configuration for t in plain.trials}
    assert folded.counted == "12 trials (8 of them in 2 class folds)"
    assert plain.counted == "4 trials"
    opened = opened_plan(folded, {MAIN: benchmark()})
    assert Plan.from_plain(json.loads(json.dumps(opened.to_plain()))) == opened


def test_a_fold_trials_id_says_everything_about_its_fold():
    every = [{"folds": 2}, {"folds": 3}, {"folds": 2, "seed": 1}, {"folds": 2, "over": "base+val"}]
    every.append({"folds": 2, "by": "superclass"})
    ids = [t.id for options in every for t in with_folds(**options).trials if t.fold == 0]
    assert len(set(ids)) == len(ids) == 4 * len(every)
    assert Fold(folds=2, index=1).by == "class"
    with pytest.raises(ValueError, match="fold 2 of 2: folds are counted from 0"):
        Fold(folds=2, index=2)


@pytest.mark.parametrize(
    ("change", "same"),
    [
        ("cross_validation={folds: 2}", False),
        ("selectors={snapshot: [val]}", False),
        *((change, True) for change in ("resources={cpu: 2}", "retries=0", "keep=last")),
        *((change, True) for change in ("measure.x.mixture=0.5", "record=predictions")),
    ],
)
def test_the_digest_of_a_sweep_is_of_what_it_trains_and_compares(change, same):
    assert (planned(change).sweep == planned().sweep) is same


def test_selectors_that_folds_are_for_are_compared_unless_others_are_named():
    folds = "cross_validation={folds: 2}"
    usual, mine = planned(folds), planned(folds, "selectors={snapshot: [val, last]}")
    snapshots = ["last", "train_loss", "base", "val", "cv-epoch", "oracle"]
    assert (usual.selectors.snapshot, mine.selectors.snapshot) == (snapshots, ["val", "last"])
    for plan in (usual, mine):
        assert plan.selectors.hyperparameter == ["base", "val", "cv", "oracle"]
    assert "cv" not in planned().selectors.hyperparameter


@pytest.mark.parametrize(
    ("changes", "few"),
    [
        ([], True),
        (["cross_validation={folds: 2}"], True),
        (["selectors={metric: mixture(0.5)}"], True),
        (["selectors=all"], False),
        (["selectors={show: all, metric: mixture(0.5)}"], False),
        (["selectors={hyperparameter: [val]}"], False),
        (["selectors={snapshot: [last, val]}", "cross_validation={folds: 2}"], False),
    ],
)
def test_a_file_that_names_no_selector_has_few_pairs_of_them_shown(changes, few):
    plan = planned(*changes)
    assert (plan.selectors.show == "few") is few
    stored = json.loads(json.dumps(opened_plan(plan, {MAIN: benchmark()}).to_plain()))
    assert Plan.from_plain(stored).selectors == plan.selectors
    every = planned(*(change for change in changes if not change.startswith("selectors")))
    if "selectors=all" in changes:
        assert plan.selectors.snapshot == every.selectors.snapshot


def test_two_methods_with_one_specification_share_the_trial():
    other = "{learner: {name: protonet, scale: 10.0}, train: {way: 3, shot: 1, query: 2}}"
    plan = planned(f"methods.N={other}")
    assert ([t.method for t in plan.trials], len(plan.specs)) == (["M", "N"], 1)


def test_a_classifier_is_only_measured_in_distribution():
    here = ("benchmark={name: 'in-distribution:glyphs', examples: 60}", "M.learner.name=classifier")
    plan = planned(*here, "M.train")
    assert plan.cautions == (
        "in-distribution:glyphs has val and novel examples of the base classes: what stands under "
        "ValGen and NovelGen is accuracy on new examples of the classes that were trained on, not "
        "on new classes",
    )
    assert plan.trials[0].spec.benchmark.options["share_seed"] == 0
    both = planned(*here, "M.train", "methods.IC={learner: {name: classifier}, batches: 3}")
    assert both.cautions == plan.cautions
    mixed = planned(*here, "M.train", "methods.PN={learner: {name: protonet}}")
    assert mixed.cautions == (
        *plan.cautions,
        "M classifies queries among all base classes, the others only among the classes of the "
        "task; that is easier, so the accuracies cannot be compared",
    )
    # So that reports do not compare them.
    assert {t.method: t.among_all for t in mixed.trials} == {"M": True, "PN": False}
    assert {t.get("among_all") for t in mixed.to_plain()["trials"]} == {True, None}


PROTOS = "M={learner: {name: metadl, submission: protos, mode: episode}}"
NETWORK = (
    "defaults.backbone.width={grid: [16, 32]}",
    "defaults.schedule={2: 0.01}",
    "defaults.precision=bf16",
)


@pytest.fixture
def submissions(tmp_path, monkeypatch):
    submitted.install(tmp_path / "site", monkeypatch)


@pytest.mark.usefixtures("submissions")
def test_a_program_has_no_network_and_no_optimizer_of_ours():
    plan = planned(*NETWORK, PROTOS, "M.train.way=7")
    (trial,) = plan.trials  # the grid over the network is not its own
    spec = trial.spec
    assert (spec.backbone.name, spec.optimizer, spec.schedule) == ("identity", None, [])
    assert (spec.precision, spec.train.way) == ("fp32", 7)
    assert type(spec).model_validate(spec.canonical(), strict=False) == spec
    assert plan.parts["submission"] == [{"name": "protos", "source": "submitted", "version": "3.1"}]
    other = planned("defaults.backbone={name: resnet12}", "defaults.optimizer.lr=0.2", PROTOS)
    assert other.trials[0].spec.id == planned(PROTOS).trials[0].spec.id
    assert "submission" not in planned().parts


@pytest.mark.usefixtures("submissions")
def test_a_program_in_batch_mode_trains_on_batches():
    (trial,) = planned(PROTOS, "M.learner.mode=batch", "M.train={batch_size: 32}").trials
    assert trial.spec.train == BatchTraining(batch_size=32)
    trials = planned(PROTOS, "M.learner.options={lr: {grid: [0.1, 0.2]}}").trials
    rates = [{"learner.options.lr": 0.1}, {"learner.options.lr": 0.2}]
    assert [t.hyperparameters for t in trials] == rates


@pytest.mark.usefixtures("submissions")
def test_a_program_that_cannot_go_on_is_told_of_in_the_plan():
    (caution,) = planned(PROTOS).cautions
    assert caution.startswith("M: its program cannot save what it needs to go on")
    assert planned(PROTOS, "defaults.epochs=1").cautions == ()
    assert planned(PROTOS, "M.learner.submission=protos-go-on").cautions == ()
