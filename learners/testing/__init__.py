"""Conformance suites for third parties' learners and programs."""

from fsl_sweep.learners.testing.classification import ClassificationContract
from fsl_sweep.learners.testing.learner import LearnerContract
from fsl_sweep.learners.testing.submission import SubmissionContract

__all__ = ["ClassificationContract", "LearnerContract", "SubmissionContract"]
