"""Early stopping replayed on recorded grids: what it saves, and what it loses.

Of a run folder that holds a whole grid, only what a scheduler would have had trained is shown to
it: epochs are revealed rung by rung. Shown are the epochs trained, and what choosing by val / val
among the finalists loses against choosing so among all configurations: points of NovelGen on the
report tasks, mean over methods and seeds with 95 % over seeds, once decided by all seeds together
and once by each seed for itself. ``python -m benchmarks.early_stopping RUN...``
"""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from fsl_sweep.orchestrator.ledger.ledger import Ledger
from fsl_sweep.orchestrator.records.measures import ScoreTable, TrialEnd, TrialHistory
from fsl_sweep.orchestrator.records.plan import Plan
from fsl_sweep.orchestrator.records.scheduler import Scheduler
from fsl_sweep.orchestrator.selection.select import select
from fsl_sweep.orchestrator.selection.stopping.decisions import decide
from fsl_sweep.orchestrator.statistics import mean_interval

SCHEDULERS = (
    Scheduler(name="halving", grace=1, factor=3),
    Scheduler(name="halving", grace=2, factor=2),
    Scheduler(name="halving", grace=3, factor=3),
    Scheduler(name="halving", grace=3, factor=3, metric="base"),
    Scheduler(name="halving", grace=3, factor=3, metric="train_loss"),
    Scheduler(name="halving", grace=6, factor=3),
    Scheduler(name="median", grace=2, factor=2),
    Scheduler(name="race", grace=2, factor=2),
)


def revealed(trial: TrialHistory, epochs: int, end: TrialEnd | None) -> TrialHistory:
    """Return a trial as it was after so many epochs."""
    count = int((trial.epochs <= epochs).sum())
    scores = {key: ScoreTable.from_means(t.means[:count]) for key, t in trial.scores.items()}
    curves = {key: curve[:count] for key, curve in trial.curves.items()}
    return replace(trial, epochs=trial.epochs[:count], scores=scores, curves=curves, end=end)


def stopped_at(plan: Plan, scheduler: Scheduler, grid: Sequence[TrialHistory]) -> Mapping[str, int]:
    """Return after how many epochs each trial ends that the scheduler stops."""
    reached = {trial.trial: 0 for trial in grid}
    while True:
        shown = [revealed(trial, reached[trial.trial], None) for trial in grid]
        until, stopped = decide(plan, scheduler, shown)
        may = {t: until.get(t, plan.specs[t].epochs) for t in reached if t not in stopped}
        if all(reached[trial] == epoch for trial, epoch in may.items()):
            return {trial: reached[trial] for trial in stopped}
        reached |= may


def loss(grid: Sequence[TrialHistory], stopped: Mapping[str, int]) -> dict[int, list[float]]:
    """Return by seed what val / val among the finalists loses for each method, in points."""
    whole, left = (
        {(s.method, s.seed): s.means["novel"] for s in select(t, ["val"], ["val"]).selections}
        for t in (grid, [trial for trial in grid if trial.trial not in stopped])
    )
    seeds: dict[int, list[float]] = {}
    for (method, seed), novel in whole.items():
        seeds.setdefault(seed, []).append(100 * (novel - left[method, seed]))
    return seeds


def rows(plan: Plan, grid: Sequence[TrialHistory]) -> Iterator[list[str]]:
    """Yield what each scheduler does to the grid."""
    epochs = sum(len(trial.epochs) for trial in grid)
    of_seed = [[t for t in grid if t.seed == seed] for seed in sorted({t.seed for t in grid})]
    for scheduler in SCHEDULERS:
        for together in (True, False):
            if scheduler.name == "race" and not together:
                continue
            lost: list[float] = []
            trained = 0
            for part in [grid] if together else of_seed:
                stopped = stopped_at(plan, scheduler, part)
                trained += sum(stopped.get(t.trial, len(t.epochs)) for t in part)
                lost += [float(np.mean(losses)) for losses in loss(part, stopped).values()]
            effect = mean_interval(lost, kind="seeds")
            yield [
                f"{scheduler.name} by {scheduler.metric}",
                f"{scheduler.grace}, {scheduler.factor}",
                "all seeds" if together else "each seed",
                f"{100 * trained / epochs:.1f}",
                f"{effect.mean:.2f} ({effect.low:.2f} to {effect.high:.2f})",
                f"{max(lost):.2f}",
            ]


def main(arguments: list[str] | None = None) -> None:
    """Print a table for each grid."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", type=Path, nargs="+")
    heads = ("rule", "grace, factor", "decided by", "epochs, %", "lost, points", "worst seed")
    for path in parser.parse_args(arguments).runs:
        plan = Ledger(path).read_plan()
        if plan is None:
            raise SystemExit(f"{path} is no run folder")
        grid = [t for t in Ledger(path).histories(plan, plan.main.id, plan.main.id) if not t.fold]
        configurations = len({(trial.method, trial.configuration) for trial in grid})
        print(
            f"\n{path.name}: {len(plan.methods)} methods, {configurations} configurations, "
            f"{len({trial.seed for trial in grid})} seeds\n"
        )
        print(f"| {' | '.join(heads)} |\n|{'---|' * len(heads)}")
        for row in rows(plan, grid):
            print(f"| {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
