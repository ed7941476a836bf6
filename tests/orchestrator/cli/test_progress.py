import io

import made
import pytest

from fsl_sweep.orchestrator.cli.progress import LiveProgress, PlainProgress
from fsl_sweep.orchestrator.records.measures import TrialEnd
from fsl_sweep.orchestrator.text.console import SafeConsole

PLAN = made.plan(*(made.planned(made.spec(seed, epochs=4, every=2)) for seed in (0, 1)))
"""Two trials of four epochs, of which every second is measured."""
FIRST, SECOND = PLAN.specs


@pytest.fixture(autouse=True)
def clock(monkeypatch):
    """A clock that a test moves on."""
    now = [0.0]
    monkeypatch.setattr("fsl_sweep.orchestrator.cli.progress.time.monotonic", lambda: now[0])
    return now


@pytest.fixture
def views():
    """What is shown in lines and live: makers of the views, and what they show."""

    class Views:
        def __init__(self):
            self.stream = io.StringIO()
            options = {"width": 80, "force_terminal": True, "color_system": None}
            self.console = SafeConsole(file=io.StringIO(), **options)

        def plain(self, *trials, todo=None):
            return PlainProgress(PLAN, trials, self.stream, todo)

        def live(self, *trials, todo=None):
            return LiveProgress(PLAN, trials, self.console, todo)

        def lines(self):
            return self.stream.getvalue().splitlines()

        def shown(self, progress):
            with self.console.capture() as capture:
                self.console.print(progress._bars)
            return capture.get()

    return Views()


def test_lines(views, snapshot):
    with views.plain(FIRST, SECOND) as progress:
        for trial in (FIRST, SECOND):
            for epoch in (2, 4):  # those that are trained
                progress.measured(trial, made.record(epoch))
            progress.ended(trial, made.DONE)
    lines = views.lines()
    assert max(map(len, lines[:2])) <= 80
    record = made.record(2)
    for name, measure in (("BaseGen", "base"), ("ValGen", "val"), ("NovelGen", "novel")):
        assert f"{name} {100 * record.scores[measure, 'selection'].mean:.1f}" in lines[1]
    assert "\n".join(lines) == snapshot


def test_the_live_view_counts_epochs_and_fills_its_bar(views):
    progress = views.live(FIRST, SECOND)
    progress.started(FIRST)
    for epoch in (0, 2):
        if epoch:
            progress.measured(FIRST, made.record(epoch))
        assert f"{epoch}/8" in views.shown(progress)
        assert f"{epoch}/4" in views.shown(progress)
    progress.measured(FIRST, made.record(4))
    progress.ended(FIRST, made.DONE)
    progress.measured(SECOND, made.record(2))
    progress.ended(SECOND, TrialEnd("failed", "loss is NaN"))
    # The epochs that a failed trial did not reach are not waited for.
    assert "6/6" in views.shown(progress)
    assert "2/2 trials ended, 1 failed" in views.shown(progress)


def test_the_time_left_follows_the_pace_of_this_run(views, clock):
    """A trial that goes on from an earlier run brings epochs that took this one no time."""
    progress = views.plain(FIRST, SECOND)
    progress.started(FIRST)
    clock[0] = 10.0
    progress.measured(FIRST, made.record(4))  # epochs 3 and 4, in ten seconds
    progress.ended(FIRST, made.DONE)
    assert views.lines()[-1].endswith("done  (1/2 trials, about 20 s left)")


def test_measuring_counts_each_snapshot_once(views, snapshot):
    todo = {FIRST: {2: ("few", "many"), 4: ("few",)}, SECOND: {4: ("few",)}}
    plain, live = views.plain(*todo, todo=todo), views.live(*todo, todo=todo)
    with plain:
        for progress in (plain, live):
            progress.started(FIRST)
            for epoch in (2, 2, 4):  # the worker died and measured the first again
                progress.measured_again(FIRST, epoch)
    assert "\n".join(views.lines()) == snapshot
    assert "2/3" in views.shown(live)
    assert "2/2 epoch 4 measured" in views.shown(live)
