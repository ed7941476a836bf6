"""The report as a LaTeX document, with tables in the style of booktabs."""

import re
import textwrap
from collections.abc import Iterable, Sequence

from pylatexenc.latexencode import (
    RULE_DICT,
    RULE_REGEX,
    UnicodeToLatexConversionRule,
    UnicodeToLatexEncoder,
)

from fsl_sweep.orchestrator.report.content import Report
from fsl_sweep.orchestrator.report.document.blocks import (
    WRAPPED,
    Block,
    Bullets,
    Forest,
    Paragraph,
    Row,
    Table,
    in_parts,
)
from fsl_sweep.orchestrator.report.document.document import document
from fsl_sweep.orchestrator.report.over_worlds import WorldsReport
from fsl_sweep.orchestrator.text.printed import one_line

ROOM = 110
"""Characters that a line of the landscape page holds, with some to spare."""

CHARACTER = 0.0068
"""About the width of one, as a share of the line."""

LONGEST_WORD = 20
"""A longer word may break after any mark in it, and within its letters."""

_PREAMBLE = r"""\documentclass[a4paper]{article}
\usepackage[T1]{fontenc}
\usepackage[utf8]{inputenc}
\usepackage{textcomp}
\usepackage{amssymb}
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


def to_latex(report: Report | WorldsReport) -> str:
    """The report as a document for pdfLaTeX, LuaLaTeX or XeLaTeX, ending in a newline.

    It needs booktabs, longtable and packages that every distribution has. The first line is a
    comment that says whether the run is complete. Each table stands by itself between comments,
    to be copied into a paper.
    """
    content = document(report)
    comment = one_line(content.headline).encode("ascii", "replace").decode()
    parts = [f"% {comment}", _PREAMBLE, rf"\section*{{{escaped(content.headline)}}}"]
    for number, block in enumerate(content.banner):
        parts += _block(block, f"banner-{number}")
    for number, block in enumerate(content.answer):
        parts += _block(block, f"answer-{number}")
    for section in content.sections:
        parts += ["", rf"\room\subsection*{{{escaped(section.title)}}}"]
        for number, block in enumerate(section.blocks):
            parts += _block(block, f"{section.key}-{number}")
    return "\n".join([*parts, r"\end{document}"]) + "\n"


def _block(block: Block, name: str) -> Iterable[str]:
    match block:
        case Paragraph(text, tone):
            look = {"alarm": r"\bfseries\color{red} ", "note": r"\footnotesize "}.get(tone, "")
            yield f"{{{look}{escaped(text)}\\par}}"
        case Bullets(items):
            yield r"\begin{itemize}"
            yield from (rf"\item {{{escaped(item)}}}" for item in items)
            yield r"\end{itemize}"
        case Forest():
            pass  # its numbers are in the table of strategies, its picture a figure
        case Table():
            widths, parts = in_parts(block, ROOM)
            for number, kept in enumerate(parts):
                yield f"% table: {name}" + f"-{number}" * bool(number)
                yield from _table(block, kept, widths)
                yield "% end of table"


def _table(table: Table, kept: Sequence[int], widths: Sequence[int]) -> Iterable[str]:
    """Some columns of a table; those of long text share what the others leave of the line."""
    shown = [(table.columns[at], widths[at] > WRAPPED) for at in kept]
    taken = sum(widths[at] for at in kept if widths[at] <= WRAPPED)
    share = (1 - CHARACTER * (taken + 2 * len(kept))) / max(sum(long for _, long in shown), 1)
    columns = "".join(_column(column.numeric, share if long else None) for column, long in shown)
    yield rf"{{\footnotesize\begin{{longtable}}{{@{{}}{columns}@{{}}}}"
    heads = " & ".join(_head(column.name, column.numeric) for column, _ in shown)
    yield rf"\toprule {heads} \\ \midrule \endhead"
    yield r"\bottomrule \endlastfoot"
    for number, group in enumerate(table.groups):
        if number:
            yield r"\midrule"
        if group.title:
            look = "l" if len(group.title) < ROOM / 2 else r"p{0.95\linewidth}"
            span = rf"\multicolumn{{{len(kept)}}}{{@{{}}{look}@{{}}}}"
            yield rf"{span}{{\textbf{{{escaped(group.title)}}}}} \\*[1pt]"
        yield from (f"{_row(row, kept)} \\\\" for row in group.rows)
    yield r"\end{longtable}}"


def _column(numeric: bool, share: float | None) -> str:
    if share is None:
        return "r" if numeric else "l"
    look = "raggedleft" if numeric else "raggedright"
    return rf">{{\{look}\arraybackslash}}p{{{share:.3f}\linewidth}}"


def _head(name: str, numeric: bool) -> str:
    lines = [escaped(line) for line in textwrap.wrap(name, WRAPPED)]
    if len(lines) < 2:
        return "".join(lines)
    inner = rf"\begin{{tabular}}[b]{{@{{}}{'r' if numeric else 'l'}@{{}}}}"
    return inner + r" \\ ".join(lines) + r"\end{tabular}"


def _row(row: Row, kept: Sequence[int]) -> str:
    look, close = (r"\textcolor{gray}{", "}") if row.reference else ("", "")
    return " & ".join(f"{look}{escaped(row.cells[at])}{close}" for at in kept)


def _code_point(character: str) -> str:
    return f"{{[}}U+{ord(character):04X}{{]}}"


_FURTHER = re.compile(
    "[^ -~\u00a0-\u0148\u014a-\u017f\u0391-\u03a9\u03b1-\u03c9"
    "\u2013-\u2026\u2190-\u2193\u2200-\u221e\u2260-\u2265]"
)
"""All but Latin and Greek letters, punctuation, arrows and operators: they need more packages."""

_LATEX = UnicodeToLatexEncoder(
    conversion_rules=[
        UnicodeToLatexConversionRule(
            RULE_REGEX,
            [
                (re.compile("([-,])(?=[-,])"), r"\1{}"),  # two of them would be joined
                (_FURTHER, lambda found: _code_point(found[0])),
            ],
        ),
        UnicodeToLatexConversionRule(
            RULE_DICT,
            {
                ord('"'): r"\textquotedbl{}",
                ord("'"): r"\textquotesingle{}",
                ord("`"): r"\textasciigrave{}",
                ord("<"): r"\textless{}",
                ord(">"): r"\textgreater{}",
                ord("|"): r"\textbar{}",
                # After a line break, a bracket or a star would be read as its option.
                ord("["): "{[}",
                ord("]"): "{]}",
                ord("*"): "{*}",
            },
        ),
        "defaults",
    ],
    replacement_latex_protection="braces-after-macro",
    unknown_char_policy=_code_point,
    unknown_char_warning=False,
)
_SIGNED = re.compile(r"[-+]\d[\d.]*")
_PIECES = re.compile(r"[A-Za-z0-9]{1,12}[^A-Za-z0-9([{<]?|.")


def escaped(text: str) -> str:
    """Text that LaTeX prints as it is, on one line of the source.

    Characters that a plain LaTeX has no letter for are named by their code point, ``[U+4E2D]``.
    Long words may break, without a hyphen, so that no path and no name leaves its column.
    """
    words = text.split()
    if len(words) == 1 and _SIGNED.fullmatch(words[0]):
        return f"${words[0]}$"  # a minus sign, not a hyphen
    return " ".join(map(_word, words))


def _word(word: str) -> str:
    whole = len(word) <= LONGEST_WORD and max(word) < "\u0370"
    pieces = [word] if whole else _PIECES.findall(word)
    return r"\allowbreak{}".join(map(_LATEX.unicode_to_latex, pieces))
