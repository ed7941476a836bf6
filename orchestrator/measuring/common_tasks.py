"""The evaluation episodes of a protocol, which are the same for every trial."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from fsl_sweep.datasets.benchmark import Benchmark, common_tasks
from fsl_sweep.datasets.pool import ImagePool
from fsl_sweep.datasets.splits.class_folds import fold_benchmark
from fsl_sweep.datasets.tasks.classes import ClassTasks
from fsl_sweep.datasets.tasks.distribution import TaskDistribution
from fsl_sweep.datasets.tasks.episodes import Episodes
from fsl_sweep.datasets.tasks.mixed import MixedTasks
from fsl_sweep.learners.building import pixel_statistics
from fsl_sweep.orchestrator.errors import BadData, did_you_mean
from fsl_sweep.orchestrator.records.measures import MEASURES, TASK_SETS, Measure, ScoreKey
from fsl_sweep.orchestrator.records.protocol import Protocol
from fsl_sweep.orchestrator.records.spec import TrialSpec


@dataclass(frozen=True)
class CommonTasks:
    """The evaluation episodes of every measure and task set.

    Attributes:
        pools: what the episodes of each measure index.
        members: names of the classes (writers, attributes) of each measure, by number.
        draws: equal for two sets of episodes only if these are the same.
    """

    episodes: Mapping[ScoreKey, Episodes]
    pools: Mapping[Measure, ImagePool]
    members: Mapping[Measure, Mapping[int, str]]
    draws: Mapping[ScoreKey, Hashable]

    @classmethod
    def draw(
        cls, benchmark: Benchmark, protocol: Protocol, other: Benchmark | None = None
    ) -> "CommonTasks":
        """Draw them; they depend only on the content of the benchmarks and on the protocol.

        Args:
            benchmark: that was trained on, or its class fold.
            protocol: how to measure.
            other: the benchmark that the protocol names, if it names one.

        Raises:
            BadData: as ``novel_tasks`` and ``common_tasks``.
        """
        tasks = protocol.tasks
        count = {"selection": tasks.selection_tasks, "report": tasks.report_tasks}
        novel = novel_tasks(benchmark, protocol, other)
        episodes, draws, pools, members = {}, {}, {}, {}
        for m in MEASURES:
            instead, shape = novel if m == "novel" else None, protocol.shape(m)
            drawn = instead or benchmark.distribution(m)
            pools[m], members[m] = drawn.pool, drawn.members
            for s in TASK_SETS:
                episodes[m, s] = common_tasks(
                    benchmark,
                    m,
                    s,
                    count[s],
                    shape,
                    tasks.seed,
                    others=instead,
                    replacement=tasks.replacement,
                )
                source = None if instead is None else instead.digest()
                draw = (benchmark.fingerprint, m, s, count[s], shape, tasks.seed)
                draws[m, s] = (*draw, tasks.replacement, source)
        return cls(episodes, pools, members, draws)


def trained_benchmark(spec: TrialSpec, benchmark: Benchmark) -> Benchmark:
    """Return the benchmark as a trial sees it: its class fold, and what normalises its images.

    Raises:
        BadData: it cannot be divided into the class folds of ``spec``.
    """
    if spec.fold is not None:
        benchmark = fold_benchmark(benchmark, **spec.fold.model_dump())
    return replace(benchmark, pixels=pixel_statistics(spec.backbone.model_dump()))


def novel_tasks(
    benchmark: Benchmark, protocol: Protocol, other: Benchmark | None
) -> TaskDistribution | None:
    """Return what NovelGen is measured on in place of the benchmark's novel classes, or None.

    Raises:
        BadData: a class of the protocol is not there or has no example left, examples were
            trained on, base and novel classes cannot be mixed, or features are measured by what was
            trained on images or on other features.
    """
    if not protocol.replaces_novel:
        return None
    novel = (other or benchmark).novel
    _check_kind(novel.pool, benchmark.train.pool)
    if protocol.classes is not None:
        novel = _of_classes(novel, protocol.classes, benchmark)
    elif other is not None and (trained := _trained_on(novel, benchmark)):
        raise BadData(
            f"{trained} of the {len(novel.examples)} novel examples of '{other.name}' were trained "
            "on. Choose a benchmark or a split that shares none."
        )
    if protocol.mixture is None:
        return novel
    base = benchmark.base
    if not isinstance(base, ClassTasks) or not isinstance(novel, ClassTasks):
        unit = novel.unit if isinstance(base, ClassTasks) else base.unit
        raise BadData(
            f"A mixture is of tasks of classes, but tasks of '{benchmark.name}' are made of {unit}."
        )
    return MixedTasks(base, novel, protocol.mixture)


def _check_kind(pool: ImagePool, trained: ImagePool) -> None:
    if pool.holds_features != trained.holds_features:
        raise BadData("One benchmark holds images, the other features.")
    if pool.holds_features and pool.image_shape != trained.image_shape:
        raise BadData(
            f"The features have {pool.image_shape[0]} numbers, those that were trained on "
            f"{trained.image_shape[0]}."
        )


def _trained_on(novel: TaskDistribution, benchmark: Benchmark) -> int:
    """Count the examples that are the benchmark's training examples.

    Where an image has no label, its splits may share images by design: 0.
    """
    if not novel.by_label or novel.pool.fingerprint != benchmark.train.pool.fingerprint:
        return 0
    return len(np.intersect1d(novel.examples, benchmark.train.examples))


def _of_classes(
    novel: TaskDistribution, names: tuple[str, ...], benchmark: Benchmark
) -> ClassTasks:
    """Return tasks of these classes of a pool, without the examples that were trained on."""
    pool, train = novel.pool, benchmark.train
    if not isinstance(novel, ClassTasks):
        raise BadData(f"Classes cannot be listed where tasks are made of {novel.unit}.")
    positions = {name: at for at, name in enumerate(pool.class_names)}
    for name in names:
        if name not in positions:
            raise BadData(f"There is no class '{name}'; {did_you_mean(name, positions)}")
    classes = np.array([positions[name] for name in names])
    examples = np.flatnonzero(np.isin(pool.labels, classes))
    if pool.fingerprint == train.pool.fingerprint:
        examples = np.setdiff1d(examples, train.examples)
    return ClassTasks(pool, classes, examples)
