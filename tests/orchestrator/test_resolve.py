"""What a sweep file may ask of learners that train in stages or answer one number of ways."""

import json

import pytest
from made import benchmark

from fsl_sweep.datasets.tasks import ClassTasks
from fsl_sweep.orchestrator.config import Fold, MetaStage, StagedTraining, digest
from fsl_sweep.orchestrator.errors import BadData, ConfigError
from fsl_sweep.orchestrator.plan import Plan
from fsl_sweep.orchestrator.resolve import check_feasible, plan_sweep
from fsl_sweep.orchestrator.sweepfile import load_sweep

FILE = """
name: tiny
benchmark: {name: glyphs}
episode: {way: WAY, shot: 1, query: 2}
defaults: {backbone: {name: conv4}, optimizer: {lr: 0.1}, epochs: 40}
methods:
  M: {learner: {name: LEARNER}, train: TRAIN}
"""


def planned(tmp_path, learner, train="{}", way=5):
    text = FILE.replace("LEARNER", learner).replace("TRAIN", train).replace("WAY", str(way))
    (tmp_path / "s.yaml").write_text(text)
    return plan_sweep(load_sweep(str(tmp_path / "s.yaml")))


def mistake(tmp_path, *arguments, **options):
    with pytest.raises(ConfigError) as caught:
        planned(tmp_path, *arguments, **options)
    return str(caught.value).removeprefix(f"{tmp_path}/")


@pytest.mark.parametrize("name", ["fomaml", "maml"])
def test_a_fixed_number_of_ways_must_be_that_of_training_and_evaluation(tmp_path, name):
    assert mistake(tmp_path, name, "{way: 20}") == (
        f"s.yaml: methods.M.train.way: {name} is built for 5-way tasks, which these 20-way tasks "
        "are not; make the learner's way, train.way and episode.way equal"
    )
    assert mistake(tmp_path, name, way=3).startswith(
        f"s.yaml: episode.way: M: {name} is built for 5-way tasks, which these 3-way tasks are not"
    )
    (trial,) = planned(tmp_path, f"{name}, way: 3", "{way: 3}", way=3).trials
    assert trial.spec.learner.options["way"] == 3
    planned(tmp_path, "protonet", "{way: 20}", way=3)


def test_tasks_of_varying_ways_are_refused_before_anything_runs(tmp_path, monkeypatch):
    train = "{way: 3, shot: 1, query: 2}"
    fixed = planned(tmp_path, "fomaml, way: 3", train, way=3)
    free = planned(tmp_path, "protonet", train, way=3)
    check_feasible(fixed, benchmark())
    monkeypatch.setattr(ClassTasks, "varying_ways", True)
    with pytest.raises(BadData, match=r"M, base tasks: .* fomaml is built for 3-way tasks alone"):
        check_feasible(fixed, benchmark())
    check_feasible(free, benchmark())


def test_a_staged_training_is_filled_in_and_checked(tmp_path):
    (trial,) = planned(tmp_path, "meta-baseline", "{meta: {epochs: 10, shot: 1}}").trials
    meta = MetaStage(epochs=10, way=5, shot=1, query=15, tasks_per_batch=4)
    assert trial.spec.train == StagedTraining(batch_size=128, meta=meta)
    (trial,) = planned(tmp_path, "meta-baseline").trials
    assert trial.spec.train.meta.epochs == 30
    assert mistake(tmp_path, "meta-baseline", "{meta: {epochs: 40}}") == (
        "s.yaml: methods.M.train.meta.epochs: 40 of 40 epochs leave none for the stage before; "
        "set fewer, or more 'epochs'"
    )
    assert mistake(tmp_path, "meta-baseline", "{way: 5}").startswith(
        "s.yaml: methods.M.train.way: unknown key 'way'"
    )
    assert mistake(tmp_path, "meta-baseline", "{meta: {epoch: 3}}").startswith(
        "s.yaml: methods.M.train.meta.epoch: unknown key 'epoch'; did you mean 'epochs'?"
    )


def test_the_episodes_of_a_staged_training_must_be_there(tmp_path):
    train = "{meta: {way: 13, shot: 1, query: 2, epochs: 2}}"
    with pytest.raises(BadData, match="M, train tasks: 13-way tasks need 13 classes"):
        check_feasible(planned(tmp_path, "meta-baseline", train, way=3), benchmark())


def test_a_method_overrides_keys_of_the_defaults_but_not_those_of_another_part(tmp_path):
    (tmp_path / "s.yaml").write_text("""
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
""")
    plan = plan_sweep(load_sweep(str(tmp_path / "s.yaml")))
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


def test_names_paths_and_resources_are_no_part_of_a_trials_identity(tmp_path):
    text = FILE.replace("LEARNER", "protonet").replace("TRAIN", "{}").replace("WAY", "5")
    ids = set()
    for changed in (
        text,
        text.replace("name: tiny", "name: renamed"),
        text.replace("  M: {", "  Renamed: {"),
        text.replace("{name: glyphs}", "{name: glyphs, root: /somewhere}"),
        text + "resources: {cpu: 2}\nretries: 0\n",
        text.replace("{name: conv4}", "{name: conv4, width: 64}"),  # the default, written out
    ):
        (tmp_path / "s.yaml").write_text(changed)
        (trial,) = plan_sweep(load_sweep(str(tmp_path / "s.yaml"))).trials
        ids.add(trial.id)
    assert len(ids) == 1


