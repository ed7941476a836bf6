"""What a run was trained on and what it trained, opened again: its benchmark and its snapshots."""

from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import ValidationError

from fsl_sweep.datasets.benchmark import Benchmark
from fsl_sweep.datasets.catalogue import BENCHMARKS
from fsl_sweep.orchestrator.errors import ConfigError, RunFolderError, UserError
from fsl_sweep.orchestrator.ledger.ledger import Ledger
from fsl_sweep.orchestrator.records.model import Model
from fsl_sweep.orchestrator.records.protocol import MAIN
from fsl_sweep.orchestrator.studies.base import StudyOptions, option
from fsl_sweep.orchestrator.sweepfile.reading import located

if TYPE_CHECKING:
    import torch

    from fsl_sweep.orchestrator.planning.measure_request import MeasureRequest

E = TypeVar("E", bound=Model)


class ShapedOptions(StudyOptions):
    """Options of a study that draws tasks for snapshots."""

    way: int | None = option("Classes of a task. [as in the run]", None, "N", ge=1)
    shot: int | None = option("Support of a class. [as in the run]", None, "K", ge=1)
    query: int | None = option("Queries of a class. [as in the run]", None, "Q", ge=1)

    def shaped(self, episode: E) -> E:
        """Return the episode with the numbers that were written."""
        numbers = self.model_dump(include={"way", "shot", "query"}, exclude_none=True)
        return episode.model_copy(update=numbers)


def evaluated(
    opened: "MeasureRequest", trial: str, epoch: int, method: str, way: int | str
) -> "tuple[Any, torch.device]":
    """Return the learner of a snapshot in evaluation mode, and the device that it is on.

    Raises:
        RunFolderError: its weights are gone, or are not those that were measured.
        ConfigError: it answers tasks of another number of classes only.
    """
    import torch

    from fsl_sweep.learners.snapshot import restored

    path = opened.ledger.trial(trial).check_snapshot(epoch)
    learner, _ = restored(path.read_bytes(), str(path))
    if (fixed := learner.fixed_way(learner.options)) not in (None, way):
        problem = f"{method} answers tasks of {fixed} classes only; write {fixed}, or leave it out"
        raise ConfigError("", "--way", problem)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    return learner.to(device).eval(), device


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
