"""A run, opened for reading: all that the terminal does, from a notebook.

Neither torch nor Ray is imported.
"""

import shlex
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property, partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, final

from fsl_sweep.orchestrator.errors import Damaged, RunFolderError, UnknownName
from fsl_sweep.orchestrator.records.measures import MEASURES, Measure, TaskSet, TrialHistory
from fsl_sweep.orchestrator.records.paper_names import measure_name
from fsl_sweep.orchestrator.records.protocol import MAIN, PlannedProtocol
from fsl_sweep.orchestrator.records.snapshot import Snapshot
from fsl_sweep.orchestrator.replay.merged import open_sources
from fsl_sweep.orchestrator.replay.source import Source, beside
from fsl_sweep.orchestrator.run.arguments import check_arguments, check_names
from fsl_sweep.orchestrator.selection.question import (
    Question,
    checked_resamples,
    checked_rope,
    described_configurations,
    is_configuration,
)

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from fsl_sweep.learners.loaded import LoadedLearner
    from fsl_sweep.orchestrator.report import Report, RunInfo
    from fsl_sweep.orchestrator.report.plots import Plots
    from fsl_sweep.orchestrator.selection.evidence import Evidence
    from fsl_sweep.orchestrator.studies.finding import Finding

T = TypeVar("T")


def load_run(path: str | PathLike[str] | Sequence[str | PathLike[str]]) -> "Run":
    """Open a run for reading.

    Args:
        path: a run folder; a ``.csv`` or ``.parquet`` file as ``docs/replay.md`` describes it; or
            several of either, whose trials join where method and configuration are the same.

    Raises:
        RunFolderError: there is no run there, its plan is damaged, several were not measured
            alike, or a table holds several benchmarks.
        BadData: a table cannot be used; the message names the row.
    """
    return Run(open_sources(paths_of(path)))


def paths_of(path: str | PathLike[str] | Sequence[str | PathLike[str]]) -> list[Path]:
    """One path or several as a list, the home folder written out."""
    paths = [path] if isinstance(path, str | PathLike) else path
    return [Path(place).expanduser() for place in paths]


