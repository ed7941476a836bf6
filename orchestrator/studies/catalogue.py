"""The table of studies. A study of your own is a class and a line here, or an entry point."""

from fsl_sweep.orchestrator.catalogue import Catalogue, Ours
from fsl_sweep.orchestrator.studies.base import Study

_TWO_SIDES = "Two Sides of Meta-Learning Evaluation"
_LESSONS = "Lessons from Chasing Few-Shot Learning Benchmarks"
_OOPS = "Oops, I Sampled it Again"


def _ours(name: str, cls: str, paper: str, description: str) -> Ours:
    module = f"fsl_sweep.orchestrator.studies.{name.replace('-', '_')}"
    return Ours(name, f"{module}:{cls}", paper, description)


STUDIES: Catalogue[Study] = Catalogue(
    "study",
    "fsl_sweep.studies",
    (
        _ours(
            "compare", "Compare", f"{_OOPS}, sections 3 and 4", "two methods: are they different?"
        ),
        _ours("plan-next", "PlanNext", "", "how many more seeds, tasks or classes would decide"),
        _ours(
            "mixtures",
            "Mixtures",
            f"{_TWO_SIDES}, appendix E",
            "methods from base to novel classes",
        ),
        _ours(
            "base-and-novel",
            "BaseAndNovel",
            f"{_TWO_SIDES}, appendix F.4 (i)",
            "methods as pairs of BaseGen and NovelGen",
        ),
        _ours(
            "queries", "Queries", f"{_OOPS}, section 4", "the queries that shorten intervals most"
        ),
        _ours(
            "novel-classes",
            "NovelClasses",
            f"{_TWO_SIDES}, section 5.2 and appendix F.6; {_LESSONS}, table 3",
            "how often a few novel classes misjudge two snapshots",
        ),
        _ours("losses", "LossesStudy", f"{_LESSONS}, table 8", "the losses of ML and FIX-ML"),
        _ours(
            "coverage",
            "Coverage",
            f"{_TWO_SIDES}, appendix B",
            "could training and test tasks be of one distribution?",
        ),
    ),
)
SHORT = ("compare", "plan-next", "coverage")
"""Studies that are commands of their own too: ``fsl-sweep compare`` for ``analyze compare``."""
