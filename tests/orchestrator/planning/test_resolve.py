"""What a sweep file may ask of learners that train in stages or answer one number of ways."""

import dataclasses
import json
from functools import partial

import numpy as np
import planning_of
import pytest
import submitted
from made import benchmark, writer_benchmark
from planning_of import planned as written
from planning_of import replaced

from fsl_sweep.datasets.benchmarks.in_distribution import in_distribution
from fsl_sweep.datasets.tasks.writers import WriterTasks
from fsl_sweep.orchestrator.errors import BadData, PluginError
from fsl_sweep.orchestrator.planning.feasibility import check_feasible
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

FILE = """
name: tiny
benchmark: {name: glyphs}
episode: {way: WAY, shot: 1, query: 2}
evaluation: {selection_tasks: 4, report_tasks: 3}
defaults: {backbone: {name: conv4}, optimizer: {lr: 0.1}, epochs: 40}
methods:
  M: {learner: {name: LEARNER}, train: TRAIN}
"""


def planned(learner="protonet", train="{}", way=5, changes=(), more=""):
    """The plan of the file with one method, after textual changes."""
    words = {"LEARNER": learner, "TRAIN": train, "WAY": way}
    return written(replaced(FILE, **words, **dict(changes)) + more)


mistake = partial(planning_of.mistake, planned)


@pytest.mark.parametrize("name", ["fomaml", "maml"])
def test_a_fixed_number_of_ways_must_be_that_of_training_and_evaluation(name):
    assert mistake(name, "{way: 20}") == (
        f"methods.M.train.way: {name} is built for 5-way tasks, not for 20-way tasks; "
        "make the learner's way, train.way and the way of every protocol one number, or choose "
        "another learner"
    )
    assert mistake(name, way=3).startswith(
        f"episode.way: M: {name} is built for 5-way tasks, not for 3-way tasks; "
    )
    (trial,) = planned(f"{name}, way: 3", "{way: 3}", way=3).trials
    assert trial.spec.learner.options["way"] == 3
    planned("protonet", "{way: 20}", way=3)


def test_tasks_of_varying_ways_need_a_learner_that_answers_any_number():
    assert mistake("fomaml", way="all").startswith(
        "episode.way: M: fomaml is built for 5-way tasks, not for tasks of 'way: all'; "
    )
    assert mistake("fomaml", "{way: all}").startswith(
        "methods.M.train.way: fomaml is built for 5-way tasks, not for tasks of 'way: all'"
    )
    assert mistake("fomaml", "{query: rest}") == (
        "methods.M.train: fomaml trains on episodes of one shape, but shapes differ "
        "with 'way: all' and 'query: rest'; give numbers"
    )
    for name, train in (
        ("protonet", "{way: all, query: rest}"),
        ("meta-baseline", "{meta: {way: all, query: rest}}"),
        ("supervised", "{}"),
    ):
        plan = planned(name, train, way="all")
        spec = plan.trials[0].spec
        assert TrialSpec.from_canonical(spec.canonical()) == spec
        assert plan.main.protocol.episode.way == "all"


def test_all_that_a_task_has_can_only_be_taken_of_writers():
    of_all = planned("protonet", "{way: 2, shot: 1, query: 1}", way="all")
    of_some = planned("protonet", "{way: 3, shot: 1, query: rest}", way=2)
    for plan, split, asked in ((of_all, "base", "way: all"), (of_some, "train", "query: rest")):
        with pytest.raises(BadData, match=f"M, {split} tasks: '{asked}' takes all that a task has"):
            check_feasible(plan, {MAIN: benchmark()})
        check_feasible(plan, {MAIN: writer_benchmark()})
    many = planned("protonet", "{way: 6, shot: 1, query: 1}", way=2)
    with pytest.raises(BadData, match=r"M, train tasks: Tasks of writers .* need 6 classes of 2"):
        check_feasible(many, {MAIN: writer_benchmark()})


