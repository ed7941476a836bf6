"""``fsl-sweep coverage``: whether training and test tasks could be of one distribution."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from math import ceil, floor
from pathlib import Path
from typing import Annotated, Any

import typer

from fsl_sweep.orchestrator.cli.analyze.trained_on import Root, trained_on
from fsl_sweep.orchestrator.cli.options import AsJson
from fsl_sweep.orchestrator.errors import ConfigError, RunFolderError
from fsl_sweep.orchestrator.text.printed import columns, say, say_json

MOST_CLASSES = 10**6


@dataclass(frozen=True)
class _Facts:
    """What the bounds need to know of a sweep; 0 where nothing says it.

    Attributes:
        base, novel: numbers of classes of the training and of the test tasks.
        classes: L, of the one distribution that all tasks might be of.
        way, train_tasks, test_tasks: n and both N.
        most_train_tasks: of the trial that was trained on the most tasks of a run.
        shared: classes that are both base and novel.
    """

    base: int = 0
    novel: int = 0
    classes: int = 0
    way: int = 0
    train_tasks: int = 0
    test_tasks: int = 0
    most_train_tasks: int = 0
    shared: int = 0


def coverage(
    run: Annotated[
        Path | None, typer.Argument(metavar="[RUN]", help="A run folder, to take numbers from.")
    ] = None,
    classes: Annotated[
        int | None,
        typer.Option(min=1, max=MOST_CLASSES, metavar="L", help="Classes. [base and novel ones]"),
    ] = None,
    way: Annotated[int | None, typer.Option(min=1, metavar="n", help="Classes of a task.")] = None,
    base: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Classes of training tasks.")
    ] = None,
    novel: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Classes of test tasks.")
    ] = None,
    train_tasks: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Tasks trained on.")
    ] = None,
    test_tasks: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Test tasks. [as many]")
    ] = None,
    gamma: Annotated[
        float, typer.Option(help="No class is rarer than this share of n / L, its mean.")
    ] = 0.5,
    rho: Annotated[float, typer.Option(help="A probability that is too small to believe.")] = 0.01,
    eta: Annotated[float, typer.Option(help="Share of the least mean that is few classes.")] = 0.5,
    root: Root = None,
    as_json: AsJson = False,
) -> int:
    """Say whether training and test tasks could be draws from one distribution of tasks.

    The bounds of "Two Sides of Meta-Learning Evaluation", appendix B, each beside a simulation.
    Torch and Ray are not needed.
    """
    for name, value in (("--gamma", gamma), ("--rho", rho), ("--eta", eta)):
        if not (0 < value < 1 or (name, value) == ("--gamma", 1)):
            raise ConfigError("", name, f"{value} does not lie between 0 and 1")
    given = {
        "base": base,
        "novel": novel,
        "classes": classes,
        "way": way,
        "train_tasks": train_tasks,
        "test_tasks": test_tasks,
    }
    named = {key: value for key, value in given.items() if value is not None}
    recorded = _Facts() if run is None else _recorded(run)
    if run is not None and not {"base", "novel"} <= {*named}:
        recorded = _with_classes(recorded, run, root)
    facts = _completed(recorded, named)
    found = _bounds(facts, gamma, rho, eta)
    if as_json:
        say_json({**asdict(facts), "gamma": gamma, "rho": rho, "eta": eta, **found})
    else:
        say("\n".join(_lines(facts, found, gamma, rho)))
    return 0


def _recorded(run: Path) -> _Facts:
    """What the records of a run say: all but its classes.

    Training tasks are those of the epochs up to the last recorded one of each trial on all base
    classes: a trial may have been stopped early. Raises RunFolderError.
    """
    from fsl_sweep.orchestrator.ledger.ledger import Ledger
    from fsl_sweep.orchestrator.records.measures import TASK_SETS
    from fsl_sweep.orchestrator.records.spec import EpisodicTraining
    from fsl_sweep.orchestrator.run import load_run

    specs, opened = Ledger(run).planned().specs, load_run(run)
    try:
        tuples = opened.class_tuples()
    except RunFolderError:
        raise RunFolderError(
            f"{run} records no tasks of equal numbers of classes, which the bounds are about. Give "
            "the numbers by options, without the run folder."
        ) from None
    trained = [
        (int(one.epochs[-1]) * spec.batches * spec.train.tasks_per_batch, spec.train.way)
        for one in opened.histories
        for spec in [specs[one.trial]]
        if one.fold is None and len(one.epochs)
        if isinstance(spec.train, EpisodicTraining) and isinstance(spec.train.way, int)
    ]
    counts = [tasks for tasks, _ in trained]
    return _Facts(
        way=min([tuples["novel", "report"].shape[1], *(way for _, way in trained)]),
        train_tasks=min(counts, default=0),
        test_tasks=sum(len(tuples["novel", one]) for one in TASK_SETS),
        most_train_tasks=max(counts, default=0),
    )


def _with_classes(facts: _Facts, run: Path, root: str | None) -> _Facts:
    """With the classes of the benchmark's splits; the tasks of a run may draw only some of them."""
    import numpy as np

    instead = "--base and --novel, and --classes where some are both"
    benchmark = trained_on(run, root, instead)
    # Of tasks of attribute pairs, attributes are in the place of classes.
    splits = benchmark.train, benchmark.novel
    base, novel = (np.unique(getattr(one, "pairs", one.classes)) for one in splits)
    same_pool = splits[0].pool.fingerprint == splits[1].pool.fingerprint
    shared = len(np.intersect1d(base, novel)) if same_pool else 0
    classes = len(base) + len(novel) - shared
    return replace(facts, base=len(base), novel=len(novel), classes=classes, shared=shared)


