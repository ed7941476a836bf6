"""From paths to the source of a report, or to several sources as one.

Trials that belong together join; contradictions are refused.
"""

import os
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain, combinations
from pathlib import Path
from typing import Any, TypeVar, final

import numpy as np

from fsl_sweep.orchestrator.errors import RunFolderError, UnknownName
from fsl_sweep.orchestrator.ledger.trial_ledger import TrialLedger
from fsl_sweep.orchestrator.records.measures import Measure, TaskSet, TrialHistory
from fsl_sweep.orchestrator.records.protocol import PlannedProtocol
from fsl_sweep.orchestrator.records.spec import Selectors
from fsl_sweep.orchestrator.replay.folder import FolderSource
from fsl_sweep.orchestrator.replay.lacking import lacking
from fsl_sweep.orchestrator.replay.source import Facts, Source
from fsl_sweep.orchestrator.replay.table_trials import filled

T = TypeVar("T")


def open_sources(paths: Sequence[Path]) -> Source:
    """One source of the records under ``paths``. Arguments and exceptions as of ``load_run``."""
    check_distinct(paths)
    return as_one([_open(path) for path in paths])


def as_one(sources: Sequence[Source]) -> Source:
    """The only one, or all as one. Raises RunFolderError where they were not measured alike."""
    return sources[0] if len(sources) == 1 else MergedSource(sources)


def check_distinct(paths: Sequence[Path]) -> None:
    """Raise RunFolderError where none is given, or one twice."""
    if not paths:
        raise RunFolderError("No run is given; name one run folder or table, or several.")
    seen: set[str] = set()
    for path in paths:
        if (place := os.path.realpath(path)) in seen:
            raise RunFolderError(f"{path} is given twice; name each run or table once.")
        seen.add(place)


def _open(path: Path) -> Source:
    if not path.is_file():
        return FolderSource(path)
    from fsl_sweep.orchestrator.replay.table import TableSource, tables_in  # needs pandas

    (world, rows), *others = tables_in(path).items()
    if others:
        raise RunFolderError(
            f"{path} holds {1 + len(others)} worlds, '{world}' and others, which are not one run. "
            f"Report them together: `fsl-sweep report {path}`, or `fsl_sweep.load_benchmarks`."
        )
    return TableSource(path, rows, world)


@final
class MergedSource(Source):
    """Sources whose records were measured alike. Raises RunFolderError where they were not.

    Trials of one method and configuration join. A trial that two sources hold is taken once, where
    its records agree.
    """

    def __init__(self, sources: Sequence[Source]) -> None:
        _check_alike(sources)
        self._sources = tuple(sources)
        self.places = tuple(place for source in sources for place in source.places)
        self.facts = _merged_facts([source.facts for source in sources])

    def protocols(self) -> tuple[PlannedProtocol, ...]:
        """Those of the first source that all others have too."""
        first, *others = (source.protocols() for source in self._sources)
        ids = [{one.id for one in own} for own in others]
        return tuple(one for one in first if all(one.id in known for known in ids))

    def protocol(self, name: str | None = None) -> PlannedProtocol | None:
        """As `Source.protocol`; the protocol of the name is the same in all sources."""
        meant = {
            str(source.places[0]): one
            for source in self._sources
            for one in source.protocols()
            if name in (one.name, one.id)
        }
        if len({one.id for one in meant.values()}) > 1:
            what = "; ".join(f"{one.protocol.described} in {at}" for at, one in meant.items())
            raise RunFolderError(
                f"Protocol '{name}' is not the same in all runs: {what}. Give the id of one that "
                "all of them have, or report each separately."
            )
        try:
            return super().protocol(name)
        except UnknownName:
            if not meant:
                raise
            without = [s.places[0] for s in self._sources if str(s.places[0]) not in meant]
            raise RunFolderError(
                f"Protocol '{name}' is not one of {without[0]}. Measure it there too "
                "(`fsl-sweep measure`), or report each run separately."
            ) from None

    def histories(
        self,
        reported: PlannedProtocol | None = None,
        by: PlannedProtocol | None = None,
        /,
        only: Collection[str] | None = None,
    ) -> list[TrialHistory]:
        """Those of all sources, and an empty one for each hole in a method's grid."""
        found: dict[tuple[str, str], tuple[TrialHistory, Path]] = {}
        for source in self._sources:
            for trial in source.histories(reported, by, only):
                key, place = (trial.method, trial.trial), source.places[0]
                before = found.get(key)
                found[key] = (trial, place) if before is None else _joined(before, (trial, place))
        return filled(_distinguished([trial for trial, _ in found.values()]))

    def check(self) -> None:
        """All of its sources."""
        for source in self._sources:
            source.check()

    def class_tuples(
        self, protocol: PlannedProtocol | None, /
    ) -> dict[tuple[Measure, TaskSet], np.ndarray]:
        """Those of the first source: common tasks follow from what the sources agree in."""
        folders = [s for s in self._sources if s.facts.measured is not None]
        return (folders or self._sources)[0].class_tuples(protocol)

    def trials(self) -> Mapping[str, TrialLedger]:
        """Those of all sources; of one in several, the first that has snapshots."""
        found: dict[str, TrialLedger] = {}
        for source in self._sources:
            for trial, ledger in source.trials().items():
                if trial not in found or not found[trial].snapshot_epochs():
                    found[trial] = ledger
        return found


