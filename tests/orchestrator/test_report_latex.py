"""The LaTeX report through pdfLaTeX: no error, and nothing that leaves the page."""

import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import hard
import pytest

from fsl_sweep.orchestrator.report import Report, build, to_latex
from fsl_sweep.orchestrator.report.blocks import Column, Group, Row, Table
from fsl_sweep.orchestrator.report.document import document
from fsl_sweep.orchestrator.report.latex_columns import (
    SIZES,
    fair_cap,
    in_parts,
    laid_out,
    width_of,
)
from fsl_sweep.orchestrator.report.latex_text import escaped

PDFLATEX = shutil.which("pdflatex")
compiled = pytest.mark.skipif(
    PDFLATEX is None,
    reason="pdflatex is not on the PATH; `apt-get install texlive-latex-recommended` brings it",
)
SLACK = 2.0
"""Points by which a line may be too wide: less than anyone sees."""

MINIMAL = r"""\documentclass{article}
\usepackage[T1]{fontenc}
\usepackage[utf8]{inputenc}
\usepackage{textcomp,array,booktabs,longtable,xcolor}
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
def test_a_hard_report_compiles_and_stays_on_the_page(tmp_path: Path) -> None:
    check_on_the_page(hard.whole(), tmp_path)


@compiled
def test_a_hard_incomplete_report_too(tmp_path: Path) -> None:
    check_on_the_page(hard.incomplete(), tmp_path)


def check_on_the_page(report: Report, folder: Path) -> None:
    assert len(document(report).sections) == 11
    log = typeset(to_latex(report), folder)
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
        *("strategies", "trust", "curves", "rank", "comparisons", "stability"),
        *("budget", "fronts"),
    }
    assert source.count(r"\begin{longtable}") == len(tables)
    # One document each, so that none lives on what another one defined.
    last = {name.split("-")[0]: text for name, text in tables}
    for name, text in last.items():
        (tmp_path / name).mkdir()
        typeset(MINIMAL % text, tmp_path / name)


@compiled
def test_every_character_is_printed_or_named(tmp_path: Path) -> None:
    latin = map(chr, range(0xC0, 0x100))
    greek = map(chr, range(0x391, 0x3CA))
    others = "‘’“”–—…×÷±°·µ−→≤≥≈∞\x00\x1b\u200b\u202e学😀"
    words = [*hard.SPECIAL, *latin, *greek, *others, "ab" * 40, "--", ",,", "``", "''", "?`", "!`"]
    text = "\\par\n".join(map(escaped, words))
    log = typeset(MINIMAL % rf"\raggedright{text}", tmp_path)
    assert "Missing character" not in log
    assert not overfull(log)


def table(*rows: tuple[str, ...], titles: tuple[str, ...] = ("",), numeric: bool = False) -> Table:
    columns = tuple(Column(f"c{i}", numeric) for i in range(len(rows[0])))
    return Table(columns, tuple(Group(title, tuple(map(Row, rows))) for title in titles))


def test_columns_keep_their_width_where_there_is_room() -> None:
    assert laid_out(table(("a", "b c"))).columns == "ll"
    assert laid_out(table(("1", "2"), numeric=True)).columns == "rr"
    # A cell of several lines needs a column that knows its width.
    several = laid_out(table(("a\nb", "c"))).columns
    assert several.startswith(r">{\raggedright\arraybackslash}p{0.0")
    assert several.endswith("l")


def test_wide_columns_share_what_narrow_ones_leave() -> None:
    assert fair_cap([1, 2, 30, 40], 23) == 10
    assert fair_cap([1, 2, 3], 100) == 3
    assert fair_cap([8, 8], 4) == 2
    found = laid_out(table(("a", "word " * 100, "word " * 200)))
    shares = [float(share) for share in re.findall(r"p\{(.*?)\\linewidth\}", found.columns)]
    assert found.columns.startswith("l>")
    assert len(shares) == 2
    assert shares[0] == shares[1]
    assert 0.9 < sum(shares) < 1


def test_the_font_shrinks_before_words_are_cut() -> None:
    sizes = [laid_out(table(("abcdefghij",) * count)).size for count in (5, 16, 18, 30)]
    assert sizes == ["footnotesize", "scriptsize", "tiny", "tiny"]
    assert list(SIZES) == list(dict.fromkeys(sizes))


def test_a_table_of_too_many_columns_becomes_several() -> None:
    narrow = table(("1", "2", "3"), numeric=True)
    assert in_parts(narrow) == [narrow]
    wide = table(tuple(f"{i}23.45" for i in range(90)), numeric=True)
    parts = in_parts(wide)
    assert len(parts) == 4
    cells = [part.groups[0].rows[0].cells for part in parts]
    first, *others = wide.groups[0].rows[0].cells
    assert {own[0] for own in cells} == {first}
    assert [cell for own in cells for cell in own[1:]] == others
    for part in parts:
        assert [column.name for column in part.columns] == [
            f"c{cell.removesuffix('23.45')}" for cell in part.groups[0].rows[0].cells
        ]
    long = Table((Column("method", numeric=False), *(Column("c" * 19) for _ in range(30))), ())
    assert {part.columns[0].name for part in in_parts(long)} == {"method"}


def test_a_long_title_breaks_its_line() -> None:
    assert laid_out(table(("a", "b"), titles=("short",))).title == "l"
    assert r"\linewidth" in laid_out(table(("a", "b"), titles=("long title " * 30,))).title
    assert width_of("long", bold=True) > width_of("long") > 0
