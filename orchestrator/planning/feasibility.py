"""Whether a benchmark can fill every episode that a plan asks for, before anything runs."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from math import inf
from typing import Any

from fsl_sweep.datasets.benchmark import Benchmark
from fsl_sweep.datasets.splits.class_folds import fold_benchmark
from fsl_sweep.datasets.tasks.classes import check_common, most_tasks
from fsl_sweep.datasets.tasks.episodes import EpisodeShape, Shape
from fsl_sweep.datasets.tasks.query_counts import most_queries
from fsl_sweep.learners.building import build_backbone, build_learner, pixel_statistics
from fsl_sweep.learners.catalogue import LEARNERS
from fsl_sweep.orchestrator.errors import BadData, ConfigError, PluginError
from fsl_sweep.orchestrator.measuring.common_tasks import novel_tasks
from fsl_sweep.orchestrator.planning.pretrained import normalisation_caution, shown
from fsl_sweep.orchestrator.planning.suitability import check_training_tasks
from fsl_sweep.orchestrator.records.measures import MEASURES, SHOWN_AS, Measure
from fsl_sweep.orchestrator.records.model import canonical_json
from fsl_sweep.orchestrator.records.plan import Plan, PlannedTrial
from fsl_sweep.orchestrator.records.protocol import MAIN, PlannedProtocol, Protocol, episode_shape
from fsl_sweep.orchestrator.records.spec import EpisodicTraining, Fold
from fsl_sweep.orchestrator.text.printed import counted


def check_feasible(plan: Plan, benchmarks: Mapping[str, Benchmark]) -> tuple[str, ...]:
    """Check that the benchmarks can fill every episode of the plan, and return cautions.

    Raises:
        BadData: too few classes or examples; the message names the method, fold, split and
            numbers. Or the method cannot train on the benchmark's kind of tasks.
        ConfigError: a backbone cannot take the benchmark's images, or the weights of its file.
        PluginError: a third party's learner or backbone cannot be built.
    """
    whole = benchmarks[MAIN]
    folds = {fold: fold_benchmark(whole, **fold.model_dump()) for fold in plan.folds}
    seen: set[tuple[Any, ...]] = set()
    cautions = [*whole.cautions, *_shared_tasks(plan.main.protocol, whole)]
    for trial in plan.trials:
        # Ours are known to take any backbone; a third party's learner is built to see that it does.
        learner = trial.spec.learner.name if LEARNERS.is_plugin(trial.spec.learner.name) else None
        network = (learner, canonical_json(trial.spec.backbone.model_dump()))
        if network not in seen:
            seen.add(network)
            cautions += _check_network(trial, whole)
        fold, episodic = trial.spec.fold, trial.spec.episodic
        benchmark = whole if fold is None else folds[fold]
        check_training_tasks(trial, benchmark)
        if episodic is not None and (fold, episodic) not in seen:
            seen.add((fold, episodic))
            with _placed(trial.method, fold):
                _check_trained(episodic, benchmark)
    cautions += check_protocols(plan, [p for p in plan.protocols if p.asked], benchmarks)
    return tuple(dict.fromkeys(cautions))


def check_protocols(
    plan: Plan, protocols: Sequence[PlannedProtocol], benchmarks: Mapping[str, Benchmark]
) -> list[str]:
    """Check that the tasks of these protocols can be drawn, and return cautions about them.

    Raises:
        BadData: too few classes or examples, or tasks that cannot be drawn so.
    """
    methods = {trial.spec.fold: trial.method for trial in reversed(plan.trials)}
    for fold in (None, *plan.folds):
        benchmark = benchmarks[MAIN]
        if fold is not None:
            benchmark = fold_benchmark(benchmark, **fold.model_dump())
        for planned in protocols:
            if fold is None or planned.snapshots == "all":
                with _placed(methods[fold], fold):
                    _check_measurable(planned, benchmark, benchmarks.get(planned.name))
    return [caution for planned in protocols for caution in _of_base_classes(planned, benchmarks)]


def _of_base_classes(
    planned: PlannedProtocol, benchmarks: Mapping[str, Benchmark]
) -> Iterator[str]:
    """Caution against listed classes that are among those that were trained on."""
    train, listed = benchmarks[MAIN].train, planned.protocol.classes or ()
    names = {train.pool.class_names[label] for label in train.classes}
    if planned.name not in benchmarks and (count := len(names.intersection(listed))):
        yield (
            f"protocol '{planned.name}': {count} of its {len(listed)} classes are base classes, so "
            "that its NovelGen is not accuracy on new classes"
        )


_FEWER = " Fewer queries for BaseGen: `--base-query`, or evaluation.base_query in a sweep file."


def _check_measurable(
    planned: PlannedProtocol, benchmark: Benchmark, other: Benchmark | None
) -> None:
    """Check one protocol on a benchmark or fold; ``other`` is the benchmark that it names."""
    protocol, tasks = planned.protocol, planned.protocol.tasks
    of = "" if planned.name == MAIN else f"protocol '{planned.name}', "

    def limit(split: Measure) -> float:
        most = most_tasks(benchmark.distribution(split), protocol.shape(split))
        return inf if most is None else most

    for split in sorted(MEASURES, key=limit):  # what is said of the fewest holds for all
        try:
            others = novel_tasks(benchmark, protocol, other) if split == "novel" else None
            drawn_from = others or benchmark.distribution(split)
            most = max(tasks.selection_tasks, tasks.report_tasks)
            check_common(drawn_from, most, protocol.shape(split), tasks.replacement)
        except BadData as failure:
            fewer = split == "base" and _lacks_queries(benchmark, protocol.shape(split))
            raise BadData(f"{of}{split} tasks: {failure}{_FEWER if fewer else ''}") from failure


def _lacks_queries(benchmark: Benchmark, shape: Shape) -> bool:
    """Return whether BaseGen's tasks could be drawn if they had one query only."""
    if not isinstance(shape, EpisodeShape):
        return False
    try:
        benchmark.distribution("base").check(replace(shape, query=1))
    except BadData:
        return False
    return True


