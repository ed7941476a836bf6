"""Programs with the interface of the MetaDL challenge of 2021, and how a sweep file names them.

"Advances in MetaDL: AAAI 2021 challenge and workshop", section 3.2; names and arguments as in the
``api`` module of the challenge's released code.
"""

from abc import ABC
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from fsl_sweep.orchestrator.catalogue import Catalogue

if TYPE_CHECKING:  # listing submissions does not import torch
    from fsl_sweep.learners.metadl.meta_dataset import MetaDataset, QuerySet, SupportSet


class Predictor(Protocol):
    """What ``fit`` returns."""

    def predict(self, dataset_test: "QuerySet") -> Any:
        """Return probabilities or logits ``[m, way]``, or integer labels ``[m]`` or ``[m, 1]``."""
        ...


class Learner(Protocol):
    """What ``meta_fit`` returns."""

    def fit(self, dataset_train: "SupportSet") -> Predictor:
        """Learn a task from its support set."""
        ...

    def save(self, path_to_save: str) -> None:
        """Write everything that answers depend on into an existing, empty folder."""
        ...

    def load(self, path_to_model: str) -> None:
        """Become the learner that was saved there, whatever was fitted since."""
        ...


class MetaLearner(Protocol):
    """What is trained. If it has ``save`` and ``load``, an interrupted trial continues."""

    def meta_fit(self, meta_dataset_generator: "MetaDataset") -> Learner:
        """Meta-train on the data, continuing after the call before, if there was one."""
        ...


class Submission(ABC):
    """Abstract base of a program: the two classes that the challenge's runner imports.

    Attributes:
        meta_learner: called with the options of the sweep file as keyword arguments.
        learner: called without arguments; its ``load`` is called next.
    """

    meta_learner: ClassVar[Callable[..., MetaLearner]]
    learner: ClassVar[Callable[..., Learner]]


SUBMISSIONS: Catalogue[Submission] = Catalogue("submission", "fsl_sweep.metadl", ())
