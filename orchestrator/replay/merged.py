"""From paths to the source of a report, or to several sources as one.

Trials that belong together join; contradictions are refused.
"""

import os
import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain, combinations
from pathlib import Path
from typing import Any, TypeVar, final

import numpy as np

from fsl_sweep.orchestrator.errors import RunFolderError, UnknownName
from fsl_sweep.orchestrator.ledger.trial_ledger import TrialLedger
from fsl_sweep.orchestrator.records.measures import Measure, ScoreKey, TrialHistory
from fsl_sweep.orchestrator.records.protocol import PlannedProtocol
from fsl_sweep.orchestrator.records.spec import Selectors
from fsl_sweep.orchestrator.replay.folder import FolderSource
from fsl_sweep.orchestrator.replay.lacking import lacking
from fsl_sweep.orchestrator.replay.source import (
    ProtocolOrMain,
    Source,
    SourceInfo,
    TrialIds,
)
from fsl_sweep.orchestrator.replay.table_trials import filled

T = TypeVar("T")


def open_sources(paths: Sequence[Path]) -> Source:
    """Open the records under ``paths`` as one source. Arguments and exceptions as ``load_run``."""
    check_distinct(paths)
    return as_one([_open(path) for path in paths])


def as_one(sources: Sequence[Source]) -> Source:
    """Join sources into one. Raises RunFolderError where they were not measured alike."""
    return sources[0] if len(sources) == 1 else MergedSource(sources)


def check_distinct(paths: Sequence[Path]) -> None:
    """Raise RunFolderError where no path is there, or one twice."""
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

    (benchmark, rows), *others = tables_in(path).items()
    if others:
        raise RunFolderError(
            f"{path} holds {1 + len(others)} benchmarks, '{benchmark}' and others, which are not "
            f"one run. Report them together: `fsl-sweep report {shlex.quote(str(path))}`, or "
            "`fsl_sweep.load_benchmarks`."
        )
    return TableSource(path, rows, benchmark)


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
        self.info = _merged_info([source.info for source in sources])

    def protocols(self) -> tuple[PlannedProtocol, ...]:
        """Return the protocols of the first source that all others have too."""
        first, *others = (source.protocols() for source in self._sources)
        ids = [{protocol.id for protocol in known} for known in others]
        return tuple(protocol for protocol in first if all(protocol.id in known for known in ids))

    def protocol(self, name: str | None = None) -> PlannedProtocol | None:
        """Return a protocol as `Source.protocol` does; a name means the same in all sources."""
        meant = {
            source.places[0]: protocol
            for source in self._sources
            for protocol in source.protocols()
            if name in (protocol.name, protocol.id)
        }
        if len({protocol.id for protocol in meant.values()}) > 1:
            what = "; ".join(f"{of.protocol.described} in {at}" for at, of in meant.items())
            raise RunFolderError(
                f"Protocol '{name}' is not the same in all runs: {what}. Give the id of one that "
                "all of them have, or report each separately."
            )
        try:
            return super().protocol(name)
        except UnknownName:
            if not meant:
                raise
            without = [s.places[0] for s in self._sources if s.places[0] not in meant]
            raise RunFolderError(
                f"Protocol '{name}' is not one of {without[0]}. Measure it there too "
                "(`fsl-sweep measure`), or report each run separately."
            ) from None

    def histories(
        self, reported: ProtocolOrMain = None, by: ProtocolOrMain = None, /, only: TrialIds = None
    ) -> list[TrialHistory]:
        """Return the trials of all sources, an empty one for each missing from a method's grid."""
        joined: dict[tuple[str, str], _Record] = {}
        for source in self._sources:
            for trial in source.histories(reported, by, only):
                key, record = (trial.method, trial.trial), (trial, source.places[0])
                joined[key] = _joined(joined[key], record) if key in joined else record
        return filled(_distinguished([trial for trial, _ in joined.values()]))

    def check(self) -> None:
        """Check all of its sources."""
        for source in self._sources:
            source.check()

    def class_tuples(self, protocol: ProtocolOrMain, /) -> dict[ScoreKey, np.ndarray]:
        """Return the tuples of the first source: tasks follow from what the sources agree in."""
        return self._first().class_tuples(protocol)

    def class_names(self, measure: Measure, protocol: ProtocolOrMain = None, /) -> tuple[str, ...]:
        """Return the names of the first source, as of `class_tuples`."""
        return self._first().class_names(measure, protocol)

    def _first(self) -> Source:
        folders = [s for s in self._sources if s.info.measured is not None]
        return (folders or self._sources)[0]

    def trials(self) -> Mapping[str, TrialLedger]:
        """Return the trials of all sources; of one in several, the first that has snapshots."""
        ledgers: dict[str, TrialLedger] = {}
        for source in self._sources:
            for trial, ledger in source.trials().items():
                if trial not in ledgers or not ledgers[trial].snapshot_epochs():
                    ledgers[trial] = ledger
        return ledgers


