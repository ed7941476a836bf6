"""The report as a LaTeX document, with tables in the style of booktabs."""

import re
from collections.abc import Iterable

from fsl_sweep.orchestrator.report.blocks import Block, Bullets, Paragraph, Row, Section, Table
from fsl_sweep.orchestrator.report.content import Report
from fsl_sweep.orchestrator.report.document import document

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
\setlength{\tabcolsep}{4pt}
\begin{document}"""

_SPECIAL = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "'": r"\textquotesingle{}",
    "`": r"\textasciigrave{}",
    # After a line break, an open bracket or a star would be read as its option.
    "[": "{[}",
    "]": "{]}",
    "*": "{*}",
}
_LIGATURE = re.compile(r"([-,])(?=\1)")
_SIGNED = re.compile(r"[-+]\d[\d.]*")
_DECLARED = range(0xC0, 0x100)
"""Letters of Western Europe, which every LaTeX of this encoding knows."""

_ON_THE_LINE = 0.058
"""What a column of numbers takes of the line, roughly; words share the rest."""


def to_latex(report: Report) -> str:
    """The report as a document for pdfLaTeX, LuaLaTeX or XeLaTeX, ending in a newline.

    It needs booktabs, longtable and packages that every distribution has. The first line is a
    comment that says whether the run is complete. Each table stands by itself between comments,
    to be taken over into a paper.
    """
    content = document(report)
    one_line = " ".join(content.headline.split()).encode("ascii", "replace").decode()
    parts = [f"% {one_line}", _PREAMBLE, rf"\section*{{{escaped(content.headline)}}}"]
    for number, block in enumerate(content.banner):
        parts += _block(block, f"banner-{number}")
    for section in content.sections:
        parts += _section(section)
    return "\n".join([*parts, r"\end{document}"]) + "\n"


def escaped(text: str) -> str:
    """Text that LaTeX prints as it is, on one line.

    Characters that a plain LaTeX has no letter for are named by their code point, ``[U+03B1]``.
    """
    one_line = " ".join(text.split())
    if _SIGNED.fullmatch(one_line):
        return f"${one_line}$"  # a minus sign, not a hyphen
    return _LIGATURE.sub(r"\1{}", "".join(map(_character, one_line)))


def _character(character: str) -> str:
    if character in _SPECIAL:
        return _SPECIAL[character]
    if character.isascii() and character.isprintable():
        return character
    if ord(character) in _DECLARED and character.isalpha():
        return character
    return f"{{[}}U+{ord(character):04X}{{]}}"


def _section(section: Section) -> Iterable[str]:
    yield ""
    yield rf"\subsection*{{{escaped(section.title)}}}"
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
            yield f"% table: {name}"
            yield from _table(block)
            yield "% end of table"


def _table(table: Table) -> Iterable[str]:
    head = " & ".join(_heading(column.name, column.numeric) for column in table.columns)
    yield rf"{{\footnotesize\begin{{longtable}}{{@{{}}{_columns(table)}@{{}}}}"
    yield rf"\toprule {head} \\ \midrule \endhead"
    yield r"\bottomrule \endlastfoot"
    for number, group in enumerate(table.groups):
        if number:
            yield r"\midrule"
        if group.title:
            title = rf"\textbf{{{escaped(group.title)}}}"
            yield rf"\multicolumn{{{len(table.columns)}}}{{@{{}}l@{{}}}}{{{title}}} \\*"
        yield from (f"{_row(row)} \\\\" for row in group.rows)
    yield r"\end{longtable}}"


def _heading(name: str, numeric: bool) -> str:
    return rf"\multicolumn{{1}}{{r}}{{{escaped(name)}}}" if numeric else escaped(name)


def _columns(table: Table) -> str:
    wordy = [column for column in table.columns if not column.numeric]
    rest = 0.94 - _ON_THE_LINE * (len(table.columns) - len(wordy))
    share = max(rest, 0.3) / max(len(wordy), 1)
    text = rf">{{\raggedright\arraybackslash}}p{{{min(share, 0.3):.3f}\linewidth}}"
    return "".join("r" if column.numeric else text for column in table.columns)


def _row(row: Row) -> str:
    look = {"best": r"{\bfseries ", "reference": r"\textcolor{gray}{", "": ""}[row.weight]
    close = "}" if look else ""
    cells = [r"\newline ".join(map(escaped, cell.split("\n"))) for cell in row.cells]
    return " & ".join(f"{look}{cell}{close}" for cell in cells)
