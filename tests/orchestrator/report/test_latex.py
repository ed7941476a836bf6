"""The LaTeX tables through pdfLaTeX, in a paper that loads booktabs and nothing else."""

import re
import shutil
import subprocess
from pathlib import Path

import hard
import pytest
from pylatexenc.latexencode import get_builtin_conversion_rules

from fsl_sweep.orchestrator.report import main_table, to_latex
from fsl_sweep.orchestrator.report.document.blocks import Table
from fsl_sweep.orchestrator.report.document.document import document
from fsl_sweep.orchestrator.report.formats.latex import escaped

PDFLATEX = shutil.which("pdflatex")
pytestmark = pytest.mark.xdist_group("hard")  # so that the hard reports are built once
compiled = pytest.mark.skipif(
    PDFLATEX is None,
    reason="pdflatex is not on the PATH; `apt-get install texlive-latex-recommended` brings it",
)
SLACK = 2.0
"""Points by which a line may be too wide: less than anyone sees."""

PAPER = r"""\documentclass{article}
%s\usepackage{booktabs}
\textwidth=16000pt
\begin{document}
%s
\end{document}
"""
"""A page wider than every table, so that what is too wide is a cell of a narrow column."""


def typeset(body: str, folder: Path, packages: str = "") -> str:
    """The log of pdfLaTeX."""
    (folder / "paper.tex").write_text(PAPER % (packages, body), encoding="utf-8")
    command = [str(PDFLATEX), "-interaction=nonstopmode", "-no-shell-escape", "paper.tex"]
    done = subprocess.run(command, cwd=folder, capture_output=True, timeout=120)
    log = (folder / "paper.log").read_text(encoding="latin-1")
    assert done.returncode == 0, log[-3000:]
    assert not re.findall(r"^! .*", log, re.MULTILINE)
    assert "Missing character" not in log
    assert (folder / "paper.pdf").read_bytes().startswith(b"%PDF-")
    return log


def overfull(log: str) -> list[float]:
    # Every paragraph, cell and row that sticks out on the right, in points.
    wide = re.findall(r"Overfull \\hbox \(([\d.]+)pt too wide\)", log)
    return [float(points) for points in wide if float(points) > SLACK]


@compiled
@pytest.mark.parametrize("name", ["whole", "incomplete"])
def test_the_tables_of_a_hard_report_compile_in_any_paper(name: str, tmp_path: Path) -> None:
    source = to_latex(getattr(hard, name)())
    assert source.isascii()
    assert overfull(typeset(source, tmp_path)) == []
    tables = re.findall(r"(?m)^% table (\S+): .+\n% (.*)\n(?:% Caution: .+\n)+\\begin", source)
    assert [table for table, _ in tables] == [
        f"{section.key}-{number}"
        for section in document(getattr(hard, name)()).sections
        for number, block in enumerate(section.blocks)
        if isinstance(block, Table)
    ]
    assert len(tables) == source.count(r"\begin{tabular}{") > 8
    assert {headline for _, headline in tables} == {source.split("\n")[0].removeprefix("% ")}


@compiled
def test_the_table_of_a_paper_compiles(tmp_path: Path) -> None:
    source = main_table(hard.whole())
    assert source.isascii()
    assert source.count(r"\begin{tabular}{") == 1
    assert overfull(typeset(source, tmp_path)) == []


@compiled
def test_what_is_too_wide_would_be_found(tmp_path: Path) -> None:
    wide = r"\begin{tabular}{p{9em}}\rule{800pt}{1pt}\end{tabular}"
    assert max(overfull(typeset(wide, tmp_path))) > 400


@compiled
@pytest.mark.parametrize("packages", ["", r"\usepackage[T1]{fontenc}"])
def test_every_character_is_printed_or_named(packages: str, tmp_path: Path) -> None:
    known = get_builtin_conversion_rules("defaults")[0].rule
    others = "\x00\x1b\u200b\u202e学😀"
    words = [*map(chr, known), *others, "ab" * 40, "--", ",,", "``", "''", "?`", "!`"]
    text = "\\par\n".join(map(escaped, words))
    assert overfull(typeset(rf"\raggedright{text}", tmp_path, packages)) == []
