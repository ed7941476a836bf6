"""A run, opened for reading: all that the terminal does, from a notebook.

Neither torch nor Ray is imported.
"""

from collections.abc import Callable, Sequence
from functools import cached_property, wraps
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar, final

from fsl_sweep.orchestrator.errors import Damaged, RunFolderError, UnknownName
from fsl_sweep.orchestrator.records.measures import Measure, TaskSet, TrialHistory
from fsl_sweep.orchestrator.records.paper_names import measure_name
from fsl_sweep.orchestrator.records.protocol import MAIN, PlannedProtocol
from fsl_sweep.orchestrator.replay.merged import open_sources
from fsl_sweep.orchestrator.replay.source import Source
from fsl_sweep.orchestrator.run.chosen import ChosenSnapshot

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from fsl_sweep.learners.loaded import LoadedLearner
    from fsl_sweep.orchestrator.report import Report, RunInfo
    from fsl_sweep.orchestrator.report.plots import Plots
    from fsl_sweep.orchestrator.run.flips import Flips
    from fsl_sweep.orchestrator.run.losses import Losses

P = ParamSpec("P")
T = TypeVar("T")


def load_run(path: str | PathLike[str] | Sequence[str | PathLike[str]]) -> "Run":
    """Open a run for reading.

    Args:
        path: a run folder; a ``.csv`` or ``.parquet`` file as ``docs/replay.md`` describes it; or
            several of either, whose trials join where method and configuration are the same.

    Raises:
        RunFolderError: there is no run there, its plan is damaged, several were not measured
            alike, or a table holds several worlds.
        BadData: a table cannot be used; the message names the row.
    """
    return Run(open_sources(paths_of(path)))


def paths_of(path: str | PathLike[str] | Sequence[str | PathLike[str]]) -> list[Path]:
    """One path or several as a list, the home folder written out."""
    given = [path] if isinstance(path, str | PathLike) else path
    return [Path(one).expanduser() for one in given]


