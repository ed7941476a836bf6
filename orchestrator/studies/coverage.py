"""Whether training and test tasks could be draws from one distribution of tasks.

The bounds of "Two Sides of Meta-Learning Evaluation", appendix B, each beside a simulation.
"""

from collections.abc import Mapping
from math import ceil, floor
from pathlib import Path
from typing import Any, final

import numpy as np

from fsl_sweep.orchestrator.errors import ConfigError, Damaged, RunFolderError
from fsl_sweep.orchestrator.ledger.ledger import Ledger
from fsl_sweep.orchestrator.records.measures import TASK_SETS
from fsl_sweep.orchestrator.records.spec import EpisodicTraining
from fsl_sweep.orchestrator.report.document import blocks
from fsl_sweep.orchestrator.selection.evidence import Evidence
from fsl_sweep.orchestrator.statistics.sampling import task_coverage as bounds
from fsl_sweep.orchestrator.studies.base import Progress, Share, Study, StudyOptions, option
from fsl_sweep.orchestrator.studies.trained_on import trained_on

MOST_CLASSES = 10**6
_NUMBERS = ("base", "novel", "classes", "way", "train_tasks", "test_tasks")
"""What the bounds need to know, and options may name; ``classes`` is L."""


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


@final
class Coverage(Study[CoverageOptions, dict[str, Any]]):
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
        self, evidence: Evidence | None, options: CoverageOptions, progress: Progress
    ) -> dict[str, Any]:
        """Return the numbers, each bound beside its simulation, and the verdict.

        ``most_train_tasks`` are those of the trial of a run that was trained on the most of them,
        ``shared`` the classes that are both base and novel.

        Raises:
            ConfigError: a number is not known, or too large.
        """
        named = {key: value for key in _NUMBERS if (value := getattr(options, key)) is not None}
        facts: dict[str, int] = dict.fromkeys((*_NUMBERS, "most_train_tasks", "shared"), 0)
        if evidence is not None:
            facts |= _recorded(evidence)
            if not {"base", "novel"} <= {*named}:
                facts |= _classes(evidence.source.places[0], options.root)
        limits = {key: getattr(options, key) for key in ("gamma", "rho", "eta")}
        content = {**_completed(facts, named), **limits}
        content |= _bounds(content)
        refuted, verdict = _verdict(content)
        return {**content, "refuted": refuted, "verdict": verdict}

    def document(self, result: dict[str, Any]) -> blocks.Document:
        """Say the verdict; then each bound beside its simulation."""
        note = (
            f"{result['classes']:,} classes, {result['way']} in a task with gamma "
            f"{result['gamma']:g}; {result['train_tasks']:,} training tasks{_counted(result)}, "
            f"{result['test_tasks']:,} test tasks; simulated {result['repeats']:,} times. (1) to "
            "(4): theorems, (C1): Corollary 1 of 'Two Sides of Meta-Learning Evaluation', appendix "
            "B."
        )
        section = blocks.Section(
            "bounds", "Bounds", (_table(result), blocks.Paragraph(note, "note"))
        )
        answer = (blocks.Paragraph(result["verdict"]),)
        return blocks.Document("Training and test tasks: one distribution?", answer, (section,))

    def plain(self, result: dict[str, Any]) -> dict[str, Any]:
        """Return the numbers, the bounds and the verdict."""
        return result


def _recorded(evidence: Evidence) -> dict[str, int]:
    """Return what the records of a run say: all but its classes.

    Training tasks are those of the epochs up to the last recorded one of each trial on all base
    classes: one may have been stopped early. One that diverged is left out. Raises RunFolderError.
    """
    run = evidence.source.places[0]
    specs = Ledger(run).planned().specs
    try:
        tuples = evidence.source.class_tuples(evidence.source.protocol())
    except Damaged:
        raise
    except RunFolderError:
        raise RunFolderError(
            f"{run} records no tasks of equal numbers of classes, which the bounds are about. Give "
            "the numbers by options, without the run folder."
        ) from None
    trained = [
        (int(trial.epochs[-1]) * spec.batches * spec.train.tasks_per_batch, spec.train.way)
        for trial in evidence.histories
        for spec in [specs[trial.trial]]
        if trial.fold is None and len(trial.epochs) and not trial.diverged
        if isinstance(spec.train, EpisodicTraining) and isinstance(spec.train.way, int)
    ]
    counts = [tasks for tasks, _ in trained]
    return {
        "way": min([tuples["novel", "report"].shape[1], *(way for _, way in trained)]),
        "train_tasks": min(counts, default=0),
        "test_tasks": sum(len(tuples["novel", task_set]) for task_set in TASK_SETS),
        "most_train_tasks": max(counts, default=0),
    }


def _classes(run: Path, root: str | None) -> dict[str, int]:
    """Count the classes of the benchmark's splits; tasks of a run may draw only some of them."""
    instead = "--base and --novel, and --classes where some are both"
    benchmark = trained_on(run, root, instead)
    # Of tasks of attribute pairs, attributes are in the place of classes.
    splits = benchmark.train, benchmark.novel
    base, novel = (np.unique(getattr(split, "pairs", split.classes)) for split in splits)
    same_pool = splits[0].pool.fingerprint == splits[1].pool.fingerprint
    shared = len(np.intersect1d(base, novel)) if same_pool else 0
    counts = {"base": len(base), "novel": len(novel), "shared": shared}
    return {**counts, "classes": len(base) + len(novel) - shared}


