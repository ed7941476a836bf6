"""Trials read in threads: Python's lock is free while a file is read and decompressed."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

READERS, AHEAD = 2, 4

S = TypeVar("S")
T = TypeVar("T")


def in_threads(call: Callable[[S], T], items: Iterable[S]) -> Iterator[T]:
    """As ``map``, a few items before they are taken, so that few results are in memory."""
    waiting: deque[Future[T]] = deque()
    with ThreadPoolExecutor(READERS) as readers:
        for one in items:
            waiting.append(readers.submit(call, one))
            if len(waiting) > AHEAD:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
