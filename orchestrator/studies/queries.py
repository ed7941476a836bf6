"""How many queries make the open interval shortest, for a fixed number of novel examples."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from math import ceil, isfinite
from pathlib import Path
from typing import Any, final

from fsl_sweep.orchestrator.errors import ConfigError, RunFolderError
from fsl_sweep.orchestrator.report.document import blocks
from fsl_sweep.orchestrator.report.figures.studies.queries import queries_figure
from fsl_sweep.orchestrator.selection.comparing.task_sizes import (
    MeasuredOpen,
    TaskSizes,
    task_sizes,
)
from fsl_sweep.orchestrator.selection.evidence import Evidence
from fsl_sweep.orchestrator.statistics.sampling.task_sizing import (
    open_half_width,
    tasks_of_examples,
)
from fsl_sweep.orchestrator.studies.base import (
    Drawings,
    Progress,
    Study,
    StudyOptions,
    lead_of,
    option,
    selectors,
)
from fsl_sweep.orchestrator.studies.trained_on import trained_on

_SHOWN = (1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 100)
"""Numbers of queries in the table, besides the best and those that are measured."""
_DRAWN = 10
"""Fewest tasks in the figure: with less the interval is so long that it hides the others."""
_COLUMNS = blocks.numbers(("q", "tasks", "predicted +-", "measured +-", "on tasks"))


class QueriesOptions(StudyOptions):
    """How many examples and classes there are to draw tasks from."""

    examples: int | None = option("Novel examples. [those of the run's data]", None, "N", ge=1)
    classes: int | None = option("Novel classes. [those of the run's data]", None, "N", ge=1)
    root: str | None = option("Where the run's data are now, to count classes.", None, "PATH")


QueryRow = tuple[int, int, float, MeasuredOpen | None]
"""q and T, half of the open interval's predicted width in [0, 1], and a measured one, if any."""


@final
@dataclass(frozen=True)
class MethodQueries:
    """What a method's tasks say.

    Attributes:
        name: of the method, with its complete seeds where some are missing.
        sizes: the variance of its tasks, and its open intervals.
        examples: how many there are.
        most: of a class, on average.
    """

    name: str
    sizes: TaskSizes
    examples: int
    most: float

    @property
    def rounded(self) -> int:
        """Return q* rounded up; 0 where there is none."""
        best = self.sizes.variance.optimal(self.sizes.shot)
        return max(1, ceil(best)) if isfinite(best) else 0

    @property
    def fitting(self) -> range:
        """Return the numbers of queries that a class of ``most`` examples has."""
        return range(1, max(1, int(self.most) - self.sizes.shot) + 1)

    @cached_property
    def to_set(self) -> int:
        """Return q* rounded up, or where the interval is predicted to be shortest if not near."""
        predicted = {q: self._half_width(q) for q in self.fitting if self.tasks(q) >= 2}
        shortest = min(predicted, key=predicted.__getitem__, default=1)
        near = self.rounded in predicted and self.rounded <= shortest + 1
        return self.rounded if near else shortest

    def tasks(self, queries: int) -> int:
        """Return how many tasks the examples give."""
        return tasks_of_examples(self.examples, self.sizes.way, self.sizes.shot, queries)

    def _half_width(self, queries: int) -> float:
        return open_half_width(self.sizes.variance, self.tasks(queries), queries)

    @property
    def rows(self) -> list[QueryRow]:
        """Return what is predicted and measured, by rising numbers of queries.

        A class of ``most`` examples on average bounds q, but for what was measured: where classes
        differ in size, the larger ones gave its tasks.
        """
        measured = {interval.queries: interval for interval in self.sizes.measured}
        rows: list[QueryRow] = []
        for q in sorted({*_SHOWN, *measured, self.to_set}):
            known = measured.get(q)
            if self.tasks(q) >= 2 and (self.sizes.shot + q <= self.most or known):
                rows.append((q, self.tasks(q), self._half_width(q), known))
        return rows


