"""From a sweep file to a plan: the trials of every method, and what the report needs to know."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod
from operator import itemgetter
from typing import Any

from fsl_sweep.datasets.catalogue import BENCHMARKS
from fsl_sweep.learners.backbones.catalogue import BACKBONES
from fsl_sweep.learners.catalogue import LEARNERS
from fsl_sweep.learners.metadl.submissions import SUBMISSIONS
from fsl_sweep.orchestrator.catalogue import Catalogue
from fsl_sweep.orchestrator.errors import ConfigError, did_you_mean
from fsl_sweep.orchestrator.planning.configuration import ConfigurationResolver
from fsl_sweep.orchestrator.planning.early_stopping import check_scheduler
from fsl_sweep.orchestrator.planning.method import check_epochs, factors_of, trials_of
from fsl_sweep.orchestrator.planning.part import Part
from fsl_sweep.orchestrator.planning.protocols import (
    check_suitable,
    planned_protocols,
    resolved_benchmark,
    stem,
)
from fsl_sweep.orchestrator.planning.searching import (
    MethodSearch,
    Recorded,
    search_cautions,
    searches_of,
)
from fsl_sweep.orchestrator.planning.suitability import in_distribution_cautions
from fsl_sweep.orchestrator.records.model import digest
from fsl_sweep.orchestrator.records.plan import Plan, PlannedTrial
from fsl_sweep.orchestrator.records.protocol import MAIN, PlannedProtocol
from fsl_sweep.orchestrator.records.spec import Selectors
from fsl_sweep.orchestrator.sweepfile.grammar import SweepConfig
from fsl_sweep.orchestrator.sweepfile.messages import blaming
from fsl_sweep.orchestrator.sweepfile.reading import SweepFile

MOST_TRIALS = 1_000_000
_FEWER = (
    "Leave out values, or draw some of the combinations: write 'choice' in place of 'grid', and "
    "how many to draw as 'samples'"
)


def plan_sweep(sweep: SweepFile, recorded: Recorded | None = None) -> Plan:
    """Plan every trial of a sweep: methods x configurations x seeds, in the order of the file.

    With cross-validation, each full trial is followed by those of its folds. Where the sweep
    searches, the configurations are those that were proposed so far.

    Args:
        sweep: the file.
        recorded: what the run folder holds of a search; without it, the first round is planned.

    Raises:
        RunFolderError: the run folder holds another search.
        ConfigError: an unknown name, a bad option, two equal configurations in a method, or more
            than ``MOST_TRIALS`` trials; the message names file, key path and value.
    """
    with blaming(sweep.where, sweep.overrides, sweep.place):
        plan = _planned(sweep.config, recorded)
        if not sweep.stands_in:
            return plan
        caution = "This is the small variant of a sweep: its numbers are not those of the sweep"
        return replace(plan, stands_in=sweep.stands_in, cautions=(caution, *plan.cautions))


def searches(sweep: SweepFile) -> dict[str, MethodSearch]:
    """Return the search of each method, where the sweep asks for one. Raises as ``plan_sweep``."""
    with blaming(sweep.where, sweep.overrides, sweep.place):
        return searches_of(sweep.config, _methods(sweep.config, _benchmark(sweep.config)))


def _methods(config: SweepConfig, benchmark: Part) -> list[ConfigurationResolver]:
    return [
        ConfigurationResolver(config, method, tree, benchmark)
        for method, tree in config.methods.items()
    ]


def _planned(config: SweepConfig, recorded: Recorded | None) -> Plan:
    benchmark = _benchmark(config)
    methods = _methods(config, benchmark)
    search = searches_of(config, methods)
    _check_size(methods, search)
    searched = {name: each.begun(recorded) for name, each in search.items() if each.axes}
    trials = [
        trial
        for method in methods
        for trial in trials_of(method, search.get(method.method), searched.get(method.method))
    ]
    _check_shared(trials)
    cautions = dict.fromkeys(caution for method in methods for caution in method.cautions)
    protocols = planned_protocols(config)
    if config.scheduler:
        check_scheduler(config.scheduler, trials)
    check_suitable(protocols, [learner for method in methods for learner in method.learners])
    return Plan(
        name=config.name,
        sweep=_sweep_digest(config),
        fingerprint=None,
        trials=tuple(trials),
        protocols=protocols,
        keep=config.keep,
        record=config.record,
        scheduler=config.scheduler,
        search=config.search,
        searched=searched,
        places=_places(config, protocols),
        resources=config.resources,
        method_resources={m.method: m.resources for m in methods if m.resources},
        selectors=_selectors(config),
        parts=_parts(trials),
        cautions=(
            *in_distribution_cautions(benchmark, trials),
            *search_cautions(config.search, searched),
            *cautions,
        ),
    )


def _benchmark(config: SweepConfig) -> Part:
    """Resolve the benchmark that is trained on, and check who has class folds of it."""
    folds = config.cross_validation
    for number, method in enumerate(folds.methods or () if folds else ()):
        if method not in config.methods:
            problem = f"unknown method '{method}'; {did_you_mean(method, config.methods)}"
            raise ConfigError("", f"cross_validation.methods.{number}", problem)
    benchmark = resolved_benchmark(config.benchmark, "benchmark")
    if folds and benchmark.cls.in_distribution:
        problem = f"'{benchmark.name}' tests on the classes that it trains on: there are no others"
        raise ConfigError("", "cross_validation", f"{problem} to hold out; leave it out")
    return benchmark


def _places(config: SweepConfig, protocols: Sequence[PlannedProtocol]) -> dict[str, str | None]:
    places = {MAIN: config.benchmark.options.get("root")}
    for protocol in protocols[1:]:
        if benchmark := config.measure[stem(protocol.name)].benchmark:
            places[protocol.name] = benchmark.options.get("root")
    return places


def _check_size(
    methods: Sequence[ConfigurationResolver], search: Mapping[str, MethodSearch]
) -> None:
    """Refuse a sweep that is too large before any trial is made."""
    sizes = [factors_of(method, search.get(method.method)) for method in methods]
    counts = [prod(factors.values()) for factors in sizes]
    if sum(counts) > MOST_TRIALS:
        largest, factors, count = max(zip(methods, sizes, counts, strict=True), key=itemgetter(2))
        product = " x ".join(f"{name}: {size:,}" for name, size in factors.items())
        raise ConfigError(
            "",
            f"methods.{largest.method}",
            f"{product} makes {count:,} trials; a sweep has at most {MOST_TRIALS:,}. "
            + ("Search for fewer" if search else _FEWER),
        )


def _check_shared(trials: Sequence[PlannedTrial]) -> None:
    """Refuse methods that share a trial and train it to other epochs."""
    planned: dict[str, PlannedTrial] = {}
    for trial in trials:
        other = planned.setdefault(trial.id, trial)
        try:
            check_epochs(trial.spec, other.spec, f"{other.method} and {trial.method}")
        except ConfigError as error:
            raise ConfigError("", f"methods.{trial.method}.{error.path}", error.problem) from None


def _selectors(config: SweepConfig) -> Selectors:
    """Take those of the file; with class folds, the cross-validated ones join the defaults.

    Where the file names none and does not ask for all, a report shows few of their pairs.
    """
    chosen = config.selectors
    if not chosen.model_fields_set - {"metric"}:
        chosen = chosen.model_copy(update={"show": "few"})
    if config.cross_validation is None:
        return chosen
    more = {
        kind: [*(n for n in getattr(chosen, kind) if n != "oracle"), name, "oracle"]
        for kind, name in (("snapshot", "cv-epoch"), ("hyperparameter", "cv"))
        if kind not in chosen.model_fields_set
    }
    return chosen.model_copy(update=more)


def _sweep_digest(config: SweepConfig) -> str:
    """Hash what a sweep trains and compares, not its protocols, data paths or cores."""
    # A scheduler trains part of the same grid.
    without = {"resources", "retries", "stall", "scheduler"}
    without |= {"episode", "measure", "keep", "record", "laptop"}
    if config.cross_validation is None:
        without.add("cross_validation")
    plain = config.model_dump(mode="json", exclude=without)
    plain["benchmark"].pop("root", None)
    for method in plain["methods"].values():
        method.pop("resources", None)
    plain["evaluation"] = {"every": config.evaluation.every}
    return digest(plain)


def _parts(trials: Sequence[PlannedTrial]) -> dict[str, Any]:
    """List name, source and version of everything that a catalogue supplied."""
    specs = [trial.spec for trial in trials]
    programs = {s.learner.options["submission"] for s in specs if s.learner.name == "metadl"}
    used: list[tuple[str, Catalogue[Any], set[str]]] = [
        ("benchmark", BENCHMARKS, {s.benchmark.name for s in specs}),
        ("learner", LEARNERS, {s.learner.name for s in specs}),
        ("backbone", BACKBONES, {s.backbone.name for s in specs}),
        ("submission", SUBMISSIONS, programs),
    ]
    return {kind: [c.provenance(n) for n in sorted(names)] for kind, c, names in used if names}
