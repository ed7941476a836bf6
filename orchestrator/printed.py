"""Text as it reaches a person: nothing in it steers a terminal, and counts agree with nouns."""

import re
import sys
from typing import IO

_STEERING = "\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff"
"""Control characters, separators of lines, marks that turn the direction of writing, and bytes of
a file's name that are no text: all that a terminal does not show as it stands."""

_HIDDEN = re.compile(f"[{_STEERING}]")
_UNFIT = re.compile(f"[\t\n{_STEERING}]")


def printable(text: str) -> str:
    r"""The text with what would steer a terminal written out: ``\x1b`` for an escape character.

    Line feeds and tabs stay.
    """
    return _HIDDEN.sub(_written_out, text)


def one_line(text: str) -> str:
    """The same on one line, so that no text can pass for a further line of a list."""
    return _UNFIT.sub(_written_out, text)


def unfit(text: str) -> str | None:
    """The first character that no name may hold, written out; None where there is none."""
    found = _UNFIT.search(text)
    return None if found is None else _written_out(found)


def say(text: str, stream: IO[str] | None = None) -> None:
    """Print a text and a line feed at once: the one way of plain text to a terminal.

    Args:
        text: of one line or several.
        stream: standard output by default.
    """
    stream = stream or sys.stdout
    encoding = getattr(stream, "encoding", None) or "utf-8"
    known = printable(text).encode(encoding, "backslashreplace").decode(encoding)
    print(known, file=stream, flush=True)


def counted(count: int, noun: str, plural: str | None = None) -> str:
    """``1 trial``, ``2 trials``, ``12,000 trials``; a plural without a plain ``s`` is given."""
    return f"{count:,} {noun if count == 1 else plural or f'{noun}s'}"


def _written_out(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode("ascii")
