"""Commands that a person can paste as they are printed."""

import shlex
from collections.abc import Sequence


def on_all(places: Sequence[object], name: str, *words: object) -> str:
    """Write a command on all of these runs and tables together, in backquotes.

    Of records whose place is not known, ``RUN`` stands for it.
    """
    return f"`{_line(name, *(places or ['RUN']), *words)}`"


def on_each(places: Sequence[object], name: str, *words: object) -> str:
    """Write a command for each of these run folders: one line in backquotes, as of `on_all`."""
    return f"`{'; '.join(_line(name, place, *words) for place in places or ['RUN'])}`"


def _line(*words: object) -> str:
    return shlex.join(["fsl-sweep", *map(str, words)])
