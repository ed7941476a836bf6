"""What a study is: one file with its options, its result, and how that is shown.

A study asks the evidence of a run something that its report does not say. It is a plug-in like a
selector: a class, and a line in ``catalogue.py`` or an entry point of ``fsl_sweep.studies``.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Generic, Literal, TypeVar

import numpy as np
from pydantic import AfterValidator, ConfigDict, Field
from pydantic.config import JsonDict
from pydantic.fields import FieldInfo

from fsl_sweep.orchestrator.errors import Damaged, RunFolderError
from fsl_sweep.orchestrator.records.measures import ScoreKey
from fsl_sweep.orchestrator.records.model import Model
from fsl_sweep.orchestrator.records.protocol import PlannedProtocol
from fsl_sweep.orchestrator.report.document.blocks import Document
from fsl_sweep.orchestrator.report.figures.panel import Figure
from fsl_sweep.orchestrator.selection.evidence import Evidence
from fsl_sweep.orchestrator.selection.results import Strategy

O_contra = TypeVar("O_contra", bound="StudyOptions", contravariant=True)
R = TypeVar("R")
Need = Literal["tasks", "snapshots", "data"]


def _difference(value: float) -> float:
    if not 0 < value < 1:
        raise ValueError(f"{value} is no difference of accuracies; 0.01 is 1 point")
    return value


Difference = Annotated[float, AfterValidator(_difference)]
"""A difference of accuracies, in (0, 1)."""
Share = Annotated[float, Field(gt=0, lt=1)]
"""A number in (0, 1), such as a probability."""
Drawings = Mapping[str, Sequence[Figure]]
"""Drawings by the key of the section that they belong to, or ``answer``."""
Progress = Callable[[str], None]
"""Hears a remark on how far a study is, or on what it leaves out."""


class StudyOptions(Model):
    """Base of a study's own options; each becomes an option of ``fsl-sweep analyze``.

    A field with ``argument()`` is an argument there, in the order of the fields.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


def argument(description: str, metavar: str, default: Any = ...) -> Any:
    """Declare a field that the command line takes as an argument, not as an option."""
    extra: JsonDict = {"argument": True, "metavar": metavar}
    return Field(default, description=description, json_schema_extra=extra)


def option(description: str, default: Any, metavar: str | None = None, **bounds: Any) -> Any:
    """Declare a field with what ``--help`` says of it, and bounds as pydantic's ``ge``."""
    extra: JsonDict | None = None if metavar is None else {"metavar": metavar}
    return Field(default, description=description, json_schema_extra=extra, **bounds)


def declared(field: FieldInfo) -> Mapping[str, Any]:
    """Return what ``argument`` or ``option`` declared of a field besides its type and help."""
    extra = field.json_schema_extra
    return extra if isinstance(extra, dict) else {}


def lead_of(evidence: Evidence) -> Strategy:
    """Return the leading strategy. Raises RunFolderError where no method has a complete seed."""
    if evidence.lead is None:
        raise RunFolderError("No method has a seed with all of its trials done.")
    return evidence.lead


def class_tuples_of(
    evidence: Evidence, protocol: PlannedProtocol | None, progress: Progress
) -> Mapping[ScoreKey, np.ndarray] | None:
    """Return classes of the common tasks as `Source.class_tuples`; None where they are not known.

    ``progress`` hears of a damaged file, without which less can be said.
    """
    try:
        return evidence.source.class_tuples(protocol)
    except Damaged as damage:
        progress(f"What depends on the classes of tasks is left out: {damage}")
    except RunFolderError:  # a table, or tasks of unequal ways
        pass
    return None


def selectors(strategy: Strategy) -> dict[str, str]:
    """Return a strategy as every JSON names it."""
    return {
        "snapshot_selector": strategy.snapshot,
        "hyperparameter_selector": strategy.hyperparameter,
    }


QUESTION = ("snapshot", "hyperparameter", "protocol", "choose_by", "method", "configuration")
"""The parts of a question that most studies heed; others are ``metric``, ``rope``, ``last`` and
``bootstrap``."""


class Study(ABC, Generic[O_contra, R]):
    """A study of a run beyond its report. Its docstring's first line is its help.

    Attributes:
        name: as in the catalogue.
        Options: its own options.
        heeds: the parts of a question (arguments of ``Run.question``) that change its answer.
        needs: what it reads: the accuracy of each task, snapshots, or the benchmark's data. One
            that needs more than tasks needs one run folder, and torch or the data.
        without_run: whether its options may say all that it needs; its evidence is None then.
    """

    name: ClassVar[str]
    Options: ClassVar[type[StudyOptions]] = StudyOptions
    heeds: ClassVar[tuple[str, ...]] = QUESTION
    needs: ClassVar[frozenset[Need]] = frozenset({"tasks"})
    without_run: ClassVar[bool] = False

    @abstractmethod
    def result(self, evidence: Evidence, options: O_contra, progress: Progress) -> R:
        """Return what the evidence says; equal for equal records and options.

        Raises:
            UserError: the records cannot say it; the message says what to do.
        """

    @abstractmethod
    def document(self, result: R) -> Document:
        """Return what every format for people shows."""

    @abstractmethod
    def plain(self, result: R) -> Any:
        """Return the result as plain data for JSON: mappings, sequences, numbers and texts."""

    def figures(self, result: R) -> Drawings:
        """Return its drawings, if it has any."""
        return {}
