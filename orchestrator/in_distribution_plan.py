"""What a plan says of a sweep whose benchmark is in distribution."""

from collections.abc import Sequence

from fsl_sweep.datasets.catalogue import BENCHMARKS
from fsl_sweep.learners.base import ClassificationLearner
from fsl_sweep.learners.catalogue import LEARNERS
from fsl_sweep.orchestrator.config import Named
from fsl_sweep.orchestrator.plan import PlannedTrial


def misplaced(learner: Named, benchmark: Named) -> str | None:
    """What is wrong with measuring the learner on the benchmark, or None."""
    if not _classifies(learner) or BENCHMARKS.find(benchmark.name).cls.in_distribution:
        return None
    return (
        f"{learner.name} answers among the base classes alone, so it is measured in distribution: "
        f"set benchmark.name to in-distribution:{benchmark.name}"
    )


def in_distribution_cautions(benchmark: Named, trials: Sequence[PlannedTrial]) -> list[str]:
    """What a person should know before reading such a sweep's columns; nothing of another's."""
    if not BENCHMARKS.find(benchmark.name).cls.in_distribution:
        return []
    cautions = [
        f"{benchmark.name} has val and novel examples of the base classes: what stands under "
        "ValGen and NovelGen is accuracy on new examples of the classes that were trained on, not "
        "on new classes"
    ]
    among_all = {trial.method: _classifies(trial.spec.learner) for trial in trials}
    if len(set(among_all.values())) == 2:
        named = ", ".join(method for method, whether in among_all.items() if whether)
        cautions.append(
            f"{named}: queries are answered among all base classes, by the other methods among "
            "the classes of a task, which is easier: their accuracies cannot be compared"
        )
    return cautions


def _classifies(learner: Named) -> bool:
    return issubclass(LEARNERS.find(learner.name).cls, ClassificationLearner)
