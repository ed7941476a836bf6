"""Several runs, opened together: the same methods on several benchmarks."""

from collections.abc import Iterator, Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, final

from fsl_sweep.orchestrator.replay.benchmarks import sources_by_benchmark
from fsl_sweep.orchestrator.run.run import Run, paths_of

if TYPE_CHECKING:
    from fsl_sweep.orchestrator.report import BenchmarksReport


def load_benchmarks(path: str | PathLike[str] | Sequence[str | PathLike[str]]) -> "Benchmarks":
    """Open the same methods on several benchmarks for reading, one run for each.

    Args:
        path: a table with a column ``benchmark``, or several tables and run folders.

    Raises:
        RunFolderError, BadData: as `fsl_sweep.orchestrator.replay.benchmarks.sources_by_benchmark`.
    """
    sources = sources_by_benchmark(paths_of(path))
    return Benchmarks({benchmark: Run(source) for benchmark, source in sources.items()})


@final
class Benchmarks(Mapping[str, Run]):
    """The runs of several benchmarks, by the name of the benchmark, in the order given."""

    def __init__(self, runs: Mapping[str, Run]) -> None:
        self._runs = dict(runs)

    @property
    def name(self) -> str:
        """Return the names of the benchmarks, joined."""
        return " + ".join(self)

    def __getitem__(self, benchmark: str) -> Run:
        return self._runs[benchmark]

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
    ) -> "BenchmarksReport":
        """Compare strategies and methods over the benchmarks. Arguments and exceptions as of a run.

        By default the strategies are those that the first benchmark was planned with.
        """
        from fsl_sweep.orchestrator.report.building import build_over_benchmarks

        planned = next(iter(self.values())).question(snapshot, hyperparameter, metric)
        reports = {
            benchmark: run.report(
                planned.snapshot,
                planned.hyperparameter,
                last=last,
                rope=rope,
                metric=planned.metric,
                bootstrap=bootstrap,
            )
            for benchmark, run in self.items()
        }
        histories = {benchmark: run.histories for benchmark, run in self.items()}
        return build_over_benchmarks(self.name, reports, histories)
