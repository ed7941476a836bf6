from dataclasses import replace
from functools import partial

import made
import numpy as np
import pytest

from fsl_sweep.orchestrator.planning import work as planned_work
from fsl_sweep.orchestrator.planning.protocols import further
from fsl_sweep.orchestrator.records.measures import TrialEnd, TrialHistory
from fsl_sweep.orchestrator.records.spec import (
    BatchTraining,
    EpisodicTraining,
    Fold,
    MetaStage,
    StagedTraining,
    TrialSpec,
)
from fsl_sweep.orchestrator.sweepfile.grammar import MeasureConfig


def training(train, **changes) -> TrialSpec:
    """Six epochs of two steps."""
    return made.spec(epochs=6).model_copy(update={"train": train, **changes})


EPISODES = EpisodicTraining(way=5, shot=2, query=3, tasks_per_batch=4)
STAGES = StagedTraining(
    batch_size=64, meta=MetaStage(way=5, shot=2, query=3, tasks_per_batch=4, epochs=2)
)


@pytest.mark.parametrize(
    ("train", "expected"),
    [
        (EPISODES, 6 * 2 * 4 * 5 * 5),
        (BatchTraining(batch_size=64), 6 * 2 * 64),
        (STAGES, 4 * 2 * 64 + 2 * 2 * 4 * 5 * 5),
        (EpisodicTraining(way="all", shot=1, query=1), None),
        (EpisodicTraining(way=5, shot=1, query="rest"), None),
    ],
)
def test_images_are_those_of_every_stage(train, expected):
    assert planned_work.images([training(train)]) == expected
    assert planned_work.steps([training(train)]) == 12


def test_one_trial_that_cannot_be_counted_leaves_the_sum_unknown():
    specs = [training(EPISODES), training(EpisodicTraining(way="all"))]
    assert planned_work.images(specs) is None
    assert planned_work.summary(dict(enumerate(specs))) == "24 gradient steps"


def test_the_share_of_class_folds_is_reported():
    fold = Fold(folds=2, index=0)
    pending = {"a": training(EPISODES), "b": training(EPISODES, fold=fold)}
    assert planned_work.summary(pending) == (
        "24 gradient steps over 2,400 images, 50% of them in class folds"
    )
    assert planned_work.summary({}) == "0 gradient steps over 0 images"


DONE = TrialEnd("done")


def history(planned, seconds: float, end: TrialEnd | None = DONE) -> TrialHistory:
    curves = {name: np.full(6, seconds / 12) for name in ("train_seconds", "evaluation_seconds")}
    return TrialHistory(
        trial=planned.id,
        method=planned.method,
        configuration=planned.configuration,
        hyperparameters={},
        seed=planned.spec.seed,
        fold=None,
        epochs=np.arange(1, 7),
        curves=curves,
        scores={},
        end=end,
    )


def test_the_pace_of_what_is_done_tells_what_is_left():
    small, large = training(BatchTraining(batch_size=10)), training(BatchTraining(batch_size=30))
    plan = made.plan(made.planned(small), made.planned(large))
    done, open_ = plan.trials
    histories = [history(done, 60.0), history(open_, 7.0, None)]
    left = {open_.id: large}
    assert planned_work.expected_seconds(plan, histories, left) == pytest.approx(180.0)
    assert planned_work.expected_seconds(plan, histories, {}) is None
    begun = [replace(one, end=None) for one in histories]
    assert planned_work.expected_seconds(plan, begun, left) is None
    # Where images cannot be counted, every step counts alike.
    ragged = training(EpisodicTraining(way="all"))
    plan = made.plan(made.planned(small), made.planned(ragged))
    histories = [history(plan.trials[0], 60.0), history(plan.trials[1], 7.0, None)]
    left = {plan.trials[1].id: ragged}
    assert planned_work.expected_seconds(plan, histories, left) == pytest.approx(60.0)


def test_measuring_takes_longer_by_the_images_of_its_tasks():
    """The main tasks are 5-way 1-shot with 15 queries, 20 + 20: 80 images each."""
    shot, none = made.MAIN_PROTOCOL.protocol, {"episode": {"shot": 1}}
    assert (shot.episode.way, shot.episode.shot, shot.episode.query) == (5, 1, 15)
    plan = made.plan(made.planned(training(EPISODES)))
    given = {
        "few": none | {"evaluation": {"report_tasks": 10}},
        "shots": {"episode": {"shot": 17}},
        "ways": {"episode": {"way": 10}},
        "rest": {"episode": {"query": "rest"}, "evaluation": {"report_tasks": 60}},
    }
    written = {name: MeasureConfig(**one) for name, one in given.items()}
    more = [p for name, one in written.items() for p in further(name, one, shot, "measure")]
    opened = [replace(one, fingerprint="f" * 16) for one in more]
    plan = replace(plan, protocols=(*plan.protocols, *opened))
    times = [history(plan.trials[0], 12.0)]  # a second each
    seconds = partial(planned_work.measuring_seconds, plan, {"main": None}, times)
    assert seconds({"few": 3}) == pytest.approx(3.0)
    assert seconds({"shots": 3, "ways": 1}) == pytest.approx(3 * 2.0 + 2.0)
    # Of tasks whose size varies only their number is known.
    assert seconds({"rest": 1}) == pytest.approx((20 + 60) / 40)
    assert planned_work.measuring_seconds(plan, {}, [], {"few": 1}) is None


def test_a_trial_that_two_methods_share_took_its_time_once():
    shared, other = training(BatchTraining(batch_size=10)), training(EPISODES)
    plan = made.plan(made.planned(shared, "A"), made.planned(shared, "B"), made.planned(other, "B"))
    times = [history(plan.trials[0], 60.0), history(plan.trials[1], 60.0)]
    histories = [*times, history(plan.trials[2], 0.0, None)]
    left = {plan.trials[2].id: other}
    assert planned_work.expected_seconds(plan, histories, left) == pytest.approx(600.0)