def _shared_tasks(protocol: Protocol, benchmark: Benchmark) -> Iterator[str]:
    """Caution against each measure whose selection and report tasks overlap."""
    selection, report = protocol.tasks.selection_tasks, protocol.tasks.report_tasks
    for measure in MEASURES:
        distribution = benchmark.distribution(measure)
        most = most_tasks(distribution, protocol.shape(measure))
        shared = 0 if most is None else selection + report - most
        if shared > 0:
            name = SHOWN_AS[measure]
            yield (
                f"{shared} of {most} {distribution.unit} are in both the selection and the report "
                f"tasks of {name}, so a choice by {name} gets too high a {name}"
            )


def _check_network(trial: PlannedTrial, benchmark: Benchmark) -> Iterator[str]:
    """Build the network. On torch's ``meta`` device that would load its compiler."""
    backbone = trial.spec.backbone.model_dump()
    channels, pixels = benchmark.image_shape[0], pixel_statistics(backbone)
    try:
        if pixels is not None and len(pixels[0]) != channels:
            problem = f"is for {len(pixels[0])} channels; these images have {channels}"
            advice = f"Write {{mean: [...], std: [...]}} with {channels} of each"
            raise ConfigError("", "backbone.normalisation", f"{problem}. {advice}")
        _, unused = build_backbone(backbone, benchmark.image_shape)
        if LEARNERS.is_plugin(trial.spec.learner.name):
            learner, classes = trial.spec.learner.model_dump(), benchmark.n_base_classes
            build_learner(learner, backbone, benchmark.image_shape, classes, 0)
    except ConfigError as failure:
        raise ConfigError("", trial.method, str(failure)) from failure
    except PluginError as failure:
        raise PluginError(f"{trial.method}: {failure}") from failure
    if unused:
        named = ", ".join(unused[:3]) + (", ..." if len(unused) > 3 else "")
        file, more = shown(backbone["weights"]), counted(len(unused), "more tensor")
        yield f"the weights '{file}' hold {more}, not used: {named}"
    yield from normalisation_caution(backbone, benchmark)


def _check_trained(training: EpisodicTraining, benchmark: Benchmark) -> None:
    """Check that the largest training episode can be drawn."""
    shape, hint = episode_shape(training), ""
    if training.query_counts == "multinomial" and isinstance(shape, EpisodeShape):
        shape = most_queries(shape)
        hint = " With 'query_counts: multinomial' one class may get that many queries."
    try:
        benchmark.train.check(shape)
    except BadData as failure:
        raise BadData(f"train tasks: {failure}{hint}") from failure


@contextmanager
def _placed(method: str, fold: Fold | None) -> Iterator[None]:
    try:
        yield
    except BadData as failure:
        if fold is None:
            raise BadData(f"{method}, {failure}") from failure
        advice = f"Use {'fewer' if 'val tasks:' in str(failure) else 'more'} folds."
        place = f"{method}, fold {fold.index} of {fold.folds}"
        raise BadData(f"{place}, {failure} {advice}") from failure
