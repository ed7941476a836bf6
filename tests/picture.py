"""Draws the picture of the README: the report of the quickstart, from records that are kept here.

As a program it draws it anew; with the folder of a run, it keeps the records of that run first.
"""

import html
import io
import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from places import ROOT

from fsl_sweep.orchestrator.ledger.ledger import Ledger
from fsl_sweep.orchestrator.planning.plan_sweep import plan_sweep
from fsl_sweep.orchestrator.records.measures import (
    CURVES,
    SCORE_KEYS,
    EpochRecord,
    TaskScores,
    TrialEnd,
)
from fsl_sweep.orchestrator.records.plan import Plan
from fsl_sweep.orchestrator.report import show
from fsl_sweep.orchestrator.run import Run, load_run
from fsl_sweep.orchestrator.sweepfile.reading import load_sweep
from fsl_sweep.orchestrator.text.console import SafeConsole

PICTURE = ROOT / "docs" / "report.svg"
RECORDS = ROOT / "tests" / "quickstart.npz"
"""Trials, their curves [trial, curve, epoch], and right answers [trial, score, epoch, task]."""


def planned() -> Plan:
    """The quickstart's plan, as if its data were open."""
    plan, data = plan_sweep(load_sweep("quickstart")), "f" * 16
    protocols = tuple(replace(one, fingerprint=data) for one in plan.protocols)
    return replace(plan, fingerprint=data, protocols=protocols)


def queries(plan: Plan) -> int:
    """Queries of a task."""
    episode = plan.main.protocol.episode
    return episode.way * int(episode.query)


def keep(run: Run) -> None:
    """Keep what a run recorded."""
    each, trials = queries(planned()), run.histories
    scores = [[np.rint(t.scores[key].load() * each) for key in SCORE_KEYS] for t in trials]
    curves = [[trial.curves[name] for name in CURVES] for trial in trials]
    names = [trial.trial for trial in trials]
    np.savez_compressed(RECORDS, trials=names, curves=curves, right=np.array(scores, np.uint8))


def recorded(folder: Path) -> Path:
    """Write the kept records as the run folder that the quickstart would have."""
    plan, ledger = planned(), Ledger(folder)
    with np.load(RECORDS) as file:
        kept = dict(file)
    if [trial.id for trial in plan.trials] != kept["trials"].tolist():
        raise ValueError("the quickstart has other trials than those kept: `make picture`")
    ledger.write_plan(plan, "name: quickstart\n")
    ledger.folder.write_json("environment.json", {"machines": []})
    for trial, curves, right in zip(plan.trials, kept["curves"], kept["right"], strict=True):
        storage = ledger.trial(trial.id)
        storage.begin(trial.spec)
        for record in epochs(curves, right, queries(plan)):
            storage.write_epoch(record, plan.main.id, b"weights")
        storage.end(TrialEnd("done"), plan.main.id)
    return folder


def epochs(curves: np.ndarray, right: np.ndarray, each: int) -> Iterator[EpochRecord]:
    """The records of a trial."""
    for number, (values, counts) in enumerate(zip(curves.T, right.swapaxes(0, 1), strict=True), 1):
        scores = {
            key: TaskScores(of_tasks.astype(np.int64), np.full(len(of_tasks), each))
            for key, of_tasks in zip(SCORE_KEYS, counts, strict=True)
        }
        facts = dict(zip(CURVES, map(float, values), strict=True))
        yield EpochRecord(epoch=number, scores=scores, **facts)


def drawn(run: Run) -> str:
    """The report as a terminal of 100 columns shows it."""
    console = SafeConsole(file=io.StringIO(), record=True, width=100, force_terminal=True)
    command = "fsl-sweep report runs/quickstart"
    show(run.report(), console, command=command)
    return console.export_svg(title=command, unique_id="report")


def words(picture: str) -> list[str]:
    """What is written in a picture, whichever version of rich drew it."""
    texts = re.findall(r"<text[^>]*>(.*?)</text>", picture, flags=re.DOTALL)
    return " ".join(map(html.unescape, texts)).split()


if __name__ == "__main__":
    for place in sys.argv[1:]:
        keep(load_run(place))
    with TemporaryDirectory() as folder:
        PICTURE.write_text(drawn(load_run(recorded(Path(folder, "quickstart")))))
