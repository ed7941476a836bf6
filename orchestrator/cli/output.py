"""The file that a report is written to: whole or not at all."""

import os
from pathlib import Path

from fsl_sweep.datasets.files.local_path import check_local
from fsl_sweep.orchestrator.errors import RunFolderError, folder_error
from fsl_sweep.orchestrator.ledger.storage import write_whole


def check_output(path: Path) -> None:
    """Whether a file can be there at all: known before a report is worked out, which may take long.

    Raises:
        RunFolderError: it is a folder, in a folder that does not exist, or an address.
    """
    check_local(path)
    if path.is_dir():
        raise RunFolderError(f"{path} is a folder; give -o the name of a file.")
    if not path.parent.is_dir():
        raise RunFolderError(f"{path} cannot be written: there is no folder {path.parent}.")


def write_output(path: Path, text: str) -> None:
    """Write ``text`` in UTF-8; what was there before stays until all of it is written.

    Raises:
        RunFolderError: it cannot be written.
        MachineFailure: the same, where the disk is full or fails.
    """
    try:
        if path.exists() and not path.is_file():
            path.write_bytes(text.encode())  # a pipe or a device: nothing can take its place
        else:
            write_whole(Path(os.path.realpath(path)), text.encode())  # through a link, which stays
    except BrokenPipeError:
        raise
    except OSError as failure:
        reason = failure.strerror or str(failure)
        raise folder_error(
            failure, f"{path} cannot be written: {reason}. Give -o another place, or make room."
        ) from failure
