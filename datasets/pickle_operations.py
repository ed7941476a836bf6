"""The operations of a pickle, read off its bytes without carrying out any of them.

A pickle is a program for a small stack machine (PEP 307, PEP 3154 and PEP 574 give its opcodes).
Arguments are slices of the pickle itself, so that an announced length that the file does not have
costs nothing, and a data set of gigabytes can be read through a memory map.
"""

from collections.abc import Iterator
from mmap import MADV_DONTNEED, PAGESIZE, mmap
from typing import NamedTuple

from fsl_sweep.orchestrator.errors import BadData

_RELEASE_EVERY = 8 * 2**20

_FIXED = {
    **dict.fromkeys(b".(012N\x88\x89]laet)\x85\x86\x87}dsuRb\x94\x93", 0),
    **dict.fromkeys(b"\x80Kqh", 1),
    **dict.fromkeys(b"M", 2),
    **dict.fromkeys(b"Jrj", 4),
    **dict.fromkeys(b"G\x95", 8),
}
_PREFIXED = {
    **dict.fromkeys(b"UC\x8c\x8a", 1),
    **dict.fromkeys(b"TBX\x8b", 4),
    **dict.fromkeys(b"\x8e\x8d\x96", 8),
}
_LINES = {**dict.fromkeys(b"ILFSVpg", 1), **dict.fromkeys(b"ci", 2)}


class Operation(NamedTuple):
    """One operation: its opcode, and its argument without length or line end."""

    code: int
    argument: memoryview


def operations(content: bytes | mmap, where: str) -> Iterator[Operation]:
    """The operations of a pickle up to its end mark.

    What has been read of a memory map is given back to the system as the reading goes on, so that
    it does not count as this process's memory; it is read from the file again where need be.

    Args:
        content: the pickle; what follows its end mark is not looked at.
        where: the file, for messages.

    Raises:
        BadData: it ends too soon, or has an opcode that data sets do not need: persistent ids,
            extension codes, classes and their instances, sets, buffers outside the pickle.
    """
    view = memoryview(content)
    position = released = 0
    while position < len(view):
        code = view[position]
        start, stop, end = _span(content, view, position + 1, code, where)
        if end > len(view):
            break
        yield Operation(code, view[start:stop])
        if code == 0x2E:  # "."
            return
        position = end
        if isinstance(content, mmap) and position - released >= _RELEASE_EVERY:
            released = position // PAGESIZE * PAGESIZE
            content.madvise(MADV_DONTNEED, 0, released)
    raise BadData(f"{where} is a pickle that breaks off; download it again.")


def _span(
    content: bytes | mmap, view: memoryview, position: int, code: int, where: str
) -> tuple[int, int, int]:
    """Where an argument starts and stops, and where the next operation starts."""
    if (size := _FIXED.get(code)) is not None:
        return position, position + size, position + size
    if (width := _PREFIXED.get(code)) is not None:
        start = position + width
        stop = start + int.from_bytes(view[position:start], "little")
        return start, stop, stop
    if (lines := _LINES.get(code)) is not None:
        end = position
        for _ in range(lines):
            # A missing line end puts the next operation past the end of the file.
            end = content.find(b"\n", end) + 1 or len(view) + 2
        return position, end - 1, end
    raise BadData(
        f"{where} is not a pickled data set: it has opcode 0x{code:02x} at byte {position - 1}, "
        "and lists, dicts, arrays, text and numbers do not need that one."
    )
