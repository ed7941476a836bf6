"""Methods that have nothing to train: planned without an optimizer, measured once, as they are."""

import json
import math

import pytest
import torch
from evaluated import measured
from made import benchmark
from planning_of import UNTRAINED, planned

from fsl_sweep.learners.base import AdaptationLearner, ClassificationLearner, EmbeddingLearner
from fsl_sweep.learners.building import build_learner
from fsl_sweep.learners.catalogue import LEARNERS
from fsl_sweep.orchestrator.ledger.ledger import Ledger
from fsl_sweep.orchestrator.measuring.common_tasks import CommonTasks
from fsl_sweep.orchestrator.planning import work as planned_work
from fsl_sweep.orchestrator.planning.feasibility import check_feasible
from fsl_sweep.orchestrator.planning.prepare import opened_plan
from fsl_sweep.orchestrator.records.protocol import MAIN
from fsl_sweep.orchestrator.records.spec import TrialSpec
from fsl_sweep.orchestrator.run import load_run
from fsl_sweep.orchestrator.trial.trial import Trial


@pytest.mark.parametrize(
    "learner",
    [
        *("ncc", "logistic", "finetune", "supervised", "transfer", "pt-map", "conv-qda"),
        *("metadelta", "protonet", "ridge, learn_scale: false"),
        "meta-baseline, learn_temperature: false",
    ],
)
def test_what_trains_nothing_needs_no_optimizer_and_takes_no_step(learner):
    plan = planned(*UNTRAINED, f"M.learner={{name: {learner}}}")
    (trial,) = plan.trials
    spec = trial.spec
    assert (spec.optimizer, spec.schedule, spec.train) == (None, [], None)
    assert (spec.epochs, spec.batches, spec.recorded_epochs) == (1, 0, [1])
    assert plan.cautions == ()
    assert TrialSpec.model_validate(json.loads(json.dumps(spec.canonical())), strict=False) == spec
    assert planned_work.summary(plan.specs) == (
        "nothing: there are no weights to train, and each trial is measured once, as it is"
    )
    check_feasible(plan, {MAIN: benchmark()})


def test_settings_of_training_are_not_used_and_told_where_it_sets_them_itself():
    plain = [trial.id for trial in planned(*UNTRAINED).trials]
    shared = ("optimizer.lr={grid: [0.1, 0.2]}", "epochs=60", "batches={grid: [5, 10]}")
    plan = planned(*UNTRAINED, *(f"defaults.{setting}" for setting in shared))
    assert [trial.id for trial in plan.trials] == plain
    assert (plan.trials[0].hyperparameters, plan.cautions) == ({}, ())
    plan = planned(*UNTRAINED, "M.epochs=3", "M.optimizer={lr: 0.1}")
    assert [trial.id for trial in plan.trials] == plain
    assert plan.cautions == ("M: it has nothing to train, so its epochs, optimizer are not used",)


def test_its_own_axes_stay_axes():
    plan = planned(*UNTRAINED, "M.learner.scale={grid: [1, 10]}", "seeds=[0, 1]")
    # As resolved: 1 and 1.0 read alike in a report. No seed changes them: the first is planned.
    assert [f"{t.hyperparameters} {t.spec.seed}" for t in plan.trials] == [
        f"{{'learner.scale': {scale}}} 0" for scale in ("1.0", "10.0")
    ]
    assert all(trial.draws_nothing for trial in plan.trials)
    drawing = planned(*UNTRAINED, "M.learner={name: transfer}", "seeds=[0, 1]")
    assert [(t.spec.seed, t.draws_nothing) for t in drawing.trials] == [(0, False), (1, False)]


def test_a_method_may_train_in_some_configurations_only():
    plan = planned(
        *UNTRAINED,
        "M.learner={name: protonet, learn_scale: {grid: [false, true]}}",
        "M.optimizer={lr: {grid: [0.1, 0.2]}}",
        *("M.epochs=2", "M.batches=5", "M.train={way: 3, shot: 1}"),
    )
    assert [t.hyperparameters for t in plan.trials] == [
        {"learner.learn_scale": False},
        {"learner.learn_scale": True, "optimizer.lr": 0.1},
        {"learner.learn_scale": True, "optimizer.lr": 0.2},
    ]
    apart = "; trials that have nothing to train: 1"
    assert planned_work.summary(plan.specs) == f"20 gradient steps{apart}"


def test_the_trial_is_measured_as_it_was_built_and_reported(tmp_path):
    data = benchmark()
    plan = planned(*UNTRAINED, "M.learner={name: transfer, steps: 2}", "seeds=[0, 1]")
    plan = opened_plan(plan, {MAIN: data})
    tasks = CommonTasks.draw(data, plan.main.protocol)
    ledger = Ledger(tmp_path / "run")
    ledger.write_plan(plan, "")
    for planned_trial in plan.trials:
        trial = Trial(planned_trial.spec, ledger.trial(planned_trial.id), data, plan.main)
        (record,) = trial.run()
        assert (record.epoch, math.isnan(record.train_loss)) == (1, True)
        built = measured(data, tasks, trial._training().learner)
        assert built.keys() == record.scores.keys()
        for key, scores in built.items():
            assert (record.scores[key].correct == scores.correct).all()
    ends = [history.end for history in ledger.histories(plan)]
    assert [end and end.status for end in ends] == ["done", "done"]
    assert load_run(tmp_path / "run").report().selected


def answers(learner, support, query):
    learner.eval()
    with torch.no_grad():
        if isinstance(learner, ClassificationLearner):
            return learner.classify(query[0])
        if isinstance(learner, EmbeddingLearner):
            embedded = [learner.embed(part.flatten(0, -4)) for part in (support, query)]
            return learner.head(
                embedded[0].view(*support.shape[:3], -1), embedded[1].view(*query.shape[:2], -1)
            )
        assert isinstance(learner, AdaptationLearner)
        return learner.predict(support, query)


@pytest.mark.parametrize("name", [n for n in LEARNERS.names() if n != "metadl"])
@pytest.mark.parametrize("learn_scale", [False, True])
def test_has_weights_says_whether_logits_follow_them(name, learn_scale):
    """With features as they are: whatever training could change is changed."""
    cls = LEARNERS.find(name).cls
    wanted = {"learn_scale": learn_scale, "learn_temperature": learn_scale, "steps": 2, "way": 3}
    options = {key: value for key, value in wanted.items() if key in cls.Options.model_fields}
    spec = {"name": name, **options}
    learner = build_learner(spec, {"name": "identity"}, (1, 4, 4), 6, seed=0)
    draws = torch.Generator().manual_seed(0)
    support = torch.randn(2, 3, 4, 1, 4, 4, generator=draws)
    query = torch.randn(2, 5, 1, 4, 4, generator=draws)
    before = answers(learner, support, query)
    trained = [p for p in learner.parameters() if p.requires_grad]
    with torch.no_grad():
        for weights in trained:
            weights += torch.rand(weights.shape, generator=draws) + 0.5
    same = torch.equal(answers(learner, support, query), before)
    assert same is not cls.has_weights(cls.Options.model_validate(options))
