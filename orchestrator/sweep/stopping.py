"""SIGINT, SIGTERM and SIGHUP stop a command as Ctrl-C does, each with its own exit code."""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_BETWEEN, _LOOKS = 0.05, 400
"""Seconds between two looks at whether native code has returned, and how many there are."""
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

    It is not raised within an import or pydantic, but as soon as these are over: their native code
    takes no exception (torch's ends the process by SIGABRT, pydantic's makes an error of it). A
    second signal ends the process at once, after the actions of ``ended_at_once``, with the exit
    code of the first. A signal that is ignored, as under ``nohup``, stays ignored.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    first: list[int] = []
    timers: list[threading.Timer] = []
    again, waiting = threading.Event(), threading.Event()

    def look_again() -> None:
        again.set()
        signal.pthread_kill(threading.main_thread().ident or 0, first[0])

    def stop(number: int, frame: FrameType | None) -> None:
        if first and not again.is_set():
            for action in [*_at_once]:
                action()
            os._exit(128 + first[0])
        again.clear()
        first[:] = first or [number]
        if len(timers) < _LOOKS and _in_native_code(frame):
            waiting.set()
            timers.append(threading.Timer(_BETWEEN, look_again))
            timers[-1].daemon = True
            timers[-1].start()
            return
        waiting.clear()
        raise Stopped(first[0])

    before = {number: signal.getsignal(number) for number in _SIGNALS}
    heeded = {n: handler for n, handler in before.items() if handler not in (signal.SIG_IGN, None)}
    try:
        for number in heeded:
            signal.signal(number, stop)
        yield
        if waiting.is_set():  # a command that was over before it could be stopped
            raise Stopped(first[0])
    finally:
        for timer in timers:
            timer.cancel()
        for number, handler in heeded.items():
            signal.signal(number, handler)


def _in_native_code(frame: FrameType | None) -> bool:
    """Tell whether a frame was called, through others, by an import or by pydantic."""
    while frame is not None:
        name = frame.f_globals.get("__name__") or ""
        if name.startswith(("importlib._bootstrap", "_frozen_importlib", "pydantic.")):
            return True
        frame = frame.f_back
    return False


@contextmanager
def ended_at_once(action: Callable[[], None]) -> Iterator[None]:
    """Call ``action`` before a second signal within the block ends the process."""
    _at_once.append(action)
    try:
        yield
    finally:
        _at_once.remove(action)
