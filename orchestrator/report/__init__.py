"""One report, built once from the records, in several formats."""

from fsl_sweep.orchestrator.report.as_json import to_json
from fsl_sweep.orchestrator.report.content import Report, RunInfo, build
from fsl_sweep.orchestrator.report.terminal import show, to_text

__all__ = ["Report", "RunInfo", "build", "show", "to_json", "to_text"]
