"""Addresses given for paths: nothing is read from or written to an object store or a server."""

import re
from pathlib import Path

from fsl_sweep.orchestrator.errors import RunFolderError

_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/+")
"""Such as ``s3://bucket/run``, also in the form that ``Path`` gives it; one letter is a drive."""


def check_local(path: Path | str) -> None:
    """Check that a path is local, so that no folder called ``s3:`` is made from an address.

    Raises:
        RunFolderError: it is an address, such as ``s3://bucket/run``.
    """
    if address := _ADDRESS.match(str(path)):
        shown = f"{address[1]}://{str(path)[address.end() :]}"
        raise RunFolderError(
            f"{shown} is an address, and only local paths can be read and written. "
            f"Give a local folder, such as one where {address[1]} is mounted."
        )