def _completed(recorded: Mapping[str, int], named: Mapping[str, int]) -> dict[str, int]:
    """Put what options name in place of what is recorded. Raises ConfigError."""
    facts = {**recorded, **named}
    if {"base", "novel"} & {*named}:
        facts |= {"classes": named.get("classes", 0), "shared": 0}
    if not facts["classes"] and facts["base"] and facts["novel"]:
        facts["classes"] = facts["base"] + facts["novel"]
    facts["test_tasks"] = facts["test_tasks"] or facts["train_tasks"]
    if "train_tasks" in named:
        facts["most_train_tasks"] = 0
    for key in ("classes", "way", "train_tasks"):
        if not facts[key]:
            instead = ", or --base and --novel" if key == "classes" else ""
            option = f"--{key.replace('_', '-')}"
            raise ConfigError("", option, f"it is not known; give it{instead}")
    of = {"way": "classes of a task", "base": "base classes", "novel": "novel classes"}
    for key, what in of.items():
        if facts[key] > facts["classes"]:
            problem = f"{facts['classes']:,} are fewer than the {facts[key]:,} {what}"
            raise ConfigError("", "--classes", problem)
    apart = facts["base"] + facts["novel"] - facts["classes"]
    return {**facts, "shared": max(facts["shared"], apart)}


def _bounds(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return each bound, and what was simulated."""
    gamma, classes, n = facts["gamma"], facts["classes"], facts["way"]
    train, test = facts["train_tasks"], facts["test_tasks"]
    seen, disjoint = bounds.simulated_coverage(classes, n, train, test, gamma)
    values = {
        "repeats": len(seen),
        "expected_classes": bounds.expected_classes_lower_bound(classes, n, train, gamma),
        "expected_classes_simulated": float(seen.mean()),
        "classes_variance": bounds.classes_variance_bound(n, train),
        "classes_variance_simulated": float(seen.var()),
        "disjoint_probability": bounds.disjoint_probability_bound(classes, n, train, test, gamma),
        "disjoint_probability_simulated": disjoint,
        "tasks_for_overlap": bounds.tasks_for_overlap(classes, n, facts["rho"], gamma),
    }
    if n * train <= classes:
        few = facts["eta"] * bounds.expected_classes_of_many(n, train, gamma)
        chance = bounds.few_classes_probability_bound(train, facts["eta"], gamma)
        values |= {
            "few_classes": few,
            "few_classes_probability": chance,
            "few_classes_probability_simulated": float((seen <= few).mean()),
        }
    return values


def _verdict(facts: Mapping[str, Any]) -> tuple[bool, str]:
    """Return whether disjoint classes refute tasks of one distribution, and in words."""
    classes, base, tasks, gamma = (facts[k] for k in ("classes", "base", "train_tasks", "gamma"))
    drawn, bound = facts["way"] * tasks, facts["disjoint_probability"]
    if facts["shared"]:
        return False, f"Consistent: {facts['shared']} classes are in training and in test tasks."
    if bound > facts["rho"]:
        return False, (
            f"Not refuted by the bound: with fewer than {ceil(facts['tasks_for_overlap']):,} "
            f"training and test tasks, one distribution over {classes:,} classes may show disjoint "
            f"ones (Corollary 1){_seen(facts)}"
        )
    text = (
        "Disjoint classes are not consistent with iid tasks: those of one distribution over "
        f"{classes:,} classes have no class in common with a probability of at most "
        f"{bound or 1e-300:.2g} (Theorem 3)."
    )
    eta = (base or drawn) * (1 + gamma) / (gamma * drawn)
    few = bounds.few_classes_probability_bound(tasks, eta, gamma) if eta < 1 else 1
    if few <= facts["rho"]:
        text += (
            f" If there were {drawn:,} classes or more, as few as {base:,} in training would have "
            f"a probability of at most {few:.2g} (Theorem 4)."
        )
    return True, text


def _seen(facts: Mapping[str, Any]) -> str:
    """Say what the simulation says of a probability that its bound does not make small."""
    share, of = facts["disjoint_probability_simulated"], f"{facts['repeats']:,} simulations"
    count = f"{100 * share:.2g} %" if share else "none"
    if share > facts["rho"]:
        return f", as {count} of {of} of one such distribution did."
    return f". But the bound is loose here: {count} of {of} of one such distribution did."


def _counted(facts: Mapping[str, Any]) -> str:
    """Say how training tasks were counted, where a run's were."""
    most, counted = facts["most_train_tasks"], "to the last recorded epoch"
    if not most:
        return ""
    if facts["train_tasks"] == most:
        return f" ({counted})"
    return f" ({counted} of the trial with the fewest; {most:,} at most)"


def _table(values: Mapping[str, Any]) -> blocks.Table:
    def row(what: str, key: str, digits: str = ".4g") -> tuple[str, ...]:
        return what, format(values[key], digits), format(values[f"{key}_simulated"], digits)

    overlap = f"tasks of either from which that is {values['rho']:g} or less (C1)"
    rows = [
        row("classes in the training tasks, mean, at least (1)", "expected_classes"),
        row("their variance, at most (2)", "classes_variance"),
        row("probability of no common class, at most (3)", "disjoint_probability", ".2g"),
        (overlap, str(ceil(values["tasks_for_overlap"])), ""),
    ]
    if "few_classes" in values:
        what = f"probability of {floor(values['few_classes']):,} classes or fewer, at most (4)"
        rows.append(row(what, "few_classes_probability", ".2g"))
    return blocks.table(blocks.words("") + blocks.numbers(["bound", "simulated"]), rows)