def test_more_tasks_than_writers_are_refused_and_shared_ones_told():
    """Four writers a split: 4 tasks to select on and 3 to report on have 3 in common."""
    plan = planned("protonet", "{way: all, shot: 1, query: rest}", way="all")
    cautions = check_feasible(plan, {MAIN: writer_benchmark()})
    assert cautions[2] == (
        "NovelGen: of 4 writers, 4 are selected on and 3 reported on, 3 of them the same: a "
        "snapshot or configuration chosen by NovelGen has that measure reported too high"
    )
    assert len(cautions) == 3
    few = {"selection_tasks": 1, "report_tasks": 3}
    assert check_feasible(measured_on(plan, few), {MAIN: writer_benchmark()}) == ()
    with pytest.raises(BadData, match=r"M, base tasks: 5 tasks are asked for, .* only 4 writers"):
        check_feasible(measured_on(plan, {"report_tasks": 5}), {MAIN: writer_benchmark()})


@pytest.mark.parametrize(
    ("left", "advice"),
    [
        (3, "Set evaluation.selection_tasks and evaluation.report_tasks to at most 3."),
        (1, "At least 2 are needed: give more writers, or ask less of a task."),
    ],
)
def test_the_advice_on_numbers_of_tasks_holds_for_every_split(left, advice):
    whole = writer_benchmark()
    few = dataclasses.replace(whole, novel=WriterTasks(whole.novel.pool, np.arange(12, 12 + left)))
    plan = planned("protonet", "{way: all, shot: 1, query: rest}", way="all")
    with pytest.raises(BadData, match=rf"M, novel tasks: 5 .* only {left} writers .*\. {advice}$"):
        check_feasible(measured_on(plan, {"report_tasks": 5}), {MAIN: few})


def measured_on(plan, tasks):
    main = plan.main.protocol
    protocol = main.model_copy(update={"tasks": main.tasks.model_copy(update=tasks)})
    return dataclasses.replace(plan, protocols=(dataclasses.replace(plan.main, protocol=protocol),))


@pytest.mark.parametrize("asked", ["fixed_support: true", "query_counts: multinomial"])
def test_what_is_for_tasks_of_classes_only(asked):
    train = f"{{way: 2, shot: 1, query: 1, {asked}}}"
    plan = planned("protonet", train, way=2)
    check_feasible(plan, {MAIN: benchmark()})
    with pytest.raises(BadData) as caught:
        check_feasible(plan, {MAIN: writer_benchmark()})
    assert str(caught.value) == (
        f"M, train tasks: '{asked.removesuffix(': true')}' is for tasks of base classes, but the "
        "tasks of this benchmark are made of writers. Leave it out of train."
    )


def test_a_class_must_have_all_queries_that_may_fall_on_it():
    """The made benchmark has 9 training examples a class."""
    for train, needed in (
        ("way: 4, shot: 1, query: 3", 1 + 1 + 4 * 2),
        ("way: 3, shot: 2, query: 3, fixed_support: true", None),
        ("way: 3, shot: 3, query: 3, fixed_support: true", 3 + 1 + 3 * 2),
    ):
        train = f"{{{train}, query_counts: multinomial}}"
        plan = planned("protonet", train, way=2)
        if needed is None:
            check_feasible(plan, {MAIN: benchmark()})
            continue
        with pytest.raises(BadData) as caught:
            check_feasible(plan, {MAIN: benchmark()})
        assert f"need {needed} examples a class, but class 'class 0' has 9" in str(caught.value)
        assert str(caught.value).endswith(
            "With 'query_counts: multinomial' one class may get that many queries."
        )


def test_multinomial_counts_need_numbers_and_a_learner_that_takes_them():
    for words in ("way: all", "query: rest"):
        assert "query_counts: multinomial needs numbers for way and query" in mistake(
            "protonet", f"{{{words}, query_counts: multinomial}}"
        )
    assert mistake("fomaml", "{query_counts: multinomial}") == (
        "methods.M.train: fomaml trains on episodes of one shape, but shapes differ "
        "with 'query_counts: multinomial'; leave it out"
    )


