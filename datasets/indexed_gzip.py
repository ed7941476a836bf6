"""Any place of a gzip file's content, in bounded memory and without unpacking it to disk."""

import zlib
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, final

from fsl_sweep.orchestrator.errors import BadData

_GZIP = 31  # zlib's code for gzip's header and checksum with the largest window
_INPUT = 64 * 2**10
_OUTPUT = 256 * 2**10
_SPACING = 2**20
_MOST_POINTS = 128


class _Point(NamedTuple):
    """A decompressor on its way: what it has given, and what of the file it has taken."""

    start: int
    taken: int
    engine: Any


@final
class IndexedGzip:
    """The content of a gzip file, read forwards from any place.

    Decompression cannot begin in the middle, but it can be resumed. So the decompressor is copied
    every so often while the file is gone through; when there are too many copies, every other one
    is dropped and they are taken half as often. A read far from the last one costs at most the
    distance of two copies, in whatever order the content is asked for.

    Args:
        path: for messages.
        file: the compressed file.
        most_bytes: how much the content may be.
    """

    def __init__(self, path: Path, file: BinaryIO, most_bytes: int) -> None:
        self._path, self._file, self._most_bytes = path, file, most_bytes
        self._points = [_Point(0, 0, zlib.decompressobj(_GZIP))]
        self._spacing = _SPACING
        self._position = 0
        self._resume(0)

    def tell(self) -> int:
        """The place that is read next."""
        return self._position

    def seek(self, position: int) -> int:
        """Go to a place; nothing is decompressed before the next read."""
        self._position = position
        return position

    def read(self, size: int) -> bytes:
        """Up to ``size`` bytes; fewer only at the end of the content.

        Raises:
            BadData: the file is damaged, breaks off, or expands past the bound.
        """
        pieces = []
        while size > 0 and self._reach(self._position):
            begin = self._position - self._start
            piece = self._chunk[begin : begin + size]
            pieces.append(piece)
            self._position += len(piece)
            size -= len(piece)
        return b"".join(pieces)

    def _reach(self, position: int) -> bool:
        """Decompress until a place is in the chunk at hand; False if the content ends before."""
        nearest = max(point.start for point in self._points if point.start <= position)
        if position < self._start or nearest > self._start + len(self._chunk):
            self._resume(position)
        while position >= self._start + len(self._chunk):
            if not self._advance():
                return False
        return True

    def _resume(self, position: int) -> None:
        point = max(point for point in self._points if point.start <= position)
        self._engine = point.engine.copy()
        self._file.seek(point.taken)
        self._start, self._chunk = point.start, b""

    def _advance(self) -> bool:
        self._start += len(self._chunk)
        self._chunk = b""
        if self._start >= self._points[-1].start + self._spacing:
            self._points.append(_Point(self._start, self._file.tell(), self._engine.copy()))
        if len(self._points) > _MOST_POINTS:
            self._points = self._points[::2]
            self._spacing *= 2
        try:
            self._chunk = self._decompressed()
        except (OSError, EOFError, zlib.error) as failure:
            raise BadData(
                f"{self._path} cannot be decompressed ({failure}); download it again."
            ) from failure
        if self._start + len(self._chunk) > self._most_bytes:
            raise BadData(
                f"{self._path} would expand to more than {self._most_bytes} bytes and is refused."
            )
        return bool(self._chunk)

    def _decompressed(self) -> bytes:
        """The next part of the content; empty at its end."""
        while True:
            if self._engine.eof:
                # Files may be joined end to end, and padded with zeros.
                rest = self._engine.unused_data.lstrip(b"\0")
                while not rest:
                    block = self._file.read(_INPUT)
                    if not block:
                        return b""
                    rest = block.lstrip(b"\0")
                self._engine = zlib.decompressobj(_GZIP)
            else:
                rest = self._engine.unconsumed_tail or self._file.read(_INPUT)
            content = self._engine.decompress(rest, _OUTPUT)
            if content:
                return content
            if not rest and not self._engine.eof:
                raise EOFError("it breaks off")
