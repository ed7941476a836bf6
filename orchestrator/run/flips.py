"""What random novel sets, or random sets of examples, show of two snapshots of a run.

"Two Sides of Meta-Learning Evaluation: In vs. Out of Distribution", section 5.2 and appendix F.6;
"Lessons from Chasing Few-Shot Learning Benchmarks", table 3 and appendix D. This needs torch.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from fsl_sweep.orchestrator.errors import BadData, ConfigError, UnknownName
from fsl_sweep.orchestrator.records.paper_names import ClassSetName
from fsl_sweep.orchestrator.run.pairs import Pair, Picked
from fsl_sweep.orchestrator.run.studies import Study
from fsl_sweep.orchestrator.statistics import (
    ConclusionStability,
    Interval,
    Spread,
    conclusion_stability,
    example_set_variance,
    novel_set_variance,
    paired_interval,
)
from fsl_sweep.orchestrator.text.printed import counted

if TYPE_CHECKING:
    import numpy as np

    from fsl_sweep.datasets.benchmark import SplitName
    from fsl_sweep.datasets.tasks.classes import ClassTasks
    from fsl_sweep.orchestrator.measuring.class_sets import ClassSets, ClassSetScorer
    from fsl_sweep.orchestrator.planning.measure_request import MeasureRequest
    from fsl_sweep.orchestrator.run.run import Run

Over = Literal["novel sets", "example sets"]
_SPLITS: "dict[ClassSetName, tuple[SplitName | Literal['unused'], ...]]" = {
    "novel": ("novel",),
    "val+novel": ("val", "novel"),
    "unused": ("unused",),
    "novel+unused": ("novel", "unused"),
    "base": ("base",),
    "all": ("base", "val", "novel"),
}


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
        """``20 classes`` or ``100 examples a class``."""
        return _each(self.over, self.size)


@dataclass(frozen=True, eq=False, repr=False)
class Flips:
    """What random sets showed of two snapshots.

    Attributes:
        asked: tasks, delta and seed, and what else was asked.
        pair: the snapshots a and b.
        benchmark: its name.
        number, images: of the classes of the large class set, and of their examples.
        class_set: the same in words, with the shape of a task.
        episode: way, shot and query of a task.
        truth: the difference a - b over the large class set.
        scores: the accuracy of both there, in [0, 1].
        found: each kind and size of sets.
    """

    asked: Study
    pair: Pair
    benchmark: str
    number: int
    images: int
    class_set: str
    episode: dict[str, int]
    truth: Interval
    scores: tuple[float, float]
    found: tuple[SetFindings, ...] = ()

    def __repr__(self) -> str:
        found = [(one, one.stability.flips) for one in self.found]
        told = (f", {100 * f.share:.1f} % of {f.n} {o.over} of {o.described}" for o, f in found)
        return f"<Flips of {' and '.join(self.names)}{''.join(told)}>"

    @property
    def names(self) -> tuple[str, str]:
        """Of the snapshots: their methods, told apart where both are of one."""
        a, b = (one.method for one in self.pair)
        return (f"{a} (A)", f"{b} (B)") if a == b else (a, b)

    @property
    def sign(self) -> int:
        """Of the truth: 1 where a is better, -1 where b is."""
        return 1 if self.truth.mean > 0 else -1

    @property
    def ordered(self) -> tuple[str, str]:
        """The names, the truly better one first."""
        a, b = self.names
        return (a, b) if self.sign > 0 else (b, a)

    def to_plain(self) -> dict[str, Any]:
        """All of it as plain data; differences and accuracies set by set."""
        return {
            "snapshots": [asdict(one) for one in self.pair],
            "classes": {
                "benchmark": self.benchmark,
                "number": self.number,
                "images": self.images,
            },
            "episode": self.episode,
            "seed": self.asked.seed,
            "truth": {**asdict(self.truth), "scores": self.scores},
            "sets": [self._plain(one) for one in self.found],
        }

    def _plain(self, one: SetFindings) -> dict[str, Any]:
        return {
            "over": one.over,
            "size": one.size,
            "tasks": self.asked.tasks,
            "paired": one.stability.paired,
            "delta": one.stability.delta,
            **{
                key: {**asdict(event), "share": event.share}
                for key in ("flips", "clear_flips", "exaggerations", "unclear")
                for event in [getattr(one.stability, key)]
            },
            "noise": one.stability.noise,
            "differences": one.stability.differences.tolist(),
            "spread": [{**asdict(s), "means": s.means.tolist()} for s in one.spreads],
            "caution": one.stability.caution,
        }


def flips(
    run: "Run", pair: Pair, asked: Study, told: Callable[[str], None] = lambda _: None
) -> Iterator[Flips]:
    """What is known so far: the truth first, then with one more kind and size of sets each time.

    ``told`` hears how far it is, ten times for each kind and size.

    Raises:
        UnknownName: there is no such large class set.
        ConfigError: a size is the whole class set.
        BadData: the class set has too few classes or examples, a learner cannot answer such tasks,
            or both snapshots are equally good, so that no order could flip.
        RunFolderError: weights are gone, or the data have changed.
        MissingData: the data are not there.
    """
    benchmark, drawn, scorers = _prepared(run, pair, asked)
    parts, whole = _parts(drawn, asked, told), drawn.whole
    told(f"the truth, over {asked.truth_tasks:,} tasks of {whole.size} classes")
    a, b = drawn.accuracies(scorers, [whole], asked.truth_tasks)[:, 0]
    truth = _decided(a, b)
    known = Flips(
        asked,
        pair,
        benchmark,
        whole.size,
        len(whole.examples),
        _described(drawn, asked.classes),
        asdict(drawn.shape),
        truth,
        (float(a.mean()), float(b.mean())),
    )
    yield known
    for over, size, sets in parts:
        a, b = drawn.accuracies(scorers, sets, asked.tasks, paired=asked.paired)
        spread = novel_set_variance if over == "novel sets" else example_set_variance
        stable = conclusion_stability(truth, a, b, delta=asked.delta, paired=asked.paired)
        one = SetFindings(over, size, stable, (spread(a), spread(b)))
        known = replace(known, found=(*known.found, one))
        yield known


def _decided(a: "np.ndarray", b: "np.ndarray") -> Interval:
    """The difference over the class set. Raises BadData if it is 0."""
    truth = paired_interval(a, b)
    if truth.mean == 0:
        raise BadData(
            f"Both snapshots score {a.mean():.2%} over the whole class set: there is no order that "
            "could flip. Take other snapshots, or more --truth-tasks."
        )
    return truth


def _prepared(
    run: "Run", pair: Pair, asked: Study
) -> "tuple[str, ClassSets, list[ClassSetScorer]]":
    """The run's benchmark, its class set, and what answers for each snapshot."""
    from fsl_sweep.datasets.tasks.distribution import definite
    from fsl_sweep.orchestrator.measuring.class_sets import ClassSets, class_set
    from fsl_sweep.orchestrator.planning.measure_request import measure_request
    from fsl_sweep.orchestrator.records.protocol import MAIN, episode_shape

    if asked.classes not in _SPLITS:
        raise UnknownName("class set", asked.classes, _SPLITS)
    opened = measure_request(run.path, MAIN, root=asked.root)
    benchmark = opened.benchmarks[MAIN]
    given = {key: getattr(asked, key) for key in ("way", "shot", "query")}
    written = {key: value for key, value in given.items() if value is not None}
    shape = definite(episode_shape(opened.plan.main.protocol.episode.model_copy(update=written)))
    drawn = ClassSets(class_set(benchmark, _SPLITS[asked.classes]), shape, asked.seed)
    return benchmark.name, drawn, [_scorer(opened, drawn, one) for one in pair]


