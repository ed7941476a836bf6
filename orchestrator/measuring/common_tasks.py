"""The evaluation episodes of a benchmark, which are the same for every trial."""

from collections.abc import Mapping
from dataclasses import dataclass

from fsl_sweep.datasets.benchmark import Benchmark, common_tasks
from fsl_sweep.datasets.tasks.episodes import Episodes
from fsl_sweep.orchestrator.records.measures import MEASURES, TASK_SETS, Measure, TaskSet
from fsl_sweep.orchestrator.records.spec import Episode, Evaluation, episode_shape


@dataclass(frozen=True)
class CommonTasks:
    """The evaluation episodes of every measure and task set."""

    episodes: Mapping[tuple[Measure, TaskSet], Episodes]

    @classmethod
    def draw(cls, benchmark: Benchmark, episode: Episode, evaluation: Evaluation) -> "CommonTasks":
        """Draw them; they depend only on the benchmark's content and these settings."""
        shape = episode_shape(episode)
        count = {"selection": evaluation.selection_tasks, "report": evaluation.report_tasks}
        return cls(
            {
                (m, s): common_tasks(benchmark, m, s, count[s], shape, evaluation.seed)
                for m in MEASURES
                for s in TASK_SETS
            }
        )
