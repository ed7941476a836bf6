"""From the reports of several benchmarks to one: the same methods were run on all of them."""

from collections.abc import Mapping, Sequence

from fsl_sweep.orchestrator.errors import RunFolderError
from fsl_sweep.orchestrator.records.measures import TrialHistory
from fsl_sweep.orchestrator.report.report import BenchmarksReport, Report
from fsl_sweep.orchestrator.selection.comparing.over_benchmarks import (
    BenchmarkEvidence,
    compare_over_benchmarks,
)
from fsl_sweep.orchestrator.selection.completeness import complete_replicates
from fsl_sweep.orchestrator.selection.evidence import USUAL


def build_over_benchmarks(
    name: str, reports: Mapping[str, Report], histories: Mapping[str, Sequence[TrialHistory]]
) -> BenchmarksReport:
    """Return the report of several benchmarks.

    Args:
        name: of all of them.
        reports: of each benchmark, by its name.
        histories: what each was built from.

    Raises:
        RunFolderError: two benchmarks hold the same numbers.
    """
    _check_distinct(histories)
    leads = [report.lead for report in reports.values() if report.lead is not None]
    common = [lead for lead in leads if all(r.summaries_of(lead) for r in reports.values())]
    lead = next(iter(sorted(common, key=lambda strategy: str(strategy) != USUAL)), None)
    evidence = {
        benchmark: BenchmarkEvidence(
            complete_replicates(histories[benchmark]),
            report.selected,
            report.summaries,
            report.complete,
        )
        for benchmark, report in reports.items()
    }
    over = None if lead is None else compare_over_benchmarks(evidence, lead)
    return BenchmarksReport(name, reports, lead, over)


def _check_distinct(histories: Mapping[str, Sequence[TrialHistory]]) -> None:
    """Refuse a copy under another name: it would count twice and shorten every interval."""
    seen: dict[object, str] = {}
    for benchmark, trials in histories.items():
        numbers = frozenset(
            (t.method, t.seed, t.fold, *(t.scores[key].means.tobytes() for key in sorted(t.scores)))
            for t in trials
            if len(t.epochs)
        )
        if numbers and (other := seen.setdefault(numbers, benchmark)) != benchmark:
            raise RunFolderError(
                f"The benchmarks '{other}' and '{benchmark}' hold the same numbers, which would "
                "count twice. Leave one of them out."
            )
