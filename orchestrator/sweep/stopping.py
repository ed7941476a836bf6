"""SIGINT, SIGTERM and SIGHUP stop a command as Ctrl-C does, each with its own exit code."""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_at_once: list[Callable[[], None]] = []


class Stopped(KeyboardInterrupt):
    """A signal asked this process to stop. Code that handles Ctrl-C handles it."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number

    @property
    def code(self) -> int:
        """Return the exit code of a shell for that signal: 130, 143 or 129."""
        return 128 + self.number


@contextmanager
def signals_stop() -> Iterator[None]:
    """Raise Stopped in the main thread at the first of the three signals within the block.

    A second signal ends the process at once, after the actions of ``ended_at_once``, with the exit
    code of the first. A signal that is ignored, as under ``nohup``, stays ignored.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    first: list[int] = []

    def stop(number: int, _: FrameType | None) -> None:
        if first:
            for action in [*_at_once]:
                action()
            os._exit(128 + first[0])
        first.append(number)
        raise Stopped(number)

    before = {number: signal.getsignal(number) for number in _SIGNALS}
    heeded = {n: handler for n, handler in before.items() if handler not in (signal.SIG_IGN, None)}
    try:
        for number in heeded:
            signal.signal(number, stop)
        yield
    finally:
        for number, handler in heeded.items():
            signal.signal(number, handler)


@contextmanager
def ended_at_once(action: Callable[[], None]) -> Iterator[None]:
    """Call ``action`` before a second signal within the block ends the process."""
    _at_once.append(action)
    try:
        yield
    finally:
        _at_once.remove(action)
