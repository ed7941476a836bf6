"""Paths that are no addresses: nothing is read from or written to an object store or a server."""

import re
from pathlib import Path

from fsl_sweep.orchestrator.errors import RunFolderError

_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/+")
"""As ``s3://bucket/run``, or what ``Path`` makes of it; one letter is a drive."""


def check_local(path: Path | str) -> None:
    """Whether a path is one of this machine's, before a folder called ``s3:`` is made of it.

    Raises:
        RunFolderError: it is an address, such as ``s3://bucket/run``.
    """
    if address := _ADDRESS.match(str(path)):
        shown = f"{address[1]}://{str(path)[address.end() :]}"
        raise RunFolderError(
            f"{shown} is an address, and files are read and written by a path of this machine. "
            f"Give a folder, or one where {address[1]} is mounted."
        )
