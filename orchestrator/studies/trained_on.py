"""The benchmark that a run was trained on, opened again: no record says how many classes it has."""

from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from pydantic import ValidationError

from fsl_sweep.datasets.benchmark import Benchmark
from fsl_sweep.datasets.catalogue import BENCHMARKS
from fsl_sweep.orchestrator.errors import RunFolderError, UserError
from fsl_sweep.orchestrator.ledger.ledger import Ledger
from fsl_sweep.orchestrator.records.protocol import MAIN
from fsl_sweep.orchestrator.sweepfile.reading import located


def trained_on(run: Path, root: str | None, instead: str) -> Benchmark:
    """Open the benchmark of a run, with the content that it was trained on, without torch.

    Args:
        run: the run folder.
        root: where its data are now, if they were moved.
        instead: the options that say what it is opened for.

    Raises:
        ConfigError: ``root`` is no path.
        RunFolderError: it is not a run folder, or its data are not there or have changed.
    """
    from fsl_sweep.orchestrator.planning.prepare import check_same_data, open_benchmarks

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


def unit_of(run: Path) -> str:
    """Return what tasks of a run folder are made of; ``classes`` if its plug-in cannot be asked."""
    benchmark = Ledger(run).planned().trials[0].spec.benchmark
    with suppress(UserError, ValidationError):
        cls = BENCHMARKS.find(benchmark.name).cls
        return cls().unit(cls.Options.model_validate(benchmark.options))
    return "classes"
