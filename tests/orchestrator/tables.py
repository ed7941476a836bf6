"""Tables of records: a run's, and made ones."""

from pathlib import Path

import numpy as np
import pandas as pd

from fsl_sweep.orchestrator.records.measures import Measure
from fsl_sweep.orchestrator.run import Run, load_run

CHOICE = ["method", "seed", "snapshot_selector", "hyperparameter_selector"]


def assert_chose_alike(run: Run, other: Run, *columns: str) -> None:
    """Check what the strategies of a run chose against another's, in any order of trials."""
    ours, theirs = (one.selections().set_index(CHOICE).sort_index() for one in (run, other))
    assert len(ours)
    names = list(columns or ours.columns)
    pd.testing.assert_frame_equal(ours[names], theirs.loc[ours.index, names])


def exported(run: Run, path: Path) -> Path:
    """A run's records as a per-task table: independent of the code that reads one."""
    rows = []
    for trial in run.histories:
        key = (trial.method, trial.configuration, trial.seed, "")
        for i, epoch in enumerate(trial.epochs):
            rows.append((*key, epoch, "train_loss", trial.curves["train_loss"][i], "", ""))
            for (measure, task_set), table in trial.scores.items():
                accuracies = table.load()[i]
                rows += [(*key, epoch, measure, a, t, task_set) for t, a in enumerate(accuracies)]
    names = ["method", "configuration", "seed", "fold", "epoch", "measure", "accuracy"]
    names += ["task", "set"]
    frame = pd.DataFrame(rows, columns=names).sample(frac=1, random_state=0)
    frame = frame.sort_values("configuration", key=lambda c: c != run.histories[0].configuration)
    if path.suffix == ".csv":
        frame.to_csv(path, index=False)
    else:
        frame["task"] = pd.to_numeric(frame["task"]).astype("Int64")
        frame["fold"] = None
        frame.to_parquet(path)
    return path


def made(**changes: object) -> pd.DataFrame:
    """Two methods, two configurations, two seeds, three epochs, without tasks."""
    generator = np.random.default_rng(3)
    rows = [
        (method, configuration, seed, epoch, measure, round(float(generator.random()), 4))
        for method in ("A", "B")
        for configuration in ("small", "large")
        for seed in (0, 1)
        for epoch in (0, 5, 10)
        for measure in ("train_loss", "base", "val", "novel")
    ]
    names = ["method", "configuration", "seed", "epoch", "measure", "accuracy"]
    return pd.DataFrame(rows, columns=names).assign(**changes)


def written(frame: pd.DataFrame, path: Path) -> Path:
    frame.to_csv(path, index=False)
    return path


def accuracies(
    path: Path, protocol: str, method: str, measure: Measure = "novel"
) -> list[np.ndarray]:
    """Of each report task under a protocol what val / val chose for each seed, looked up."""
    run = load_run(path)
    source = run._source
    trials = {t.trial: t for t in source.histories(source.protocol(protocol), source.protocol())}
    return [
        trials[s.trial].scores[measure, "report"].load()[trials[s.trial].index(s.epoch)]
        for s in (chosen.snapshot for chosen in run.chosen(method))
    ]