def _check_alike(sources: Sequence[Source]) -> None:
    as_worlds = "; `fsl-sweep report --worlds` compares methods over several benchmarks"
    for fact, what, instead in (
        ("fingerprint", "the data that they were measured on", as_worlds),
        ("world", "world", as_worlds),
        ("measured", "episode and evaluation settings", ""),
        ("tasks", "the names of their tasks", ""),
    ):
        known = [(s.places[0], v) for s in sources if (v := getattr(s.facts, fact)) is not None]
        for (first, value), (second, other) in combinations(known, 2):
            if fact == "tasks":  # of the measures that both hold
                common = value.keys() & other.keys()
                value, other = ({m: own[m] for m in sorted(common)} for own in (value, other))
            if value != other:
                shown = "" if fact == "fingerprint" else f" ({_difference(value, other)})"
                shown = shown.replace("(tasks.", "(evaluation.")  # as in a sweep file
                raise RunFolderError(
                    f"{first} and {second} cannot be reported together: they differ in "
                    f"{what}{shown}, so that their numbers are about different tasks. Take each "
                    f"separately{instead}."
                )
    unknown = [s for s in sources if s.facts.measured is None and s.facts.per_task]
    if unknown and len({s.facts.measured is None for s in sources}) > 1:
        raise RunFolderError(
            f"{unknown[0].places[0]} has tasks of its own, which cannot be matched with those of "
            "a run folder. Report each separately, or leave the per-task rows out of the table."
        )


def _difference(first: Any, second: Any) -> str:
    if not isinstance(first, Mapping) or not isinstance(second, Mapping):
        return f"{first} and {second}"
    key = next(key for key in [*first, *second] if first.get(key) != second.get(key))
    a, b = first.get(key), second.get(key)
    nested = isinstance(a, Mapping) and isinstance(b, Mapping)
    return f"{key}.{_difference(a, b)}" if nested else f"{key}: {a} and {b}"


def _merged_facts(facts: Sequence[Facts]) -> Facts:
    measured = [one.measured for one in facts if one.measured is not None]
    cautions = [caution for one in facts for caution in one.cautions]
    if measured and len(measured) < len(facts):
        cautions.append(
            "Whether the records of a table were measured on the same tasks as the others is not "
            "known: differences between them may come from the tasks."
        )
    return Facts(
        name=" + ".join(one.name for one in facts),
        sweep=" + ".join(one.sweep for one in facts),
        fingerprint=_first(one.fingerprint for one in facts),
        measured=_first(measured),
        selectors=Selectors(
            snapshot=_union(one.selectors.snapshot for one in facts),
            hyperparameter=_union(one.selectors.hyperparameter for one in facts),
            metric=facts[0].selectors.metric,
        ),
        parts=_merged([one.parts for one in facts]),
        versions={
            package: ", ".join(
                _union(v.split(", ") for one in facts if (v := one.versions.get(package)))
            )
            for package in _union(one.versions for one in facts)
        },
        cautions=tuple(dict.fromkeys(cautions)),
        per_task=all(one.per_task for one in facts),
        tasks=_first(one.tasks for one in facts),
        world=_first(one.world for one in facts),
    )


