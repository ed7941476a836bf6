"""Whether the tasks of a benchmark give the labels that a learner's batches need."""

from fsl_sweep.datasets.benchmark import Benchmark
from fsl_sweep.orchestrator.config import EpisodicTraining
from fsl_sweep.orchestrator.errors import BadData
from fsl_sweep.orchestrator.plan import PlannedTrial


def check_labels(trial: PlannedTrial, benchmark: Benchmark) -> None:
    """Whether the trial can train on the benchmark: in batches only where images have labels.

    Raises:
        BadData: the trial trains on labelled batches, in some epochs at least, and the training
            tasks are not made of the pool's classes; the message names the method.
    """
    train = benchmark.train
    if train.by_label or isinstance(trial.spec.train, EpisodicTraining | None):
        return
    raise BadData(
        f"{trial.method}: {trial.spec.learner.name} trains on batches of labelled images, but the "
        f"tasks of '{benchmark.name}' are made of {train.unit}: an image belongs to many of them "
        "and has no label. Leave the method out, or choose a learner that trains on episodes."
    )
