"""MetaDL's interface: any program written for the challenge of 2021 as a trial.

"Advances in MetaDL: AAAI 2021 challenge and workshop", section 3.2: a meta-learner's ``meta_fit``
turns a meta-dataset into a learner, whose ``fit`` turns a support set into a predictor.
"""

import inspect
from collections.abc import Iterable, Iterator
from typing import Any, ClassVar, final

import numpy as np
import torch
from pydantic import Field, ValidationInfo, field_validator
from torch import Tensor

from fsl_sweep.learners.backbones.base import Backbone
from fsl_sweep.learners.base import ProgramLearner, TrainsOn
from fsl_sweep.learners.meta_dataset import MetaDataset, Mode, ProgramTask
from fsl_sweep.learners.options import Options
from fsl_sweep.learners.submission_run import SubmissionRun
from fsl_sweep.learners.submissions import SUBMISSIONS
from fsl_sweep.orchestrator.errors import UnknownName


class MetadlOptions(Options):
    """Options of `Metadl`.

    Attributes:
        submission: the program's name, an entry point of the group ``fsl_sweep.metadl``.
        mode: whether ``meta_fit`` is given episodes or labelled batches.
        options: keyword arguments of the program's meta-learner.
    """

    submission: str
    mode: Mode = "episode"
    options: dict[str, Any] = Field(default_factory=dict)

    @field_validator("submission")
    @classmethod
    def _is_known(cls, name: str) -> str:
        try:
            SUBMISSIONS.find(name)
        except UnknownName as failure:
            raise ValueError(str(failure)) from None
        return name

    @field_validator("options")
    @classmethod
    def _fit_the_meta_learner(cls, given: dict[str, Any], info: ValidationInfo) -> dict[str, Any]:
        if "submission" in info.data:
            made = SUBMISSIONS.find(info.data["submission"]).cls.meta_learner
            try:
                inspect.signature(made).bind(**given)
            except TypeError as failure:
                raise ValueError(
                    f"'{info.data['submission']}' does not take them: {failure}"
                ) from None
        return given


@final
class Metadl(ProgramLearner):
    """Runs a submission; its snapshot is the folder that the submission's learner saved.

    The program's own network is what is trained: the backbone is not used.
    """

    Options = MetadlOptions
    trains_on: ClassVar[TrainsOn] = "episodes"

    def __init__(self, backbone: Backbone, options: MetadlOptions, n_base_classes: int) -> None:
        super().__init__(backbone, options, n_base_classes)
        self._run = SubmissionRun(
            options.submission,
            SUBMISSIONS.find(options.submission).cls,
            options.options,
            seed=int(torch.randint(2**62, ())),
        )

    @classmethod
    def trained_on(cls, options: MetadlOptions) -> TrainsOn:
        """Episodes or batches, as the mode says."""
        return "episodes" if options.mode == "episode" else "batches"

    @classmethod
    def goes_on(cls, options: MetadlOptions) -> bool:
        """Whether the submission's meta-learner has ``save`` and ``load`` of its own."""
        meta_learner = SUBMISSIONS.find(options.submission).cls.meta_learner
        return all(callable(getattr(meta_learner, name, None)) for name in ("save", "load"))

    def meta_train(self, data: MetaDataset, seed: int) -> None:
        """Call ``meta_fit``, and keep what the learner that it returns saves."""
        self._run.meta_train(data, seed)

    def answers(self, tasks: Iterable[ProgramTask]) -> Iterator[np.ndarray]:
        """For each task the class of each query; the learner is loaded anew for each."""
        return self._run.answers(tasks)

    def training_state(self) -> Tensor | None:
        """What the meta-learner saves of itself, if it can."""
        return self._run.training_state()

    def restore_training(self, state: Tensor) -> None:
        """Let the meta-learner load what it had saved."""
        self._run.restore_training(state)

    def get_extra_state(self) -> Tensor:
        """The saved learner, uint8 ``[bytes]``: what torch puts into the state dictionary."""
        return self._run.saved

    def set_extra_state(self, state: Tensor) -> None:
        """The inverse of `get_extra_state`."""
        self._run.saved = state.cpu()
