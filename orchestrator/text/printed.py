"""Text for people: without characters that control a terminal, with counts and their nouns."""

import re
import shutil
import sys
import textwrap
from typing import IO

_STEERING = "\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff"
"""Control characters, line separators, marks that change the direction of writing, and bytes of a
file's name that are not text: all that a terminal does not show as it is."""

_HIDDEN = re.compile(f"[{_STEERING}]")
_COMMAND = re.compile("`[^`]*`|(?<=: )fsl-sweep .*$")
"""In backquotes, or from a colon to the end of the line."""
_OF_ONE = re.compile(
    r"(?<=\d) (?=%|(?:points?|nats|s|min|h|B|[kMGT]B|seconds?|minutes?|hours?|days?)\b)"
    r"|(?<=\d) (?=\+- )|(?<=\+-) (?=\d)"
)
"""The space between a number and its unit, or its ``+-``."""
_UNFIT = re.compile(f"[\t\n{_STEERING}]")


def printable(text: str) -> str:
    r"""Escape control characters (``\x1b``) in the text, except line feeds and tabs."""
    return _HIDDEN.sub(_escaped, text)


def one_line(text: str) -> str:
    """Escape line feeds and tabs too, so that no text can pretend to be another line of a list."""
    return _UNFIT.sub(_escaped, text)


def unfit(text: str) -> str | None:
    """Return the first character that no name may hold, escaped; None where there is none."""
    match = _UNFIT.search(text)
    return None if match is None else _escaped(match)


def say(text: str, stream: IO[str] | None = None) -> None:
    """Print lines of plain text, escaped, to a stream; standard output by default.

    On a terminal sentences are folded at its width.
    """
    to: IO[str] = stream or sys.stdout
    encoding = getattr(to, "encoding", None) or "utf-8"
    known = printable(text).encode(encoding, "backslashreplace").decode(encoding)
    if to.isatty():
        known = fold(known, shutil.get_terminal_size().columns)
    print(known, file=to, flush=True)


def fold(text: str, width: int) -> str:
    """Break printable sentences between words into lines of at most ``width``, indented alike.

    A number stays with its unit. A row of a table, which has two spaces between columns, stays as
    it is, and so does a command, so that it can be copied.
    """
    return "\n".join(_folded(line, width) for line in text.split("\n"))


def _folded(line: str, width: int) -> str:
    indent = line[: len(line) - len(line.lstrip())]
    if len(line) <= width or "  " in line.strip():
        return line
    joined = _COMMAND.sub(lambda command: command[0].replace(" ", "\0"), line.lstrip())
    parts = textwrap.wrap(
        _OF_ONE.sub("\0", joined),
        width,
        initial_indent=indent,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return "\n".join(parts).replace("\0", " ")


def counted(count: int, noun: str, plural: str | None = None) -> str:
    """Say ``1 trial``, ``2 trials``, ``12,000 trials``; ``plural`` where it is not noun + ``s``."""
    return f"{count:,} {noun if count == 1 else plural or f'{noun}s'}"


def on_disk(size: int) -> str:
    """Say a number of bytes as ``512 B``, ``4.1 MB`` or ``54 GB``."""
    shown, unit = float(size), "B"
    for larger in ("kB", "MB", "GB", "TB"):
        if round(shown) < 1000:
            break
        shown, unit = shown / 1000, larger
    return f"{shown:.1f} {unit}" if unit != "B" and shown < 9.95 else f"{shown:.0f} {unit}"


def _escaped(match: re.Match[str]) -> str:
    return match[0].encode("unicode_escape").decode("ascii")
