"""What a scheduler decides from records, in any order of arrival."""

from dataclasses import replace

import numpy as np
import pytest

from fsl_sweep.orchestrator.records.measures import TrialEnd
from fsl_sweep.orchestrator.records.scheduler import Scheduler
from fsl_sweep.orchestrator.selection.stopping.decisions import decide
from tests.orchestrator.planning_of import planned
from tests.orchestrator.trials import trial

RNG = np.random.default_rng(0)
EPOCHS = 12
HALVING = Scheduler(name="halving", grace=1, factor=3, finalists=1)
GRID = ("M.optimizer.lr={grid: [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7]}", "seeds=[0, 1, 2]")


def plan_of(*changes):
    return planned(f"defaults.epochs={EPOCHS}", *GRID, *changes)


def curves_of(plan):
    """ValGen of each trial by epoch; that of an earlier configuration is larger."""
    order = dict.fromkeys(t.configuration for t in plan.trials)
    better = {name: 0.7 - 0.05 * place for place, name in enumerate(order)}
    return {t.id: better[t.configuration] + RNG.normal(0, 0.005, EPOCHS) for t in plan.trials}


def histories(plan, curves, reached, ends=None):
    """The records of each trial up to the epoch that it reached."""
    for planned_trial in plan.trials:
        val = curves[planned_trial.id][: reached.get(planned_trial.id, 0)]
        end = (ends or {}).get(planned_trial.id)
        history = trial(
            planned_trial.method,
            "",
            planned_trial.spec.seed,
            base=val,
            val=val,
            novel=val,
            loss=1 - val,
            end=end,
        )
        yield replace(
            history,
            trial=planned_trial.id,
            configuration=planned_trial.configuration,
            fold=planned_trial.fold,
        )


def run(plan, scheduler, curves, arrive):
    """Train as decided, where ``arrive`` picks those that come next; gives epochs and ends."""
    reached, ends, may = dict.fromkeys(plan.specs, 0), {}, [*plan.specs]
    while may:
        until, stopped = decide(plan, scheduler, histories(plan, curves, reached, ends))
        assert not until.keys() & stopped
        ends |= {t: TrialEnd("stopped", why) for t, why in stopped.items()}
        may = [t for t in reached if t not in ends and reached[t] < until.get(t, EPOCHS)]
        for name in arrive(may):
            reached[name] += 1
            if reached[name] == EPOCHS:
                ends[name] = TrialEnd("done")
    return reached, ends


@pytest.mark.parametrize(
    ("scheduler", "epochs_of"),
    [
        # Rungs at 1, 3 and 9: 7 -> 3 -> 1.
        (HALVING, [12, 3, 3, 1, 1, 1, 1]),
        (HALVING.model_copy(update={"metric": "train_loss"}), [12, 3, 3, 1, 1, 1, 1]),
        (HALVING.model_copy(update={"finalists": 3}), [12, 12, 12, 1, 1, 1, 1]),
        # Rungs at 2, 4 and 8: 7 -> 4 -> 2 -> 2, as nobody else is left to stop.
        (Scheduler(name="halving", grace=2, factor=2), [12, 12, 4, 4, 2, 2, 2]),
        (Scheduler(name="race", grace=2), [12, 12, 2, 2, 2, 2, 2]),
        # The half above the median of the averages, each time: 4, then 2.
        (Scheduler(name="median", grace=2), [12, 12, 6, 6, 2, 2, 2]),
    ],
)
def test_configurations_are_stopped_with_all_their_seeds(scheduler, epochs_of):
    plan = plan_of()
    curves = curves_of(plan)
    reached, ends = run(plan, scheduler, curves, lambda may: may)
    order = [*dict.fromkeys(t.configuration for t in plan.trials)]
    expected = {t.id: epochs_of[order.index(t.configuration)] for t in plan.trials}
    assert reached == expected
    assert {t for t, end in ends.items() if end.status == "done"} == {
        t for t, epochs in expected.items() if epochs == EPOCHS
    }
    for part in (0.1, 0.5):  # some trials at a time, in any order
        again = run(
            plan, scheduler, curves, lambda may, part=part: [t for t in may if RNG.random() < part]
        )
        assert again == (reached, ends)


