"""The table of studies. A study of your own is a class and a line here, or an entry point."""

from typing import TYPE_CHECKING

from fsl_sweep.orchestrator.catalogue import Catalogue, Ours

if TYPE_CHECKING:
    from fsl_sweep.orchestrator.studies.base import Study

_TWO_SIDES = "Two Sides of Meta-Learning Evaluation"
_LESSONS = "Lessons from Chasing Few-Shot Learning Benchmarks"
_OOPS = "Oops, I Sampled it Again"
_HERE = "fsl_sweep.orchestrator.studies"

STUDIES: "Catalogue[Study]" = Catalogue(
    "study",
    "fsl_sweep.studies",
    (
        Ours(
            "compare",
            f"{_HERE}.compare:Compare",
            f"{_OOPS}, sections 3 and 4",
            "Say whether two methods are different.",
        ),
        Ours(
            "plan-next",
            f"{_HERE}.plan_next:PlanNext",
            "",
            "Say how many more seeds or tasks would decide.",
        ),
        Ours(
            "mixtures",
            f"{_HERE}.mixtures:Mixtures",
            f"{_TWO_SIDES}, appendix E",
            "Compare methods from base to novel classes.",
        ),
        Ours(
            "base-and-novel",
            f"{_HERE}.base_and_novel:BaseAndNovel",
            f"{_TWO_SIDES}, appendix F.4 (i)",
            "Compare methods in BaseGen and NovelGen together.",
        ),
        Ours(
            "queries",
            f"{_HERE}.queries:Queries",
            f"{_OOPS}, section 4",
            "Say how many queries make open intervals shortest.",
        ),
        Ours(
            "novel-classes",
            f"{_HERE}.novel_classes:NovelClasses",
            f"{_TWO_SIDES}, section 5.2 and appendix F.6; {_LESSONS}, table 3",
            "Say how often a few novel classes mislead.",
        ),
        Ours(
            "losses",
            f"{_HERE}.losses:LossesStudy",
            f"{_LESSONS}, table 8",
            "Compute the losses of ML and FIX-ML.",
        ),
        Ours(
            "coverage",
            f"{_HERE}.coverage:Coverage",
            f"{_TWO_SIDES}, appendix B",
            "Say whether tasks could be of one distribution.",
        ),
    ),
)
SHORT = ("compare", "plan-next", "coverage")
"""Studies that are commands of their own too: ``fsl-sweep compare`` for ``analyze compare``."""
