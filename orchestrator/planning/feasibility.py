"""Whether a benchmark can fill every episode that a plan asks for, before anything runs."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fsl_sweep.datasets.benchmark import Benchmark
from fsl_sweep.datasets.splits.class_folds import fold_benchmark
from fsl_sweep.datasets.tasks.classes import check_common, most_tasks
from fsl_sweep.datasets.tasks.episodes import EpisodeShape
from fsl_sweep.datasets.tasks.query_counts import most_queries
from fsl_sweep.learners.building import build_backbone, pixel_statistics
from fsl_sweep.orchestrator.errors import BadData, ConfigError
from fsl_sweep.orchestrator.planning.suitability import check_training_tasks
from fsl_sweep.orchestrator.records.measures import MEASURES, SHOWN_AS
from fsl_sweep.orchestrator.records.plan import Plan, PlannedTrial
from fsl_sweep.orchestrator.records.spec import TrialSpec, canonical_json, episode_shape
from fsl_sweep.orchestrator.text.printed import counted


def check_feasible(plan: Plan, benchmark: Benchmark) -> tuple[str, ...]:
    """Check that the benchmark can fill every episode that the plan asks for.

    Returns:
        Cautions about the data.

    Raises:
        BadData: too few classes or examples; the message names the method, fold, split and
            numbers. Or the method cannot train on the benchmark's kind of tasks.
        ConfigError: a backbone cannot take the benchmark's images, or the weights of its file.
    """
    seen: set[tuple[Any, ...]] = set()
    folds = {fold: fold_benchmark(benchmark, **fold.model_dump()) for fold in plan.folds}
    backbones: set[str] = set()
    cautions = [*benchmark.cautions, *_shared_tasks(plan.trials[0].spec, benchmark)]
    for trial in plan.trials:
        if (backbone := canonical_json(trial.spec.backbone.model_dump())) not in backbones:
            backbones.add(backbone)
            cautions += _check_backbone(trial, benchmark)
        fold = trial.spec.fold
        ours = benchmark if fold is None else folds[fold]
        check_training_tasks(trial, ours)
        for split, tasks, shape in _wanted(trial):
            if (fold, split, tasks, shape) in seen:
                continue
            seen.add((fold, split, tasks, shape))
            try:
                if tasks is None:
                    ours.distribution(split).check(shape)
                else:
                    check_common(ours.distribution(split), tasks, shape)
            except BadData as failure:
                raise BadData(_problem(trial, split, failure)) from failure
    return tuple(dict.fromkeys(cautions))


def _shared_tasks(spec: TrialSpec, benchmark: Benchmark) -> Iterator[str]:
    """A caution for each measure whose selection and report tasks overlap."""
    selection, report = spec.evaluation.selection_tasks, spec.evaluation.report_tasks
    for measure in MEASURES:
        distribution = benchmark.distribution(measure)
        most = most_tasks(distribution, episode_shape(spec.episode))
        shared = 0 if most is None else selection + report - most
        if shared > 0:
            yield (
                f"{SHOWN_AS[measure]}: of {most} {distribution.unit}, {selection} are selected on "
                f"and {report} reported on, {shared} of them the same: a snapshot or configuration "
                f"chosen by {SHOWN_AS[measure]} has that measure reported too high"
            )


def _check_backbone(trial: PlannedTrial, benchmark: Benchmark) -> Iterator[str]:
    """Build the network. On torch's ``meta`` device that would load its compiler."""
    backbone = trial.spec.backbone.model_dump()
    channels, pixels = benchmark.image_shape[0], pixel_statistics(backbone)
    try:
        if pixels is not None and len(pixels[0]) != channels:
            problem = f"is for {len(pixels[0])} channels; these images have {channels}"
            advice = f"Write {{mean: [...], std: [...]}} with {channels} of each"
            raise ConfigError("", "backbone.normalisation", f"{problem}. {advice}")
        _, unused = build_backbone(backbone, benchmark.image_shape)
    except ConfigError as failure:
        raise ConfigError("", trial.method, str(failure)) from failure
    if unused:
        shown = ", ".join(unused[:3]) + (", ..." if len(unused) > 3 else "")
        file = Path(backbone["weights"]).name
        yield f"the weights '{file}' hold {counted(len(unused), 'more tensor')}, not used: {shown}"


def _wanted(trial: PlannedTrial) -> list[tuple[str, int | None, Any]]:
    """The splits in use, their least number of common tasks (None: any), and episode shapes."""
    spec = trial.spec
    most = max(spec.evaluation.selection_tasks, spec.evaluation.report_tasks)
    wanted: list[tuple[str, int | None, Any]] = [
        (split, most, episode_shape(spec.episode)) for split in MEASURES
    ]
    if spec.episodic is not None:
        shape = episode_shape(spec.episodic)
        if spec.episodic.query_counts == "multinomial" and isinstance(shape, EpisodeShape):
            shape = most_queries(shape)
        wanted.append(("train", None, shape))
    return wanted


def _problem(trial: PlannedTrial, split: str, failure: BadData) -> str:
    fold, train = trial.spec.fold, trial.spec.episodic
    if split == "train" and train is not None and train.query_counts == "multinomial":
        hint = "With 'query_counts: multinomial' one class may get that many queries."
        failure = BadData(f"{failure} {hint}")
    if fold is None:
        return f"{trial.method}, {split} tasks: {failure}"
    advice = f"Use {'fewer' if split == 'val' else 'more'} folds."
    place = f"fold {fold.index} of {fold.folds}"
    return f"{trial.method}, {place}, {split} tasks: {failure} {advice}"
