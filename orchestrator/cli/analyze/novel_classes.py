"""``fsl-sweep analyze novel-classes``: how often a small novel set misjudges two snapshots."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from fsl_sweep.orchestrator.cli.analyze.novel_findings import (
    Found,
    Over,
    Truth,
    described,
    plain,
    show,
)
from fsl_sweep.orchestrator.cli.analyze.snapshot_pairs import (
    Pair,
    Picked,
    chosen_pair,
    nearest_pair,
)
from fsl_sweep.orchestrator.cli.status import RunFolder
from fsl_sweep.orchestrator.errors import BadData, ConfigError
from fsl_sweep.orchestrator.text.printed import say

if TYPE_CHECKING:
    from fsl_sweep.datasets.benchmark import Benchmark
    from fsl_sweep.datasets.tasks.classes import ClassTasks
    from fsl_sweep.orchestrator.measuring.class_sets import ClassSets, ClassSetScorer
    from fsl_sweep.orchestrator.planning.asked_protocols import Asked

ClassSetName = Literal["novel", "val+novel", "base", "all"]
_SPLITS: dict[str, tuple[Literal["base", "val", "novel"], ...]] = {
    "novel": ("novel",),
    "val+novel": ("val", "novel"),
    "base": ("base",),
    "all": ("base", "val", "novel"),
}


def novel_classes(
    run: RunFolder,
    a: Annotated[str, typer.Argument(metavar="A", help="A method.")],
    b: Annotated[str, typer.Argument(metavar="B", help="Another, or the same.")],
    size: Annotated[
        list[int] | None, typer.Option(metavar="N", help="Classes of a novel set; repeatable. [20]")
    ] = None,
    sets: Annotated[int, typer.Option(min=2, help="Random sets of each size.")] = 100,
    tasks: Annotated[int, typer.Option(min=2, help="Tasks of each set.")] = 20_000,
    truth_tasks: Annotated[
        int, typer.Option(min=2, help="Tasks of the whole class set.")
    ] = 100_000,
    classes: Annotated[ClassSetName, typer.Option(help="The large class set.")] = "novel",
    examples: Annotated[
        list[int] | None,
        typer.Option(metavar="K", help="Also sets of K examples of each class; repeatable."),
    ] = None,
    difference: Annotated[
        float | None,
        typer.Option(metavar="D", help="Take the pair of epochs whose NovelGen differ by about D."),
    ] = None,
    epoch_a: Annotated[int | None, typer.Option(metavar="E", help="Epoch of A. [chosen]")] = None,
    epoch_b: Annotated[int | None, typer.Option(metavar="E", help="Epoch of B. [chosen]")] = None,
    trial_seed: Annotated[
        int | None, typer.Option(metavar="S", help="Seed of the trials. [the first]")
    ] = None,
    delta: Annotated[float, typer.Option(min=0, help="Excess that is an exaggeration.")] = 0.005,
    way: Annotated[int | None, typer.Option(metavar="N", help="Classes of a task. [main]")] = None,
    shot: Annotated[int | None, typer.Option(metavar="K", help="Support of a class.")] = None,
    query: Annotated[int | None, typer.Option(metavar="Q", help="Queries of a class.")] = None,
    apart: Annotated[
        bool, typer.Option("--apart", help="Other tasks for A than for B, as the authors' code.")
    ] = False,
    seed: Annotated[int, typer.Option(min=0, help="Of the sets and tasks.")] = 0,
    root: Annotated[
        str | None, typer.Option(metavar="PATH", help="Where the run's data are now.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON, with every set.")] = False,
) -> int:
    """How often a random novel set flips or exaggerates the difference of two snapshots."""
    from fsl_sweep.orchestrator.run import load_run
    from fsl_sweep.orchestrator.trial.trial import use_threads

    opened = load_run(run)
    if difference is None:
        pair = chosen_pair(opened, (a, b), (epoch_a, epoch_b), trial_seed)
    elif epoch_a is None and epoch_b is None:
        pair = nearest_pair(opened, (a, b), difference, trial_seed)
    else:
        raise ConfigError("", "--difference", "it picks the epochs; leave --epoch-a and -b out")
    use_threads(1)  # pieces are so small that more threads are slower
    benchmark, drawn, scorers = _prepared(run, root, classes, (way, shot, query), pair, seed)
    parts = _parts(drawn, size or ([] if examples else [20]), examples or [], sets)
    if not as_json:
        say(f"{pair[0]} against {pair[1]}, by {pair[0].by}.")
        say(described(drawn, classes))
    truth = _truth(drawn, scorers, truth_tasks)
    found = (
        _measured(drawn, scorers, truth, part, tasks, delta=delta, paired=not apart)
        for part in parts
    )
    if as_json:
        print(json.dumps(plain(benchmark.name, drawn, pair, truth, tasks, [*found]), indent=2))
    else:
        show(truth, pair, found, delta)
    return 0


def _prepared(
    run: Path,
    root: str | None,
    classes: ClassSetName,
    episode: tuple[int | None, int | None, int | None],
    pair: Pair,
    seed: int,
) -> "tuple[Benchmark, ClassSets, list[ClassSetScorer]]":
    """The data of the run, its class set, and what answers for each snapshot."""
    from fsl_sweep.datasets.tasks.distribution import definite
    from fsl_sweep.orchestrator.measuring.class_sets import ClassSets, class_set
    from fsl_sweep.orchestrator.planning.asked_protocols import asked_protocols
    from fsl_sweep.orchestrator.records.protocol import MAIN, episode_shape

    asked = asked_protocols(run, MAIN, root=root)
    benchmark = asked.benchmarks[MAIN]
    keys = zip(("way", "shot", "query"), episode, strict=True)
    written = {key: value for key, value in keys if value is not None}
    shape = definite(episode_shape(asked.plan.main.protocol.episode.model_copy(update=written)))
    drawn = ClassSets(class_set(benchmark, _SPLITS[classes]), shape, seed)
    return benchmark, drawn, [_scorer(asked, benchmark, drawn, one) for one in pair]


def _scorer(
    asked: "Asked", benchmark: "Benchmark", drawn: "ClassSets", one: Picked
) -> "ClassSetScorer":
    """Embeds the class set through a snapshot. Raises BadData if it cannot answer such tasks."""
    import torch

    from fsl_sweep.learners.snapshot import restored
    from fsl_sweep.orchestrator.measuring.class_sets import ClassSetScorer
    from fsl_sweep.orchestrator.measuring.common_tasks import trained_benchmark
    from fsl_sweep.orchestrator.measuring.images import PoolImages

    path = asked.ledger.trial(one.trial).check_snapshot(one.epoch)
    learner, _ = restored(path.read_bytes(), str(path))
    if (fixed := learner.fixed_way(learner.options)) not in (None, drawn.shape.way):
        raise BadData(f"{one.method} answers tasks of {fixed} classes only; give --way {fixed}.")
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    trained = trained_benchmark(asked.plan.specs[one.trial], benchmark)
    images = PoolImages(drawn.whole.pool, trained, device)
    learner.to(device).eval()
    return ClassSetScorer(learner, images, drawn.whole.examples, trained.train.classes)


def _parts(
    drawn: "ClassSets", sizes: list[int], examples: list[int], sets: int
) -> "list[tuple[Over, int, Iterable[ClassTasks]]]":
    """What is drawn, each kind and size once; all are checked before the first is measured."""
    for size in sizes:
        drawn.check_size(size)
        if size == drawn.whole.size:
            problem = f"{size} classes are the whole class set, of which nothing varies"
            raise ConfigError("", "--size", f"{problem}; choose fewer")
    for kept in examples:
        drawn.check_kept(kept)
    return [
        *(("novel sets", size, drawn.novel_sets(size, sets)) for size in dict.fromkeys(sizes)),
        *(("example sets", k, drawn.example_sets(k, sets)) for k in dict.fromkeys(examples)),
    ]


def _truth(drawn: "ClassSets", scorers: "list[ClassSetScorer]", tasks: int) -> Truth:
    from fsl_sweep.orchestrator.statistics import paired_interval

    a, b = drawn.accuracies(scorers, [drawn.whole], tasks)[:, 0]
    difference = paired_interval(a, b)
    if difference.mean == 0:
        raise BadData(
            f"Both snapshots score {a.mean():.2%} over the whole class set: there is no order that "
            "could flip. Take other snapshots, or more --truth-tasks."
        )
    return Truth(difference, (float(a.mean()), float(b.mean())))


def _measured(
    drawn: "ClassSets",
    scorers: "list[ClassSetScorer]",
    truth: Truth,
    part: "tuple[Over, int, Iterable[ClassTasks]]",
    tasks: int,
    *,
    delta: float,
    paired: bool,
) -> Found:
    from fsl_sweep.orchestrator.statistics import (
        conclusion_stability,
        example_set_variance,
        novel_set_variance,
    )

    over, size, sets = part
    a, b = drawn.accuracies(scorers, sets, tasks, paired=paired)
    spread = novel_set_variance if over == "novel sets" else example_set_variance
    stability = conclusion_stability(truth.difference, a, b, delta=delta, paired=paired)
    return Found(over, size, stability, (spread(a), spread(b)))
