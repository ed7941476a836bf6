"""One method of a sweep: its axes multiplied, each configuration with every seed and class fold."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from fsl_sweep.orchestrator.errors import ConfigError
from fsl_sweep.orchestrator.planning.configuration import ConfigurationResolver
from fsl_sweep.orchestrator.planning.searching import MethodSearch
from fsl_sweep.orchestrator.planning.suitability import USED_UNTRAINED, among_all, draws_nothing
from fsl_sweep.orchestrator.records.model import digest
from fsl_sweep.orchestrator.records.plan import PlannedTrial
from fsl_sweep.orchestrator.records.search import Searched
from fsl_sweep.orchestrator.records.spec import Fold, TrialSpec, configuration_of, identity
from fsl_sweep.orchestrator.sweepfile.axes import expand, shown_values, sizes
from fsl_sweep.orchestrator.text.printed import counted

_Configuration = tuple[dict[str, Any], TrialSpec, dict[str, Any], tuple[bool, bool, int]]
"""The axis values, the specification with the first seed, its identity, and whether its learner
classifies among all base classes, whether no seed changes it, and its round of a search."""
_Folds = Sequence[tuple[Fold | None, Mapping[str, Any] | None]]
"""None for the full trial, then every class fold; each with its canonical form."""


def factors_of(method: ConfigurationResolver, search: MethodSearch | None) -> dict[str, int]:
    """Return by name the factors of the number of a method's trials; duplicates are counted.

    Raises:
        ConfigError: as ``expand``.
    """
    config = method.config
    if search is None:
        with method.placed():
            factors = sizes(method.settings, config.samples)
    else:
        factors = {"configurations": search.total}
    factors["seeds"] = len(config.seeds)
    if config.cross_validation is not None:
        factors["full trial and class folds"] = len(_folds(method))
    return factors


def trials_of(
    method: ConfigurationResolver, search: MethodSearch | None, searched: Searched | None
) -> list[PlannedTrial]:
    """Make the trials of a method: configurations x seeds, each followed by its class folds.

    Args:
        method: the method.
        search: proposes its configurations; without it, its axes are multiplied.
        searched: what was proposed so far; None where the method has no axes.

    Raises:
        ConfigError: as ``plan_sweep``.
    """
    if search is None:
        config = method.config
        every = ((0, *pair) for pair in expand(method.settings, config.samples, config.seed))
    else:
        every = search.configurations(searched)
    configurations, folds = _configurations(method, every), _folds(method)
    shown = shown_values(
        [
            {path: _at(plain, path, value) for path, value in axes.items()}
            for axes, _, plain, _ in configurations.values()
        ]
    )
    return [
        PlannedTrial(trial, method.method, configuration, values, replicate, among, nothing, number)
        for (configuration, (_, spec, plain, (among, nothing, number))), values in zip(
            configurations.items(), shown, strict=True
        )
        for trial, replicate in _replicates(
            spec, plain, method.config.seeds[:1] if nothing else method.config.seeds, folds
        )
    ]


def _configurations(
    method: ConfigurationResolver, every: Iterable[tuple[int, dict[str, Any], dict[str, Any]]]
) -> dict[str, _Configuration]:
    """Resolve every configuration, by its id. Of each: its round, axis values and settings."""
    configurations: dict[str, _Configuration] = {}
    with method.placed():
        for number, axes, tree in every:
            spec = method.spec(tree, axes)
            if spec.train is None:
                axes = {p: value for p, value in axes.items() if p.startswith(USED_UNTRAINED)}
            plain = identity(spec.canonical())
            learner = method.learner(tree)
            known = among_all(learner), draws_nothing(spec, learner), number
            configuration = axes, spec, plain, known
            other, *_ = configurations.setdefault(configuration_of(plain), configuration)
            # Without training, configurations may differ in settings that are not used.
            if other is not axes and (spec.train is not None or other != axes or number):
                check_epochs(spec, configurations[configuration_of(plain)][1])
                raise ConfigError("", "", f"{axes} and {other} are the same configuration")
    return configurations


def check_epochs(spec: TrialSpec, other: TrialSpec, methods: str = "") -> None:
    """Raise ConfigError where specifications of one id train it to different epochs.

    ``methods`` names those that plan them, if they are two.
    """
    if spec.epochs == other.epochs:
        return
    few, many = sorted((spec.epochs, other.epochs))
    of = f" of {methods}" if methods else ""
    raise ConfigError(
        "",
        "epochs",
        f"{few} and {counted(many, 'epoch')}{of} are one training: nothing else of it differs, and "
        f"its schedule does not depend on 'epochs'. Train {many} only; a snapshot selector chooses "
        "among all of its epochs",
    )


def _replicates(
    spec: TrialSpec, plain: Mapping[str, Any], seeds: Sequence[int], folds: _Folds
) -> Iterator[tuple[str, TrialSpec]]:
    """Yield id and specification for each seed: the full trial, then those of its class folds.

    Ids are made from the configuration's identity, which is faster than from each trial.
    """
    for seed in seeds:
        for fold, plain_fold in folds:
            identity = digest({**plain, "seed": seed, "fold": plain_fold})
            yield identity, spec.model_copy(update={"seed": seed, "fold": fold})


def _folds(method: ConfigurationResolver) -> _Folds:
    plan = method.config.cross_validation
    if plan is None or method.method not in (plan.methods or [method.method]):
        return [(None, None)]
    shared = plan.model_dump(exclude={"methods"})
    folds = [Fold(index=index, **shared) for index in range(plan.folds)]
    return [(None, None), *((fold, fold.model_dump(mode="json")) for fold in folds)]


def _at(plain: Mapping[str, Any], path: str, fallback: Any) -> Any:
    """Look up the resolved value at a dotted path: ``1`` and ``1.0`` then read alike."""
    place: Any = plain
    for part in path.split("."):
        if not isinstance(place, Mapping) or part not in place:
            return fallback
        place = place[part]
    return fallback if path == "schedule" else place
