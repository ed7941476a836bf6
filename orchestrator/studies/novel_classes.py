"""What random novel sets, or random sets of examples, show of two snapshots of a run.

"Two Sides of Meta-Learning Evaluation: In vs. Out of Distribution", section 5.2 and appendix F.6;
"Lessons from Chasing Few-Shot Learning Benchmarks", table 3 and appendix D. This needs torch.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal, final

import numpy as np

from fsl_sweep.orchestrator.errors import BadData, ConfigError
from fsl_sweep.orchestrator.records.paper_names import ClassSetName
from fsl_sweep.orchestrator.records.snapshot import Snapshot
from fsl_sweep.orchestrator.report.document import blocks
from fsl_sweep.orchestrator.report.figures.studies.flips import spread_figure
from fsl_sweep.orchestrator.selection.evidence import Evidence
from fsl_sweep.orchestrator.statistics import (
    ConclusionStability,
    Interval,
    Spread,
    conclusion_stability,
    example_set_variance,
    novel_set_variance,
    paired_interval,
)
from fsl_sweep.orchestrator.studies.base import (
    Difference,
    Drawings,
    Progress,
    Study,
    argument,
    option,
)
from fsl_sweep.orchestrator.studies.snapshot_pair import Picked, chosen_pair, nearest_pair
from fsl_sweep.orchestrator.studies.trained_on import ShapedOptions, evaluated
from fsl_sweep.orchestrator.text.printed import counted

if TYPE_CHECKING:
    from fsl_sweep.datasets.benchmark import SplitName
    from fsl_sweep.datasets.tasks.classes import ClassTasks
    from fsl_sweep.orchestrator.measuring.class_sets import ClassSets, ClassSetScorer
    from fsl_sweep.orchestrator.planning.measure_request import MeasureRequest

Over = Literal["novel sets", "example sets"]
_SPLITS: "dict[ClassSetName, tuple[SplitName | Literal['unused'], ...]]" = {
    "novel": ("novel",),
    "val+novel": ("val", "novel"),
    "unused": ("unused",),
    "novel+unused": ("novel", "unused"),
    "base": ("base",),
    "all": ("base", "val", "novel"),
}


class NovelClassesOptions(ShapedOptions):
    """Which snapshots, which class sets, and how many of what."""

    a: str = argument("A method.", "A")
    b: str = argument("Another, or the same.", "B")
    size: list[int] = option(
        "Classes of a novel set; repeatable. [20, at most half of the set]", [], "N"
    )
    sets: int = option("Random sets of each size.", 100, ge=2)
    tasks: int = option("Tasks of each set.", 20_000, ge=2)
    truth_tasks: int = option("Tasks of the whole class set.", 100_000, ge=2)
    classes: ClassSetName = option("The large class set.", "novel")
    examples: list[int] = option("Also sets of K examples of each class; repeatable.", [], "K")
    difference: Difference | None = option(
        "Take the pair of epochs whose NovelGen differ by about D.", None, "D"
    )
    epoch_a: int | None = option("Epoch of A. [chosen]", None, "E")
    epoch_b: int | None = option("Epoch of B. [chosen]", None, "E")
    trial_seed: int | None = option("Seed of the trials. [the first]", None, "S")
    delta: float = option("Excess that is an exaggeration.", 0.005, ge=0)
    apart: bool = option("Other tasks for A than for B, as the authors' code.", False)
    seed: int = option("Of the sets and tasks.", 0, ge=0)
    root: str | None = option("Where the run's data are now.", None, "PATH")


@dataclass(frozen=True, eq=False)
class SetFindings:
    """What random sets of one kind and size showed.

    Attributes:
        over, size: sets of so many novel classes, or of so many examples of each class.
        stability: how often a set flips or exaggerates the true difference.
        spreads: of the accuracy of either snapshot over the sets.
    """

    over: Over
    size: int
    stability: ConclusionStability = field(repr=False)
    spreads: tuple[Spread, Spread] = field(repr=False)

    @property
    def described(self) -> str:
        """Return ``20 classes`` or ``100 examples a class``."""
        return _each(self.over, self.size)

    @property
    def title(self) -> str:
        """Return ``100 random novel sets of 20 classes``."""
        return f"{self.stability.flips.n} random {self.over} of {self.described}"


@dataclass(frozen=True, eq=False, repr=False)
class Flips:
    """What random sets showed of two snapshots.

    Attributes:
        options: tasks, delta and seed, and what else was asked.
        pair: the snapshots a and b, and how each was picked.
        classes: the benchmark, the number of the classes of the large class set, and of images.
        class_set: the same in words, with the shape of a task.
        episode: way, shot and query of a task.
        truth: the difference a - b over the large class set.
        scores: the accuracy of both there, in [0, 1].
        sets: each kind and size of sets.
    """

    options: NovelClassesOptions
    pair: tuple[Picked, Picked]
    classes: dict[str, str | int]
    class_set: str
    episode: dict[str, int]
    truth: Interval
    scores: tuple[float, float]
    sets: tuple[SetFindings, ...]

    @property
    def names(self) -> tuple[str, str]:
        """Return the methods of the snapshots, told apart where both are of one."""
        a, b = (snapshot.method for snapshot, _ in self.pair)
        return (f"{a} (A)", f"{b} (B)") if a == b else (a, b)

    @property
    def sign(self) -> int:
        """Return 1 where a is truly better, -1 where b is."""
        return 1 if self.truth.mean > 0 else -1

    @property
    def ordered(self) -> tuple[str, str]:
        """Return the names, the truly better one first."""
        a, b = self.names
        return (a, b) if self.sign > 0 else (b, a)


@final
class NovelClasses(Study[NovelClassesOptions, Flips]):
    """Say how often a random novel set flips or exaggerates the difference of two snapshots.

    The snapshots are those that val / val, or another strategy, chose for one seed, or others of
    the same trials. Needs torch, the weights and the data.
    """

    name = "novel-classes"
    Options = NovelClassesOptions
    heeds = ("snapshot", "hyperparameter", "choose_by", "configuration")
    needs = frozenset({"tasks", "snapshots", "data"})

    def result(self, evidence: Evidence, options: NovelClassesOptions, progress: Progress) -> Flips:
        """Measure both snapshots on each set.

        Raises:
            UnknownName: there is no such method.
            ConfigError: a size is the whole class set, or there is no such seed or epoch.
            BadData: the class set has too few classes or examples, a learner cannot answer such
                tasks, or both snapshots are equally good, so that no order could flip.
            RunFolderError: weights are gone, or the data have changed.
            MissingData: the data are not there.
        """
        from fsl_sweep.orchestrator.trial.trial import use_threads

        pair = _pair(evidence, options)
        use_threads(1)  # pieces are so small that more threads are slower
        benchmark, drawn, scorers = _prepared(evidence, pair, options)
        parts, whole = _parts(drawn, options, progress), drawn.whole
        progress(f"the truth, over {options.truth_tasks:,} tasks of {whole.size} classes")
        a, b = drawn.accuracies(scorers, [whole], options.truth_tasks)[:, 0]
        truth = _decided(a, b)
        findings: list[SetFindings] = []
        for over, size, sets in parts:
            x, y = drawn.accuracies(scorers, sets, options.tasks, paired=not options.apart)
            spread = novel_set_variance if over == "novel sets" else example_set_variance
            stable = conclusion_stability(
                truth, x, y, delta=options.delta, paired=not options.apart
            )
            findings.append(SetFindings(over, size, stable, (spread(x), spread(y))))
        return Flips(
            options=options,
            pair=pair,
            classes={"benchmark": benchmark, "number": whole.size, "images": len(whole.examples)},
            class_set=_described(drawn, options.classes),
            episode=asdict(drawn.shape),
            truth=truth,
            scores=(float(a.mean()), float(b.mean())),
            sets=tuple(findings),
        )

    def document(self, result: Flips) -> blocks.Document:
        """Say which snapshot is truly better; then what each kind and size of sets showed."""
        (a, by), (b, _) = result.pair
        picked = blocks.Paragraph(f"{a} against {b}, by {by}.")
        return blocks.Document(
            headline=f"{result.names[0]} against {result.names[1]} on random class sets",
            answer=(blocks.Paragraph(_truth(result)), *map(blocks.Paragraph, _often_wrong(result))),
            sections=tuple(
                blocks.Section(f"sets-{number}", sets.title, _shown(result, sets))
                for number, sets in enumerate(result.sets)
            ),
            banner=(picked, blocks.Paragraph(f"Class set: {result.class_set}.")),
            warnings=tuple(
                dict.fromkeys(s.stability.caution for s in result.sets if s.stability.caution)
            ),
        )

    def plain(self, result: Flips) -> dict[str, Any]:
        """Return all of it; differences and accuracies set by set."""
        keys = ("method", "seed", "trial", "epoch")
        return {
            "snapshots": [
                {**{key: getattr(snapshot, key) for key in keys}, "by": by}
                for snapshot, by in result.pair
            ],
            "classes": result.classes,
            "episode": result.episode,
            "seed": result.options.seed,
            "truth": {**asdict(result.truth), "scores": result.scores},
            "sets": [_plain_sets(result, sets) for sets in result.sets],
        }

    def figures(self, result: Flips) -> Drawings:
        """Draw the differences of each kind and size of sets, and the accuracies."""
        rows = [(sets.described, sets.stability, sets.spreads) for sets in result.sets]
        return {"answer": [spread_figure(rows, result.names)]}


def _pair(evidence: Evidence, options: NovelClassesOptions) -> tuple[Picked, Picked]:
    methods, epochs = (options.a, options.b), (options.epoch_a, options.epoch_b)
    if options.difference is None:
        return chosen_pair(evidence, methods, epochs, options.trial_seed)
    if epochs != (None, None):
        raise ConfigError("", "--difference", "it picks the epochs; leave --epoch-a and -b out")
    return nearest_pair(evidence, methods, options.difference, options.trial_seed)


def _decided(a: np.ndarray, b: np.ndarray) -> Interval:
    """Return the difference over the class set. Raises BadData if it is 0."""
    truth = paired_interval(a, b)
    if truth.mean == 0:
        raise BadData(
            f"Both snapshots score {a.mean():.2%} over the whole class set: there is no order that "
            "could flip. Take other snapshots, or more --truth-tasks."
        )
    return truth


def _prepared(
    evidence: Evidence, pair: tuple[Picked, Picked], options: NovelClassesOptions
) -> "tuple[str, ClassSets, list[ClassSetScorer]]":
    """Return the run's benchmark, its class set, and what answers for each snapshot."""
    from fsl_sweep.datasets.tasks.distribution import definite
    from fsl_sweep.orchestrator.measuring.class_sets import ClassSets, class_set
    from fsl_sweep.orchestrator.planning.measure_request import measure_request
    from fsl_sweep.orchestrator.records.protocol import MAIN, episode_shape

    opened = measure_request(evidence.source.places[0], MAIN, root=options.root)
    benchmark = opened.benchmarks[MAIN]
    episode = options.shaped(opened.plan.main.protocol.episode)
    large = class_set(benchmark, _SPLITS[options.classes])
    drawn = ClassSets(large, definite(episode_shape(episode)), options.seed)
    return benchmark.name, drawn, [_scorer(opened, drawn, snapshot) for snapshot, _ in pair]


