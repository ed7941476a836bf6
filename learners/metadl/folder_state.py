"""A folder of files as one tensor, so that a snapshot file can hold what a program saved."""

import io
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from jaxtyping import UInt8
from torch import Tensor

from fsl_sweep.orchestrator.errors import BadData


def packed(write: Callable[[str], object]) -> UInt8[Tensor, " bytes"]:
    """Pack the files that ``write`` puts into a folder: a tar archive, equal for equal files.

    Raises:
        ValueError: it wrote nothing, or something that is neither a file nor a folder.
    """
    archive = io.BytesIO()
    with tempfile.TemporaryDirectory(prefix="fsl-sweep-") as folder:
        write(folder)
        with tarfile.open(fileobj=archive, mode="w", format=tarfile.PAX_FORMAT) as tar:
            for path in sorted(Path(folder).rglob("*")):
                _add(tar, path, path.relative_to(folder).as_posix())
            if not tar.getmembers():
                raise ValueError("nothing was written into the folder")
    return torch.frombuffer(bytearray(archive.getvalue()), dtype=torch.uint8)


@contextmanager
def unpacked(state: UInt8[Tensor, " bytes"]) -> Iterator[str]:
    """Put the files of `packed` into a folder, which is deleted after the block.

    Raises:
        BadData: the state is no such archive, or would write elsewhere.
    """
    archive = io.BytesIO(state.cpu().numpy().tobytes())
    with tempfile.TemporaryDirectory(prefix="fsl-sweep-") as folder:
        try:
            with tarfile.open(fileobj=archive, mode="r:") as tar:  # no compression: it could expand
                tar.extractall(folder, filter="data")
        except tarfile.TarError as failure:
            raise BadData(f"What a program saved cannot be unpacked: {failure}.") from failure
        yield folder


def _add(tar: tarfile.TarFile, path: Path, name: str) -> None:
    # Only names and content: times, owners and permissions differ from run to run.
    entry = tarfile.TarInfo(name)
    if path.is_symlink() or not (path.is_file() or path.is_dir()):
        raise ValueError(f"'{name}' is neither a file nor a folder")
    if path.is_dir():
        entry.type, entry.mode = tarfile.DIRTYPE, 0o755
        tar.addfile(entry)
        return
    content = path.read_bytes()
    entry.size = len(content)
    tar.addfile(entry, io.BytesIO(content))