def _without_damaged(
    ask: "Callable[Concatenate[Run, P], T]",
) -> "Callable[Concatenate[Run, P], T]":
    """A question about a run, asked again of the undamaged trials where it meets a damaged file."""

    @wraps(ask)
    def asked(run: "Run", *arguments: P.args, **options: P.kwargs) -> T:
        try:
            return ask(run, *arguments, **options)
        except Damaged:
            run._source.check()
            run._read.clear()
            return ask(run, *arguments, **options)

    return asked


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
        """The run folder.

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
        """The sweep's name."""
        return self._source.info.name

    @property
    def protocols(self) -> tuple[str, ...]:
        """Names of the protocols that snapshots may be reported under, the main one first."""
        return tuple(one.name for one in self._source.protocols())

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

    def histories_of(self, info: "RunInfo") -> list[TrialHistory]:
        """Those of a report. Raises RunFolderError if nothing is measured to choose by."""
        by, found = info.chosen_by, self._histories(info.protocol, info.chosen_by)
        if by is not None and by.name != MAIN and not any(trial.complete for trial in found):
            raise RunFolderError(
                f"No trial is measured whole under '{by.name}' ({by.protocol.described}), and only "
                "such a protocol can choose. `fsl-sweep measure RUN "
                f"{by.name} --snapshots all` measures all snapshots whose weights were kept."
            )
        return found

    @property
    def complete(self) -> bool:
        """Whether every planned trial is done and whole."""
        return all(trial.complete and not trial.damaged for trial in self.histories)

    def __repr__(self) -> str:
        return f"<Run {self.name!r}>"

    def _repr_html_(self) -> str:
        from fsl_sweep.orchestrator.report.formats.notebook import run_shown

        return run_shown(self.name, self.histories, self._source.protocols())

    def info(
        self,
        snapshot: Sequence[str] | None = None,
        hyperparameter: Sequence[str] | None = None,
        metric: str | None = None,
        *,
        protocol: str | None = None,
        choose_by: str | None = None,
    ) -> "RunInfo":
        """What a report needs to know beside the records; by default as in the sweep file.

        ``snapshot`` and ``hyperparameter`` are names of selectors to compare, or one name each.
        Methods are compared by the ``metric``, ``novel`` or ``mixture(w)``. Chosen snapshots are
        reported under ``protocol``, a name or an id, and chosen by ``choose_by``: by default the
        main one.

        Raises:
            UnknownName, PluginError, ConfigError: a selector that is named cannot be used, is named
                twice, or needs class folds or a measure and there are none; or there is no such
                protocol.
            RunFolderError: records of a table have no protocols, or several runs not this one.
        """
        from fsl_sweep.orchestrator.replay.lacking import check_selectors, lacks_of
        from fsl_sweep.orchestrator.replay.protocols import beside
        from fsl_sweep.orchestrator.report import RunInfo
        from fsl_sweep.orchestrator.selectors.catalogue import asked_for

        if snapshot or hyperparameter:
            # Those of the sweep file were checked when it was planned.
            folds = any(trial.fold is not None for trial in self.histories)
            snapshot = asked_for("snapshot", _listed(snapshot), folds)
            hyperparameter = asked_for("hyperparameter", _listed(hyperparameter), folds)
            lacks = lacks_of(self.histories)
            check_selectors("snapshot", snapshot, lacks)
            check_selectors("hyperparameter", hyperparameter, lacks)
        facts, planned, source = self._source.info, self._source.info.selectors, self._source
        reported, by = source.protocol(protocol), source.protocol(choose_by)
        snapshot = snapshot or planned.snapshot
        hyperparameter = hyperparameter or planned.hyperparameter
        return RunInfo(
            name=facts.name,
            sweep_hash=facts.sweep,
            fingerprint=facts.fingerprint,
            snapshot=tuple(snapshot),
            hyperparameter=tuple(hyperparameter),
            parts=facts.parts,
            versions=facts.versions,
            cautions=facts.cautions,
            metric=measure_name(metric) if metric else planned.metric,
            protocol=reported,
            chosen_by=by,
            protocols=beside(source.protocols(), by) if by is not None else (),
            as_planned={*snapshot} <= {*planned.snapshot}
            and {*hyperparameter} <= {*planned.hyperparameter}
            and by == source.protocol(),
        )

    @_without_damaged
    def report(
        self,
        snapshot: Sequence[str] | None = None,
        hyperparameter: Sequence[str] | None = None,
        *,
        last: int | None = None,
        rope: float = 0.0,
        metric: str | None = None,
        bootstrap: int | None = None,
        classes: bool = False,
        ensembles: Sequence[int] = (),
        protocol: str | None = None,
        choose_by: str | None = None,
        at_once: bool = True,
    ) -> "Report":
        """The selector comparison. Arguments and exceptions as ``info`` and ``report.build``.

        With ``classes``, resampling draws classes as well as tasks. ``ensembles`` are numbers of
        snapshots that vote, for which the answers to queries must be recorded. The tasks that only
        tables show are read ``at_once``, so that a damaged file takes no part, or when they are
        needed.

        Raises:
            ConfigError: so many resamples cannot be made, or a table does not hold what the
                metric needs.
            RunFolderError: the run recorded no class tuples, or they cannot be resampled; no
                trial is measured whole under the protocol that chooses; or a table does not hold
                NovelGen.
        """
        from fsl_sweep.orchestrator.replay.lacking import check_reported
        from fsl_sweep.orchestrator.report import asked, build

        source = self._source
        count = asked.checked_resamples(bootstrap, source.info.per_task)
        if ensembles:
            asked.check_ensembles(ensembles, self.histories)
        info = self.info(snapshot, hyperparameter, metric, protocol=protocol, choose_by=choose_by)
        histories = self.histories_of(info)
        if info.protocol is None:
            check_reported(source.places, histories, info.metric)
        if classes:
            asked.check_classes(info)
        tuples = self.class_tuples(protocol, choose_by) if classes else None
        try:
            content = build(
                info,
                histories,
                last=last,
                rope=rope,
                bootstrap=count,
                classes=tuples,
                measured=lambda one, trials: source.histories(one, one, trials),
                ensembles=ensembles,
                answers=source.answers(info.protocol) if ensembles else None,
            )
        except ValueError as failure:
            if tuples is None:
                raise
            place = source.places[0]
            raise RunFolderError(f"{place} cannot be resampled: {failure}") from None
        if at_once:
            content.read_tasks()
        return content

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

        found = self._source.protocol(protocol)
        histories = self._histories(found, found)
        frames = [epochs_of(trial, found) for trial in histories if len(trial.epochs)]
        frames = frames or [pd.DataFrame(columns=epoch_columns(histories))]
        return pd.concat(frames, ignore_index=True)

    @_without_damaged
    def selections(
        self,
        snapshot: Sequence[str] | None = None,
        hyperparameter: Sequence[str] | None = None,
        *,
        protocol: str | None = None,
        choose_by: str | None = None,
    ) -> "pd.DataFrame":
        """One row for each method, seed and strategy: what was chosen, and its report scores.

        Chosen snapshots that are not measured under the protocol have none. Arguments as of
        ``info``, exceptions as of ``report``.
        """
        import pandas as pd

        from fsl_sweep.orchestrator.report.frames import row_of, selection_columns
        from fsl_sweep.orchestrator.selection.select import select

        info = self.info(snapshot, hyperparameter, protocol=protocol, choose_by=choose_by)
        histories = self.histories_of(info)
        selected = select(histories, info.snapshot, info.hyperparameter)
        if not selected.selections:
            return pd.DataFrame(columns=selection_columns(histories))
        return pd.DataFrame([row_of(one, info.protocol) for one in selected.selections])

    def snapshot_path(self, trial: str, epoch: int) -> Path:
        """The weights of a snapshot, in safetensors format, compared with their checksum.

        Raises:
            UnknownName: no planned trial has that id.
            RunFolderError: the snapshot is not there, or is not the one that was measured.
        """
        trials = self._source.trials()
        if trial not in trials:
            raise UnknownName("trial", trial, trials)
        return trials[trial].check_snapshot(epoch)

    def load_learner(self, trial: str, epoch: int, device: str | None = None) -> "LoadedLearner":
        """The learner of a snapshot, as `fsl_sweep.load_learner`, which needs torch.

        Raises:
            UnknownName, RunFolderError: as `snapshot_path`.
            BadData, MachineFailure: as `fsl_sweep.load_learner`.
        """
        from fsl_sweep.learners.loaded import load_learner

        return load_learner(self.snapshot_path(trial, epoch), device)

    @_without_damaged
    def chosen(
        self, method: str, snapshot: str = "val", hyperparameter: str = "val"
    ) -> list[ChosenSnapshot]:
        """The snapshots that represent a method under a strategy, one for each seed.

        A seed whose trials are not complete has none, as in `selections`.

        Raises:
            UnknownName, PluginError, ConfigError: there is no such method, or a selector cannot
                be used.
            RunFolderError: the strategy chose nothing for any seed.
        """
        from fsl_sweep.orchestrator.selection.select import select

        trials = [trial for trial in self.histories if trial.method == method]
        if not trials:
            raise UnknownName("method", method, {trial.method for trial in self.histories})
        info = self.info([snapshot], [hyperparameter])
        selected = select(trials, info.snapshot, info.hyperparameter)
        if not selected.selections:
            left_out = selected.left_out
            why = f": {left_out[0].reason}" if left_out else ", but keeps several"
            raise RunFolderError(
                f"{snapshot} / {hyperparameter} chose no snapshot of {method}{why}."
            )
        # pyright sees this file twice: here, and through src/.
        run: Any = self
        return [
            ChosenSnapshot(run, method, one.seed, one.trial, one.epoch, one.hyperparameters)
            for one in selected.selections
        ]

    def flips(
        self,
        a: str,
        b: str,
        *,
        size: int | Sequence[int] = (),
        examples: int | Sequence[int] = (),
        epochs: tuple[int | None, int | None] = (None, None),
        trial_seed: int | None = None,
        difference: float | None = None,
        **asked: Any,
    ) -> "Flips":
        """How often a random novel set gets the order of two snapshots wrong; needs torch.

        Args:
            a: a method; its snapshot is what the leading strategy chose.
            b: another, or the same.
            size: classes of a novel set, or several numbers; by default 20, or half of the class
                set where that is less, unless ``examples`` are given.
            examples: examples of each class of an example set, or several numbers.
            epochs: other snapshots.
            trial_seed: of another seed than the first.
            difference: take the kept snapshots whose recorded NovelGen differ by about so much.
            asked: ``sets``, ``tasks`` and whatever else `run.studies.Study` has, by name.

        Raises:
            UnknownName, ConfigError, BadData, MissingData, RunFolderError: as
                `run.pairs.pair_of` and `run.flips.flips`.
        """
        from fsl_sweep.orchestrator.run import studies
        from fsl_sweep.orchestrator.run.flips import flips
        from fsl_sweep.orchestrator.run.pairs import pair_of

        run: Any = self  # as in `chosen`
        pair = pair_of(run, (a, b), epochs, trial_seed, difference)
        sizes, kept = ((x,) if isinstance(x, int) else tuple(x) for x in (size, examples))
        study = studies.asked(studies.Study, {**asked, "sizes": sizes, "examples": kept})
        *_, whole = flips(run, pair, study)
        return whole

    def losses(self, **asked: Any) -> "Losses":
        """The losses of snapshots on base training tasks, as `run.losses.losses`; needs torch.

        ``asked`` is ``snapshots``, ``tasks`` and whatever else `run.losses.LossStudy` has, by name.
        """
        from fsl_sweep.orchestrator.run import studies
        from fsl_sweep.orchestrator.run.losses import LossStudy, losses

        *_, whole = losses(self.path, studies.asked(LossStudy, asked))
        return whole


def _listed(names: Sequence[str] | None) -> Sequence[str]:
    """The names; a single one may be given as it is."""
    return [names] if isinstance(names, str) else names or ()
