"""Conformance suites for third parties' learners, backbones and programs."""

from fsl_sweep.learners.testing.backbone import BackboneContract
from fsl_sweep.learners.testing.classification import ClassificationContract
from fsl_sweep.learners.testing.learner import LearnerContract
from fsl_sweep.learners.testing.submission import SubmissionContract

__all__ = ["BackboneContract", "ClassificationContract", "LearnerContract", "SubmissionContract"]
