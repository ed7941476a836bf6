"""What a study of novel sets draws and counts, and options that are given by name in Python."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, TypeVar

from fsl_sweep.orchestrator.errors import ConfigError, UnknownName
from fsl_sweep.orchestrator.records.paper_names import ClassSetName

S = TypeVar("S")


@dataclass(frozen=True)
class Study:
    """What is drawn and counted.

    Attributes:
        sizes: classes of a novel set, for each kind of novel sets. Where neither these nor
            ``examples`` are given, 20, or half of the class set where that is less.
        examples: examples of each class, for each kind of example sets.
        sets: of each kind.
        tasks, truth_tasks: of each set, and of the large class set.
        classes: the large class set.
        delta: what a difference must exceed the true one by to be an exaggeration.
        way, shot, query: of a task; by default as in the main protocol.
        paired: whether both snapshots have the same tasks; the authors' code draws others.
        seed: of sets and tasks.
        root: where the run's data are now, if they were moved.
    """

    sizes: tuple[int, ...] = ()
    examples: tuple[int, ...] = ()
    sets: int = 100
    tasks: int = 20_000
    truth_tasks: int = 100_000
    classes: ClassSetName = "novel"
    delta: float = 0.005
    way: int | None = None
    shot: int | None = None
    query: int | None = None
    paired: bool = True
    seed: int = 0
    root: str | None = None

    def __post_init__(self) -> None:
        """Raises ConfigError for what cannot be counted."""
        for name in ("sets", "tasks", "truth_tasks"):
            if (value := getattr(self, name)) < 2:
                raise ConfigError("", name, f"an interval needs 2 or more, not {value}")


def asked(kind: type[S], given: Mapping[str, Any]) -> S:
    """A dataclass of options with those that are given. Raises UnknownName for any other."""
    known = [one.name for one in fields(kind)]  # pyright: ignore[reportArgumentType]
    for name in given:
        if name not in known:
            raise UnknownName("option", name, known)
    return kind(**given)
