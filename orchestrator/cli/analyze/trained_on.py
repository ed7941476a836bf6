"""The benchmark that a run was trained on, opened again: no record says how many classes it has."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fsl_sweep.orchestrator.errors import RunFolderError, UserError

if TYPE_CHECKING:
    from fsl_sweep.datasets.benchmark import Benchmark

Root = Annotated[
    str | None, typer.Option(metavar="PATH", help="Where the run's data are now, to count classes.")
]


def trained_on(run: Path, root: str | None, instead: str) -> "Benchmark":
    """The benchmark of a run, with the content that it was trained on; torch is not imported.

    Args:
        run: the run folder.
        root: where its data are now, if they were moved.
        instead: the options that say what it is opened for.

    Raises:
        ConfigError: ``root`` is no path.
        RunFolderError: it is not a run folder, or its data are not there or have changed.
    """
    from fsl_sweep.orchestrator.ledger.ledger import Ledger
    from fsl_sweep.orchestrator.planning.prepare import check_same_data, open_benchmarks
    from fsl_sweep.orchestrator.records.protocol import MAIN
    from fsl_sweep.orchestrator.sweepfile.reading import located

    plan = Ledger(run).planned()
    if root is not None:
        plan = replace(plan, places={**plan.places, MAIN: located(root, "--root")})
    try:
        opened = open_benchmarks(plan, ())
        check_same_data(plan, opened)
    except UserError as failure:
        raise RunFolderError(
            "The number of classes is not recorded, and the run's data cannot be opened. "
            f"{failure} Give --root PATH, or {instead}."
        ) from failure
    return opened[MAIN]
