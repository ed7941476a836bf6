"""Studies of a run beyond its report: one study a file."""

from fsl_sweep.orchestrator.studies.base import Study, StudyOptions, argument, option
from fsl_sweep.orchestrator.studies.catalogue import SHORT, STUDIES
from fsl_sweep.orchestrator.studies.finding import Finding, conclude, prepared, written_with

__all__ = [
    "SHORT",
    "STUDIES",
    "Finding",
    "Study",
    "StudyOptions",
    "argument",
    "conclude",
    "option",
    "prepared",
    "written_with",
]
