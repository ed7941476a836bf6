"""The search for configurations of a method: what there is to search, and what was proposed."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, final

from fsl_sweep.orchestrator.errors import (
    ConfigError,
    Damaged,
    PluginError,
    RunFolderError,
    UnknownName,
)
from fsl_sweep.orchestrator.ledger.ledger import Ledger
from fsl_sweep.orchestrator.ledger.proposals import read_proposals
from fsl_sweep.orchestrator.planning.configuration import ConfigurationResolver
from fsl_sweep.orchestrator.planning.suitability import USED_UNTRAINED, is_program
from fsl_sweep.orchestrator.records.model import digest
from fsl_sweep.orchestrator.records.plan import Plan
from fsl_sweep.orchestrator.records.search import Outcome, Proposals, Search, Searched, Values
from fsl_sweep.orchestrator.records.spec import configuration_of
from fsl_sweep.orchestrator.searchers.base import Axes, size
from fsl_sweep.orchestrator.searchers.catalogue import SEARCHERS, origin, proposed
from fsl_sweep.orchestrator.sweepfile.axes import axes_of, replaced
from fsl_sweep.orchestrator.sweepfile.grammar import SweepConfig


@final
class MethodSearch:
    """The search for configurations of one method.

    Attributes:
        method: its name.
        axes: those that change what it trains; none where it has nothing to search.
        has_loss: whether its training loss is known.
        total: how many configurations there will be.
        of: digest of all that is searched, as of `Searched`.

    Raises:
        ConfigError: an axis, or a value in the middle of all axes, cannot be used.
    """

    def __init__(self, resolver: ConfigurationResolver, search: Search) -> None:
        self.method, self._search, self._seed = resolver.method, search, resolver.config.seed
        with resolver.placed():
            axes = axes_of(resolver.settings)
            middle = {path: axis.at(0.5) for path, axis in axes.items()}
            spec = resolver.spec(replaced(resolver.settings, middle), middle)
        used = USED_UNTRAINED if spec.train is None else ("",)
        program = is_program(resolver.settings.get("learner"))
        self.has_loss = spec.train is not None and not program
        self.axes: Axes = {path: axis for path, axis in axes.items() if path.startswith(used)}
        unused = {path: value for path, value in middle.items() if path not in self.axes}
        self._settings = replaced(resolver.settings, unused)
        known = search.configurations, size(self.axes)
        self.total = min(count for count in known if count is not None)
        ranges = {path: [axis.kind, axis.values] for path, axis in self.axes.items()}
        trained = configuration_of(spec.canonical())
        self.of = digest(_plain([trained, ranges, search.name, search.metric, self._seed]))

    def begun(self, before: "Recorded | None") -> Searched:
        """Return what was proposed so far; at least the first round, which needs no records.

        Raises:
            RunFolderError: the run folder holds another search.
            UserError: the searcher cannot propose.
        """
        searched = Searched(self.of, self.total, ())
        if before is not None:
            searched = before.after(self.method, searched)
        if not searched.rounds:
            searched = replace(searched, rounds=(self._asked(searched, ()),))
        return searched

    def next(self, searched: Searched, history: Sequence[Outcome]) -> Proposals:
        """Ask for the next round, from the outcomes of those before; raises as ``begun``."""
        points = self._asked(searched, history)
        return self._recorded(len(searched.rounds) + 1, points, history)

    def first(self, searched: Searched) -> Proposals:
        """Return the record of the first round."""
        return self._recorded(1, searched.rounds[0], ())

    def configurations(
        self, searched: Searched | None
    ) -> Iterator[tuple[int, dict[str, Any], dict[str, Any]]]:
        """Yield round, values of the axes, and settings of each configuration proposed so far."""
        if searched is None:
            yield 0, {}, self._settings
            return
        rounds = (n for n, points in enumerate(searched.rounds, start=1) for _ in points)
        for number, values in zip(rounds, searched.planned, strict=False):
            yield number, dict(values), replaced(self._settings, values)

    def _asked(self, searched: Searched, history: Sequence[Outcome]) -> tuple[Values, ...]:
        count = min(self._search.round, self.total - len(searched.points))
        return proposed(self._search.name, self.axes, history, count, self._seed)

    def _recorded(
        self, number: int, points: tuple[Values, ...], history: Sequence[Outcome]
    ) -> Proposals:
        searcher = origin(self._search.name)
        before = tuple(history)
        return Proposals(self.method, number, self.of, searcher, self._seed, points, before)


@dataclass(frozen=True)
class Recorded:
    """What a run folder knows of the searches of a sweep.

    Its plan holds all rounds of which a trial may exist. Files in ``proposals/`` may hold one more,
    where a run was killed before it planned it, and those of a method that was not planned last.
    """

    ledger: Ledger
    sweep: str

    @cached_property
    def _plan(self) -> Plan | None:
        plan = self.ledger.read_plan()
        return plan if plan is not None and plan.name == self.sweep else None

    def after(self, method: str, searched: Searched) -> Searched:
        """Return a search with all rounds that are recorded.

        Raises:
            RunFolderError: they are those of another search.
        """
        if self._plan is None:
            return searched
        if before := self._plan.searched.get(method):
            self._check(method, searched, before.of)
            searched = replace(searched, rounds=before.rounds)
        while (more := self._next(method, searched)) is not None:
            searched = replace(searched, rounds=(*searched.rounds, more.proposed))
        return searched

    def _next(self, method: str, searched: Searched) -> Proposals | None:
        """Read the next round; None where it is not recorded, or damaged: no trial is planned."""
        with suppress(Damaged):
            more = read_proposals(self.ledger, method, len(searched.rounds) + 1)
            if more is not None and not searched.rounds:
                self._check(method, searched, more.of)
            return more if more is not None and more.follows(searched) else None
        return None

    def _check(self, method: str, searched: Searched, of: str) -> None:
        if of != searched.of:
            raise RunFolderError(
                f"{self.ledger.path} holds another search for configurations of {method}: its "
                "axes, what it trains, the searcher, its metric or the seed have changed since, "
                "and one search cannot go on as another. Restore them, or choose another folder "
                "with -o; `configurations`, `round`, `seeds` and `epochs` may change."
            )


def searches_of(
    config: SweepConfig, methods: Sequence[ConfigurationResolver]
) -> dict[str, MethodSearch]:
    """Return the search of each method, where a sweep asks for one; also of those without axes.

    Raises:
        ConfigError: the searcher is unknown, or there is nothing to search.
    """
    if (search := config.search) is None:
        return {}
    try:
        SEARCHERS.find(search.name)
    except (UnknownName, PluginError) as failure:
        raise ConfigError("", "search.name", str(failure)) from None
    if config.samples is not None:
        problem = "search.configurations says how many are proposed: leave 'samples' out"
        raise ConfigError("", "samples", problem)
    searches = {method.method: MethodSearch(method, search) for method in methods}
    if not any(method.axes for method in searches.values()):
        raise ConfigError(
            "",
            "search",
            "no method has an axis, so there is nothing to search: in place of a value write "
            "{loguniform: [low, high]}, {uniform: [low, high]} or {choice: [...]}",
        )
    without = [name for name, each in searches.items() if each.axes and not each.has_loss]
    if search.metric == "train_loss" and without:
        problem = f"of {', '.join(without)} no training loss is known; write val or base"
        raise ConfigError("", "search.metric", problem)
    return searches


def search_cautions(search: Search | None, searched: Mapping[str, Searched]) -> Iterator[str]:
    """Say what a reader of a report must know of configurations that were proposed."""
    if search is not None:
        yield (
            f"The configurations of {', '.join(searched)} were proposed by the searcher "
            f"{search.name}: they are no grid, and what is said of hyperparameters, or of choosing "
            "among configurations, is said of this search"
        )


def _plain(value: Any) -> Any:
    """Return what JSON makes of settings, whose keys may be numbers."""
    return json.loads(json.dumps(value, default=str), parse_constant=str)
