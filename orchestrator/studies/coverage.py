"""Whether training and test tasks could be draws from one distribution of tasks.

The bounds of "Two Sides of Meta-Learning Evaluation", appendix B, each beside a simulation.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from math import ceil, floor
from pathlib import Path
from typing import Any, NamedTuple, final

import numpy as np

from fsl_sweep.orchestrator.errors import ConfigError, RunFolderError
from fsl_sweep.orchestrator.ledger.ledger import Ledger
from fsl_sweep.orchestrator.records.measures import TASK_SETS
from fsl_sweep.orchestrator.records.spec import EpisodicTraining
from fsl_sweep.orchestrator.report.document.blocks import (
    Document,
    Paragraph,
    Section,
    Table,
    numbers,
    table,
    words,
)
from fsl_sweep.orchestrator.selection.evidence import Evidence
from fsl_sweep.orchestrator.statistics.sampling import task_coverage as bounds
from fsl_sweep.orchestrator.statistics.sampling.simulated_coverage import simulated_coverage
from fsl_sweep.orchestrator.studies.base import Progress, Share, Study, StudyOptions, option
from fsl_sweep.orchestrator.studies.trained_on import trained_on

MOST_CLASSES = 10**6
_NUMBERS = ("base", "novel", "classes", "way", "train_tasks", "test_tasks")


class CoverageOptions(StudyOptions):
    """Numbers of classes and tasks, where no run says them, and what to believe."""

    classes: int | None = option("Classes. [base and novel ones]", None, "L", ge=1, le=MOST_CLASSES)
    way: int | None = option("Classes of a task.", None, "n", ge=1)
    base: int | None = option("Classes of training tasks.", None, "N", ge=1)
    novel: int | None = option("Classes of test tasks.", None, "N", ge=1)
    train_tasks: int | None = option("Tasks trained on.", None, "N", ge=1)
    test_tasks: int | None = option("Test tasks. [as many]", None, "N", ge=1)
    gamma: float = option("No class is rarer than this share of n / L, its mean.", 0.5, gt=0, le=1)
    rho: Share = option("A probability that is too small to believe.", 0.01)
    eta: Share = option("Share of the least mean that is few classes.", 0.5)
    root: str | None = option("Where the run's data are now, to count classes.", None, "PATH")


@dataclass(frozen=True)
class _Numbers:
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


class Covered(NamedTuple):
    """The numbers, the options, and each bound beside its simulation, with the verdict."""

    numbers: _Numbers
    options: CoverageOptions
    bounds: dict[str, Any]


@final
class Coverage(Study[CoverageOptions, Covered]):
    """Say whether training and test tasks could be draws from one distribution of tasks.

    The bounds of "Two Sides of Meta-Learning Evaluation", appendix B, each beside a simulation.
    Torch and Ray are not needed.
    """

    name = "coverage"
    Options = CoverageOptions
    heeds = ()
    needs = frozenset({"data"})
    without_run = True

    def result(
        self,
        evidence: Evidence | None,
        options: CoverageOptions,
        progress: Progress,
    ) -> Covered:
        """Compute the bounds. Raises ConfigError for a number that is not known or too large."""
        named = {key: value for key in _NUMBERS if (value := getattr(options, key)) is not None}
        recorded = _Numbers() if evidence is None else _recorded(evidence)
        if evidence is not None and not {"base", "novel"} <= {*named}:
            recorded = _with_classes(recorded, evidence.source.places[0], options.root)
        numbers = _completed(recorded, named)
        return Covered(numbers, options, _bounds(numbers, options))

    def document(self, result: Covered) -> Document:
        """Say the verdict; then each bound beside its simulation."""
        facts, options = result.numbers, result.options
        note = (
            f"{facts.classes:,} classes, {facts.way} in a task with gamma {options.gamma:g}; "
            f"{facts.train_tasks:,} training tasks{_counted(facts)}, {facts.test_tasks:,} test "
            f"tasks; simulated {result.bounds['repeats']:,} times. (1) to (4): theorems, (C1): "
            "Corollary 1 of 'Two Sides of Meta-Learning Evaluation', appendix B."
        )
        section = Section("bounds", "Bounds", (_table(result), Paragraph(note, "note")))
        answer = (Paragraph(result.bounds["verdict"]),)
        return Document("Training and test tasks: one distribution?", answer, (section,))

    def plain(self, result: Covered) -> dict[str, Any]:
        """Return the numbers, the bounds and the verdict."""
        options = {key: getattr(result.options, key) for key in ("gamma", "rho", "eta")}
        return {**asdict(result.numbers), **options, **result.bounds}


def _recorded(evidence: Evidence) -> _Numbers:
    """Return what the records of a run say: all but its classes.

    Training tasks are those of the epochs up to the last recorded one of each trial on all base
    classes: a trial may have been stopped early. Raises RunFolderError.
    """
    run = evidence.source.places[0]
    specs = Ledger(run).planned().specs
    try:
        tuples = evidence.source.class_tuples(evidence.source.protocol())
    except RunFolderError:
        raise RunFolderError(
            f"{run} records no tasks of equal numbers of classes, which the bounds are about. Give "
            "the numbers by options, without the run folder."
        ) from None
    trained = [
        (int(trial.epochs[-1]) * spec.batches * spec.train.tasks_per_batch, spec.train.way)
        for trial in evidence.histories
        for spec in [specs[trial.trial]]
        if trial.fold is None and len(trial.epochs)
        if isinstance(spec.train, EpisodicTraining) and isinstance(spec.train.way, int)
    ]
    counts = [tasks for tasks, _ in trained]
    return _Numbers(
        way=min([tuples["novel", "report"].shape[1], *(way for _, way in trained)]),
        train_tasks=min(counts, default=0),
        test_tasks=sum(len(tuples["novel", task_set]) for task_set in TASK_SETS),
        most_train_tasks=max(counts, default=0),
    )


def _with_classes(facts: _Numbers, run: Path, root: str | None) -> _Numbers:
    """Add the classes of the benchmark's splits; the tasks of a run may draw only some of them."""
    instead = "--base and --novel, and --classes where some are both"
    benchmark = trained_on(run, root, instead)
    # Of tasks of attribute pairs, attributes are in the place of classes.
    splits = benchmark.train, benchmark.novel
    base, novel = (np.unique(getattr(split, "pairs", split.classes)) for split in splits)
    same_pool = splits[0].pool.fingerprint == splits[1].pool.fingerprint
    shared = len(np.intersect1d(base, novel)) if same_pool else 0
    classes = len(base) + len(novel) - shared
    return replace(facts, base=len(base), novel=len(novel), classes=classes, shared=shared)


