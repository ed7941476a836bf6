"""A run with the choices of its leading strategy, as studies of it begin."""

import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pydantic import ValidationError

from fsl_sweep.orchestrator.cli.options import only
from fsl_sweep.orchestrator.errors import RunFolderError, UserError
from fsl_sweep.orchestrator.text.printed import say

if TYPE_CHECKING:
    from fsl_sweep.orchestrator.replay.source import Source
    from fsl_sweep.orchestrator.run import Run
    from fsl_sweep.orchestrator.selection.results import Selected, Strategy


class Led(NamedTuple):
    """What one strategy chose, and whether the sweep file asks for it."""

    source: "Source"
    run: "Run"
    selected: "Selected"
    strategy: "Strategy"
    as_planned: bool


def led(run: Path, snapshot: str | None, hyperparameter: str | None) -> Led:
    """Val / val or the first strategy that is no oracle, unless another one is named.

    Methods that are not complete are named on standard error. Raises RunFolderError where none is,
    and as ``Run.info``.
    """
    from fsl_sweep.orchestrator.replay.merged import open_sources
    from fsl_sweep.orchestrator.run import Run
    from fsl_sweep.orchestrator.selection.lead import lead_strategy, narrowed
    from fsl_sweep.orchestrator.selection.select import select

    source = open_sources([run.expanduser()])
    opened = Run(source)
    info = opened.info(only(snapshot), only(hyperparameter))
    selected = select(opened.histories, info.snapshot, info.hyperparameter)
    strategy = lead_strategy(selected)
    if strategy is None:
        raise RunFolderError("No method has all of its trials done: there is nothing to compare.")
    for method in selected.methods:
        if not selected.cell(method, strategy):
            say(f"{method} is left out: not all of its trials are done and whole.", sys.stderr)
    return Led(source, opened, narrowed(selected, strategy), strategy, info.as_planned)


def unit_of(run: Path) -> str:
    """What tasks of a run folder are made of; ``classes`` where its plug-in cannot be asked."""
    from fsl_sweep.datasets.catalogue import BENCHMARKS
    from fsl_sweep.orchestrator.ledger.ledger import Ledger

    benchmark = Ledger(run.expanduser()).planned().trials[0].spec.benchmark
    with suppress(UserError, ValidationError):
        cls = BENCHMARKS.find(benchmark.name).cls
        return cls().unit(cls.Options.model_validate(benchmark.options))
    return "classes"
