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
        """The exit code of a shell for that signal: 130, 143 or 129."""
        return 128 + self.number


@contextmanager
def signals_stop() -> Iterator[None]:
    """Within the block, the first of the three signals raises Stopped in the main thread.

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

    before = {one: signal.getsignal(one) for one in _SIGNALS}
    heeded = {one: old for one, old in before.items() if old not in (signal.SIG_IGN, None)}
    try:
        for one in heeded:
            signal.signal(one, stop)
        yield
    finally:
        for one, old in heeded.items():
            signal.signal(one, old)


@contextmanager
def ended_at_once(action: Callable[[], None]) -> Iterator[None]:
    """Within the block, a second signal calls ``action`` before the process ends."""
    _at_once.append(action)
    try:
        yield
    finally:
        _at_once.remove(action)