def test_a_reason_says_rung_rank_mean_and_cut():
    plan = plan_of()
    curves = {t.id: np.full(EPOCHS, 0.5 + 0.01 * number) for number, t in enumerate(plan.trials)}
    _, ends = run(plan, HALVING, curves, lambda may: may)
    assert ends[plan.trials[0].id].reason == (
        "halving at epoch 1: rank 7 of 7 by ValGen (51.00 %); the last of the 3 that go on: 63.00 %"
    )


def test_folds_count_with_the_seed_that_they_are_of():
    plan = plan_of("cross_validation={folds: 2, over: base+val}")
    curves = {t.id: np.full(EPOCHS, 0.9 if t.fold is None else 0.0) for t in plan.trials}
    best = plan.trials[-1].configuration
    curves |= {t.id: np.full(EPOCHS, 0.31) for t in plan.trials if t.configuration == best}
    _, ends = run(plan, HALVING, curves, lambda may: may)
    done = {t.configuration for t in plan.trials if ends[t.id].status == "done"}
    assert done == {best}  # 0.31 in the mean, the others (0.9 + 0 + 0) / 3


def test_what_diverged_or_used_up_its_time_is_compared_by_what_it_has():
    plan = plan_of()
    curves = curves_of(plan)
    first, second = ([*dict.fromkeys(t.configuration for t in plan.trials)])[:2]
    reached = {t.id: 1 for t in plan.trials}
    ends = {}
    for t in plan.trials:
        if t.configuration == first and t.spec.seed == 1:
            reached[t.id], ends[t.id] = 0, TrialEnd("diverged", "NaN")
        if t.configuration == second:
            ends[t.id] = TrialEnd("budget", "time")
    _, reasons = decide(plan, HALVING, histories(plan, curves, reached, ends))
    stopped = {t.configuration for t in plan.trials if t.id in reasons}
    assert first in stopped
    assert second not in stopped
    (reason,) = {reasons[t.id] for t in plan.trials if t.configuration == first}
    assert "rank 7 of 7 by ValGen (diverged)" in reason


def test_a_failed_trial_holds_up_its_method_and_no_other():
    plan = plan_of("methods.N={learner: {name: ridge}, train: {way: 3, shot: 1, query: 2}}")
    curves = {t.id: np.full(EPOCHS, 0.5) for t in plan.trials}
    reached = {t.id: 1 for t in plan.trials}
    failed = plan.trials[0].id
    reached[failed], ends = 0, {failed: TrialEnd("failed", "no disk", retriable=True)}
    until, stopped = decide(plan, HALVING, histories(plan, curves, reached, ends))
    assert not stopped
    assert {t.id for t in plan.trials if t.method == "M"} == {*until}


def test_a_trial_of_two_methods_goes_as_far_as_either_wants():
    twin = "methods.N={learner: {name: protonet}, train: {way: 3, shot: 1, query: 2}}"
    plan = plan_of(twin, "methods.N.optimizer={lr: {grid: [0.6, 0.7]}}")
    assert len(plan.specs) == len(plan.trials) - 6
    curves = curves_of(plan)
    reached, ends = run(plan, HALVING, curves, lambda may: may)
    of_n = [t.id for t in plan.trials if t.method == "N"]
    assert {ends[t].status for t in of_n} == {"done", "stopped"}
    assert sorted(reached[t] for t in of_n)[:3] == [1, 1, 1]


def test_each_round_of_a_search_is_a_contest_of_its_own():
    """The worst of the first round are stopped, though those of the second are worse still."""
    plan = plan_of()
    order = [*dict.fromkeys(t.configuration for t in plan.trials)]
    trials = [replace(t, round=1 + (order.index(t.configuration) > 3)) for t in plan.trials]
    plan = replace(plan, trials=tuple(trials))
    reached, _ = run(plan, HALVING, curves_of(plan), lambda may: may)
    # Four and three configurations: 4 -> 2 -> 1, and 3 -> 1.
    epochs_of = dict(zip(order, [12, 3, 1, 1, 12, 1, 1], strict=True))
    assert reached == {t.id: epochs_of[t.configuration] for t in plan.trials}
