import io

import made
import pytest

from fsl_sweep.orchestrator.cli.progress import LiveProgress, PlainProgress
from fsl_sweep.orchestrator.records.measures import TrialEnd
from fsl_sweep.orchestrator.text.console import SafeConsole

DONE = TrialEnd("done")


@pytest.fixture
def plan():
    """Two trials of four epochs, of which every second is measured."""
    return made.plan(*(made.planned(made.spec(seed, epochs=4, every=2)) for seed in (0, 1)))


@pytest.fixture
def clock(monkeypatch):
    """A clock that the test moves on."""
    now = [0.0]
    monkeypatch.setattr("fsl_sweep.orchestrator.cli.progress.time.monotonic", lambda: now[0])
    return now


def lines(stream: io.StringIO) -> list[str]:
    return stream.getvalue().splitlines()


def live(plan):
    console = SafeConsole(file=io.StringIO(), width=80, force_terminal=True, color_system=None)
    return LiveProgress(plan, list(plan.specs), console), console


def shown(progress, console) -> str:
    with console.capture() as capture:
        console.print(progress._bars)
    return capture.get()


def test_epochs_are_those_that_are_trained(plan):
    stream = io.StringIO()
    first, second = plan.specs
    with PlainProgress(plan, [first, second], stream) as progress:
        for trial in (first, second):
            for epoch in (2, 4):
                progress.measured(trial, made.record(epoch))
            progress.ended(trial, DONE)
    reached = [line.split("  ")[1] for line in lines(stream) if "BaseGen" in line]
    assert reached == ["2/4", "4/4", "2/4", "4/4"]


def test_lines_have_room_in_80_columns(plan):
    stream = io.StringIO()
    (trial, _) = plan.specs
    with PlainProgress(plan, [trial], stream) as progress:
        progress.measured(trial, made.record(2))
    head, line = lines(stream)
    assert max(len(head), len(line)) <= 80
    record = made.record(2)
    for name, measure in (("BaseGen", "base"), ("ValGen", "val"), ("NovelGen", "novel")):
        assert f"{name} {100 * record.scores[measure, 'selection'].mean:.1f}" in line
    assert line.startswith("PN way=5 seed=0  2/4  loss 0.5000  ")
    assert head.startswith("1 trial to run")


def test_the_live_view_counts_epochs_and_fills_its_bar(plan):
    progress, console = live(plan)
    first, second = plan.specs
    progress.started(first)
    assert "0/8" in shown(progress, console)
    assert "0/4" in shown(progress, console)
    progress.measured(first, made.record(2))
    assert "2/8" in shown(progress, console)
    assert "2/4" in shown(progress, console)
    progress.measured(first, made.record(4))
    progress.ended(first, DONE)
    progress.measured(second, made.record(2))
    progress.ended(second, TrialEnd("failed", "loss is NaN"))
    # The epochs that a failed trial did not reach are not waited for.
    assert "6/6" in shown(progress, console)
    assert "2/2 trials ended, 1 failed" in shown(progress, console)


def test_the_time_left_follows_the_pace_of_this_run(plan, clock):
    """A trial that goes on from an earlier run brings epochs that took this one no time."""
    stream = io.StringIO()
    first, second = plan.specs
    progress = PlainProgress(plan, [first, second], stream)
    progress.started(first)
    clock[0] = 10.0
    progress.measured(first, made.record(4))  # epochs 3 and 4, in ten seconds
    progress.ended(first, DONE)
    assert lines(stream)[-1].endswith("done  (1/2 trials, about 20 s left)")


def test_measuring_counts_each_snapshot_once(plan):
    first, second = plan.specs
    todo = {first: {2: ("few", "many"), 4: ("few",)}, second: {4: ("few",)}}
    stream = io.StringIO()
    console = SafeConsole(file=io.StringIO(), width=80, force_terminal=True, color_system=None)
    plain, bars = (
        PlainProgress(plan, [*todo], stream, todo),
        LiveProgress(plan, [*todo], console, todo),
    )
    with plain:
        for progress in (plain, bars):
            progress.started(first)
            for epoch in (2, 2, 4):  # the worker died and measured the first again
                progress.measured_again(first, epoch)
    assert lines(stream)[0] == "3 snapshots to measure under few, many:"
    assert lines(stream)[-1] == "PN way=5 seed=0  2/2  epoch 4 measured"
    assert "2/3" in shown(bars, console)
    assert "2/2 epoch 4 measured" in shown(bars, console)