def test_relative_schedules_and_steps_that_are_never_reached(tmp_path):
    text = FILE.replace("LEARNER", "protonet").replace("TRAIN", "{}").replace("WAY", "5")
    text = text.replace("epochs: 40", "epochs: 40, schedule: {relative: true, 20: 0.5, 60: 0.1}")
    (tmp_path / "s.yaml").write_text(text)
    plan = plan_sweep(load_sweep(str(tmp_path / "s.yaml")))
    assert plan.trials[0].spec.schedule == [(0, 0.1), (20, 0.05), (60, pytest.approx(0.01))]
    assert plan.cautions == (
        "M: the schedule's step at epoch 60 is never reached, because training ends after 40 "
        "epochs",
    )


def with_folds(tmp_path, **options):
    """The plan of two rates and two seeds, with ``cross_validation: options`` if any."""
    text = FILE.replace("LEARNER", "protonet").replace("WAY", "3")
    text = text.replace("TRAIN", "{way: 3, shot: 1, query: 2}")
    text = text.replace("lr: 0.1", "lr: {grid: [0.1, 0.2]}") + "seeds: [0, 1]\n"
    (tmp_path / "s.yaml").write_text(text + (f"cross_validation: {options}\n" if options else ""))
    return plan_sweep(load_sweep(str(tmp_path / "s.yaml")))


def test_folds_follow_their_full_trial_and_leave_its_identity_alone(tmp_path):
    plain, folded = with_folds(tmp_path), with_folds(tmp_path, folds=2, over="base+val", seed=5)
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
    assert Plan.from_plain(json.loads(json.dumps(folded.to_plain()))) == folded


def test_a_fold_trials_id_says_everything_about_its_fold(tmp_path):
    every = [{"folds": 2}, {"folds": 3}, {"folds": 2, "seed": 1}, {"folds": 2, "over": "base+val"}]
    every.append({"folds": 2, "by": "superclass"})
    ids = [t.id for options in every for t in with_folds(tmp_path, **options).trials if t.fold == 0]
    assert len(set(ids)) == len(ids) == 4 * len(every)


def test_the_sweep_without_cross_validation_has_the_digest_that_it_had(tmp_path):
    plain = with_folds(tmp_path)
    config = load_sweep(str(tmp_path / "s.yaml")).config
    content = config.model_dump(mode="json")
    for later in ("cross_validation", "resources", "retries"):
        del content[later]
    assert plain.sweep == digest(content)
    assert with_folds(tmp_path, folds=2).sweep != plain.sweep


def test_selectors_that_folds_are_for_are_compared_unless_others_are_named(tmp_path):
    named = with_folds(tmp_path, folds=2).selectors
    assert named.snapshot == ["last", "train_loss", "base", "val", "cv-epoch", "oracle"]
    assert named.hyperparameter == ["base", "val", "cv", "oracle"]
    text = (tmp_path / "s.yaml").read_text() + "selectors: {snapshot: [val, last]}\n"
    (tmp_path / "s.yaml").write_text(text)
    named = plan_sweep(load_sweep(str(tmp_path / "s.yaml"))).selectors
    assert named.snapshot == ["val", "last"]
    assert named.hyperparameter == ["base", "val", "cv", "oracle"]
    assert "cv" not in with_folds(tmp_path).selectors.hyperparameter


def test_every_fold_is_checked_before_anything_runs(tmp_path):
    # 12 base classes: four folds of three, but the third of five has two.
    check_feasible(with_folds(tmp_path, folds=4), benchmark())
    with pytest.raises(BadData, match="M, fold 2 of 5, val tasks: 3-way tasks need 3 classes, but"):
        check_feasible(with_folds(tmp_path, folds=5), benchmark())
    check_feasible(with_folds(tmp_path, folds=6, over="base+val"), benchmark())
    with pytest.raises(BadData, match="has no superclasses"):
        check_feasible(with_folds(tmp_path, folds=2, by="superclass"), benchmark())


def test_a_fold_is_one_of_those_that_there_are():
    assert Fold(folds=2, index=1).by == "class"
    with pytest.raises(ValueError, match="fold 2 of 2: folds are counted from 0"):
        Fold(folds=2, index=2)


def test_two_methods_with_one_specification_share_the_trial(tmp_path):
    text = FILE.replace("LEARNER", "protonet").replace("TRAIN", "{}").replace("WAY", "5")
    (tmp_path / "s.yaml").write_text(text + "  N: {learner: {name: protonet, scale: 10.0}}\n")
    plan = plan_sweep(load_sweep(str(tmp_path / "s.yaml")))
    assert [trial.method for trial in plan.trials] == ["M", "N"]
    assert len(plan.specs) == 1
