"""Which novel classes are hard, and which are taken for which, by each method's chosen snapshots.

The tasks are drawn again from the data. Answers that are not recorded need torch and the weights.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import islice
from math import nan
from typing import TYPE_CHECKING, Any, final

import numpy as np

from fsl_sweep.orchestrator.errors import RunFolderError
from fsl_sweep.orchestrator.records.protocol import MAIN, PlannedProtocol
from fsl_sweep.orchestrator.records.snapshot import Snapshot
from fsl_sweep.orchestrator.report.document import blocks
from fsl_sweep.orchestrator.report.figures.forest import panel_of
from fsl_sweep.orchestrator.report.figures.panel import Figure
from fsl_sweep.orchestrator.selection.evidence import Evidence
from fsl_sweep.orchestrator.selection.results import Strategy
from fsl_sweep.orchestrator.statistics import Interval
from fsl_sweep.orchestrator.statistics.classes import Answers
from fsl_sweep.orchestrator.statistics.intervals import FEW_TASKS
from fsl_sweep.orchestrator.studies.base import (
    Drawings,
    Progress,
    Study,
    StudyOptions,
    lead_of,
    option,
    selectors,
)
from fsl_sweep.orchestrator.studies.trained_on import evaluated
from fsl_sweep.orchestrator.text.printed import counted

if TYPE_CHECKING:
    from fsl_sweep.orchestrator.measuring.common_tasks import CommonTasks
    from fsl_sweep.orchestrator.planning.measure_request import MeasureRequest
    from fsl_sweep.orchestrator.records.measures import TaskScores
    from fsl_sweep.orchestrator.records.spec import TrialSpec


class ClassesOptions(StudyOptions):
    """How much to show, and where the data are."""

    top: int = option("Classes and pairs to show; JSON has all.", 10, ge=1, metavar="N")
    root: str | None = option("Where the run's data are now.", None, "PATH")


@dataclass(frozen=True, eq=False)
class MethodClasses:
    """What the chosen snapshots of a method answer, mean over its seeds.

    Attributes:
        name: of the method, with its complete seeds where some are missing.
        snapshots: of each seed.
        accuracies: of each class by label, as of `Answers`.
        confusions: the share of a class's queries with each wrong answer, as of `Answers`.
    """

    name: str
    snapshots: tuple[Snapshot, ...]
    accuracies: Mapping[int, Interval] = field(repr=False)
    confusions: Mapping[tuple[int, int], Interval] = field(repr=False)


@dataclass(frozen=True, eq=False, repr=False)
class ByClass:
    """What the chosen snapshots of each method answer.

    Attributes:
        options: how much to show.
        strategy: which chose the snapshots.
        protocol: under which the tasks were drawn.
        names: of the classes, by label.
        methods: each with a complete seed.
        differing: of each snapshot that was measured again the report tasks whose accuracy is not
            the recorded one, where there are any.
    """

    options: ClassesOptions
    strategy: Strategy
    protocol: PlannedProtocol
    names: Sequence[str]
    methods: tuple[MethodClasses, ...]
    differing: dict[str, int]


@final
class Classes(Study[ClassesOptions, ByClass]):
    """Say which novel classes are hard, and which are taken for which.

    Of the snapshots that val / val, or the first strategy that is no oracle, chose, unless another
    one is named. Needs the data; and torch and the weights, unless `record: predictions` kept the
    answers.
    """

    name = "classes"
    Options = ClassesOptions
    needs = frozenset({"tasks", "snapshots", "data"})

    def result(self, evidence: Evidence, options: ClassesOptions, progress: Progress) -> ByClass:
        """Read or measure what each chosen snapshot answers to the report tasks.

        Raises:
            RunFolderError: no method is complete, weights are gone, the data have changed, or
                tasks are made of attributes.
            MissingData: the data are not there.
            TrialFailure: a learner's answers are not numbers.
        """
        from fsl_sweep.orchestrator.measuring.common_tasks import CommonTasks
        from fsl_sweep.orchestrator.planning.measure_request import measure_request
        from fsl_sweep.orchestrator.trial.trial import use_threads

        lead, protocol = lead_of(evidence), evidence.question.protocol
        assert protocol is not None, "a run folder has protocols"
        opened = measure_request(evidence.source.places[0], protocol.id, root=options.root)
        use_threads(opened.plan.resources.cpu)
        trained_on, other = opened.benchmarks[MAIN], opened.benchmarks.get(protocol.name)
        if not (other or trained_on).novel.by_label:
            raise RunFolderError(
                f"Images of '{(other or trained_on).name}' have no classes: tasks are made of "
                f"{(other or trained_on).novel.unit}."
            )
        tasks = CommonTasks.draw(trained_on, protocol.protocol, other)
        answering = _Answering(opened, protocol, tasks, progress)
        methods = tuple(
            _method(evidence.completeness.named(method), chosen, answering)
            for method in evidence.led.methods
            if (chosen := [c.snapshot for c in evidence.led.selections if c.method == method])
        )
        names = tasks.pools["novel"].class_names
        return ByClass(options, lead, protocol, names, methods, answering.differing)

    def document(self, result: ByClass) -> blocks.Document:
        """Say which classes are hard for each method; then show the first of each list."""
        about = (
            f"{result.strategy}, NovelGen, {result.protocol.protocol.described}; mean over seeds, "
            "+- 95 % over tasks, of these snapshots. Each interval is of a class by itself: the "
            "ends of many are there partly by chance. Classes in fewer than "
            f"{FEW_TASKS} tasks are last, without an interval."
        )
        return blocks.Document(
            headline="Novel classes: accuracy and confusions",
            answer=(
                blocks.Bullets(tuple(_said(result, method) for method in result.methods)),
                blocks.Paragraph(about, "note"),
            ),
            sections=tuple(
                blocks.Section(f"method-{number}", method.name, tuple(_shown(result, method)))
                for number, method in enumerate(result.methods)
            ),
            warnings=tuple(
                f"{snapshot} was measured again, and {counted(count, 'report task')} "
                "came out with another accuracy than is recorded: this machine or its libraries "
                "round otherwise"
                for snapshot, count in result.differing.items()
            ),
        )

    def plain(self, result: ByClass) -> dict[str, Any]:
        """Return all classes and all pairs that are confused at all."""
        return {
            **selectors(result.strategy),
            "protocol": result.protocol.name,
            "methods": [_plain(result, method) for method in result.methods],
            "differing_tasks": result.differing,
        }

    def figures(self, result: ByClass) -> Drawings:
        """Draw the accuracy of the hardest classes of each method."""
        panels = [
            replace(
                panel_of([_bar(*row) for row in _first(result, method)], "accuracy, %"),
                title=method.name,
            )
            for method in result.methods
        ]
        caption = "NovelGen of the hardest classes, mean over seeds. Lines: 95 % over tasks."
        return {"answer": [Figure("classes", caption, (), panels)]}


class _Answering:
    """Reads or measures what snapshots answer; each once, whichever methods share it."""

    def __init__(
        self,
        opened: "MeasureRequest",
        protocol: PlannedProtocol,
        tasks: "CommonTasks",
        progress: Progress,
    ) -> None:
        self._opened, self._protocol, self._progress = opened, protocol, progress
        self._tasks, self.episodes = tasks, tasks.episodes["novel", "report"]
        self.differing: dict[str, int] = {}
        self._known: dict[tuple[str, int], tuple[np.ndarray, bool]] = {}
        queried = self.episodes.query >= 0
        self.task, position, _ = np.nonzero(queried)
        self.label = self.episodes.classes[self.task, position]

    def labels(self, snapshot: Snapshot) -> tuple[np.ndarray, bool]:
        """Return the labels that it answers ``[N]``, and whether it answers among all it knows."""
        key = (snapshot.trial, snapshot.epoch)
        if key not in self._known:
            self._known[key] = self._answered(snapshot)
        return self._known[key]

    def _answered(self, snapshot: Snapshot) -> tuple[np.ndarray, bool]:
        from fsl_sweep.orchestrator.measuring.evaluator import labels_of

        storage, spec = self._opened.ledger.trial(snapshot.trial), self._spec(snapshot)
        recorded = storage.read_answers(snapshot.epoch, self._protocol.id)
        if recorded is None:
            self._progress(f"{snapshot}: measured again")
        scores = recorded["novel", "report"] if recorded else self._measured(snapshot)
        known = self._opened.benchmarks[MAIN].train.classes
        return labels_of(scores, spec.learner.name, self.episodes, known)

    def _spec(self, snapshot: Snapshot) -> "TrialSpec":
        return self._opened.plan.specs[snapshot.trial]

    def _measured(self, snapshot: Snapshot) -> "TaskScores":
        from fsl_sweep.orchestrator.measuring.common_tasks import trained_benchmark
        from fsl_sweep.orchestrator.measuring.evaluator import answered
        from fsl_sweep.orchestrator.measuring.images import PoolImages

        way = self._protocol.protocol.episode.way
        learner, device = evaluated(
            self._opened, snapshot.trial, snapshot.epoch, snapshot.method, way
        )
        trained = trained_benchmark(self._spec(snapshot), self._opened.benchmarks[MAIN])
        images = PoolImages(self._tasks.pools["novel"], trained, device)
        scores = answered(learner, images, {"": self.episodes}, trained.train.classes)[""]
        history = snapshot.history
        known = history.scores["novel", "report"].load()[history.index(snapshot.epoch)]
        if count := int((np.abs(known - scores.accuracy) > 1e-9).sum()):
            self.differing[str(snapshot)] = count
        return scores


def _method(name: str, snapshots: Sequence[Snapshot], answering: _Answering) -> MethodClasses:
    labels, among_all = zip(*map(answering.labels, snapshots), strict=True)
    answers = Answers(
        answering.episodes.classes,
        answering.task,
        answering.label,
        np.stack(labels),
        all(among_all),
    )
    return MethodClasses(name, tuple(snapshots), answers.accuracies, answers.confusions)


def _said(result: ByClass, method: MethodClasses) -> str:
    """Say ``PN: hardest class A (41.20 +- 3.10 %), easiest B (...); most confused A with C``."""
    enough = [(c, accuracy) for c, accuracy in method.accuracies.items() if accuracy.n >= FEW_TASKS]
    if not enough:
        return (
            f"{method.name}: no class is in {FEW_TASKS} tasks or more; `fsl-sweep measure` with "
            "--tasks measures more."
        )
    ends = [
        f"{result.names[c]} ({_percent(accuracy)} %)" for c, accuracy in (enough[0], enough[-1])
    ]
    said = f"{method.name}: hardest class {ends[0]}, easiest {ends[1]}"
    for (label, answer), share in islice(method.confusions.items(), 1):
        if share.n >= FEW_TASKS:
            first, second = result.names[label], result.names[answer]
            said += f"; most confused: {first} is answered as {second} ({_percent(share)} %)"
    return f"{said}."


def _shown(result: ByClass, method: MethodClasses) -> Iterator[blocks.Block]:
    """Give the table of the hardest classes, and of the most confused pairs."""
    columns = blocks.words("class") + blocks.numbers(["accuracy, %", "tasks"])
    rows = [
        (name, _percent(accuracy), f"{accuracy.n:,}") for name, accuracy in _first(result, method)
    ]
    yield blocks.Paragraph(_title("The hardest", rows, method.accuracies, "class"), "heading")
    yield blocks.table(columns, rows)
    pairs = [
        (result.names[label], result.names[answer], _percent(share), f"{share.n:,}")
        for (label, answer), share in islice(method.confusions.items(), result.options.top)
    ]
    if pairs:
        title = _title("The most confused", pairs, method.confusions, "pair")
        yield blocks.Paragraph(title, "heading")
        columns = blocks.words("class", "answered as") + blocks.numbers(["share, %", "tasks"])
        yield blocks.table(columns, pairs)
        yield blocks.Paragraph(
            "Share of the queries of the class that are answered so, over the tasks where both can "
            "be answered.",
            "note",
        )


def _title(first: str, shown: Sequence[Any], every: Mapping[Any, Any], noun: str) -> str:
    of = counted(len(every), noun, f"{noun}es" if noun == "class" else None)
    return f"{first} {len(shown)} of {of}" if len(shown) < len(every) else f"{first} first: {of}"


def _first(result: ByClass, method: MethodClasses) -> Iterator[tuple[str, Interval]]:
    """Yield the hardest classes by their names."""
    for label, accuracy in islice(method.accuracies.items(), result.options.top):
        yield result.names[label], accuracy


def _bar(name: str, accuracy: Interval) -> blocks.Bar:
    mean, low, high = 100 * accuracy.mean, 100 * accuracy.low, 100 * accuracy.high
    if accuracy.n < FEW_TASKS:
        low = high = nan
    return blocks.Bar("", (name,), mean, low, high)


def _percent(interval: Interval) -> str:
    half = 50 * (interval.high - interval.low)
    return f"{100 * interval.mean:.2f}" + ("" if interval.n < FEW_TASKS else f" +- {half:.2f}")


def _plain(result: ByClass, method: MethodClasses) -> dict[str, Any]:
    snapshots = [{"trial": s.trial, "epoch": s.epoch, "seed": s.seed} for s in method.snapshots]
    return {
        "method": method.snapshots[0].method,
        "snapshots": snapshots,
        "classes": [
            {"class": result.names[label], **asdict(accuracy)}
            for label, accuracy in method.accuracies.items()
        ],
        "confusions": [
            {
                "class": result.names[label],
                "answered_as": result.names[answer],
                **asdict(share),
            }
            for (label, answer), share in method.confusions.items()
        ],
    }
