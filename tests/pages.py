"""The pages of the documentation, their blocks of code, and a package made of them."""

import re
import textwrap
from pathlib import Path
from typing import NamedTuple

from installed import distribution
from places import ROOT

PAGES = ["README.md", *(f"docs/{page.name}" for page in sorted((ROOT / "docs").glob("*.md")))]


class Block(NamedTuple):
    """A block between fences: its language, which may be empty, and its lines."""

    language: str
    code: str


def blocks(page: str) -> list[Block]:
    """The blocks of a page, in order."""
    text = (ROOT / page).read_text()
    return [Block(*found) for found in re.findall(r"^```(\w*)\n(.*?)^```$", text, re.S | re.M)]


def block(page: str, language: str, word: str) -> str:
    """The only block of a page in a language that holds a word."""
    (code,) = [code for kind, code in blocks(page) if kind == language and word in code]
    return code


ENTRY_POINTS = """
[fsl_sweep.snapshot_selectors]
late = my_package.late:INFO
broken = my_package.nowhere:INFO
misnamed = my_package.late:INFO
[fsl_sweep.learners]
cosine-net = my_package.cosine:INFO
ridge = my_package.cosine:INFO
[fsl_sweep.metadl]
eigen = my_package.eigen:INFO
[fsl_sweep.searchers]
near-best = my_package.near_best:INFO
[fsl_sweep.studies]
stops = my_package.stops:INFO
"""


def written_package(folder: Path) -> Path:
    """A distribution made of the documentation's selector, study, learner and program."""
    (folder / "my_package").mkdir(parents=True)
    info = """
        from fsl_sweep.orchestrator.catalogue import Info

        INFO = Info("cosine-net", CosineNet, "", "nearest class mean by cosine similarity")
        """
    modules = {
        "__init__": "",
        "late": block("docs/extending.md", "python", "class Late(SnapshotSelector)"),
        "stops": block("docs/extending.md", "python", "class Stops(Study["),
        "cosine": block("docs/extending.md", "python", "class CosineNet(EpisodicLearner)")
        + textwrap.dedent(info),
        "eigen": block("docs/extending.md", "python", "class Eigen(Submission)"),
        "near_best": block("docs/extending.md", "python", "class NearBest(Searcher)"),
    }
    for name, code in modules.items():
        (folder / "my_package" / f"{name}.py").write_text(code)
    distribution(folder, "my-package", "1.2", ENTRY_POINTS)
    return folder