def _scorer(opened: "MeasureRequest", drawn: "ClassSets", one: Picked) -> "ClassSetScorer":
    """Embeds the class set through a snapshot. Raises BadData if it cannot answer such tasks."""
    import torch

    from fsl_sweep.learners.snapshot import restored
    from fsl_sweep.orchestrator.measuring.class_sets import ClassSetScorer
    from fsl_sweep.orchestrator.measuring.common_tasks import trained_benchmark
    from fsl_sweep.orchestrator.measuring.images import PoolImages
    from fsl_sweep.orchestrator.records.protocol import MAIN

    path = opened.ledger.trial(one.trial).check_snapshot(one.epoch)
    learner, _ = restored(path.read_bytes(), str(path))
    if (fixed := learner.fixed_way(learner.options)) not in (None, drawn.shape.way):
        raise BadData(f"{one.method} answers tasks of {fixed} classes only; give --way {fixed}.")
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    trained = trained_benchmark(opened.plan.specs[one.trial], opened.benchmarks[MAIN])
    images = PoolImages(drawn.whole.pool, trained, device)
    learner.to(device).eval()
    return ClassSetScorer(learner, images, drawn.whole.examples, trained.train.classes)


def _parts(
    drawn: "ClassSets", asked: Study, told: Callable[[str], None]
) -> "Sequence[tuple[Over, int, Iterable[ClassTasks]]]":
    """What is drawn, each kind and size once; all are checked before the first is measured."""
    most, way = drawn.whole.size, drawn.shape.way
    half, sizes = max(way, most // 2), dict.fromkeys(asked.sizes)
    if not sizes and not asked.examples:
        sizes = {min(20, half): None}
    for size in sizes:
        drawn.check_size(size)
        if size == most:
            problem = f"{size} classes are the whole class set, of which nothing varies"
            fewer = "another class set by --classes" if half == most else f"fewer: --size {half}"
            raise ConfigError("", "--size", f"{problem}; take {fewer}")
    for kept in asked.examples:
        drawn.check_kept(kept)
    examples = dict.fromkeys(asked.examples)
    parts: list[tuple[Over, int, Iterator[ClassTasks]]] = [
        *(("novel sets", size, drawn.novel_sets(size, asked.sets)) for size in sizes),
        *(("example sets", kept, drawn.example_sets(kept, asked.sets)) for kept in examples),
    ]
    return [
        (over, size, _heard(sets, asked.sets, f"{over} of {_each(over, size)}", told))
        for over, size, sets in parts
    ]


def _each(over: Over, size: int) -> str:
    return f"{size} {'classes' if over == 'novel sets' else 'examples a class'}"


def _heard(
    sets: Iterable["ClassTasks"], count: int, what: str, told: Callable[[str], None]
) -> Iterator["ClassTasks"]:
    """The sets; of each tenth it is told which one is next."""
    for number, one in enumerate(sets, 1):
        if number * 10 // count > (number - 1) * 10 // count:
            told(f"{what}: {number} of {count}")
        yield one


def _described(drawn: "ClassSets", classes: ClassSetName) -> str:
    """``novel, 40 classes of 40 examples; tasks: 5-way 1-shot, 5 queries a class``."""
    low, high = int(drawn.whole.counts.min()), int(drawn.whole.counts.max())
    each = f"{low}" if low == high else f"{low} to {high}"
    shape = drawn.shape
    trained = "; base classes were trained on, on other examples" * (classes in ("base", "all"))
    return (
        f"{classes}, {counted(drawn.whole.size, 'class', 'classes')} of {each} examples"
        f"{trained}; tasks: {shape.way}-way {shape.shot}-shot, {shape.query} queries a class"
    )
