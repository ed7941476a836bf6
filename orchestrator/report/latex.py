"""The report as a LaTeX document, with tables in the style of booktabs."""

from collections.abc import Iterable

from fsl_sweep.orchestrator.printed import one_line
from fsl_sweep.orchestrator.report.blocks import Block, Bullets, Paragraph, Row, Section, Table
from fsl_sweep.orchestrator.report.content import Report
from fsl_sweep.orchestrator.report.document import document
from fsl_sweep.orchestrator.report.latex_columns import in_parts, laid_out
from fsl_sweep.orchestrator.report.latex_text import escaped

_PREAMBLE = r"""\documentclass[a4paper]{article}
\usepackage[T1]{fontenc}
\usepackage[utf8]{inputenc}
\usepackage{textcomp}
\usepackage[landscape,margin=15mm]{geometry}
\usepackage{array}
\usepackage{booktabs}
\usepackage{longtable}
\usepackage{xcolor}
\setlength{\parindent}{0pt}
\setlength{\parskip}{4pt}
\raggedright
\setlength{\tabcolsep}{4pt}
\setlength{\LTleft}{0pt}
\newcommand{\room}{\par\penalty0
  \ifdim\dimexpr\pagegoal-\pagetotal\relax<8\baselineskip\newpage\fi}
\begin{document}"""
# \room: a title does not stay behind at the foot of a page when its table moves on.


def to_latex(report: Report) -> str:
    """The report as a document for pdfLaTeX, LuaLaTeX or XeLaTeX, ending in a newline.

    It needs booktabs, longtable and packages that every distribution has. The first line is a
    comment that says whether the run is complete. Each table stands by itself between comments,
    to be taken over into a paper.
    """
    content = document(report)
    comment = one_line(content.headline).encode("ascii", "replace").decode()
    parts = [f"% {comment}", _PREAMBLE, rf"\section*{{{escaped(content.headline)}}}"]
    for number, block in enumerate(content.banner):
        parts += _block(block, f"banner-{number}")
    for section in content.sections:
        parts += _section(section)
    return "\n".join([*parts, r"\end{document}"]) + "\n"


def _section(section: Section) -> Iterable[str]:
    yield ""
    yield rf"\room\subsection*{{{escaped(section.title)}}}"
    for number, block in enumerate(section.blocks):
        yield from _block(block, f"{section.key}-{number}")


def _block(block: Block, name: str) -> Iterable[str]:
    match block:
        case Paragraph(text, tone):
            look = {"alarm": r"\bfseries\color{red} ", "note": r"\footnotesize "}.get(tone, "")
            yield f"{{{look}{escaped(text)}\\par}}"
        case Bullets(items):
            yield r"\begin{itemize}"
            yield from (rf"\item {{{escaped(item)}}}" for item in items)
            yield r"\end{itemize}"
        case Table():
            for number, part in enumerate(in_parts(block)):
                yield f"% table: {name}" + f"-{number}" * bool(number)
                yield from _table(part)
                yield "% end of table"


def _table(table: Table) -> Iterable[str]:
    layout = laid_out(table)
    head = " & ".join(escaped(column.name) for column in table.columns)
    yield rf"{{\{layout.size}\begin{{longtable}}{{@{{}}{layout.columns}@{{}}}}"
    yield rf"\toprule {head} \\ \midrule \endhead"
    yield r"\bottomrule \endlastfoot"
    for number, group in enumerate(table.groups):
        if number:
            yield r"\midrule"
        if group.title:
            span = rf"\multicolumn{{{len(table.columns)}}}{{@{{}}{layout.title}@{{}}}}"
            yield rf"{span}{{\textbf{{{escaped(group.title)}}}}} \\*[1pt]"
        yield from (f"{_row(row)} \\\\" for row in group.rows)
    yield r"\end{longtable}}"


def _row(row: Row) -> str:
    look = {"best": r"{\bfseries ", "reference": r"\textcolor{gray}{", "": ""}[row.weight]
    close = "}" if look else ""
    cells = [r"\newline ".join(map(escaped, cell.split("\n"))) for cell in row.cells]
    return " & ".join(f"{look}{cell}{close}" for cell in cells)
