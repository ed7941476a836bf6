"""MetaDL's interface: any program written for the challenge of 2021 as a trial.

"Advances in MetaDL: AAAI 2021 challenge and workshop", section 3.2: a meta-learner's ``meta_fit``
turns a meta-dataset into a learner, whose ``fit`` turns a support set into a predictor.
"""

import inspect
from typing import Any, ClassVar, final

import torch
from pydantic import Field, ValidationInfo, field_validator

from fsl_sweep.learners.backbones.base import Backbone
from fsl_sweep.learners.base import Learner, TrainsOn
from fsl_sweep.learners.metadl.meta_dataset import Mode
from fsl_sweep.learners.metadl.run import SubmissionRun, saves_itself
from fsl_sweep.learners.metadl.submissions import SUBMISSIONS
from fsl_sweep.learners.options import Options
from fsl_sweep.orchestrator.errors import UnknownName


class MetadlOptions(Options):
    """Options of `Metadl`.

    Attributes:
        submission: the program's name, an entry point of the group ``fsl_sweep.metadl``.
        mode: whether ``meta_fit`` gets episodes or labelled batches.
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
    def _fit_the_meta_learner(cls, options: dict[str, Any], info: ValidationInfo) -> dict[str, Any]:
        if "submission" in info.data:
            meta_learner = SUBMISSIONS.find(info.data["submission"]).cls.meta_learner
            try:
                inspect.signature(meta_learner).bind(**options)
            except TypeError as failure:
                raise ValueError(
                    f"'{info.data['submission']}' does not take them: {failure}"
                ) from None
        return options


@final
class Metadl(SubmissionRun, Learner[Any]):
    """Runs a submission; its snapshot is the folder that the submission's learner saved.

    The program brings its own network and optimizer: the backbone is not used.
    """

    Options = MetadlOptions
    trains_on: ClassVar[TrainsOn] = "episodes"

    def __init__(self, backbone: Backbone, options: MetadlOptions, n_base_classes: int) -> None:  # noqa: ARG002
        submission = SUBMISSIONS.find(options.submission).cls
        seed = int(torch.randint(2**62, ()))
        super().__init__(options.submission, submission, options.options, seed)

    @classmethod
    def trained_on(cls, options: MetadlOptions) -> TrainsOn:
        """Return episodes or batches, as the mode says."""
        return "episodes" if options.mode == "episode" else "batches"

    @classmethod
    def can_resume(cls, options: MetadlOptions) -> bool:
        """Tell whether the submission's meta-learner has ``save`` and ``load`` of its own."""
        return saves_itself(SUBMISSIONS.find(options.submission).cls.meta_learner)