def _check_alike(sources: Sequence[Source]) -> None:
    over_benchmarks = "; `fsl-sweep report --benchmarks` compares methods over several benchmarks"
    for fact, what, instead in (
        ("fingerprint", "the data that they were measured on", over_benchmarks),
        ("benchmark", "the benchmark", over_benchmarks),
        ("measured", "episode and evaluation settings", ""),
        ("tasks", "the names of their tasks", ""),
    ):
        known = [(s.places[0], v) for s in sources if (v := getattr(s.info, fact)) is not None]
        for (first, value), (second, other) in combinations(known, 2):
            if fact == "tasks":  # of the measures that both hold
                common = value.keys() & other.keys()
                value, other = ({m: tasks[m] for m in sorted(common)} for tasks in (value, other))
            if value != other:
                shown = "" if fact == "fingerprint" else f" ({_difference(value, other)})"
                shown = shown.replace("(tasks.", "(evaluation.")  # as in a sweep file
                raise RunFolderError(
                    f"{first} and {second} cannot be reported together: they differ in "
                    f"{what}{shown}, so that their numbers are about different tasks. Take each "
                    f"separately{instead}."
                )
    unknown = [s for s in sources if s.info.measured is None and s.info.per_task]
    if unknown and len({s.info.measured is None for s in sources}) > 1:
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


def _merged_info(infos: Sequence[SourceInfo]) -> SourceInfo:
    measured = [info.measured for info in infos if info.measured is not None]
    cautions = _union(info.cautions for info in infos)
    if measured and len(measured) < len(infos):
        cautions.append(
            "Whether the records of a table were measured on the same tasks as the others is not "
            "known: differences between them may come from the tasks."
        )
    return SourceInfo(
        name=" + ".join(info.name for info in infos),
        sweep=" + ".join(info.sweep for info in infos),
        fingerprint=_first(info.fingerprint for info in infos),
        measured=_first(measured),
        selectors=Selectors(
            snapshot=_union(info.selectors.snapshot for info in infos),
            hyperparameter=_union(info.selectors.hyperparameter for info in infos),
            metric=infos[0].selectors.metric,
            show="few" if all(info.selectors.show == "few" for info in infos) else "all",
        ),
        parts=_merged([info.parts for info in infos]),
        versions={
            package: ", ".join(
                _union(v.split(", ") for info in infos if (v := info.versions.get(package)))
            )
            for package in _union(info.versions for info in infos)
        },
        cautions=tuple(cautions),
        per_task=all(info.per_task for info in infos),
        tasks=_first(info.tasks for info in infos),
        benchmark=_first(info.benchmark for info in infos),
        scheduler=_first(info.scheduler for info in infos),
        stands_in=", ".join(_union([info.stands_in] for info in infos if info.stands_in)),
        proposed=_proposed([info.proposed for info in infos]),
    )


def _proposed(searches: Sequence[Mapping[str, tuple[int, int]]]) -> dict[str, tuple[int, int]]:
    """Return of each method the search that has the most left."""
    known: dict[str, tuple[int, int]] = {}
    for method, (count, total) in chain.from_iterable(each.items() for each in searches):
        others = known.get(method, (count, total))
        known[method] = max((count, total), others, key=lambda pair: pair[1] - pair[0])
    return known


