"""Protocols: how snapshots are measured. A protocol's id names its measurements."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import Field

from fsl_sweep.datasets.tasks.episodes import EpisodeShape, VaryingShape
from fsl_sweep.orchestrator.records.measures import Measure
from fsl_sweep.orchestrator.records.model import MOST, Count, Model, Named, Seed, Text, digest
from fsl_sweep.orchestrator.text.printed import counted

MAIN = "main"
"""The name of the protocol that is measured as training goes on."""

Which = Literal["all", "chosen", "last"]
"""Snapshots: all, those that a strategy of the sweep file chose, or the last of each trial."""
Kept = Literal["all", "chosen", "last", "none"]
"""Snapshots whose weights stay on the disk once nothing is left to measure."""

Recorded = Literal["counts", "predictions"]
"""What is recorded of a task: its correct answers, or the answer to each query as well."""

Ways = Annotated[int, Field(ge=2, le=MOST)] | Literal["all"]
Queries = Count | Literal["rest"]
MOST_TASKS = MOST
TaskCount = Annotated[int, Field(ge=2, le=MOST_TASKS)]
Weight = Annotated[float, Field(ge=0, le=1)]


class Episode(Model):
    """The shape of a task: ``way`` classes, ``shot`` support and ``query`` queries each.

    For tasks with classes of their own, such as writers, ``way: all`` takes all of them, and
    ``query: rest`` all examples that are not in the support set.
    """

    way: Ways = 5
    shot: Count = 1
    query: Queries = 15


class Tasks(Model):
    """The common tasks: how many in each set, and the seed of their draw.

    Without ``replacement`` no example is in two tasks of a set: the counts are upper bounds, since
    the examples may be used up earlier ("Oops, I Sampled it Again", algorithm 2). ``base_query`` is
    for BaseGen in place of the episode's ``query``, where few examples are held out.
    """

    selection_tasks: TaskCount = 1000
    report_tasks: TaskCount = 1000
    seed: Seed = 0
    replacement: bool = Field(default=True, exclude_if=lambda replaced: replaced)
    base_query: Count | None = Field(default=None, exclude_if=lambda query: query is None)


class Evaluation(Tasks):
    """The common tasks of the main protocol, and the epochs that give a snapshot."""

    every: Count = 1

    @property
    def tasks(self) -> Tasks:
        """Return the tasks only."""
        return Tasks(**self.model_dump(exclude={"every"}))


def of_today(name: str) -> str:
    """Return the name that ``fsl-sweep measure`` gives today to what it called ``mixture(0.5)``."""
    return re.sub(r"^mixture(?=\(|$)", "lambda", name)


class Protocol(Model):
    """On which tasks snapshots are measured; what is not set is as in training.

    BaseGen and ValGen are always those of the benchmark that was trained on.

    Attributes:
        mixture: NovelGen is measured on P_BN(lambda) with this lambda: the probability that a
            class of a task is novel rather than a base class.
        classes: names of the classes that NovelGen is measured on, in place of the novel ones.
        benchmark: whose novel classes NovelGen is measured on, in place of the trained one's.
    """

    episode: Episode = Episode()
    tasks: Tasks = Tasks()
    mixture: Weight | None = Field(default=None, exclude_if=lambda weight: weight is None)
    classes: tuple[Text, ...] | None = Field(default=None, exclude_if=lambda names: names is None)
    benchmark: Named | None = Field(default=None, exclude_if=lambda named: named is None)

    @property
    def novel(self) -> tuple[object, ...]:
        """Return what NovelGen's classes are in place of the trained benchmark's novel ones."""
        return self.mixture, self.classes, self.benchmark

    @property
    def replaces_novel(self) -> bool:
        """Return whether NovelGen is of other tasks than the trained benchmark's novel ones."""
        return self.novel != (None, None, None)

    def shape(self, measure: Measure) -> EpisodeShape | VaryingShape:
        """Return the shape of the tasks of a measure."""
        if measure != "base" or self.tasks.base_query is None:
            return episode_shape(self.episode)
        return episode_shape(self.episode.model_copy(update={"query": self.tasks.base_query}))

    @property
    def described(self) -> str:
        """Say ``5-way 1-shot, 15 queries, 1000 + 600 tasks, ...``, for messages and tables."""
        episode, tasks = self.episode, self.tasks
        way = "all-way" if episode.way == "all" else f"{episode.way}-way"
        queries = (
            "all other queries"
            if episode.query == "rest"
            else counted(episode.query, "query", "queries")
        )
        parts = [
            f"{way} {episode.shot}-shot, {queries}",
            f"{'' if tasks.replacement else 'at most '}{tasks.selection_tasks} + "
            f"{tasks.report_tasks} tasks",
        ]
        if tasks.base_query is not None:
            parts.append(f"{counted(tasks.base_query, 'query', 'queries')} for BaseGen")
        if tasks.seed:
            parts.append(f"seed {tasks.seed}")
        if not tasks.replacement:
            parts.append("without replacement")
        if self.benchmark is not None:
            parts.append(f"novel classes of {self.benchmark.name}")
        if self.classes is not None:
            parts.append(f"{len(self.classes)} listed classes")
        if self.mixture is not None:
            parts.append(f"lambda {self.mixture:g}")
        return ", ".join(parts)

    def canonical(self) -> dict[str, Any]:
        """Return plain data with every default filled in."""
        return self.model_dump(mode="json")


@dataclass(frozen=True)
class PlannedProtocol:
    """A protocol of a run, by a name that is unique in it.

    Attributes:
        name: ``main``, or as in the sweep file or given to ``fsl-sweep measure``.
        snapshots: which snapshots are measured.
        fingerprint: of the content of the data that it measures on; None until it was opened.
        asked: whether the sweep file asks for it; others were measured earlier, or by command.
        written: in what it was said to differ from the main protocol.
    """

    name: Text
    protocol: Protocol
    snapshots: Which = "all"
    fingerprint: Text | None = None
    asked: bool = True
    written: Mapping[str, Any] = field(default_factory=dict)

    @property
    def id(self) -> str:
        """Hash of the protocol and of the data, 16 hexadecimal digits.

        Raises:
            ValueError: the data was not opened yet.
        """
        if self.fingerprint is None:
            raise ValueError(f"protocol '{self.name}' has no id before its data is opened")
        return digest({"protocol": self.protocol.canonical(), "data": self.fingerprint})


def episode_shape(episode: Episode) -> EpisodeShape | VaryingShape:
    """Return the shape of an episode; ``all`` and ``rest`` vary with the task."""
    way = None if episode.way == "all" else episode.way
    query = None if episode.query == "rest" else episode.query
    if way is None or query is None:
        return VaryingShape(way, episode.shot, query)
    return EpisodeShape(way, episode.shot, query)
