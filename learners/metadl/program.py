"""The learner that is a program: it trains itself, in rounds, and answers tasks."""

from abc import abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from torch import Tensor

from fsl_sweep.learners.base import Learner
from fsl_sweep.learners.metadl.meta_dataset import MetaDataset, ProgramTask


class ProgramLearner(Learner[Any]):
    """A program that trains itself: it is given data, and brings its own network and optimizer.

    Its state dictionary holds what `answers` needs, and only `meta_train` changes it.
    """

    @classmethod
    @abstractmethod
    def goes_on(cls, options: Any) -> bool:
        """Whether an interrupted training can continue from `training_state`."""

    @abstractmethod
    def meta_train(self, data: MetaDataset, seed: int) -> None:
        """One round of training, which continues the round before.

        Args:
            data: what to train on.
            seed: of everything that the program draws, 0 .. 2**63 - 1.

        Raises:
            TrialFailure: the program failed.
        """

    @abstractmethod
    def answers(self, tasks: Iterable[ProgramTask]) -> Iterator[np.ndarray]:
        """For each task in turn the class of each query, int64 ``[m]`` in 0 .. way - 1.

        Raises:
            TrialFailure: the program failed, or its answers are invalid.
        """

    @abstractmethod
    def training_state(self) -> Tensor | None:
        """What the next round needs, uint8 ``[bytes]``; None if the program cannot save it."""

    @abstractmethod
    def restore_training(self, state: Tensor) -> None:
        """The inverse of `training_state`.

        Raises:
            TrialFailure: the program failed.
        """
