"""Features of frozen backbones, kept beside the prepared data, so that they are computed once.

A file ``HOME/features/KEY/DIGEST.npy`` holds features of some images of a pool. ``KEY`` stands for
all that features depend on; ``DIGEST`` is that of the file's content, so that a damaged file counts
as none. Nothing here may fail: what cannot be read is computed, what cannot be written is left out.
"""

import fcntl
import hashlib
import io
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import numpy as np

from fsl_sweep.datasets.store.reading import datasets_folder

LIMIT = "FSL_SWEEP_FEATURE_CACHE"
"""An environment variable: what may be kept, in gigabytes; 0 keeps nothing."""

Compute = Callable[[np.ndarray], np.ndarray]
"""From pool indices ``[n]`` to features, float32 ``[n, d]``, which depend on no other index."""

Part = tuple[np.ndarray, np.ndarray]
"""Places ``[m]`` among the indices that were asked for, and their features ``[m, d]``."""

_DEFAULT_GB = 10.0
_LEFT_FREE = 2**30  # of the disk: records matter more
_COMPARED = 16  # images: no more than pass through any network together
_ROWS = 2**10  # that are written at once


def kept_features(key: str, indices: np.ndarray, compute: Compute) -> np.ndarray:
    """Return features ``[n, d]`` of pool indices ``[n]``: kept ones, and the rest by ``compute``.

    Kept features are used only where a few of them, computed again, are the same to the last bit.
    Who wants features that another process is computing waits for them.

    Args:
        key: a digest of all that features depend on.
        indices: at least one, each once.
        compute: computes features.
    """
    if not limit():
        return compute(indices)
    folder = features_folder() / key
    parts, missing = _kept(folder, indices, compute)
    if missing.size:
        with _locked(folder):
            parts, missing = _kept(folder, indices, compute)
            if missing.size:
                computed = compute(indices[missing])
                parts.append((missing, computed))
                with suppress(OSError):
                    _keep(folder, indices[missing], computed)
    features = np.empty((len(indices), parts[0][1].shape[1]), np.float32)
    for places, some in parts:
        features[places] = some
    return features


def limit() -> int:
    """Return how many bytes may be kept; the default where the variable holds no number."""
    try:
        gigabytes = float(os.environ.get(LIMIT, _DEFAULT_GB))
    except ValueError:
        gigabytes = _DEFAULT_GB
    return int(min(max(0.0, gigabytes), 1e9) * 1e9)  # NaN is 0


def features_folder(home: Path | None = None) -> Path:
    """Return where features are kept, beside `datasets_folder`."""
    return datasets_folder(home).parent / "features"


def kept_bytes(home: Path | None = None) -> int:
    """Return the size of all that is kept."""
    return sum(size for _, size, _ in _files(features_folder(home)))


def clear(home: Path | None = None) -> int:
    """Delete all that is kept, and return its size.

    Raises:
        OSError: the folder cannot be deleted.
    """
    freed = kept_bytes(home)
    with suppress(FileNotFoundError):
        shutil.rmtree(features_folder(home))
    return freed


def _kept(folder: Path, indices: np.ndarray, compute: Compute) -> tuple[list[Part], np.ndarray]:
    """Return places among ``indices`` with their features, and the places that have none."""
    parts: list[Part] = []
    files: list[Path] = []
    every = left = np.arange(len(indices))
    for path in _listed(folder, "*.npy"):
        table = _read(path) if left.size else None
        if table is None:
            continue
        rows = np.array(table["index"])
        at = np.searchsorted(rows, indices[left]).clip(max=len(rows) - 1)
        if (hit := rows[at] == indices[left]).any():
            parts.append((left[hit], table["features"][at[hit]]))
            files.append(path)
            left = left[~hit]
    if not parts or _as_computed(indices, parts, compute):
        for path in files:
            with suppress(OSError):
                os.utime(path)  # files that were not used for longest go first
        return parts, left
    for path in files:
        _delete(path)
    return [], every


def _read(path: Path) -> np.ndarray | None:
    """Map the table of a file; None, and no file any more, where its content has changed."""
    try:
        if not path.is_file():
            return None
        with path.open("rb") as file:
            whole = hashlib.file_digest(file, "sha256").hexdigest() == path.stem
        if whole:
            return np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError):
        return None
    return _delete(path)


def _as_computed(indices: np.ndarray, parts: list[Part], compute: Compute) -> bool:
    """Tell whether this program on this machine computes the same bits, from some of each part.

    What features depend on may be more than a key says: a library's kernels, a plug-in's code.
    """
    each = max(1, _COMPARED // len(parts))
    kept = np.concatenate([features[:each] for _, features in parts])
    again = compute(indices[np.concatenate([places[:each] for places, _ in parts])])
    return again.shape == kept.shape and again.tobytes() == kept.tobytes()


def _keep(folder: Path, indices: np.ndarray, features: np.ndarray) -> None:
    """Write a file, whole or not at all, and delete others until all are within the limit.

    Raises:
        OSError: it cannot be written.
    """
    row = np.dtype([("index", "<i8"), ("features", "<f4", features.shape[1:])])
    size = len(indices) * row.itemsize
    folder.mkdir(parents=True, exist_ok=True)
    if size > limit() or shutil.disk_usage(folder).free < size + _LEFT_FREE:
        return
    digest, part = hashlib.sha256(), folder / f"{os.getpid()}.part"
    try:
        with part.open("wb") as file:
            for block in _blocks(row, indices, features):
                digest.update(block)
                file.write(block)
        path = part.rename(folder / f"{digest.hexdigest()}.npy")
    finally:
        part.unlink(missing_ok=True)
    _make_room(folder.parent, path)


def _blocks(row: np.dtype, indices: np.ndarray, features: np.ndarray) -> Iterator[bytes]:
    """Yield the content of an ``.npy`` file of a table sorted by index, part by part."""
    head = io.BytesIO()
    shape = {"descr": row.descr, "fortran_order": False, "shape": indices.shape}
    np.lib.format.write_array_header_1_0(head, shape)
    yield head.getvalue()
    order = np.argsort(indices)
    for start in range(0, len(order), _ROWS):
        some = order[start : start + _ROWS]
        table = np.empty(len(some), row)
        table["index"], table["features"] = indices[some], features[some]
        yield table.tobytes()


def _make_room(folder: Path, newest: Path) -> None:
    files = [each for each in _files(folder) if each[2] != newest]
    total = newest.stat().st_size + sum(size for _, size, _ in files)
    for _, size, path in sorted(files):
        if total <= limit():
            return
        path.unlink(missing_ok=True)
        total -= size
        if not _listed(path.parent, "*.npy"):
            shutil.rmtree(path.parent, ignore_errors=True)


def _files(folder: Path) -> Iterator[tuple[float, int, Path]]:
    """Yield time of last use, size and path of each file."""
    for path in _listed(folder, "*/*"):
        with suppress(OSError):
            status = path.lstat()
            yield status.st_mtime, status.st_size, path


def _delete(path: Path) -> None:
    with suppress(OSError):
        path.unlink()


def _listed(folder: Path, pattern: str) -> list[Path]:
    try:
        return sorted(folder.glob(pattern))
    except OSError:
        return []


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Wait until no other process computes features of this folder, where there are locks."""
    with ExitStack() as stack:
        with suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
            file = stack.enter_context((folder / "lock").open("a"))
            fcntl.flock(file, fcntl.LOCK_EX)  # until the file is closed, or the process dies
        yield
