"""Reading the arrays of a feature file: NumPy's ``.npz`` or ``.safetensors``.

The file comes from a stranger: what would expand past a bound is refused, and so are arrays of
Python objects, which would have to be unpickled.
"""

import hashlib
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fsl_sweep.datasets.files.digests import canonical_digest
from fsl_sweep.datasets.files.file_tree import UNREADABLE
from fsl_sweep.orchestrator.errors import BadData, MachineFailure

_MOST_BYTES = 64 * 2**30
_SAFETENSORS = ".safetensors"


@dataclass(frozen=True)
class FeatureFile:
    """The arrays of a file by name, in memory; ``where`` is the file, for messages."""

    where: Path
    arrays: Mapping[str, np.ndarray]


def read_features(path: Path) -> FeatureFile:
    """All arrays of a file.

    Raises:
        BadData: it is neither ``.npz`` nor ``.safetensors``, is damaged, holds Python
            objects, or would expand to more than 64 GB.
        MachineFailure: it does not fit into memory.
    """
    try:
        if path.suffix == _SAFETENSORS:
            from safetensors.numpy import load_file

            return FeatureFile(path, load_file(path))
        _members(path)
        with np.load(path, allow_pickle=False) as file:
            arrays = dict(file)
        if not all(isinstance(array, np.ndarray) for array in arrays.values()):
            raise ValueError("a member is not an array")
        return FeatureFile(path, arrays)
    except BadData:
        raise
    except MemoryError as failure:
        raise MachineFailure(f"{path} does not fit into the memory of this machine.") from failure
    except Exception as failure:  # the parsers of headers raise anything at all on damaged files
        raise _unreadable(path, failure) from failure


def file_signature(path: Path) -> str:
    """Hex digest of the arrays' names, sizes and checksums; not of dates or places.

    Raises:
        BadData: as `read_features`, without reading the arrays.
    """
    try:
        if path.suffix == _SAFETENSORS:
            with path.open("rb") as file:
                return hashlib.file_digest(file, "sha256").hexdigest()
        return canonical_digest([[m.filename, m.file_size, m.CRC] for m in _members(path)])
    except UNREADABLE as failure:
        raise _unreadable(path, failure) from failure


def _members(path: Path) -> list[zipfile.ZipInfo]:
    """The directory of an ``.npz``, sorted by name; checked before anything is expanded."""
    with zipfile.ZipFile(path) as archive:
        members = sorted(archive.infolist(), key=lambda member: member.filename)
    total = sum(member.file_size for member in members)
    if total > _MOST_BYTES:
        raise BadData(f"{path} would expand to {total} bytes and is refused.")
    names = [member.filename for member in members]
    for name in names:
        if not name.endswith(".npy") or "/" in name or names.count(name) > 1:
            raise BadData(
                f"{path} is refused: its member {name!r} is not an array (NAME.npy), or is twice "
                "in it."
            )
    return members


def _unreadable(path: Path, failure: Exception) -> BadData:
    return BadData(
        f"{path} is not a readable .npz or .safetensors file ({failure}); write it with "
        "numpy.savez, with plain numbers or strings such as np.array(values, dtype=str), or with "
        "safetensors.numpy.save_file."
    )
