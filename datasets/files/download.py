"""Fetching official files, each checked before it gets its name."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fsl_sweep.orchestrator.errors import BadData, MissingData, folder_error

_CHUNK_BYTES = 2**18
_SECONDS = 60  # without a byte


@dataclass(frozen=True)
class RemoteFile:
    """An official file on the web; its checksum is ``md5:`` or ``sha256:`` and hex digits."""

    url: str
    checksum: str

    @property
    def name(self) -> str:
        """Return what it is called on this machine."""
        return self.url.rpartition("/")[2]


def fetch(
    file: RemoteFile, folder: Path, progress: Callable[[int, int | None], None]
) -> tuple[Path, bool]:
    """Download a file into a folder, unless it is there already with the right checksum.

    A failed transfer leaves nothing, and the next one starts from the beginning. ``progress`` is
    called with the bytes done, and their total where it is known.

    Returns:
        Its path, and whether it was there already.

    Raises:
        MissingData: there is no network, or the file is not at its address.
        BadData: what came is truncated or not the official file.
        RunFolderError: the folder cannot be written.
        MachineFailure: the disk is full or fails.
    """
    import pooch
    from requests import RequestException
    from requests.exceptions import ChunkedEncodingError

    pooch.get_logger().setLevel(logging.ERROR)
    path = folder / file.name
    kind, _, digest = file.checksum.partition(":")
    # Speaks only http and https, after a redirection too. Pooch annotates less than it documents.
    meter: Any = _Meter(progress)
    downloader: Any = pooch.HTTPDownloader(meter, _CHUNK_BYTES, timeout=_SECONDS)
    try:
        if path.is_file() and pooch.file_hash(str(path), kind) == digest:
            return path, True
        pooch.retrieve(file.url, file.checksum, file.name, folder, downloader=downloader)
        path.chmod(0o644)  # pooch makes files that a lab's other users cannot read
    except ChunkedEncodingError as failure:
        raise BadData(
            f"The transfer of {file.url} broke off ({failure}). Nothing was kept; run the command "
            "again."
        ) from failure
    except RequestException as failure:
        raise MissingData(f"{file.url} cannot be downloaded ({failure}).") from failure
    except ValueError as failure:
        raise BadData(
            f"{file.url} is not the official file: its checksum is not {file.checksum}. "
            "Nothing was kept; try again, or get the file elsewhere."
        ) from failure
    except OSError as failure:
        raise folder_error(
            failure,
            f"{path} cannot be written: {failure.strerror or failure}. Make room, or choose "
            "another folder with --to.",
        ) from failure
    return path, False


class _Meter:
    """What pooch reports its progress to."""

    def __init__(self, progress: Callable[[int, int | None], None]) -> None:
        self._progress = progress
        self.total = self._done = 0

    def update(self, size: int) -> None:
        """Count so many more bytes, rounded up to a whole chunk."""
        self._done += size
        done = min(self._done, self.total) if self.total else self._done
        self._progress(done, self.total or None)

    def reset(self) -> None:
        """Start again: pooch counts the whole file once more at the end."""
        self._done = 0

    def close(self) -> None:
        """Do nothing: nothing is left open."""
