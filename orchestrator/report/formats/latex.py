"""The report's tables for a paper in LaTeX, in the style of booktabs."""

import re
import textwrap
from collections.abc import Iterable

from pylatexenc.latexencode import (
    RULE_DICT,
    RULE_REGEX,
    UnicodeToLatexConversionRule,
    UnicodeToLatexEncoder,
)

from fsl_sweep.orchestrator.report.content import Content
from fsl_sweep.orchestrator.report.document import blocks
from fsl_sweep.orchestrator.report.document.document import document
from fsl_sweep.orchestrator.text.printed import one_line

LONGEST_WORD = 20
"""A longer word may break after any mark in it, and within its letters."""

LONG = r"p{14em}"
"""A column with longer texts than ``WRAPPED``."""


def to_latex(report: Content) -> str:
    """Return the report's tables, as ``latex`` does; the first line says whether it is complete."""
    return latex(document(report.unplaced()))


def latex(content: blocks.Document) -> str:
    """Return each table of a document as a ``tabular``, ending in a newline; all else as comments.

    Tables compile with pdfLaTeX, LuaLaTeX and XeLaTeX in any paper that loads booktabs. Above each
    stand comments with its title, the headline and what may make its numbers wrong, so that they
    come with it where it is copied into a paper.
    """
    lines = _comments("", content.headline)
    cautions = [content.headline, *(f"Caution: {warning}" for warning in content.warnings)]
    parts = [("banner", "", content.banner), ("answer", "", content.answer)]
    parts += [(section.key, section.title, section.blocks) for section in content.sections]
    for key, title, inside in parts:
        if title and inside:
            lines += ["%", *_comments("== ", title)]
        for number, block in enumerate(inside):
            if isinstance(block, blocks.Paragraph) and block.tone == "heading":
                title = block.text
            if isinstance(block, blocks.Table):
                about = [f"table {key}-{number}: {title}".removesuffix(": "), *cautions]
                lines += ["", *_comments("", *about), *_table(block), ""]
            else:
                lines += _comment_of(block)
    return "\n".join(lines) + "\n"


def _comments(mark: str, *texts: str) -> list[str]:
    """Write each text on a line of its own, in ASCII."""
    lines = (one_line(text).encode("ascii", "backslashreplace").decode() for text in texts)
    return [f"% {mark}{line}" for line in lines]


def _comment_of(block: blocks.Block) -> list[str]:
    """Write what is no table; the numbers of a forest plot are in the table of strategies."""
    match block:
        case blocks.Paragraph(text, tone):
            return _comments("  " if tone == "command" else "", text)
        case blocks.Bullets(items):
            return _comments("- ", *items)
        case blocks.Forest() | blocks.Table():
            return []


def _table(table: blocks.Table) -> Iterable[str]:
    rows = [row for group in table.groups for row in group.rows]
    longest = [max(len(row.cells[at]) for row in rows) for at in range(len(table.columns))]
    long = [width > blocks.WRAPPED for width in longest]
    sides = ["lr"[numeric] for _, numeric in table.columns]
    looks = [LONG if wide else side for side, wide in zip(sides, long, strict=True)]
    yield rf"\begin{{tabular}}{{@{{}}{''.join(looks)}@{{}}}}"
    yield rf"\toprule {' & '.join(map(_head, table.columns))} \\ \midrule"
    for number, group in enumerate(table.groups):
        if number:
            yield r"\midrule"
        if group.title:
            title = rf"\textbf{{{escaped(group.title)}}}"
            yield rf"\multicolumn{{{len(longest)}}}{{@{{}}l@{{}}}}{{{title}}} \\"
        for row in group.rows:
            cells = [
                rf"{{\raggedright {escaped(cell)}\par}}" if wide and cell else escaped(cell)
                for cell, wide in zip(row.cells, long, strict=True)
            ]
            for at in row.bold:
                cells[at] = rf"\textbf{{{cells[at]}}}"
            yield rf"{' & '.join(cells)} \\"
    yield r"\bottomrule"
    yield r"\end{tabular}"


def _head(column: blocks.Column) -> str:
    name, numeric = column
    lines = [escaped(line) for line in textwrap.wrap(name, blocks.WRAPPED)]
    if len(lines) < 2:
        return "".join(lines)
    inner = rf"\begin{{tabular}}[b]{{@{{}}{'lr'[numeric]}@{{}}}}"
    return inner + r" \\ ".join(lines) + r"\end{tabular}"


def _code_point(character: str) -> str:
    return f"{{[}}U+{ord(character):04X}{{]}}"


_FURTHER = re.compile(
    "[^ -~\u00a0-\u0148\u014c-\u017f\u0391-\u03a9\u03b1-\u03c9"
    "\u2013-\u2026\u2190-\u2193\u2200-\u221e\u2260-\u2265]"
    "|[«»ÐÞðþĄąĐđĘęĮįŊŋŲų\u201a\u201e∁∄∅∎∔∖]"
)
"""All but Latin and Greek letters, punctuation, arrows and operators, and of these what needs more
packages than booktabs, or a paper with T1 fonts."""

_LATEX = UnicodeToLatexEncoder(
    conversion_rules=[
        UnicodeToLatexConversionRule(
            RULE_REGEX,
            [
                (re.compile("([-,])(?=[-,])"), r"\1{}"),  # two of them would be joined
                (_FURTHER, lambda match: _code_point(match[0])),
            ],
        ),
        UnicodeToLatexConversionRule(
            RULE_DICT,
            {
                ord('"'): "''",  # a paper with OT1 fonts has no straight one
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
    """Return text that LaTeX prints as it is, on one line of the source.

    Characters that a plain LaTeX has no letter for are named by their code point, ``[U+4E2D]``.
    Long words may break, without a hyphen, so that no path and no name leaves its column.
    """
    words = text.split()
    if len(words) == 1 and _SIGNED.fullmatch(words[0]):
        return f"${words[0]}$"  # a minus sign, not a hyphen
    return " ".join(map(_word, words))


def _word(word: str) -> str:
    if word == "+-":
        return r"$\pm$"
    whole = len(word) <= LONGEST_WORD and max(word) < "\u0370"
    pieces = [word] if whole else _PIECES.findall(word)
    return r"\allowbreak{}".join(map(_LATEX.unicode_to_latex, pieces))