def _completed(recorded: _Facts, named: Mapping[str, int]) -> _Facts:
    """With what options name in place of what is recorded. Raises ConfigError."""
    facts = replace(recorded, **named)
    if {"base", "novel"} & {*named}:
        facts = replace(facts, classes=named.get("classes", 0), shared=0)
    if not facts.classes and facts.base and facts.novel:
        facts = replace(facts, classes=facts.base + facts.novel)
    facts = replace(facts, test_tasks=facts.test_tasks or facts.train_tasks)
    if "train_tasks" in named:
        facts = replace(facts, most_train_tasks=0)
    for key in ("classes", "way", "train_tasks"):
        if not getattr(facts, key):
            instead = ", or --base and --novel" if key == "classes" else ""
            raise ConfigError("", _flag(key), f"it is not known; give it{instead}")
    for key in ("way", "base", "novel"):
        if (count := getattr(facts, key)) > facts.classes:
            if "classes" in named and key not in named:
                own = "classes of a task" if key == "way" else f"{key} classes"
                problem = f"{facts.classes:,} are fewer than the {count:,} {own} of the run"
                raise ConfigError("", "--classes", problem)
            problem = f"{count:,} are more than the {facts.classes:,} classes there are"
            raise ConfigError("", _flag(key), problem)
    apart = facts.base + facts.novel - facts.classes
    return replace(facts, shared=max(facts.shared, apart))


def _flag(key: str) -> str:
    return f"--{key.replace('_', '-')}"


def _bounds(facts: _Facts, gamma: float, rho: float, eta: float) -> dict[str, Any]:
    """Each bound, what was simulated, and the verdict; plain data."""
    from fsl_sweep.orchestrator.statistics.sampling import task_coverage as of
    from fsl_sweep.orchestrator.statistics.sampling.simulated_coverage import simulated_coverage

    classes, n, train, test = facts.classes, facts.way, facts.train_tasks, facts.test_tasks
    disjoint = of.disjoint_probability_bound(classes, n, train, test, gamma)
    seen = simulated_coverage(classes, n, train, test, gamma)
    found = {
        "repeats": seen.repeats,
        "expected_classes": of.expected_classes_lower_bound(classes, n, train, gamma),
        "expected_classes_simulated": float(seen.seen.mean()),
        "classes_variance": of.classes_variance_bound(n, train),
        "classes_variance_simulated": float(seen.seen.var()),
        "disjoint_probability": disjoint,
        "disjoint_probability_simulated": seen.disjoint,
        "tasks_for_overlap": of.tasks_for_overlap(classes, n, rho, gamma),
    }
    if n * train <= classes:
        few = eta * of.expected_classes_of_many(n, train, gamma)
        found |= {
            "few_classes": few,
            "few_classes_probability": of.few_classes_probability_bound(train, eta, gamma),
            "few_classes_probability_simulated": float((seen.seen <= few).mean()),
        }
    refuted, told = _verdict(facts, found, gamma, rho)
    return {**found, "refuted": refuted, "verdict": told}


