"""How much work is left, and how long it takes, as a dry run says it."""

from dataclasses import replace

import made
import numpy as np
import pytest
from trials import DONE, trial

from fsl_sweep.orchestrator.planning import work as planned_work
from fsl_sweep.orchestrator.planning.protocols import further
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
RAGGED = EpisodicTraining(way="all", shot=1, query=1)
META = MetaStage(way=5, shot=2, query=3, tasks_per_batch=4, epochs=2)


@pytest.mark.parametrize(
    ("train", "expected"),
    [
        (EPISODES, 6 * 2 * 4 * 5 * 5),
        (BatchTraining(batch_size=64), 6 * 2 * 64),
        (StagedTraining(batch_size=64, meta=META), 4 * 2 * 64 + 2 * 2 * 4 * 5 * 5),
        (RAGGED, None),
        (EpisodicTraining(way=5, shot=1, query="rest"), None),
    ],
)
def test_images_are_those_of_every_stage(train, expected):
    assert planned_work.images([training(train)]) == expected
    assert planned_work.steps([training(train)]) == 12


def test_the_summary_counts_images_where_it_can_and_the_share_of_class_folds():
    specs = [training(EPISODES), training(RAGGED)]
    assert planned_work.images(specs) is None
    assert planned_work.summary(dict(enumerate(specs))) == "24 gradient steps"
    pending = {"a": training(EPISODES), "b": training(EPISODES, fold=Fold(folds=2, index=0))}
    assert planned_work.summary(pending) == (
        "24 gradient steps over 2,400 images, 50% of them in class folds"
    )
    assert planned_work.summary({}) == "0 gradient steps over 0 images"


def history(seconds, end=DONE):
    """A trial of six epochs that took so long."""
    six = trial("PN", "0.1", **dict.fromkeys(("base", "val", "novel"), [0.5] * 6), end=end)
    spent = dict.fromkeys(("train_seconds", "evaluation_seconds"), np.full(6, seconds / 12))
    return replace(six, curves=spent)


@pytest.mark.parametrize(
    ("first", "last", "expected"),
    [
        (BatchTraining(batch_size=10), BatchTraining(batch_size=30), 180.0),
        # Where images cannot be counted, every step counts alike.
        (BatchTraining(batch_size=10), RAGGED, 60.0),
        # Another method has the first trial as well; it took its time once.
        (BatchTraining(batch_size=10), EPISODES, 600.0),
    ],
)
def test_the_pace_of_what_is_done_tells_what_is_left(first, last, expected):
    done, left = training(first), training(last)
    plan = made.plan(made.planned(done, "A"), made.planned(done, "B"), made.planned(left, "B"))
    histories, pending = [history(60.0), history(60.0), history(7.0, None)], {left.id: left}
    seconds = planned_work.expected_seconds(plan, histories, pending)
    assert seconds == pytest.approx(expected)
    assert planned_work.expected_seconds(plan, histories, {}) is None
    begun = [replace(history, end=None) for history in histories]
    assert planned_work.expected_seconds(plan, begun, pending) is None


@pytest.mark.parametrize(
    ("left", "expected"),
    [
        ({"few": 3}, 3.0),
        ({"shots": 3, "ways": 1}, 3 * 2.0 + 2.0),
        # Of tasks whose size varies only their number is known.
        ({"rest": 1}, (20 + 60) / 40),
    ],
)
def test_measuring_takes_longer_by_the_images_of_its_tasks(left, expected):
    """The main tasks are 5-way 1-shot with 15 queries, 20 + 20: 80 images each, in a second."""
    main = made.MAIN_PROTOCOL.protocol
    assert (main.episode.way, main.episode.shot, main.episode.query) == (5, 1, 15)
    sections = {
        "few": MeasureConfig(episode={"shot": 1}, evaluation={"report_tasks": 10}),
        "shots": MeasureConfig(episode={"shot": 17}),
        "ways": MeasureConfig(episode={"way": 10}),
        "rest": MeasureConfig(episode={"query": "rest"}, evaluation={"report_tasks": 60}),
    }
    more = [p for name, section in sections.items() for p in further(name, section, main, "x")]
    plan = made.plan(made.planned(training(EPISODES)))
    opened = [replace(protocol, fingerprint="f" * 16) for protocol in more]
    plan = replace(plan, protocols=(*plan.protocols, *opened))
    seconds = planned_work.measuring_seconds(plan, {"main": None}, [history(12.0)], left)
    assert seconds == pytest.approx(expected)
    assert planned_work.measuring_seconds(plan, {}, [], left) is None
