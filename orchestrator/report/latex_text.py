"""Text that LaTeX prints as it is: special characters, letters, and where a word may break."""

import re
import unicodedata

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
    # After a line break, a bracket or a star would be read as its option.
    "[": "{[}",
    "]": "{]}",
    "*": "{*}",
    "‘": r"\textquoteleft{}",
    "’": r"\textquoteright{}",
    "“": r"\textquotedblleft{}",
    "”": r"\textquotedblright{}",
    "–": r"\textendash{}",
    "—": r"\textemdash{}",
    "…": r"\textellipsis{}",
    "×": r"\texttimes{}",
    "÷": r"\textdiv{}",
    "±": r"\textpm{}",
    "°": r"\textdegree{}",
    "·": r"\textperiodcentered{}",
    "µ": r"\textmu{}",
    "−": r"\ensuremath{-}",
    "→": r"\ensuremath{\rightarrow}",
    "≤": r"\ensuremath{\leq}",
    "≥": r"\ensuremath{\geq}",
    "≈": r"\ensuremath{\approx}",
    "∞": r"\ensuremath{\infty}",
}
_GREEK = re.compile(
    "GREEK SMALL LETTER (ALPHA|BETA|GAMMA|DELTA|EPSILON|ZETA|ETA|THETA|IOTA|KAPPA|LAMDA|MU|NU|XI|PI"
    "|RHO|SIGMA|TAU|UPSILON|PHI|CHI|PSI|OMEGA)"
    "|GREEK CAPITAL LETTER (GAMMA|DELTA|THETA|LAMDA|XI|PI|SIGMA|UPSILON|PHI|PSI|OMEGA)"
)
"""Those that LaTeX has a command for: capitals that look like Latin ones have none."""

_DECLARED = range(0xC0, 0x100)
"""Letters of Western Europe, which every LaTeX of this encoding knows."""

_SIGNED = re.compile(r"[-+]\d[\d.]*")

LONGEST_WORD = 20
"""A longer word may break after any mark in it, and within its letters after so many."""

_LETTERS = re.compile(r"[A-Za-z0-9]{1,12}[^A-Za-z0-9([{<]?")
_BREAK = r"\allowbreak{}"


def escaped(text: str) -> str:
    """Text that LaTeX prints as it is, on one line of the source.

    Characters that a plain LaTeX has no letter for are named by their code point, ``[U+4E2D]``.
    Long words may break, without a hyphen, so that no path and no name leaves its column.
    """
    one_line = " ".join(text.split())
    if _SIGNED.fullmatch(one_line):
        return f"${one_line}$"  # a minus sign, not a hyphen
    return " ".join(map(_word, one_line.split(" ")))


def shown(text: str) -> str:
    """The text with code points in the place of characters that have no letter."""
    return "".join(c if _command(c) else _code_point(c) for c in text)


def _word(word: str) -> str:
    if len(shown(word)) <= LONGEST_WORD:
        return _plain(word)
    return _BREAK.join(_plain(piece) for piece in pieces(word))


def pieces(word: str) -> list[str]:
    """Parts of a long word that stay whole: runs of letters with the mark after them, or a mark."""
    found: list[str] = []
    at = 0
    while at < len(word):
        run = _LETTERS.match(word, at)
        end = run.end() if run else at + 1
        found.append(word[at:end])
        at = end
    return found


def _plain(text: str) -> str:
    written = (_command(c) or _plain(_code_point(c)) for c in text)
    return "".join(w + "{}" * _joins(text, i) for i, w in enumerate(written))


def _joins(text: str, i: int) -> bool:
    """Whether a character and the next would be printed as one."""
    return text[i] in "-," and text[i : i + 2] == 2 * text[i]


def _code_point(character: str) -> str:
    return f"[U+{ord(character):04X}]"


def _command(character: str) -> str | None:
    """How a character is written; None where there is no letter for it."""
    if character in _SPECIAL:
        return _SPECIAL[character]
    if character.isascii() and character.isprintable():
        return character
    if ord(character) in _DECLARED and character.isalpha():
        return character
    if not (named := _GREEK.fullmatch(unicodedata.name(character, ""))):
        return None
    name = named[1].lower() if named[1] else named[2].capitalize()
    return rf"\ensuremath{{\{name.replace('amda', 'ambda')}}}"  # Unicode spells it so
