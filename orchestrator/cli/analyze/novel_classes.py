"""``fsl-sweep analyze novel-classes``: how often a small novel set misjudges two snapshots."""

import json
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from fsl_sweep.orchestrator.cli.figures import Plot, check_plot, put_figure
from fsl_sweep.orchestrator.cli.options import RunFolder
from fsl_sweep.orchestrator.records.paper_names import ClassSetName
from fsl_sweep.orchestrator.text.printed import say

if TYPE_CHECKING:
    from fsl_sweep.orchestrator.run.flips import Flips
    from fsl_sweep.orchestrator.statistics import Frequency


def novel_classes(
    run: RunFolder,
    a: Annotated[str, typer.Argument(metavar="A", help="A method.")],
    b: Annotated[str, typer.Argument(metavar="B", help="Another, or the same.")],
    size: Annotated[
        list[int] | None,
        typer.Option(
            metavar="N", help="Classes of a novel set; repeatable. [20, at most half of the set]"
        ),
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
    plot: Plot = None,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON, with every set.")] = False,
) -> int:
    """How often a random novel set flips or exaggerates the difference of two snapshots."""
    from fsl_sweep.orchestrator.report.figures.studies.flips import spread_figure
    from fsl_sweep.orchestrator.run import load_run
    from fsl_sweep.orchestrator.run.flips import flips
    from fsl_sweep.orchestrator.run.pairs import pair_of
    from fsl_sweep.orchestrator.run.studies import Study
    from fsl_sweep.orchestrator.trial.trial import use_threads

    check_plot(plot)
    opened = load_run(run)
    pair = pair_of(opened, (a, b), (epoch_a, epoch_b), trial_seed, difference)
    use_threads(1)  # pieces are so small that more threads are slower
    asked = Study(
        sizes=tuple(size or ()),
        examples=tuple(examples or ()),
        sets=sets,
        tasks=tasks,
        truth_tasks=truth_tasks,
        classes=classes,
        delta=delta,
        way=way,
        shot=shot,
        query=query,
        paired=not apart,
        seed=seed,
        root=root,
    )
    found = flips(opened, pair, asked, lambda remark: say(remark, sys.stderr))
    known = next(found)
    if not as_json:
        say("\n".join(_truth(known)))
    for known in found:
        if not as_json:
            say("\n".join(_found(known)))
    if as_json:
        print(json.dumps(known.to_plain(), indent=2))
    if plot is not None:
        rows = [(one.described, one.stability, one.spreads) for one in known.found]
        put_figure(plot, spread_figure(rows, known.names))
    return 0


def _truth(known: "Flips") -> Iterator[str]:
    """What is compared, and which is better over the whole class set."""
    a, b = known.pair
    yield f"{a} against {b}, by {a.by}."
    yield f"Class set: {known.class_set}."
    truth, (better, _) = known.truth, known.ordered
    low, high = sorted(100 * known.sign * end for end in (truth.low, truth.high))
    scores = ", ".join(f"{n} {100 * s:.2f}" for n, s in zip(known.names, known.scores, strict=True))
    told = "is better" if low > 0 else "leads"
    yield (
        f"Truth: {better} {told} by {100 * abs(truth.mean):.2f} points (95 %: {low:.2f} to "
        f"{high:.2f}) over {truth.n:,} tasks of the whole set: {scores} %."
    )


def _found(known: "Flips") -> Iterator[str]:
    """What the last kind and size of sets showed; shares with their 95 % intervals."""
    import numpy as np

    one, (better, _) = known.found[-1], known.ordered
    stable, more = one.stability, f"{100 * known.asked.delta:g} points"
    ends = np.quantile(100 * known.sign * stable.differences, [0, 0.05, 0.5, 0.95, 1])
    at = zip(("least", "5 %", "median", "95 %", "most"), ends, strict=True)
    lead = ", ".join(f"{name} {x:+.2f}" for name, x in at)
    yield ""
    yield f"{stable.flips.n} random {one.over} of {one.described}:"
    yield f"  conclusion flips              {_often(stable.flips)}"
    yield f"    clear ones                  {_often(stable.clear_flips)}"
    yield f"  exaggerated by > {more:<12} {_often(stable.exaggerations)}"
    yield f"  lead of {better}, points: {lead}"
    for name, spread in zip(known.names, one.spreads, strict=True):
        ends = f"{100 * spread.low:.2f} to {100 * spread.high:.2f}"
        yield (
            f"  {name}: mean {100 * spread.mean:.2f} %, sd {100 * spread.observed:.2f} points; "
            f"{100 * spread.deviation:.2f} (95 %: {ends}) without the noise of tasks"
        )
    if stable.caution:
        yield f"  caution: {stable.caution}"


def _often(found: "Frequency") -> str:
    return f"{100 * found.share:5.1f} % ({100 * found.low:.1f} to {100 * found.high:.1f})"