def _verdict(facts: _Facts, found: Mapping[str, Any], gamma: float, rho: float) -> tuple[bool, str]:
    """Whether disjoint base and novel classes refute tasks of one distribution, and in words."""
    from fsl_sweep.orchestrator.statistics.sampling import task_coverage as of

    classes, drawn = facts.classes, facts.way * facts.train_tasks
    bound = found["disjoint_probability"]
    if facts.shared:
        return False, f"Consistent: {facts.shared} classes are in training and in test tasks."
    if bound > rho:
        return False, (
            f"Not refuted by the bound: with fewer than {ceil(found['tasks_for_overlap']):,} "
            f"training and test tasks, one distribution over {classes:,} classes may show disjoint "
            f"ones (Corollary 1){_seen(found, rho)}"
        )
    told = (
        "Disjoint classes are not consistent with iid tasks: those of one distribution over "
        f"{classes:,} classes have no class in common with a probability of at most "
        f"{bound or 1e-300:.2g} (Theorem 3)."
    )
    eta = (facts.base or drawn) * (1 + gamma) / (gamma * drawn)
    few = of.few_classes_probability_bound(facts.train_tasks, eta, gamma) if eta < 1 else 1
    if few <= rho:
        told += (
            f" If there were {drawn:,} classes or more, as few as {facts.base:,} in training "
            f"would have a probability of at most {few:.2g} (Theorem 4)."
        )
    return True, told


def _seen(found: Mapping[str, Any], rho: float) -> str:
    """What the simulation says of a probability that its bound does not make small."""
    share, of = found["disjoint_probability_simulated"], f"{found['repeats']:,} simulations"
    count = f"{100 * share:.2g} %" if share else "none"
    if share > rho:
        return f", as {count} of {of} of one such distribution did."
    return f". But the bound is loose here: {count} of {of} of one such distribution did."


def _counted(facts: _Facts) -> str:
    """How training tasks were counted, where a run's were."""
    if not facts.most_train_tasks:
        return ""
    counted = "to the last recorded epoch"
    if facts.train_tasks == facts.most_train_tasks:
        return f" ({counted})"
    return f" ({counted} of the trial with the fewest; {facts.most_train_tasks:,} at most)"


def _lines(facts: _Facts, found: Mapping[str, Any], gamma: float, rho: float) -> list[str]:
    def row(what: str, key: str, digits: str = ".4g") -> tuple[str, ...]:
        simulated = found.get(f"{key}_simulated")
        shown = "" if simulated is None else format(simulated, digits)
        return what, f"{found[key]:>9{digits}}", f"{shown:>9}"

    rows = [
        ("", f"{'bound':>9}", f"{'simulated':>9}"),
        row("classes in the training tasks, mean, at least (1)", "expected_classes"),
        row("their variance, at most (2)", "classes_variance"),
        row("probability of no common class, at most (3)", "disjoint_probability", ".2g"),
        (
            f"tasks of either from which that is {rho:g} or less (C1)",
            f"{ceil(found['tasks_for_overlap']):>9}",
            "",
        ),
    ]
    if "few_classes" in found:
        what = f"probability of {floor(found['few_classes']):,} classes or fewer, at most (4)"
        rows.append(row(what, "few_classes_probability", ".2g"))
    return [
        found["verdict"],
        "",
        f"{facts.classes:,} classes, {facts.way} in a task with gamma {gamma:g}; "
        f"{facts.train_tasks:,} training tasks{_counted(facts)}, {facts.test_tasks:,} test tasks; "
        f"simulated {found['repeats']:,} times",
        "",
        *columns(rows),
        "",
        "(1) to (4): theorems, (C1): Corollary 1 of 'Two Sides of Meta-Learning Evaluation', "
        "appendix B.",
    ]