def _first(values: Iterable[T | None]) -> T | None:
    """The first that is known."""
    return next((value for value in values if value is not None), None)


def _union(lists: Iterable[Iterable[str]]) -> list[str]:
    return list(dict.fromkeys(chain.from_iterable(lists)))


def _merged(parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Mappings of mappings as one; where two disagree in a value, both are kept in a list."""
    merged: dict[str, Any] = {}
    for key in _union(parts):
        values = [one[key] for one in parts if key in one]
        if all(isinstance(value, Mapping) for value in values):
            merged[key] = _merged(values)
        else:
            distinct = [v for i, v in enumerate(values) if v not in values[:i]]
            merged[key] = distinct[0] if len(distinct) == 1 else distinct
    return merged


def _joined(
    first: tuple[TrialHistory, Path], second: tuple[TrialHistory, Path]
) -> tuple[TrialHistory, Path]:
    """The fuller one of two records of a trial that agree where both have an epoch."""
    (a, place), (b, other) = first, second
    common = np.intersect1d(a.epochs, b.epochs)
    if a.complete and b.complete and not np.array_equal(a.epochs, b.epochs):
        what: str | None = f"{len(a.epochs)} and {len(b.epochs)} epochs"
    else:
        what = _first_difference(a, b, common)
    if what is not None:
        fold = "" if a.fold is None else f", fold {a.fold}"
        raise RunFolderError(
            f"{place} and {other} hold different records of the same trial ({a.method}, "
            f"configuration {a.configuration}, seed {a.seed}{fold}): {what}. Report each "
            "separately, or remove the trial from one of them."
        )
    fuller = [(one.complete and not one.damaged, len(one.epochs)) for one in (a, b)]
    (kept, where), (spare, _) = (first, second) if fuller[0] >= fuller[1] else (second, first)
    axes = max(a.hyperparameters, b.hyperparameters, key=len)
    scores = dict(kept.scores)
    if len(kept.epochs) and np.array_equal(kept.epochs, spare.epochs):
        scores |= {pair: spare.scores[pair] for pair in lacking(kept)}
    return replace(kept, hyperparameters=axes, scores=scores), where


def _first_difference(a: TrialHistory, b: TrialHistory, common: np.ndarray) -> str | None:
    """The first epoch of ``common [n]`` whose loss or accuracy of any task differs."""
    rows = [np.flatnonzero(np.isin(one.epochs, common)) for one in (a, b)]
    differs = np.zeros(len(common), bool)
    if "train_loss" in a.curves and "train_loss" in b.curves:
        losses = [t.curves["train_loss"][at] for t, at in zip((a, b), rows, strict=True)]
        differs |= _differ(*losses)
    for pair in a.scores.keys() - lacking(a) - lacking(b) if len(common) else ():
        tables = [t.scores[pair].load()[at] for t, at in zip((a, b), rows, strict=True)]
        same_tasks = tables[0].shape == tables[1].shape
        differs |= _differ(*tables).any(axis=1) if same_tasks else np.True_
    return f"epoch {common[differs][0]}" if differs.any() else None


def _differ(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    return (first != second) & ~(np.isnan(first) & np.isnan(second))


def _distinguished(trials: Sequence[TrialHistory]) -> list[TrialHistory]:
    """The trials, with hyperparameters that differ between a method's configurations.

    A run names only the axes that vary within it: with one configuration, none at all.
    """
    axes: dict[tuple[str, str], Mapping[str, Any]] = {}
    for one in trials:
        key = (one.method, one.configuration)
        axes[key] = max(axes.get(key, {}), one.hyperparameters, key=len)
    alike = Counter((method, repr(sorted(of.items()))) for (method, _), of in axes.items())
    for (method, configuration), of in axes.items():
        if alike[method, repr(sorted(of.items()))] > 1:
            axes[method, configuration] = {**of, "configuration": configuration}
    return [replace(one, hyperparameters=axes[one.method, one.configuration]) for one in trials]