def _completed(recorded: _Numbers, named: Mapping[str, int]) -> _Numbers:
    """Put what options name in place of what is recorded. Raises ConfigError."""
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
                which = "classes of a task" if key == "way" else f"{key} classes"
                problem = f"{facts.classes:,} are fewer than the {count:,} {which} of the run"
                raise ConfigError("", "--classes", problem)
            problem = f"{count:,} are more than the {facts.classes:,} classes there are"
            raise ConfigError("", _flag(key), problem)
    apart = facts.base + facts.novel - facts.classes
    return replace(facts, shared=max(facts.shared, apart))


def _flag(key: str) -> str:
    return f"--{key.replace('_', '-')}"


def _bounds(facts: _Numbers, options: CoverageOptions) -> dict[str, Any]:
    """Return each bound, what was simulated, and the verdict; plain data."""
    gamma, rho, eta = options.gamma, options.rho, options.eta
    classes, n, train, test = facts.classes, facts.way, facts.train_tasks, facts.test_tasks
    disjoint = bounds.disjoint_probability_bound(classes, n, train, test, gamma)
    seen = simulated_coverage(classes, n, train, test, gamma)
    values = {
        "repeats": seen.repeats,
        "expected_classes": bounds.expected_classes_lower_bound(classes, n, train, gamma),
        "expected_classes_simulated": float(seen.seen.mean()),
        "classes_variance": bounds.classes_variance_bound(n, train),
        "classes_variance_simulated": float(seen.seen.var()),
        "disjoint_probability": disjoint,
        "disjoint_probability_simulated": seen.disjoint,
        "tasks_for_overlap": bounds.tasks_for_overlap(classes, n, rho, gamma),
    }
    if n * train <= classes:
        few = eta * bounds.expected_classes_of_many(n, train, gamma)
        values |= {
            "few_classes": few,
            "few_classes_probability": bounds.few_classes_probability_bound(train, eta, gamma),
            "few_classes_probability_simulated": float((seen.seen <= few).mean()),
        }
    refuted, verdict = _verdict(facts, values, gamma, rho)
    return {**values, "refuted": refuted, "verdict": verdict}