def test_options_of_training_are_part_of_a_trials_identity_where_they_are_not_the_usual():
    plain = planned("protonet").trials[0].spec
    usual = planned(
        "protonet", "{augment_support: true, query_counts: equal, queries_from: others}"
    )
    assert usual.trials[0].spec.id == plain.id
    ids = {plain.id}
    for learner, train in (
        ("protonet", "{augment_support: false}"),
        ("protonet", "{query_counts: multinomial}"),
        ("protonet", "{fixed_support: true}"),
        ("protonet", "{fixed_support: true, queries_from: all}"),
        ("protonet, passes: joint", "{}"),
    ):
        (trial,) = planned(learner, train).trials
        assert TrialSpec.from_canonical(trial.spec.canonical()) == trial.spec
        ids.add(trial.id)
    assert len(ids) == 6
    assert "queries_from: all needs fixed_support: true" in mistake(
        "protonet", "{queries_from: all}"
    )
    # Filled in, so that a record says them.
    assert plain.canonical()["learner"]["passes"] == "separate"
    (adapting,) = planned("fomaml").trials
    assert adapting.spec.canonical()["learner"]["batch_norm"] == "batch"


def test_a_staged_training_is_filled_in_and_checked():
    (trial,) = planned("meta-baseline", "{meta: {epochs: 10, shot: 1}}").trials
    meta = MetaStage(epochs=10, way=5, shot=1, query=15, tasks_per_batch=4)
    assert trial.spec.train == StagedTraining(batch_size=128, meta=meta)
    (trial,) = planned("meta-baseline").trials
    assert trial.spec.train.meta.epochs == 30
    assert mistake("meta-baseline", "{meta: {epochs: 40}}") == (
        "methods.M.train.meta.epochs: 40 of 40 epochs leave none for the stage before; "
        "set fewer, or more 'epochs'"
    )
    assert mistake("meta-baseline", "{way: 5}").startswith("methods.M.train.way: unknown key 'way'")
    assert mistake("meta-baseline", "{meta: {epoch: 3}}").startswith(
        "methods.M.train.meta.epoch: unknown key 'epoch'; did you mean 'epochs'?"
    )


def test_the_episodes_of_a_staged_training_must_be_there():
    train = "{meta: {way: 13, shot: 1, query: 2, epochs: 2}}"
    with pytest.raises(BadData, match="M, train tasks: 13-way tasks need 13 classes"):
        check_feasible(planned("meta-baseline", train, way=3), {MAIN: benchmark()})


