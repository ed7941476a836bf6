import io
import re
from itertools import product

import made
import pytest
from rich.cells import cell_len

from fsl_sweep.orchestrator.cli.progress import LiveProgress, PlainProgress
from fsl_sweep.orchestrator.records.measures import TrialEnd
from fsl_sweep.orchestrator.records.spec import Fold
from fsl_sweep.orchestrator.text.console import SafeConsole

PLAN = made.plan(*(made.planned(made.spec(seed, epochs=4, every=2)) for seed in (0, 1, 2)))
"""Three trials of four epochs, of which every second is measured."""
FIRST, SECOND, THIRD = PLAN.specs
TRAINED = [
    ("started", FIRST),
    *(("measured", FIRST, made.record(epoch)) for epoch in (2, 4)),
    ("ended", FIRST, made.DONE),
    # The epochs that a failed trial did not reach are not waited for.
    ("measured", SECOND, made.record(2)),
    ("ended", SECOND, TrialEnd("failed", "no memory")),
    ("started", THIRD),
    ("ended", THIRD, TrialEnd("diverged", "the training loss became nan in epoch 1")),
]
TODO = {FIRST: {2: ("few", "many"), 4: ("few",)}, SECOND: {4: ("few",)}}
MEASURED = [  # the worker died and measured the first again
    ("started", FIRST),
    *(("measured_again", FIRST, epoch) for epoch in (2, 2, 4)),
]


@pytest.fixture(autouse=True)
def clock(monkeypatch):
    """A clock that a test moves on."""
    now = [0.0]
    monkeypatch.setattr("fsl_sweep.orchestrator.cli.progress.time.monotonic", lambda: now[0])
    return now


@pytest.mark.parametrize(("events", "todo"), [(TRAINED, None), (MEASURED, TODO)])
def test_what_is_shown(events, todo, snapshot):
    """In lines, and live after each event, without the bars."""
    stream, frames = io.StringIO(), []
    console = SafeConsole(file=io.StringIO(), width=80, force_terminal=True, color_system=None)
    pending = [*(todo or PLAN.specs)]
    plain = PlainProgress(PLAN, pending, stream, todo)
    live = LiveProgress(PLAN, pending, console, todo)
    with plain:
        for event, *arguments in events:
            for view in (plain, live):
                getattr(view, event)(*arguments)
            with console.capture() as capture:
                console.print(live._bars)
            frames += [event, *re.sub(r"[━╸╺]+|\x1b\[[0-9;?]*\w", "", capture.get()).splitlines()]
    lines = stream.getvalue().splitlines()
    assert max(map(len, lines[:2])) <= 80
    assert "\n".join(re.sub(" {2,}", "  ", line).strip() for line in lines + frames) == snapshot


LONG = "FIX-Prototypical-Network-of-a-"
METHODS = f"{LONG}colleague", f"{LONG}friend", "PN", "\u6570\u5b57" * 15
ALIKE = list(product(METHODS, (5, 20), (0, 1)))
"""Trials by method, way and seed; long names differ at their end, and one has wide letters."""


@pytest.mark.parametrize("fold", [None, Fold(folds=4, index=3)])
def test_running_trials_are_told_apart_in_80_columns(fold):
    trials = []
    for number, (method, way, seed) in enumerate(ALIKE, 1):
        changes = {"batches": number, "fold": fold}
        trials.append(made.planned(made.spec(seed, way).model_copy(update=changes), method))
    plan = made.plan(*trials)
    console = SafeConsole(file=io.StringIO(), width=80, record=True, color_system=None)
    live = LiveProgress(plan, [*plan.specs], console)
    for trial in plan.specs:
        live.measured(trial, made.record(2))
    console.print(live._bars)
    _, heads, *rows, last = console.export_text().splitlines()
    assert heads.split() == ["running", "epoch", "loss", "BaseGen", "ValGen", "NovelGen"]
    assert max(map(cell_len, rows)) <= 80
    names = [re.sub("[\u2501\u2578\u257a].*", "", row).strip() for row in rows]
    assert len({*names}) == len(ALIKE)
    for name, (method, _, seed) in zip(names, ALIKE, strict=True):
        assert name[:2] == method[:2]
        assert re.search(rf"\bs(eed=)?{seed}\b", name)
    # What a terminal echoes here, as ^C, begins no other line.
    assert not last.strip()


def test_accuracies_are_those_of_the_selection_tasks():
    stream, record = io.StringIO(), made.record(2)
    PlainProgress(PLAN, [FIRST], stream).measured(FIRST, record)
    for name, measure in (("BaseGen", "base"), ("ValGen", "val"), ("NovelGen", "novel")):
        assert f"{name} {100 * record.scores[measure, 'selection'].mean:.1f}" in stream.getvalue()


@pytest.mark.parametrize(("resumed", "left"), [({}, 20), ({SECOND: 2}, 10)])
def test_the_time_left_follows_the_pace_of_this_run(clock, resumed, left):
    """A trial that goes on from an earlier run brings epochs that took this one no time."""
    stream = io.StringIO()
    progress = PlainProgress(PLAN, [FIRST, SECOND], stream, resumed=resumed)
    progress.started(FIRST)
    clock[0] = 10.0
    progress.measured(FIRST, made.record(4))  # epochs 3 and 4, in ten seconds
    progress.ended(FIRST, made.DONE)
    assert stream.getvalue().endswith(f"done  (1/2 trials, about {left} s left)\n")


def test_the_line_begins_with_the_epochs_of_earlier_runs():
    console = SafeConsole(file=io.StringIO(), width=80, record=True, color_system=None)
    live = LiveProgress(PLAN, [FIRST, SECOND], console, resumed={SECOND: 2})
    live.started(SECOND)
    console.print(live._bars)
    assert re.findall(r"\d+/\d+", console.export_text()) == ["2/8", "2/4"]
