"""Several runs, opened together: the same methods on several benchmarks."""

from collections.abc import Iterator, Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, final

from fsl_sweep.orchestrator.replay.benchmarks import sources_by_benchmark
from fsl_sweep.orchestrator.run.run import Run, paths_of

if TYPE_CHECKING:
    from fsl_sweep.orchestrator.report import WorldsReport


def load_worlds(path: str | PathLike[str] | Sequence[str | PathLike[str]]) -> "Worlds":
    """Open the same methods on several benchmarks for reading, one run for each.

    Args:
        path: a table with a column ``benchmark``, or several tables and run folders.

    Raises:
        RunFolderError, BadData: as `fsl_sweep.orchestrator.replay.benchmarks.sources_by_benchmark`.
    """
    return Worlds({world: Run(one) for world, one in sources_by_benchmark(paths_of(path)).items()})


@final
class Worlds(Mapping[str, Run]):
    """The runs of several benchmarks, by the name of the world, in the order given."""

    def __init__(self, runs: Mapping[str, Run]) -> None:
        self._runs = dict(runs)

    @property
    def name(self) -> str:
        """The names of the worlds, joined."""
        return " + ".join(self)

    def __getitem__(self, world: str) -> Run:
        return self._runs[world]

    def __iter__(self) -> Iterator[str]:
        return iter(self._runs)

    def __len__(self) -> int:
        return len(self._runs)

    def report(
        self,
        snapshot: Sequence[str] | None = None,
        hyperparameter: Sequence[str] | None = None,
        *,
        last: int | None = None,
        rope: float = 0.0,
        metric: str | None = None,
        bootstrap: int | None = None,
    ) -> "WorldsReport":
        """Strategies and methods compared over the worlds. Arguments and exceptions as of a run.

        By default the strategies are those that the first world was planned with.
        """
        from fsl_sweep.orchestrator.report.over_worlds import build_worlds

        planned = next(iter(self.values())).question(snapshot, hyperparameter, metric)
        reports = {
            world: run.report(
                planned.snapshot,
                planned.hyperparameter,
                last=last,
                rope=rope,
                metric=planned.metric,
                bootstrap=bootstrap,
            )
            for world, run in self.items()
        }
        histories = {world: run.histories for world, run in self.items()}
        return build_worlds(self.name, reports, histories)