@final
class Queries(Study[QueriesOptions, tuple[MethodQueries, ...]]):
    """Say how many queries make open intervals shortest, for a fixed number of novel examples.

    For each method under val / val or the first strategy that is no oracle, unless another one is
    named. Examples and classes are counted in the run's data, unless both are given. Torch and Ray
    are not needed.
    """

    name = "queries"
    Options = QueriesOptions

    def result(
        self, evidence: Evidence, options: QueriesOptions, progress: Progress
    ) -> tuple[MethodQueries, ...]:
        """Size the tasks of each method.

        Raises:
            RunFolderError: there are no tasks of one size, or the data cannot be opened.
            ConfigError: there are too few examples.
        """
        lead, like = lead_of(evidence), evidence.question.protocol
        sizes = task_sizes(evidence.source, evidence.led, lead, like)
        examples, classes = options.examples, options.classes
        if examples is None or classes is None:
            there = _there(evidence.source.places[0], options.root)
            examples, classes = examples or there[0], classes or there[1]
        _check_enough(examples, sizes[0], classes)
        named = evidence.completeness.named
        return tuple(
            MethodQueries(named(size.method), size, examples, examples / classes) for size in sizes
        )

    def document(self, result: tuple[MethodQueries, ...]) -> blocks.Document:
        """Say what to set; then predicted and measured half-widths of each method."""
        first, last = result[0], result[0].fitting[-1]
        shape = f"{first.sizes.way}-way {first.sizes.shot}-shot"
        note = (
            f"{first.sizes.strategy}, NovelGen, {shape}, {first.examples:,} examples; half-widths "
            "of 95 % intervals in points, of one snapshot (mean over seeds): those of `compare` "
            f"are of the mean of all seeds' snapshots. A class has {first.most:.4g} of them on "
            f"average, so that a task has at most {last} queries of each class. What is left of a "
            "class is in no task: there may be fewer tasks."
        )
        measured = {m.queries: m.protocol for method in result for m in method.sizes.measured}
        under = ", ".join(f"q = {q} by '{measured[q]}'" for q in sorted(measured))
        content = [blocks.Paragraph(_advice(result)), blocks.Paragraph(note, "note")]
        if under:
            content.append(blocks.Paragraph(f"Measured: {under}.", "note"))
        return blocks.Document(
            headline="Queries for short open intervals",
            answer=tuple(content),
            sections=tuple(
                blocks.Section(f"method-{number}", method.name, _shown(method))
                for number, method in enumerate(result)
            ),
        )

    def plain(self, result: tuple[MethodQueries, ...]) -> list[dict[str, Any]]:
        """Return what each method's tasks say, and the table."""
        return [_plain(method) for method in result]

    def figures(self, result: tuple[MethodQueries, ...]) -> Drawings:
        """Draw the half-width over the number of queries."""
        lines = [
            (
                method.sizes.method,
                [(q, predicted) for q, tasks, predicted, _ in method.rows if tasks >= _DRAWN],
                [(m.queries, m.half_width) for *_, m in method.rows if m],
            )
            for method in result
        ]
        return {"answer": [queries_figure(lines)]}


def _there(run: Path, root: str | None) -> tuple[int, int]:
    """Return how many novel examples and classes a run's data have. Raises RunFolderError."""
    benchmark = trained_on(run, root, "--examples and --classes")
    if benchmark.novel.unit != "classes":
        raise RunFolderError(
            f"Open tasks are made of classes, and those of '{benchmark.name}' are made of "
            f"{benchmark.novel.unit}."
        )
    return len(benchmark.novel.examples), benchmark.novel.size


def _check_enough(examples: int, sizes: TaskSizes, classes: int) -> None:
    """Check that two tasks fit, and a task whatever its classes. Raises ConfigError."""
    needed = max(2 * sizes.way, classes) * (sizes.shot + 1)
    if examples < needed:
        problem = f"{examples:,} are too few: {sizes.shot}-shot tasks with one query of each class"
        raise ConfigError("", "--examples", f"{problem} take {needed:,} or more")


def _advice(result: Sequence[MethodQueries]) -> str:
    """Say what to set for each method, ``2 (PN), 6 (RR)``, and why."""
    rounded = [method.name for method in result if method.to_set == method.rounded]
    why: list[str] = []
    if rounded:
        subject = "That" if len(rounded) == len(result) else f"For {', '.join(rounded)} that"
        why.append(
            f"{subject} is q*, near which they are shortest, rounded up, because with too few "
            "queries they grow faster than with too many."
        )
    for method in result:
        if method.name not in rounded:
            lacking = "too few examples for its q*" if method.rounded else "no q*"
            last = method.to_set == method.fitting[-1]
            place = "as many as a class has" if last else "where they are predicted to be shortest"
            why.append(f"{method.name} has {lacking}: {method.to_set} is {place}.")
    shown = ", ".join(f"{method.to_set} ({method.name})" for method in result)
    return " ".join([f"For short open intervals set {shown} queries of each class.", *why])


def _shown(method: MethodQueries) -> tuple[blocks.Block, ...]:
    sizes = method.sizes
    best, a, b = sizes.variance.optimal(sizes.shot), sizes.variance.between, sizes.variance.within
    text = f"q* = {best:.1f}" if isfinite(best) else "no q*, because A is not above 0"
    counts = ", ".join(map(str, sizes.queries))
    content: list[blocks.Block] = [
        blocks.Paragraph(f"{text} (A {a:.3g}, B {b:.3g}, from tasks with q = {counts})"),
        blocks.table(_COLUMNS, map(_cells, method.rows)),
    ]
    if sizes.variance.caution:
        content.append(blocks.Paragraph(f"Caution: {sizes.variance.caution}.", "alarm"))
    return tuple(content)


def _cells(row: QueryRow) -> tuple[str, ...]:
    queries, tasks, predicted, measured = row
    ours = (f"{100 * measured.half_width:.2f}", f"{measured.tasks:,}") if measured else ("", "")
    return str(queries), f"{tasks:,}", f"{100 * predicted:.2f}", *ours


def _plain(method: MethodQueries) -> dict[str, Any]:
    sizes = method.sizes
    best = sizes.variance.optimal(sizes.shot)
    return {
        "method": sizes.method,
        **selectors(sizes.strategy),
        "way": sizes.way,
        "shot": sizes.shot,
        "examples": method.examples,
        "estimated_from_queries": sizes.queries,
        **asdict(sizes.variance),
        "optimal_queries": best if isfinite(best) else None,
        "queries_to_set": method.to_set,
        "rows": [_plain_row(row) for row in method.rows],
    }


def _plain_row(row: QueryRow) -> dict[str, Any]:
    queries, tasks, predicted, measured = row
    return {
        "queries": queries,
        "tasks": tasks,
        "predicted": predicted,
        "measured": measured and measured.half_width,
        "measured_tasks": measured and measured.tasks,
        "protocol": measured and measured.protocol,
    }
