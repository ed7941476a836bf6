"""Several runs, opened together: the same methods on several benchmarks."""

from collections.abc import Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, final

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
class Benchmarks(dict[str, Run]):
    """The runs of several benchmarks, by the name of the benchmark, in the order given."""

    @property
    def name(self) -> str:
        """Return the names of the benchmarks, joined."""
        return " + ".join(self)

    def report(
        self,
        snapshot: Sequence[str] | None = None,
        hyperparameter: Sequence[str] | None = None,
        *,
        metric: str | None = None,
        **parts: Any,
    ) -> "BenchmarksReport":
        """Compare strategies and methods over the benchmarks. Arguments and exceptions as of a run.

        By default the strategies are those that the first benchmark was planned with.
        """
        from fsl_sweep.orchestrator.report.building import build_over_benchmarks

        planned = next(iter(self.values())).question(snapshot, hyperparameter, metric)
        strategies = planned.snapshot, planned.hyperparameter
        reports = {
            benchmark: run.report(*strategies, metric=planned.metric, few=planned.few, **parts)
            for benchmark, run in self.items()
        }
        histories = {benchmark: run.histories for benchmark, run in self.items()}
        return build_over_benchmarks(self.name, reports, histories)
