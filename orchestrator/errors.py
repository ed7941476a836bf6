"""Everything that fsl-sweep raises on purpose.

A ``UserError`` is a mistake that the caller can correct: exit code 2, one message, no traceback. A
``MachineFailure`` is a disk, Ray or a cluster that failed: exit code 3. Messages are full
sentences: what happened, where, and what to do about it.
"""

import errno
import textwrap
from collections.abc import Iterable
from difflib import get_close_matches

_LISTED = 50
"""A message lists at most so many names."""
_LONGEST = 400
# Failures that no other folder and no other permissions would avoid.
_OF_THE_MACHINE = {
    errno.ENOSPC,
    errno.EDQUOT,
    errno.EFBIG,
    errno.EROFS,
    errno.EIO,
    errno.ENXIO,
    errno.ENODEV,
    errno.ESTALE,
    errno.ENOTCONN,
    errno.ETIMEDOUT,
    errno.EMFILE,
    errno.ENFILE,
    errno.ENOMEM,
}


class FslSweepError(Exception):
    """Base of every error that fsl-sweep raises on purpose.

    One with several arguments makes its message in ``__str__``, so that it can be pickled.
    """


class UserError(FslSweepError):
    """A mistake that the caller can correct. The command line prints it and exits with 2."""


class ConfigError(UserError):
    """A sweep file, or a value given in its place, that cannot be used.

    Args:
        where: the file (or ``--set``) that holds the value.
        path: the dotted key path, such as ``methods.PN.learner.name``; may be empty.
        problem: what is wrong with it and what to write instead.
    """

    def __init__(self, where: str, path: str, problem: str) -> None:
        super().__init__(where, path, problem)
        self.where, self.path, self.problem = where, path, problem

    def __str__(self) -> str:
        return ": ".join(part for part in (self.where, self.path, self.problem) if part)


class UnknownName(UserError):
    """A name that no catalogue entry and no plug-in has. Arguments as of ``did_you_mean``."""

    def __init__(
        self, kind: str, name: str, known: Iterable[str], guarded: Iterable[str] = ()
    ) -> None:
        self.kind, self.name = kind, name
        self.known, self.guarded = tuple(known), tuple(guarded)
        super().__init__(kind, name, self.known, self.guarded)

    def __str__(self) -> str:
        advice = did_you_mean(self.name, self.known, self.guarded)
        return f"unknown {self.kind} '{self.name}'; {advice}"


class MissingData(UserError):
    """A benchmark's files are not on this machine; the message says how to get them."""


class BadData(UserError):
    """A data file that is damaged, hostile, or too small for what is asked of it."""


class RunFolderError(UserError):
    """A run folder that cannot be used: locked, another sweep's, changed data, or read-only."""


class Damaged(RunFolderError):
    """A file of a run folder that was altered, moved, or replaced by a link or something else.

    Args:
        place: where it is below the run folder.
        reason: what is wrong with it, as a clause.
    """

    def __init__(self, place: str, reason: str) -> None:
        super().__init__(place, reason)
        self.place, self.reason = place, reason

    def __str__(self) -> str:
        return (
            f"{self.place} is damaged: {self.reason}. `fsl-sweep verify` lists all damage and what "
            "follows."
        )


class PluginError(UserError):
    """A plug-in that was referenced cannot be loaded, or its name is taken."""


class SelectorFault(PluginError):
    """A third party's selector raised an error of its own, or gave an invalid answer."""


class SealedMeasurement(UserError):
    """A selector read a measure that it did not declare in its ``needs``."""

    def __init__(self, selector: str, measure: str) -> None:
        super().__init__(selector, measure)
        self.selector, self.measure = selector, measure

    def __str__(self) -> str:
        return (
            f"Selector '{self.selector}' read '{self.measure}', which it did not declare. "
            f"Add '{self.measure}' to its `needs`, or choose without it."
        )


class BudgetSpent(SealedMeasurement):
    """A selector asked for more novel evaluations than its budget allows."""

    def __init__(self, selector: str, budget: int) -> None:
        super().__init__(selector, "novel")
        self.args = selector, budget
        self.budget = budget

    def __str__(self) -> str:
        return (
            f"Selector '{self.selector}' asked for more than the {self.budget} novel evaluations "
            "of its budget. Raise the budget, or ask for fewer."
        )


class MachineFailure(FslSweepError):
    """A disk, Ray or a cluster failed. The command line prints it and exits with 3."""


class SelectionError(FslSweepError):
    """A selector had nothing to choose from."""


class TrialFailure(FslSweepError):
    """A trial cannot continue, and running it again would end the same way."""


class Diverged(TrialFailure):
    """A training loss, a weight or an answer became NaN or infinite: how the training came out."""


def is_of_machine(failure: OSError) -> bool:
    """Return whether the machine failed (a full disk), not permissions or names."""
    return failure.errno in _OF_THE_MACHINE


def folder_error(failure: OSError, message: str) -> RunFolderError | MachineFailure:
    """Return the error for a folder that cannot be used: the user's mistake, or the machine's."""
    return (MachineFailure if is_of_machine(failure) else RunFolderError)(message)


def in_one_line(failure: BaseException, text: str | None = None) -> str:
    """Say ``TYPE: message`` of what other code raised, without control characters, and short.

    ``text`` stands in place of its message.
    """
    words = str(failure) if text is None else text
    words = "".join(c if c.isprintable() else " " for c in words)
    line = textwrap.shorten(f"{type(failure).__name__}: {words}", _LONGEST, placeholder=" ...")
    return line.rstrip(".: ")


def did_you_mean(name: str, known: Iterable[str], guarded: Iterable[str] = ()) -> str:
    """Say ``did you mean 'x'?`` of the nearest known name, else list the known names.

    Args:
        name: what was typed, in any case.
        known: all names.
        guarded: those that are suggested only for a near-identical spelling.
    """
    names, apart = sorted(known), set(guarded)
    for member in filter(lambda member: member.endswith(f":{name}"), names):
        return f"did you mean '{member}'?"  # torchvision:resnet18
    for is_apart, cutoff in ((True, 0.82), (False, 0.5)):
        lower = {member.lower(): member for member in names if (member in apart) == is_apart}
        if near := get_close_matches(name.lower(), lower, n=1, cutoff=cutoff):
            return f"did you mean '{lower[near[0]]}'?"
    more = f", ... ({len(names):,} in all)" if len(names) > _LISTED else ""
    return f"known: {', '.join(names[:_LISTED])}{more}" if names else "none is known"