@final
class Run:
    """One run's records and what follows from them.

    Records are read on first use and kept; open the run again to see what was added since.
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        self._read: dict[tuple[str | None, str | None], list[TrialHistory]] = {}

    @property
    def path(self) -> Path:
        """Return the run folder.

        Raises:
            RunFolderError: the records come from a table, or from several places.
        """
        place, *others = self._source.places
        if others or not place.is_dir():
            shown = ", ".join(map(str, self._source.places))
            raise RunFolderError(f"This needs one run folder, and the records are from {shown}.")
        return place

    @property
    def name(self) -> str:
        """Return the sweep's name."""
        return self._source.info.name

    @property
    def protocols(self) -> tuple[str, ...]:
        """Return the names of the protocols to report snapshots under, the main one first."""
        return tuple(protocol.name for protocol in self._source.protocols())

    @property
    def histories(self) -> list[TrialHistory]:
        """As `Source.histories`, under the main protocol."""
        main = self._source.protocol()
        return self._histories(main, main)

    def _histories(
        self, reported: PlannedProtocol | None, by: PlannedProtocol | None
    ) -> list[TrialHistory]:
        key = (reported and reported.id, by and by.id)
        if key not in self._read:
            self._read[key] = self._source.histories(reported, by)
        return self._read[key]

    def evidence(self, question: Question, reported: bool = True) -> "Evidence":
        """Return what the records say to a question.

        Unless it is to be ``reported``, a table may lack NovelGen: choices need none.

        Raises:
            RunFolderError: nothing is measured to choose by, or a table does not hold NovelGen.
            ConfigError: a table does not hold what the metric needs.
        """
        from fsl_sweep.orchestrator.replay.lacking import check_reported
        from fsl_sweep.orchestrator.selection.evidence import Evidence

        by = question.chosen_by
        histories = self._histories(question.protocol, by)
        measured = any(trial.complete and len(trial.epochs) for trial in histories)
        if by is not None and by.name != MAIN and not measured:
            place, *others = map(str, self._source.places)
            words = [
                "fsl-sweep",
                "measure",
                "RUN" if others else place,
                by.name,
                "--snapshots",
                "all",
            ]
            raise RunFolderError(
                f"No trial is measured whole under '{by.name}' ({by.protocol.described}), and only "
                f"such a protocol can choose. `{shlex.join(words)}` measures all snapshots whose "
                "weights were kept."
            )
        if question.protocol is None and reported:
            check_reported(self._source.places, histories, question.metric)
        return Evidence(question, histories, self._source)

    @property
    def complete(self) -> bool:
        """Return whether every planned trial is done, or diverged, and whole."""
        return all(trial.complete and not trial.damaged for trial in self.histories)

    def __repr__(self) -> str:
        return f"<Run {self.name!r}>"

    def _repr_html_(self) -> str:
        from fsl_sweep.orchestrator.report.formats.html import run_shown

        source = self._source
        return run_shown(self.name, self.histories, source.protocols(), source.info.proposed)

    def question(
        self,
        snapshot: Sequence[str] | str | None = None,
        hyperparameter: Sequence[str] | str | None = None,
        metric: str | None = None,
        *,
        protocol: str | None = None,
        choose_by: str | None = None,
        method: Sequence[str] | str | None = None,
        configuration: Sequence[str] | str | None = None,
        last: int | None = None,
        rope: float = 0.0,
        bootstrap: int | None = None,
        few: bool | None = None,
    ) -> Question:
        """Check what is asked; what is not said is as in the sweep file.

        Args:
            snapshot: names of snapshot selectors to compare, or one name; ``all`` are those of the
                sweep file.
            hyperparameter: names of hyperparameter selectors, likewise.
            metric: what methods are compared by, ``novel`` or ``mixture(w)``.
            protocol: what chosen snapshots are reported under, a name or an id; the main one.
            choose_by: what they are chosen by, likewise.
            method: the methods that take part; all by default.
            configuration: the configurations that take part, as ``lr=0.1`` or by their ids.
            last: how many last snapshots are rank-correlated too.
            rope: difference in accuracy up to which two methods count as equivalent.
            bootstrap: resamples for intervals that include the selection; 0 for none.
            few: whether only the pairs of selectors that papers report are compared; by default
                where neither the sweep file nor the question names any.

        Raises:
            UnknownName, PluginError, ConfigError: a selector that is named cannot be used, is named
                twice, or needs class folds or a measure and there are none; there is no such
                protocol, method or configuration; or a number cannot be used.
            RunFolderError: records of a table have no protocols, or several runs not this one.
        """
        from fsl_sweep.orchestrator.replay.lacking import asked_for

        check_arguments(
            snapshot=snapshot,
            hyperparameter=hyperparameter,
            metric=metric,
            protocol=protocol,
            choose_by=choose_by,
            method=method,
            configuration=configuration,
            last=last,
            rope=rope,
            bootstrap=bootstrap,
        )
        source, planned = self._source, self._source.info.selectors
        if few is None:
            few = planned.show == "few" and not (snapshot or hyperparameter)
        if snapshot or hyperparameter:
            # Those of the sweep file were checked when it was planned.
            snapshot = asked_for("snapshot", _named(snapshot), self.histories)
            hyperparameter = asked_for("hyperparameter", _named(hyperparameter), self.histories)
        reported, by = source.protocol(protocol), source.protocol(choose_by)
        snapshot = tuple(snapshot or planned.snapshot)
        hyperparameter = tuple(hyperparameter or planned.hyperparameter)
        methods, configurations = _listed(method), _listed(configuration)
        self._check_trials(methods, configurations)
        return Question(
            snapshot,
            hyperparameter,
            metric=measure_name(metric) if metric else planned.metric,
            protocol=reported,
            chosen_by=by,
            as_planned={*snapshot} <= {*planned.snapshot}
            and {*hyperparameter} <= {*planned.hyperparameter}
            and by == source.protocol()
            and not methods
            and not configurations,
            methods=frozenset(methods),
            configurations=tuple(configurations),
            last=last,
            rope=checked_rope(rope),
            resamples=checked_resamples(bootstrap, source.info.per_task),
            few=few,
        )

    def _check_trials(self, methods: Sequence[str], configurations: Sequence[str]) -> None:
        """Raise UnknownName where no trial is of a method or a configuration."""
        known = dict.fromkeys(trial.method for trial in self.histories)
        for name in methods:
            if name not in known:
                raise UnknownName("method", name, known)
        for name in configurations:
            trials = (t for t in self.histories if not methods or t.method in methods)
            if not any(is_configuration(t.configuration, t.hyperparameters, name) for t in trials):
                written = described_configurations(self.histories)
                raise UnknownName("configuration", name, written)

    def info(self, question: Question) -> "RunInfo":
        """Return what a report says of the run beside its records."""
        from fsl_sweep.orchestrator.report import RunInfo

        facts, by = self._source.info, question.chosen_by
        return RunInfo(
            name=facts.name,
            sweep_hash=facts.sweep,
            fingerprint=facts.fingerprint,
            snapshot=question.snapshot,
            hyperparameter=question.hyperparameter,
            parts=facts.parts,
            versions=facts.versions,
            cautions=facts.cautions,
            metric=question.metric,
            protocol=question.protocol,
            chosen_by=by,
            protocols=beside(self._source.protocols(), by) if by is not None else (),
            as_planned=question.as_planned,
            scope=question.scope,
            few=question.few,
            scheduler=facts.scheduler,
            proposed=facts.proposed,
            classes={
                measure: self._class_names(measure, question.protocol) for measure in MEASURES
            },
        )

    def _class_names(self, measure: Measure, protocol: PlannedProtocol | None) -> tuple[str, ...]:
        with suppress(RunFolderError):
            return self._source.class_names(measure, protocol)
        return ()

    def report(
        self,
        snapshot: Sequence[str] | str | None = None,
        hyperparameter: Sequence[str] | str | None = None,
        *,
        classes: bool = False,
        ensembles: Sequence[int] = (),
        at_once: bool = True,
        **parts: Any,
    ) -> "Report":
        """Compare selectors and methods. Other arguments and exceptions are those of ``question``.

        Args:
            snapshot: names of snapshot selectors to compare, or one name.
            hyperparameter: names of hyperparameter selectors, likewise.
            classes: whether resampling draws classes as well as tasks.
            ensembles: numbers of snapshots that vote, for which the answers to queries must be
                recorded.
            at_once: whether the tasks that only tables show are read now, so that a damaged file
                takes no part, and not when they are needed.
            parts: ``metric``, ``protocol`` and whatever else ``question`` has, by name.

        Raises:
            RunFolderError: the run recorded no class tuples, or they cannot be resampled.
        """
        from fsl_sweep.orchestrator.report import build, building

        check_arguments(ensembles=ensembles)
        question, source = self.question(snapshot, hyperparameter, **parts), self._source
        if ensembles:
            building.check_ensembles(ensembles, self.histories)
        if classes:
            building.check_classes(question)
        names = parts.get("protocol"), parts.get("choose_by")
        tuples = self.class_tuples(*names) if classes else None

        def built(evidence: "Evidence") -> "Report":
            content = build(
                self.info(question),
                evidence.histories,
                last=question.last,
                rope=question.rope,
                bootstrap=question.resamples,
                classes=tuples,
                measured=lambda planned, trials: source.histories(planned, planned, trials),
                ensembles=ensembles,
                answers=source.answers(question.protocol) if ensembles else None,
            )
            if at_once:
                content.read_tasks()
            return content

        try:
            return self.answer(question, built)
        except ValueError as failure:
            if tuples is None:
                raise
            place = source.places[0]
            raise RunFolderError(f"{place} cannot be resampled: {failure}") from None

    def study(
        self, name: str, *, progress: Callable[[str], None] = lambda _: None, **options: Any
    ) -> "Finding":
        """Study the run beyond its report: ``run.study("compare", a="PN", b="RR")``.

        Args:
            name: of a study, as of ``fsl-sweep analyze``.
            progress: hears how far a long study is, and what it leaves out.
            options: the study's own, and those of ``question`` that it heeds, by name.

        Raises:
            UnknownName, PluginError: there is no such study or option.
            ConfigError: an option cannot be used.
            UserError: the records do not hold what the study needs; the message says what.
        """
        from fsl_sweep.orchestrator.studies.finding import conclude, prepared

        study, checked, parts = prepared(name, options)
        if study.needs - {"tasks"}:
            self.path  # noqa: B018  (raises where there is no run folder)
        return self.answer(self.question(**parts), partial(conclude, study, checked, progress))

    def answer(
        self, question: Question, ask: "Callable[[Evidence], T]", reported: bool = True
    ) -> T:
        """Ask the evidence, and again without the trials of a file that turns out damaged."""
        try:
            return ask(self.evidence(question, reported))
        except Damaged:
            self._source.check()
            self._read.clear()
            return ask(self.evidence(question, reported))

    @cached_property
    def plot(self) -> "Plots":
        """Figures of a report: ``run.plot.forest()``, ``run.plot(protocol="5-shot").curves()``."""
        from fsl_sweep.orchestrator.report.plots import Plots

        return Plots(self.report)

    def class_tuples(
        self, protocol: str | None = None, choose_by: str | None = None
    ) -> "dict[tuple[Measure, TaskSet], np.ndarray]":
        """As `Source.class_tuples`: report tasks of `protocol`, selection tasks of `choose_by`."""
        named = map(self._source.protocol, (protocol, choose_by))
        reported, chosen = map(self._source.class_tuples, named)
        return {key: (chosen if key[1] == "selection" else reported)[key] for key in reported}

    def classes(self, measure: str, protocol: str | None = None) -> tuple[str, ...]:
        """Return the names of the classes of ``base``, ``val`` or ``novel``.

        Where tasks are people or pairs of attributes, those are named.

        Raises:
            UnknownName: there is no such measure or protocol.
            RunFolderError: the records do not name them.
        """
        name = measure_name(measure)
        for known in MEASURES:
            if name == known:
                return self._source.class_names(known, self._source.protocol(protocol))
        raise UnknownName("measure", measure, MEASURES)

    def records(self, protocol: str | None = None) -> "pd.DataFrame":
        """One row for each recorded epoch of each planned trial.

        Columns: method, trial, configuration, seed, fold, status, hyperparameters by dotted key,
        epoch, curves, protocol, and the mean accuracies ``base_selection`` to ``novel_report`` in
        [0, 1], NaN where the epoch is not measured under the protocol.

        They are under one protocol, the main one by default: numbers under several are not to be
        averaged unawares.

        Raises:
            UnknownName, RunFolderError: there is no such protocol.
        """
        import pandas as pd

        from fsl_sweep.orchestrator.report.frames import epoch_columns, epochs_of

        planned = self._source.protocol(protocol)
        histories = self._histories(planned, planned)
        frames = [epochs_of(trial, planned) for trial in histories if len(trial.epochs)]
        frames = frames or [pd.DataFrame(columns=epoch_columns(histories))]
        return pd.concat(frames, ignore_index=True)

    def selections(
        self,
        snapshot: Sequence[str] | str | None = None,
        hyperparameter: Sequence[str] | str | None = None,
        **parts: Any,
    ) -> "pd.DataFrame":
        """Return a row for each method, seed and strategy: the choice and its report scores.

        Chosen snapshots that are not measured under the protocol have none. Of an unfinished run
        the complete seeds. Arguments and exceptions are those of ``question``.
        """
        import pandas as pd

        from fsl_sweep.orchestrator.report.frames import row_of, selection_columns

        question = self.question(snapshot, hyperparameter, **parts)

        def frame(evidence: "Evidence") -> "pd.DataFrame":
            if not evidence.selected.selections:
                return pd.DataFrame(columns=selection_columns(evidence.histories))
            rows = [row_of(choice, question.protocol) for choice in evidence.selected.selections]
            return pd.DataFrame(rows)

        return self.answer(question, frame, reported=False)

    def snapshot_path(self, trial: str, epoch: int) -> Path:
        """Return the weights of a snapshot, in safetensors format, compared with their checksum.

        Raises:
            UnknownName: no planned trial has that id.
            RunFolderError: the snapshot is not there, or is not the one that was measured.
        """
        trials = self._source.trials()
        if trial not in trials:
            raise UnknownName("trial", trial, trials)
        return trials[trial].check_snapshot(epoch)

    def load_learner(self, trial: str, epoch: int, device: str | None = None) -> "LoadedLearner":
        """Return the learner of a snapshot, as `fsl_sweep.load_learner`, which needs torch.

        Raises:
            UnknownName, RunFolderError: as `snapshot_path`.
            BadData, MachineFailure: as `fsl_sweep.load_learner`.
        """
        from fsl_sweep.learners.loaded import load_learner

        return load_learner(self.snapshot_path(trial, epoch), device)

    def chosen(
        self, method: str, snapshot: str = "val", hyperparameter: str = "val"
    ) -> "list[ChosenSnapshot]":
        """Return the snapshots that represent a method under a strategy, one for each seed.

        A seed whose trials are not complete has none, as in `selections`.

        Raises:
            UnknownName, PluginError, ConfigError: there is no such method, or a selector cannot
                be used.
            RunFolderError: the strategy chose nothing for any seed.
        """
        check_names(method=method, snapshot=snapshot, hyperparameter=hyperparameter)
        question = self.question([snapshot], [hyperparameter], method=method)

        def chosen(evidence: "Evidence") -> "list[ChosenSnapshot]":
            if not evidence.selected.selections:
                left_out = (*evidence.completeness.problems, *evidence.selected.left_out)
                diverged = ": every configuration diverged" if evidence.selected.diverged else ""
                why = f": {left_out[0].reason}" if left_out else diverged or ", but keeps several"
                raise RunFolderError(
                    f"{snapshot} / {hyperparameter} chose no snapshot of {method}{why}."
                )
            return [ChosenSnapshot(self, c.snapshot) for c in evidence.selected.selections]

        return self.answer(question, chosen, reported=False)


@final
@dataclass(frozen=True)
class ChosenSnapshot:
    """What a strategy chose for one method and seed, ready to be loaded."""

    run: Run = field(repr=False)
    snapshot: Snapshot

    @property
    def path(self) -> Path:
        """Return the file, as `Run.snapshot_path`."""
        return self.run.snapshot_path(self.snapshot.trial, self.snapshot.epoch)

    def load(self, device: str | None = None) -> "LoadedLearner":
        """Load the learner, as `Run.load_learner`."""
        return self.run.load_learner(self.snapshot.trial, self.snapshot.epoch, device)


def _named(names: Sequence[str] | None) -> Sequence[str]:
    """Return the names of selectors; none for ``all``, which are those planned."""
    return () if [*_listed(names)] == ["all"] else _listed(names)


def _listed(names: Sequence[str] | None) -> Sequence[str]:
    """Return the names; a single one may be given as it is."""
    return [names] if isinstance(names, str) else names or ()
