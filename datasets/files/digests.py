"""Digests of arrays and of plain values: what identifies data by its content."""

import hashlib
import json
from typing import Any

import numpy as np

_DIGEST_BYTES = 2**22


def array_digest(array: np.ndarray) -> str:
    """Compute the SHA-256 of an array's bytes in C order, little-endian; hex."""
    little = array.dtype.newbyteorder("<")
    digest = hashlib.sha256()
    row_bytes = max(1, array.nbytes // max(1, len(array)))
    rows = max(1, _DIGEST_BYTES // row_bytes)
    for start in range(0, len(array), rows):  # in parts: the array may be a large memory map
        digest.update(np.ascontiguousarray(array[start : start + rows], dtype=little).tobytes())
    return digest.hexdigest()


def canonical_digest(content: Any) -> str:
    """Compute the SHA-256 of a JSON value, written in one canonical way; hex."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()
