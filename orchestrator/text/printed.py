"""Text for people: without characters that control a terminal, with counts and their nouns."""

import json
import re
import sys
from collections.abc import Sequence
from math import isnan
from typing import IO, Any

_STEERING = "\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff"
"""Control characters, line separators, marks that change the direction of writing, and bytes of a
file's name that are not text: all that a terminal does not show as it is."""

_HIDDEN = re.compile(f"[{_STEERING}]")
_UNFIT = re.compile(f"[\t\n{_STEERING}]")


def printable(text: str) -> str:
    r"""The text with control characters escaped (``\x1b``), except line feeds and tabs."""
    return _HIDDEN.sub(_escaped, text)


def one_line(text: str) -> str:
    """The same on one line, so that no text can pretend to be another line of a list."""
    return _UNFIT.sub(_escaped, text)


def unfit(text: str) -> str | None:
    """The first character that no name may hold, escaped; None where there is none."""
    found = _UNFIT.search(text)
    return None if found is None else _escaped(found)


def say(text: str, stream: IO[str] | None = None) -> None:
    """Print lines of plain text, escaped, to a stream; standard output by default."""
    stream = stream or sys.stdout
    encoding = getattr(stream, "encoding", None) or "utf-8"
    known = printable(text).encode(encoding, "backslashreplace").decode(encoding)
    print(known, file=stream, flush=True)


def say_json(value: Any) -> None:
    """Print plain data as JSON; NaN, which JSON has not, is null."""
    say(json.dumps(_without_nan(value), indent=1))


def columns(rows: Sequence[Sequence[str]], words: int | None = None) -> list[str]:
    """A line for each row of cells, in columns: the first ``words`` to the left, or all."""
    sides = ["<" if words is None or at < words else ">" for at in range(len(rows[0]))]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    form = "  ".join(f"{{:{side}{width}}}" for side, width in zip(sides, widths, strict=True))
    return [form.format(*row).rstrip() for row in rows]


def counted(count: int, noun: str, plural: str | None = None) -> str:
    """``1 trial``, ``2 trials``, ``12,000 trials``; ``plural`` where it is not noun + ``s``."""
    return f"{count:,} {noun if count == 1 else plural or f'{noun}s'}"


def on_disk(size: int) -> str:
    """A number of bytes as ``512 B``, ``4.1 MB`` or ``54 GB``."""
    shown, unit = float(size), "B"
    for larger in ("kB", "MB", "GB", "TB"):
        if round(shown) < 1000:
            break
        shown, unit = shown / 1000, larger
    return f"{shown:.1f} {unit}" if unit != "B" and shown < 9.95 else f"{shown:.0f} {unit}"


def _escaped(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode("ascii")


def _without_nan(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nan(one) for key, one in value.items()}
    if isinstance(value, tuple | list):
        return [_without_nan(one) for one in value]
    return None if isinstance(value, float) and isnan(value) else value