def test_a_method_overrides_keys_of_the_defaults_but_not_those_of_another_part():
    plan = written(
        """
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


def test_names_places_and_resources_are_no_part_of_a_trials_identity():
    ids = [
        [trial.id for trial in planned(changes=changes, more=more).trials]
        for changes, more in (
            ([], ""),
            ([("name: tiny", "name: renamed")], ""),
            ([("  M: {", "  Renamed: {")], ""),
            ([], "resources: {cpu: 2}\nretries: 0\n"),
            ([("{name: conv4}", "{name: conv4, width: 64}")], ""),  # the default, written out
        )
    ]
    assert ids == [ids[0]] * 5
    bare, placed = (
        planned(changes=[("{name: glyphs}", f"{{name: omniglot{root}}}")])
        for root in ("", ", root: /somewhere")
    )
    assert dataclasses.replace(bare, places=placed.places) == placed


def test_relative_schedules_and_steps_that_are_never_reached():
    steps = "epochs: 40, schedule: {relative: true, 20: 0.5, 60: 0.1}"
    plan = planned(changes=[("epochs: 40", steps)])
    assert plan.trials[0].spec.schedule == [(0, 0.1), (20, 0.05), (60, pytest.approx(0.01))]
    assert plan.cautions == (
        "M: the schedule's step at epoch 60 is never reached, because training ends after 40 "
        "epochs",
    )


def with_folds(more="", **options):
    """The plan of two rates and two seeds, with ``cross_validation: options`` if any."""
    folds = f"cross_validation: {options}\n" if options else ""
    return planned(
        "protonet",
        "{way: 3, shot: 1, query: 2}",
        way=3,
        changes=[("lr: 0.1", "lr: {grid: [0.1, 0.2]}")],
        more=f"seeds: [0, 1]\n{folds}{more}",
    )


def test_folds_follow_their_full_trial_and_leave_its_identity_alone():
    plain, folded = with_folds(), with_folds(folds=2, over="base+val", seed=5)
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


def test_the_digest_of_a_sweep_is_of_what_it_trains_and_compares():
    plain = with_folds().sweep
    assert with_folds(folds=2).sweep != plain
    assert with_folds("selectors: {snapshot: [val]}\n").sweep != plain
    for more in ("resources: {cpu: 2}", "retries: 0", "keep: last", "measure: {x: {mixture: 0.5}}"):
        assert with_folds(f"{more}\n").sweep == plain


def test_selectors_that_folds_are_for_are_compared_unless_others_are_named():
    named = with_folds(folds=2).selectors
    assert named.snapshot == ["last", "train_loss", "base", "val", "cv-epoch", "oracle"]
    assert named.hyperparameter == ["base", "val", "cv", "oracle"]
    named = with_folds("selectors: {snapshot: [val, last]}\n", folds=2).selectors
    assert named.snapshot == ["val", "last"]
    assert named.hyperparameter == ["base", "val", "cv", "oracle"]
    assert "cv" not in with_folds().selectors.hyperparameter


def test_every_fold_is_checked_before_anything_runs():
    # 12 base classes: four folds of three, but the third of five has two.
    check_feasible(with_folds(folds=4), {MAIN: benchmark()})
    with pytest.raises(BadData, match="M, fold 2 of 5, val tasks: 3-way tasks need 3 classes, but"):
        check_feasible(with_folds(folds=5), {MAIN: benchmark()})
    check_feasible(with_folds(folds=6, over="base+val"), {MAIN: benchmark()})
    with pytest.raises(BadData, match="has no superclasses"):
        check_feasible(with_folds(folds=2, by="superclass"), {MAIN: benchmark()})


def test_a_fold_is_one_of_those_that_there_are():
    assert Fold(folds=2, index=1).by == "class"
    with pytest.raises(ValueError, match="fold 2 of 2: folds are counted from 0"):
        Fold(folds=2, index=2)


def test_two_methods_with_one_specification_share_the_trial():
    plan = planned(more="  N: {learner: {name: protonet, scale: 10.0}}\n")
    assert [trial.method for trial in plan.trials] == ["M", "N"]
    assert len(plan.specs) == 1


def test_a_classifier_is_only_measured_in_distribution():
    assert mistake("classifier") == (
        "methods.M.learner.name: classifier answers with one of the base classes, so "
        "it can only be measured in distribution: set benchmark.name to in-distribution:glyphs"
    )
    here = [("{name: glyphs}", "{name: 'in-distribution:glyphs', examples: 60}")]
    plan = planned("classifier", changes=here)
    assert plan.cautions == (
        "in-distribution:glyphs has val and novel examples of the base classes: what stands under "
        "ValGen and NovelGen is accuracy on new examples of the classes that were trained on, not "
        "on new classes",
    )
    assert plan.trials[0].spec.benchmark.options["share_seed"] == 0
    folds = {"changes": here, "more": "cross_validation: {folds: 2}\n"}
    assert "there are no others to hold out" in mistake("classifier", **folds)
    beside = "  PN: {learner: {name: protonet}}\n"
    mixed = planned("classifier", changes=here, more=beside)
    assert mixed.cautions[0] == plan.cautions[0]
    assert mixed.cautions[1].startswith("M: queries are answered among all base classes")
    # So that reports do not compare them.
    assert {one.method: one.among_all for one in mixed.trials} == {"M": True, "PN": False}
    written = [one.get("among_all") for one in mixed.to_plain()["trials"]]
    assert set(written) == {True, None}
    check_feasible(plan, {MAIN: in_distribution(benchmark(examples=40), seed=0)})
    with pytest.raises(BadData, match=r"M, base tasks: .* need 3 .* has 2 .*10 % of each base"):
        check_feasible(plan, {MAIN: in_distribution(benchmark(examples=20), seed=0)})


PROGRAM = """
name: tiny
benchmark: {name: glyphs}
defaults:
  backbone: {name: conv4, width: {grid: [16, 32]}}
  optimizer: {lr: 0.1}
  schedule: {20: 0.01}
  precision: bf16
  epochs: 40
methods:
  M: {learner: {name: metadl, submission: protos, MORE}, train: TRAIN}
"""


def program(more="mode: episode", train="{}", changes=()):
    return written(replaced(PROGRAM, MORE=more, TRAIN=train, **dict(changes)))


@pytest.fixture
def submissions(tmp_path, monkeypatch):
    submitted.install(tmp_path / "site", monkeypatch)


@pytest.mark.usefixtures("submissions")
def test_a_program_has_no_network_and_no_optimizer_of_ours():
    plan = program(train="{way: 7}")
    (trial,) = plan.trials  # the grid over the network is not its own
    spec = trial.spec
    assert (spec.backbone.name, spec.optimizer, spec.schedule, spec.precision) == (
        "identity",
        None,
        [],
        "fp32",
    )
    assert spec.train.way == 7
    assert type(spec).from_canonical(spec.canonical()) == spec
    assert plan.parts["submission"] == [{"name": "protos", "source": "submitted", "version": "3.1"}]
    network = [("conv4", "resnet12"), ("lr: 0.1", "lr: 0.2"), ("width: {grid: [16, 32]}", "")]
    other = program(changes=network)
    assert other.trials[0].spec.id == program().trials[0].spec.id
    assert "submission" not in planned("protonet").parts


@pytest.mark.usefixtures("submissions")
def test_a_program_in_batch_mode_trains_on_batches():
    (trial,) = program("mode: batch", "{batch_size: 32}").trials
    assert trial.spec.train == BatchTraining(batch_size=32)
    lrs = program("options: {lr: {grid: [0.1, 0.2]}}").trials
    assert [t.hyperparameters for t in lrs] == [
        {"learner.options.lr": 0.1},
        {"learner.options.lr": 0.2},
    ]


@pytest.mark.usefixtures("submissions")
def test_a_program_that_cannot_go_on_is_told_of_in_the_plan():
    (caution,) = program().cautions
    assert caution.startswith("M: its program cannot save what it needs to go on")
    assert program(changes=[("epochs: 40", "epochs: 1")]).cautions == ()
    saving = [("submission: protos", "submission: protos-go-on")]
    assert program(changes=saving).cautions == ()


@pytest.mark.parametrize("episode", ["{way: all, query: 2}", "{way: 3, query: rest}"])
@pytest.mark.usefixtures("submissions")
def test_a_program_is_not_measured_on_tasks_that_differ_in_shape(episode):
    benchmark = "benchmark: {name: glyphs, tasks: writers}"
    differing = ("benchmark: {name: glyphs}", f"{benchmark}\nepisode: {episode}")
    batches = ("mode: batch", "{batch_size: 8}")
    said = planning_of.mistake(program, *batches, changes=[differing])
    assert said.startswith("episode: M: metadl is measured on tasks of one shape")


@pytest.mark.parametrize(
    ("more", "train", "change", "message"),
    [
        (
            "mode: episode",
            "{}",
            ("submission: protos", "submission: proto"),
            "learner.submission: unknown submission 'proto'; did you mean 'protos'?",
        ),
        ("options: {rate: 1}", "{}", (), "learner.options: 'protos' does not take them: "),
        ("mode: both", "{}", (), "learner.mode"),
        ("mode: batch", "{way: 3}", (), "train.way: unknown key"),
        (
            "mode: episode",
            "{}",
            ("train: {}", "optimizer: {lr: 1}"),
            "optimizer: unknown key 'optimizer'",
        ),
        ("mode: episode", "{}", ("submission: protos, ", ""), "learner.submission"),
    ],
)
@pytest.mark.usefixtures("submissions")
def test_mistakes_about_programs_name_key_and_value(more, train, change, message):
    changes = [change] if change else []
    said = planning_of.mistake(program, more, train, changes=changes)
    assert said.startswith(f"methods.M.{message}")


@pytest.mark.usefixtures("submissions")
def test_a_program_that_does_not_load_is_named():
    with pytest.raises(PluginError, match=r"submission plug-in 'broken' .* does not load"):
        program(changes=[("submission: protos", "submission: broken")])
