"""The table of searchers, and how a round is asked for and checked."""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from importlib.metadata import version
from typing import Any

from fsl_sweep.orchestrator.catalogue import Catalogue, Info
from fsl_sweep.orchestrator.errors import PluginError, in_one_line
from fsl_sweep.orchestrator.records.search import Outcome
from fsl_sweep.orchestrator.searchers.base import Axes, Searcher, key
from fsl_sweep.orchestrator.searchers.optuna import Optuna
from fsl_sweep.orchestrator.searchers.random import Random
from fsl_sweep.orchestrator.searchers.sobol import Sobol

SEARCHERS: Catalogue[Searcher] = Catalogue(
    "searcher",
    "fsl_sweep.searchers",
    (
        Info("random", Random, "Bergstra and Bengio 2012", "draws at random, as `samples`"),
        Info("sobol", Sobol, "Owen 1998", "a scrambled Sobol sequence, which fills space evenly"),
        Info(
            "optuna",
            Optuna,
            "Akiba et al. 2019",
            "Optuna's TPE, which learns from the scores (extra `search`)",
        ),
    ),
)


def proposed(
    name: str, axes: Axes, history: Sequence[Outcome], count: int, seed: int
) -> tuple[Mapping[str, Any], ...]:
    """Ask a searcher for a round, and check its answer. Arguments as of ``Searcher.propose``.

    Raises:
        UnknownName, PluginError: there is no such searcher, it fails to load, raises an error of
            its own, or proposes what no searcher may.
    """
    cls = SEARCHERS.find(name).cls
    if not issubclass(cls, Searcher):
        raise PluginError(f"The searcher '{name}' is no subclass of Searcher: correct it.")
    with SEARCHERS.named_faults(name):
        # A copy: whatever it changes is not what is recorded.
        answer: Any = cls().propose(axes, deepcopy([*history]), count, seed)
        problem = _problem(answer, axes, history, count)
    if problem:
        raise PluginError(
            f"The searcher '{name}' {problem}. Nothing that was recorded is lost: correct it, or "
            "search with another one, in another run folder."
        )
    return tuple(
        {
            path: values[path] if axis.kind == "choice" else float(values[path])
            for path, axis in axes.items()
        }
        for values in answer
    )


def origin(name: str) -> dict[str, str]:
    """Return name, source and version of a searcher, and the versions of packages that it uses."""
    with SEARCHERS.named_faults(name):
        versions = {package: version(package) for package in SEARCHERS.find(name).cls.packages}
    return SEARCHERS.provenance(name) | versions


def _problem(answer: Any, axes: Axes, history: Sequence[Outcome], count: int) -> str:
    """Say what is wrong with the answer of a searcher; empty where nothing is."""
    if not isinstance(answer, list) or len(answer) != count:
        many = len(answer) if isinstance(answer, list) else type(answer).__name__
        return f"must propose a list of {count} configurations, not {many}"
    known = {key(outcome.values) for outcome in history}
    for values in answer:
        if not isinstance(values, Mapping) or values.keys() != axes.keys():
            return f"must propose a value of each of {', '.join(axes)}, not {_short(values)}"
        for path, axis in axes.items():
            if not axis.has(values[path]):
                return (
                    f"proposes {path} = {_short(values[path])}, which is none of its axis "
                    f"{{{axis.kind}: {_short(axis.values)}}}"
                )
        if key(values) in known:
            return f"proposes {_short(values)}, which was proposed before"
        known.add(key(values))
    return ""


def _short(value: Any) -> str:
    return in_one_line(ValueError(repr(value))).removeprefix("ValueError: ")