def _scorer(opened: "MeasureRequest", drawn: "ClassSets", snapshot: Snapshot) -> "ClassSetScorer":
    """Embed the class set through a snapshot. Raises ConfigError if it answers no such tasks."""
    from fsl_sweep.orchestrator.measuring.class_sets import ClassSetScorer
    from fsl_sweep.orchestrator.measuring.common_tasks import trained_benchmark
    from fsl_sweep.orchestrator.measuring.images import PoolImages
    from fsl_sweep.orchestrator.records.protocol import MAIN

    learner, device = evaluated(
        opened, snapshot.trial, snapshot.epoch, snapshot.method, drawn.shape.way
    )
    trained = trained_benchmark(opened.plan.specs[snapshot.trial], opened.benchmarks[MAIN])
    images = PoolImages(drawn.whole.pool, trained, device)
    return ClassSetScorer(learner, images, drawn.whole.examples, trained.train.classes)


def _parts(
    drawn: "ClassSets", options: NovelClassesOptions, progress: Progress
) -> "Sequence[tuple[Over, int, Iterable[ClassTasks]]]":
    """Return what is drawn, each kind and size once; all are checked before any is measured."""
    most, way = drawn.whole.size, drawn.shape.way
    half, sizes = max(way, most // 2), dict.fromkeys(options.size)
    if not sizes and not options.examples:
        sizes = {min(20, half): None}
    for size in sizes:
        drawn.check_size(size)
        if size == most:
            problem = f"{size} classes are the whole class set, of which nothing varies"
            fewer = "another class set by --classes" if half == most else f"fewer: --size {half}"
            raise ConfigError("", "--size", f"{problem}; take {fewer}")
    for kept in options.examples:
        drawn.check_kept(kept)
    examples = dict.fromkeys(options.examples)
    parts: list[tuple[Over, int, Iterator[ClassTasks]]] = [
        *(("novel sets", size, drawn.novel_sets(size, options.sets)) for size in sizes),
        *(("example sets", kept, drawn.example_sets(kept, options.sets)) for kept in examples),
    ]
    return [
        (over, size, _followed(sets, options.sets, f"{over} of {_each(over, size)}", progress))
        for over, size, sets in parts
    ]


def _each(over: Over, size: int) -> str:
    return f"{size} {'classes' if over == 'novel sets' else 'examples a class'}"


def _followed(
    sets: Iterable["ClassTasks"], count: int, what: str, progress: Progress
) -> Iterator["ClassTasks"]:
    """Give the sets, and say each tenth which one is next."""
    for number, tasks in enumerate(sets, 1):
        if number * 10 // count > (number - 1) * 10 // count:
            progress(f"{what}: {number} of {count}")
        yield tasks


def _described(drawn: "ClassSets", classes: ClassSetName) -> str:
    """Return ``novel, 40 classes of 40 examples; tasks: 5-way 1-shot, 5 queries a class``."""
    low, high = int(drawn.whole.counts.min()), int(drawn.whole.counts.max())
    each = f"{low}" if low == high else f"{low} to {high}"
    shape = drawn.shape
    trained = "; base classes were trained on, on other examples" * (classes in ("base", "all"))
    return (
        f"{classes}, {counted(drawn.whole.size, 'class', 'classes')} of {each} examples"
        f"{trained}; tasks: {shape.way}-way {shape.shot}-shot, {shape.query} queries a class"
    )


def _truth(result: Flips) -> str:
    """Say which is better over the whole class set."""
    truth, (better, _) = result.truth, result.ordered
    low, high = sorted(100 * result.sign * end for end in (truth.low, truth.high))
    pairs = zip(result.names, result.scores, strict=True)
    scores = ", ".join(f"{name} {100 * score:.2f}" for name, score in pairs)
    leads = "is better" if low > 0 else "leads"
    return (
        f"Truth: {better} {leads} by {100 * abs(truth.mean):.2f} points (95 %: {low:.2f} to "
        f"{high:.2f}) over {truth.n:,} tasks of the whole set: {scores} %."
    )


def _often_wrong(result: Flips) -> Iterator[str]:
    for sets in result.sets:
        share = f"{100 * sets.stability.flips.share:.1f} %"
        yield f"Of {sets.title}, {share} have the order wrong."


def _shown(result: Flips, sets: SetFindings) -> tuple[blocks.Block, ...]:
    """Show shares with their 95 % intervals, and the spread over the sets."""
    stable, (better, _) = sets.stability, result.ordered
    events = (
        ("conclusion flips", stable.flips),
        ("clear flips", stable.clear_flips),
        (f"exaggerated by > {100 * result.options.delta:g} points", stable.exaggerations),
    )
    rows = [
        (name, f"{100 * e.share:.1f}", f"{100 * e.low:.1f} to {100 * e.high:.1f}")
        for name, e in events
    ]
    ends = np.quantile(100 * result.sign * stable.differences, [0, 0.05, 0.5, 0.95, 1])
    heads = blocks.numbers(["least", "5 %", "median", "95 %", "most"])
    lead = (f"lead of {better}, points", *(f"{end:+.2f}" for end in ends))
    spreads = [
        (
            name,
            f"{100 * spread.mean:.2f}",
            f"{100 * spread.observed:.2f}",
            f"{100 * spread.deviation:.2f}",
            f"{100 * spread.low:.2f} to {100 * spread.high:.2f}",
        )
        for name, spread in zip(result.names, sets.spreads, strict=True)
    ]
    titles = ["mean, %", "sd, points", "sd without task noise", "95 %"]
    return (
        blocks.table(blocks.words("of the sets") + blocks.numbers(["share, %", "95 %"]), rows),
        blocks.table((*blocks.words("over the sets"), *heads), [lead]),
        blocks.table(blocks.words("accuracy over the sets") + blocks.numbers(titles), spreads),
    )


def _plain_sets(result: Flips, sets: SetFindings) -> dict[str, Any]:
    stable = sets.stability
    return {
        "over": sets.over,
        "size": sets.size,
        "tasks": result.options.tasks,
        "paired": stable.paired,
        "delta": stable.delta,
        **{
            key: {**asdict(event), "share": event.share}
            for key in ("flips", "clear_flips", "exaggerations", "unclear")
            for event in [getattr(stable, key)]
        },
        "noise": stable.noise,
        "differences": stable.differences.tolist(),
        "spread": [{**asdict(s), "means": s.means.tolist()} for s in sets.spreads],
        "caution": stable.caution,
    }