def _first(values: Iterable[T | None]) -> T | None:
    """Return the first value that is known."""
    return next((value for value in values if value is not None), None)


def _union(lists: Iterable[Iterable[str]]) -> list[str]:
    return list(dict.fromkeys(chain.from_iterable(lists)))


def _merged(parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Merge mappings of mappings; where two disagree in a value, keep both in a list."""
    merged: dict[str, Any] = {}
    for key in _union(parts):
        values = [part[key] for part in parts if key in part]
        if all(isinstance(value, Mapping) for value in values):
            merged[key] = _merged(values)
        else:
            distinct = [v for i, v in enumerate(values) if v not in values[:i]]
            merged[key] = distinct[0] if len(distinct) == 1 else distinct
    return merged


_Record = tuple[TrialHistory, Path]
"""A trial, and where its records are."""


def _joined(first: _Record, second: _Record) -> _Record:
    """Return the fuller of two records of a trial, which agree where both have an epoch."""
    (a, place), (b, other) = first, second
    if a.complete and b.complete and a.diverged != b.diverged:
        what: str | None = "one diverged, the other did not"
    elif a.complete and b.complete and not np.array_equal(a.epochs, b.epochs):
        what = f"{len(a.epochs)} and {len(b.epochs)} epochs"
    else:
        what = _first_difference(a, b)
    if what is not None:
        fold = "" if a.fold is None else f", fold {a.fold}"
        raise RunFolderError(
            f"{place} and {other} hold different records of the same trial ({a.method}, "
            f"configuration {a.configuration}, seed {a.seed}{fold}): {what}. Report each "
            "separately, or remove the trial from one of them."
        )
    fuller = [(t.complete and not t.damaged, len(t.epochs)) for t in (a, b)]
    (kept, where), (spare, _) = (first, second) if fuller[0] >= fuller[1] else (second, first)
    axes = max(a.hyperparameters, b.hyperparameters, key=len)
    scores = dict(kept.scores)
    if len(kept.epochs) and np.array_equal(kept.epochs, spare.epochs):
        scores |= {key: spare.scores[key] for key in lacking(kept)}
    return replace(kept, hyperparameters=axes, scores=scores), where


def _first_difference(a: TrialHistory, b: TrialHistory) -> str | None:
    """Name the first common epoch whose loss or accuracy of any task differs."""
    common, of_a, of_b = np.intersect1d(a.epochs, b.epochs, return_indices=True)
    differs = np.zeros(len(common), bool)
    if "train_loss" in a.curves and "train_loss" in b.curves:
        differs |= _differ(a.curves["train_loss"][of_a], b.curves["train_loss"][of_b])
    for key in a.scores.keys() - lacking(a) - lacking(b) if len(common) else ():
        ours, theirs = a.scores[key].load()[of_a], b.scores[key].load()[of_b]
        same_tasks = ours.shape == theirs.shape
        differs |= _differ(ours, theirs).any(axis=1) if same_tasks else np.True_
    return f"epoch {common[differs][0]}" if differs.any() else None


def _differ(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    return (first != second) & ~(np.isnan(first) & np.isnan(second))


def _distinguished(trials: Sequence[TrialHistory]) -> list[TrialHistory]:
    """Return trials with hyperparameters that differ between a method's configurations.

    A run names only the axes that vary within it: with one configuration, none at all.
    """
    axes: dict[tuple[str, str], Mapping[str, Any]] = {}
    for trial in trials:
        key = (trial.method, trial.configuration)
        axes[key] = max(axes.get(key, {}), trial.hyperparameters, key=len)
    names = {key: (key[0], repr(sorted(values.items()))) for key, values in axes.items()}
    alike = Counter(names.values())
    for key, values in axes.items():
        if alike[names[key]] > 1:
            axes[key] = {**values, "configuration": key[1]}
    return [replace(t, hyperparameters=axes[t.method, t.configuration]) for t in trials]
