"""How much work is left, and how long it takes, as a dry run says it."""

from dataclasses import replace

import made
import numpy as np
import pytest
from trials import DONE, trial

from fsl_sweep.orchestrator.planning import work as planned_work
from fsl_sweep.orchestrator.planning.protocols import further
from fsl_sweep.orchestrator.records.spec import EpisodicTraining, Fold, TrialSpec
from fsl_sweep.orchestrator.sweepfile.grammar import MeasureConfig


def training(train, **changes) -> TrialSpec:
    """Six epochs of two steps."""
    return made.spec(epochs=6).model_copy(update={"train": train, **changes})


EPISODES = EpisodicTraining(way=5, shot=2, query=3, tasks_per_batch=4)


def test_the_summary_counts_steps_and_the_share_of_class_folds():
    pending = {"a": training(EPISODES), "b": training(EPISODES, fold=Fold(folds=2, index=0))}
    none = dict.fromkeys(pending, 0)
    assert planned_work.summary(pending, none) == "24 gradient steps, 50% of them in class folds"
    begun = planned_work.summary(pending, {"a": 4, "b": 0})
    assert begun == "16 gradient steps, 75% of them in class folds"
    assert planned_work.summary({}, {}) == "0 gradient steps"


def history(seconds, end=DONE):
    """A trial of six epochs that took so long."""
    six = trial("PN", "0.1", **dict.fromkeys(("base", "val", "novel"), [0.5] * 6), end=end)
    spent = dict.fromkeys(("train_seconds", "evaluation_seconds"), np.full(6, seconds / 12))
    return replace(six, curves=spent)


@pytest.mark.parametrize(
    ("method", "done", "expected"), [("A", 0, 6 * 10.0), ("B", 5, 30.0), ("C", 0, 6 * 20.0)]
)
def test_the_pace_of_what_is_done_tells_what_is_left(method, done, expected):
    """An epoch takes as long as the method's others; of a new method, as those of all."""
    specs = [training(EPISODES, seed=seed) for seed in range(4)]
    named = [made.planned(*part) for part in zip(specs, ("A", "B", method, "A"), strict=True)]
    histories = [replace(history(60.0), method="A"), replace(history(180.0), method="B")]
    histories += [history(7.0, None)] * 2
    plan, pending, resumed = made.plan(*named), {specs[2].id: specs[2]}, {specs[2].id: done}
    seconds = planned_work.expected_seconds(plan, histories, pending, resumed)
    assert seconds == pytest.approx(expected)
    assert planned_work.expected_seconds(plan, histories, {}, {}) is None
    begun = [replace(history, end=None) for history in histories]
    assert planned_work.expected_seconds(plan, begun, pending, resumed) is None


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
