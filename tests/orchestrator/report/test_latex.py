"""The LaTeX report through pdfLaTeX: no error, and nothing that leaves the page."""

import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import hard
import pytest
from pylatexenc.latexencode import get_builtin_conversion_rules

from fsl_sweep.orchestrator.report import Report, build, to_latex
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

MINIMAL = r"""\documentclass{article}
\usepackage[T1]{fontenc}
\usepackage[utf8]{inputenc}
\usepackage{textcomp,amssymb,array,booktabs,longtable,xcolor}
\begin{document}
%s
\end{document}
"""


def typeset(source: str, folder: Path) -> str:
    """The log of pdfLaTeX's last run: longtable asks for more until its columns are settled."""
    (folder / "report.tex").write_text(source, encoding="utf-8")
    command = [str(PDFLATEX), "-interaction=nonstopmode", "-no-shell-escape", "report.tex"]
    log = "Rerun LaTeX"
    for _ in range(5):
        if "Rerun LaTeX" not in log:
            break
        done = subprocess.run(command, cwd=folder, capture_output=True, timeout=120)
        log = (folder / "report.log").read_text(encoding="latin-1")
        assert done.returncode == 0, log[-3000:]
        assert not re.findall(r"^! .*", log, re.MULTILINE)
    assert "Rerun LaTeX" not in log
    assert (folder / "report.pdf").read_bytes().startswith(b"%PDF-")
    return log


def overfull(log: str) -> list[float]:
    # Every paragraph, cell and row that sticks out on the right, in points.
    return [float(wide) for wide in re.findall(r"Overfull \\hbox \(([\d.]+)pt too wide\)", log)]


@compiled
@pytest.mark.parametrize("made", [hard.whole, hard.incomplete])
def test_a_hard_report_compiles_and_stays_on_the_page(
    made: Callable[[], Report], tmp_path: Path
) -> None:
    assert len(document(made()).sections) == 12
    source = to_latex(made())
    assert source.isascii()
    log = typeset(source, tmp_path)
    assert [wide for wide in overfull(log) if wide > SLACK] == []
    assert "Missing character" not in log
    assert re.search(r"Output written on report\.pdf \(\d+ pages", log)


@compiled
def test_many_selectors_stay_on_the_page_too(tmp_path: Path) -> None:
    mixtures = (f"mixture(0.{i})" for i in range(1, 9))
    info = replace(hard.INFO, snapshot=("last", "train_loss", "base", "val", "oracle", *mixtures))
    report = build(info, [one for one in hard.runs() if one.method == "PN"], bootstrap=0)
    log = typeset(to_latex(report), tmp_path)
    assert [wide for wide in overfull(log) if wide > SLACK] == []


@compiled
def test_what_leaves_the_page_would_be_found(tmp_path: Path) -> None:
    wide = r"\begin{tabular}{l}\rule{800pt}{1pt}\end{tabular}"
    assert max(overfull(typeset(MINIMAL % wide, tmp_path))) > 400


@compiled
def test_every_table_compiles_when_it_is_cut_out(tmp_path: Path) -> None:
    source = to_latex(hard.whole())
    tables = re.findall(r"(?ms)^% table: (\S+)$(.*?)^% end of table$", source)
    assert {name.split("-")[0] for name, _ in tables} == {
        *("strategies", "differences", "trust", "curves", "rank", "comparisons"),
        "stability",
        *("budget", "fronts"),
    }
    assert source.count(r"\begin{longtable}") == len(tables)
    typeset(MINIMAL % "\n".join(text for _, text in tables), tmp_path)


@compiled
def test_every_character_is_printed_or_named(tmp_path: Path) -> None:
    known = get_builtin_conversion_rules("defaults")[0].rule
    others = "\x00\x1b\u200b\u202e学😀"
    words = [*map(chr, known), *others, "ab" * 40, "--", ",,", "``", "''", "?`", "!`"]
    text = "\\par\n".join(map(escaped, words))
    log = typeset(MINIMAL % rf"\raggedright{text}", tmp_path)
    assert "Missing character" not in log
    assert not overfull(log)
