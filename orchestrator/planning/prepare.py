"""A sweep that has been read, planned and checked, ready to be run."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from fsl_sweep.datasets.benchmark import Benchmark
from fsl_sweep.datasets.preparing.opening import open_benchmark
from fsl_sweep.orchestrator.errors import ConfigError, RunFolderError, UnknownName, did_you_mean
from fsl_sweep.orchestrator.ledger.ledger import Ledger
from fsl_sweep.orchestrator.records.model import digest
from fsl_sweep.orchestrator.records.plan import Plan
from fsl_sweep.orchestrator.records.protocol import MAIN
from fsl_sweep.orchestrator.selectors import hyperparameter_selector, snapshot_selector
from fsl_sweep.orchestrator.selectors.base import is_cross_validated
from fsl_sweep.orchestrator.selectors.mixture import base_weight
from fsl_sweep.orchestrator.sweepfile.grammar import SweepConfig
from fsl_sweep.orchestrator.sweepfile.messages import blaming
from fsl_sweep.orchestrator.sweepfile.reading import SweepFile, load_sweep


@dataclass(frozen=True)
class Prepared:
    """A sweep as read, and its run folder."""

    sweep: SweepFile
    ledger: Ledger
    only: tuple[str, ...]
    retry: tuple[str, ...] = ()

    @cached_property
    def plan(self) -> Plan:
        """Return its plan, made on first use: that imports torch while Ray is starting.

        Raises:
            ConfigError: a value of the file cannot be used; the message names it.
            RunFolderError: the run folder holds another search for configurations.
        """
        from fsl_sweep.orchestrator.planning.plan_sweep import plan_sweep
        from fsl_sweep.orchestrator.planning.searching import Recorded

        recorded = Recorded(self.ledger, self.sweep.config.name)
        return self.ledger.with_its_ids(plan_sweep(self.sweep, recorded))

    def opened(self) -> tuple[Plan, dict[str, Benchmark]]:
        """Open the data, which may take a while; return the plan on these data, and the benchmarks.

        Raises:
            MissingData, BadData, ConfigError: as of `open_benchmarks` and `check_feasible`.
        """
        benchmarks = open_benchmarks(self.plan)
        return self.on(benchmarks), benchmarks

    def on(self, benchmarks: Mapping[str, Benchmark]) -> Plan:
        """Return the plan on data that are open. Raises ConfigError as of `check_feasible`."""
        from fsl_sweep.orchestrator.planning.feasibility import check_feasible

        cautions = (*self.plan.cautions, *check_feasible(self.plan, benchmarks))
        return opened_plan(replace(self.plan, cautions=cautions), benchmarks)


def open_benchmarks(plan: Plan, names: Collection[str] | None = None) -> dict[str, Benchmark]:
    """Open the benchmark that a plan trains on, as ``main``, and those that protocols name.

    Args:
        plan: the plan.
        names: of the protocols; by default all that the sweep file asks for.

    Raises:
        MissingData: files are not on this machine.
        BadData: they cannot be used.
    """
    opened: dict[str, Benchmark] = {}
    named = {MAIN: plan.trials[0].spec.benchmark} | {
        planned.name: planned.protocol.benchmark
        for planned in plan.protocols
        if planned.protocol.benchmark
        and (planned.asked if names is None else planned.name in names)
    }
    for name, benchmark in named.items():
        root = plan.places.get(name)
        same = next((n for n in opened if (named[n], plan.places.get(n)) == (benchmark, root)), "")
        opened[name] = opened.get(same) or open_benchmark(
            benchmark.name, benchmark.options, Path(root) if root else None
        )
    return opened


def opened_plan(plan: Plan, benchmarks: Mapping[str, Benchmark]) -> Plan:
    """Add the fingerprints of a plan's data, so that its protocols have ids."""
    names = [protocol.name for protocol in plan.protocols]
    return plan.on({name: fingerprint_of(name, benchmarks) for name in names})


def check_same_data(plan: Plan, benchmarks: Mapping[str, Benchmark]) -> None:
    """Raise RunFolderError unless these are the benchmarks that the plan was made for."""
    for protocol in plan.protocols:
        if protocol.name == MAIN or protocol.name in benchmarks:
            fingerprint = fingerprint_of(protocol.name, benchmarks)
            if fingerprint != protocol.fingerprint:
                raise RunFolderError(
                    f"The data of protocol '{protocol.name}' has the fingerprint {fingerprint}, "
                    f"and the plan was made for {protocol.fingerprint}: it has changed, or the "
                    "nodes do not hold the same data."
                )


def fingerprint_of(protocol: str, benchmarks: Mapping[str, Benchmark]) -> str:
    """Return the fingerprint of a protocol's data: the trained benchmark's, or one of both."""
    main = benchmarks[MAIN].fingerprint
    if protocol == MAIN or protocol not in benchmarks:
        return main
    return digest([main, benchmarks[protocol].fingerprint])


def prepare(
    source: str | Mapping[str, Any],
    output: Path | None = None,
    overrides: Sequence[str] = (),
    only: Sequence[str] = (),
    retry: Sequence[str] = (),
) -> Prepared:
    """Read and check a sweep; nothing is written and no data is read.

    Args:
        source: a sweep file, the name of a preset, or what such a file holds.
        output: the run folder; ``runs/NAME`` by default.
        overrides: ``KEY=VALUE`` texts, which change the file.
        only: methods to run; all by default.
        retry: trials to run again from the beginning, as of `upkeep.retrying.check_retry`.

    Raises:
        ConfigError: the file, an option or a name in it is wrong.
    """
    return prepared_from(load_sweep(source, overrides), output, only, retry)


def prepared_from(
    sweep: SweepFile, output: Path | None, only: Sequence[str] = (), retry: Sequence[str] = ()
) -> Prepared:
    """Check a sweep that has been read. Arguments and exceptions as of `prepare`."""
    config = sweep.config
    with blaming(sweep.where, sweep.overrides, sweep.place):
        for method in only:
            if method not in config.methods:
                problem = f"unknown method '{method}'; {did_you_mean(method, config.methods)}"
                raise ConfigError("", "--only", problem)
        _check_selectors(config)
    ledger = Ledger(output or Path("runs") / config.name)
    return Prepared(sweep, ledger, tuple(only), tuple(retry))


def _check_selectors(config: SweepConfig) -> None:
    """Raise ConfigError where a selector is unknown, or cannot be computed for this sweep."""
    named: list[tuple[str, Callable[[str], Any], str]] = [
        (f"{kind}.{number}", build, name)
        for kind, build in (
            ("snapshot", snapshot_selector),
            ("hyperparameter", hyperparameter_selector),
        )
        for number, name in enumerate(getattr(config.selectors, kind))
    ]
    for key, build, name in [*named, ("metric", base_weight, config.selectors.metric)]:
        path = f"selectors.{key}"
        try:
            selector = build(name)
        except (UnknownName, ConfigError) as failure:
            raise ConfigError("", path, str(failure)) from None
        if key != "metric" and is_cross_validated(selector) and config.cross_validation is None:
            problem = f"'{name}' needs class folds; add `cross_validation: {{folds: 4}}`"
            raise ConfigError("", path, problem)
