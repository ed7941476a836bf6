"""Fetching official files, each checked before it gets its name."""

import hashlib
import http.client
import os
import tempfile
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from fsl_sweep.orchestrator.errors import (
    BadData,
    MachineFailure,
    MissingData,
    RunFolderError,
    folder_error,
)

_CHUNK_BYTES = 2**18
_MOST_BYTES = 4 * 2**30
_SECONDS = 60  # without a byte
# Nothing but http and https: a server must not redirect to a file of this machine.
_HANDLERS = (
    urllib.request.ProxyHandler,
    urllib.request.HTTPHandler,
    urllib.request.HTTPSHandler,
    urllib.request.HTTPRedirectHandler,
    urllib.request.HTTPDefaultErrorHandler,
    urllib.request.HTTPErrorProcessor,
    urllib.request.UnknownHandler,
)


@dataclass(frozen=True)
class RemoteFile:
    """An official file on the web.

    Attributes:
        url: its http or https address.
        checksum: ``md5:`` or ``sha256:`` and hex digits, as published.
    """

    url: str
    checksum: str

    @property
    def name(self) -> str:
        """What it is called on this machine."""
        return self.url.rpartition("/")[2]


def fetch(
    file: RemoteFile, folder: Path, progress: Callable[[int, int | None], None]
) -> tuple[Path, bool]:
    """Download a file into a folder, unless it is there already with the right checksum.

    It is written under another name, and gets its own once its checksum is right: a transfer that
    breaks off leaves nothing. The next one starts from the beginning.

    Args:
        file: what to fetch.
        folder: where to; it is made.
        progress: called with the bytes done, and their total where it is known.

    Returns:
        Its path, and whether it had been there.

    Raises:
        MissingData: there is no network, or the file is not at its address.
        BadData: what came is truncated or not the official file.
        RunFolderError: the folder cannot be written.
    """
    path = folder / file.name
    try:
        if path.is_file() and _digest(path, file.checksum) == file.checksum:
            return path, True
        folder.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(prefix=f".{file.name}-", dir=folder)
    except OSError as failure:
        raise _unwritable(path, failure) from failure
    try:
        with os.fdopen(descriptor, "wb") as half:
            _transfer(file, half, progress)
        if _digest(Path(name), file.checksum) != file.checksum:
            raise BadData(
                f"{file.url} is not the official file: its checksum is not {file.checksum}. "
                "Nothing was kept; try again, or get the file elsewhere."
            )
        Path(name).chmod(0o644)  # mkstemp's files are closed to a lab's other users
        Path(name).replace(path)
    except OSError as failure:
        raise _unwritable(path, failure) from failure
    finally:
        Path(name).unlink(missing_ok=True)
    return path, False


def _transfer(
    file: RemoteFile, half: BinaryIO, progress: Callable[[int, int | None], None]
) -> None:
    opener = urllib.request.OpenerDirector()
    for handler in _HANDLERS:
        opener.add_handler(handler())
    total, done = None, 0
    try:
        with opener.open(file.url, timeout=_SECONDS) as response:
            given = response.headers.get("Content-Length")
            total = int(given) if given and given.isdecimal() else None
            while content := response.read(_CHUNK_BYTES):
                done += len(content)
                if done > _MOST_BYTES:
                    raise BadData(f"{file.url} is larger than {_MOST_BYTES} bytes; it is refused.")
                _write(half, content)
                progress(done, total)
    except http.client.IncompleteRead as failure:
        raise _broken_off(file, done + len(failure.partial), total) from failure
    except (urllib.error.URLError, http.client.HTTPException, OSError, ValueError) as failure:
        raise MissingData(f"{file.url} cannot be downloaded ({failure}).") from failure
    if total is not None and done != total:
        raise _broken_off(file, done, total)


def _write(half: BinaryIO, content: bytes) -> None:
    try:
        half.write(content)
        half.flush()
    except OSError as failure:
        raise _unwritable(Path(half.name), failure) from failure


def _broken_off(file: RemoteFile, done: int, total: int | None) -> BadData:
    return BadData(
        f"The transfer of {file.url} broke off after {done} of {total or 'unknown'} bytes. "
        "Nothing was kept; run the command again."
    )


def _unwritable(path: Path, failure: OSError) -> RunFolderError | MachineFailure:
    return folder_error(
        failure,
        f"{path} cannot be written: {failure.strerror or failure}. Make room, or choose another "
        "folder with --to.",
    )


def _digest(path: Path, checksum: str) -> str:
    """The file's checksum of the kind of another: ``md5:...``."""
    kind = checksum.partition(":")[0]
    # Published checksums may be MD5: they tell a broken transfer, and are no secret.
    digest = hashlib.new(kind, usedforsecurity=False)
    with path.open("rb") as file:
        while content := file.read(_CHUNK_BYTES):
            digest.update(content)
    return f"{kind}:{digest.hexdigest()}"
