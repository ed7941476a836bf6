"""The tasks of the ML and FIX-ML objectives, against what trials train on."""

import numpy as np
import pytest
from made import benchmark, spec

from fsl_sweep.orchestrator.errors import BadData
from fsl_sweep.orchestrator.records.model import Named
from fsl_sweep.orchestrator.records.protocol import Episode
from fsl_sweep.orchestrator.records.spec import BatchTraining, EpisodicTraining
from fsl_sweep.orchestrator.trial.draws import TrainingDraws
from fsl_sweep.orchestrator.trial.objectives import fixed_support_of, objective_tasks

SHAPE = {"way": 3, "shot": 2, "query": 2}


def trained(seed=0, learner="protonet", lr=0.1, **train):
    usual = spec(seed)
    changed = {
        "learner": Named(name=learner),
        "schedule": [(0, lr)],
        "train": EpisodicTraining(**(SHAPE | train)),
    }
    return usual.model_copy(update=changed)


def test_the_fixed_support_is_the_one_that_the_trial_trains_on():
    data, one = benchmark(), trained(fixed_support=True, queries_from="all")
    support = fixed_support_of(one, [])
    assert (support.trial, support.shot, support.queries_from) == (one.id, 2, "all")
    of_training = {
        tuple(sorted(own)) for e in TrainingDraws(one, data).epoch(1) for own in flat(e.support)
    }
    drawn = objective_tasks(data.train, Episode(**SHAPE), 200, 0, support)
    assert of_training <= {tuple(sorted(own)) for own in flat(drawn.support)}
    assert len({tuple(sorted(own)) for own in flat(drawn.support)}) == 12  # one for each class
    in_support = np.isin(drawn.query, drawn.support)
    assert in_support.any()
    assert not in_support.all()
    random = objective_tasks(data.train, Episode(**SHAPE), 200, 0)
    again = objective_tasks(data.train, Episode(**SHAPE), 200, 0)
    np.testing.assert_array_equal(random.support, again.support)
    assert len({tuple(sorted(own)) for own in flat(random.support)}) > 200


def flat(indices):
    return indices.reshape(-1, indices.shape[-1])


def test_an_ml_trial_has_the_support_of_its_counterpart():
    ml, fixed = trained(), trained(fixed_support=True)
    others = [
        ml,
        trained(1, fixed_support=True),
        trained(shot=1, fixed_support=True),
        trained(learner="ridge", fixed_support=True),
    ]
    assert fixed_support_of(ml, others) is None
    assert fixed_support_of(ml, [*others, fixed]).trial == fixed.id
    # One that differs in more is taken where it is the only one; a twin goes first.
    slow = trained(lr=0.01, fixed_support=True)
    assert fixed_support_of(ml, [*others, slow]).trial == slow.id
    assert fixed_support_of(ml, [slow, fixed]).trial == fixed.id
    several = [slow, trained(lr=0.02, fixed_support=True)]
    assert fixed_support_of(ml, several) is None
    assert fixed_support_of(fixed, several).trial == fixed.id
    batches = ml.model_copy(update={"train": BatchTraining()})
    assert fixed_support_of(batches, [fixed]) is None


def test_a_support_of_other_shots_is_refused():
    support = fixed_support_of(trained(fixed_support=True), [])
    with pytest.raises(BadData, match="2 support examples a class are fixed, not 1"):
        objective_tasks(benchmark().train, Episode(**SHAPE | {"shot": 1}), 5, 0, support)
