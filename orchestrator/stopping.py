"""SIGINT, SIGTERM and SIGHUP end a command tidily: as Ctrl-C does, each with its exit code."""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

_SIGNALS = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)
_at_once: list[Callable[[], None]] = []


class Stopped(KeyboardInterrupt):
    """A signal asked this process to stop. What handles Ctrl-C handles it."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number

    @property
    def code(self) -> int:
        """The exit code, as a shell counts: 130, 143 or 129."""
        return 128 + self.number


@contextmanager
def signals_stop() -> Iterator[None]:
    """Have the first signal of the three raise Stopped in the main thread, for a block.

    A second one ends the process at once, with the first one's exit code, after what
    ``ended_at_once`` asks for. A signal that is ignored, as ``nohup`` has it, stays ignored.
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
    """Have a second signal call ``action`` before the process ends, while the block lasts."""
    _at_once.append(action)
    try:
        yield
    finally:
        _at_once.remove(action)