def _verdict(
    facts: _Numbers, values: Mapping[str, Any], gamma: float, rho: float
) -> tuple[bool, str]:
    """Return whether disjoint classes refute tasks of one distribution, and in words."""
    classes, drawn = facts.classes, facts.way * facts.train_tasks
    bound = values["disjoint_probability"]
    if facts.shared:
        return False, f"Consistent: {facts.shared} classes are in training and in test tasks."
    if bound > rho:
        return False, (
            f"Not refuted by the bound: with fewer than {ceil(values['tasks_for_overlap']):,} "
            f"training and test tasks, one distribution over {classes:,} classes may show disjoint "
            f"ones (Corollary 1){_seen(values, rho)}"
        )
    text = (
        "Disjoint classes are not consistent with iid tasks: those of one distribution over "
        f"{classes:,} classes have no class in common with a probability of at most "
        f"{bound or 1e-300:.2g} (Theorem 3)."
    )
    eta = (facts.base or drawn) * (1 + gamma) / (gamma * drawn)
    few = bounds.few_classes_probability_bound(facts.train_tasks, eta, gamma) if eta < 1 else 1
    if few <= rho:
        text += (
            f" If there were {drawn:,} classes or more, as few as {facts.base:,} in training "
            f"would have a probability of at most {few:.2g} (Theorem 4)."
        )
    return True, text


def _seen(values: Mapping[str, Any], rho: float) -> str:
    """Say what the simulation says of a probability that its bound does not make small."""
    share, of = values["disjoint_probability_simulated"], f"{values['repeats']:,} simulations"
    count = f"{100 * share:.2g} %" if share else "none"
    if share > rho:
        return f", as {count} of {of} of one such distribution did."
    return f". But the bound is loose here: {count} of {of} of one such distribution did."


def _counted(facts: _Numbers) -> str:
    """Say how training tasks were counted, where a run's were."""
    if not facts.most_train_tasks:
        return ""
    counted = "to the last recorded epoch"
    if facts.train_tasks == facts.most_train_tasks:
        return f" ({counted})"
    return f" ({counted} of the trial with the fewest; {facts.most_train_tasks:,} at most)"


def _table(result: Covered) -> Table:
    values = result.bounds

    def row(what: str, key: str, digits: str = ".4g") -> tuple[str, ...]:
        simulated = values.get(f"{key}_simulated")
        shown = "" if simulated is None else format(simulated, digits)
        return what, format(values[key], digits), shown

    rows = [
        row("classes in the training tasks, mean, at least (1)", "expected_classes"),
        row("their variance, at most (2)", "classes_variance"),
        row("probability of no common class, at most (3)", "disjoint_probability", ".2g"),
        (
            f"tasks of either from which that is {result.options.rho:g} or less (C1)",
            str(ceil(values["tasks_for_overlap"])),
            "",
        ),
    ]
    if "few_classes" in values:
        what = f"probability of {floor(values['few_classes']):,} classes or fewer, at most (4)"
        rows.append(row(what, "few_classes_probability", ".2g"))
    return table(words("") + numbers(["bound", "simulated"]), rows)
