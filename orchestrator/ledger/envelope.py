"""Checksums of a file's content and of its place in the run folder.

Bytes go into an envelope: a line with a SHA-256, then the bytes. JSON stays readable: its checksum
is an additional key, over the canonical text of the rest. Both cover the file's place as well
(``trials/ID/end.json``), so that a file that was moved to another place counts as damaged too.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from pydantic_core import from_json

from fsl_sweep.orchestrator.errors import Damaged
from fsl_sweep.orchestrator.records.model import canonical_json

_MAGIC = b"fsl-sweep sealed 2 "
_KEY = "checksum"


def sealed(payload: bytes, place: str) -> bytes:
    """Put bytes into an envelope for one place, a path in the run folder with ``/``."""
    return _MAGIC + _checksum(payload, place).encode() + b"\n" + payload


def unsealed(data: bytes, place: str) -> bytes:
    """Take the bytes out of ``sealed``. Raises Damaged on anything but its output for the place."""
    head, newline, payload = data.partition(b"\n")
    if not newline or head != _MAGIC + _checksum(payload, place).encode():
        raise Damaged(place, "its checksum does not match")
    return payload


def sealed_json(content: Mapping[str, Any], place: str, compact: bool = False) -> bytes:
    """Write content as readable JSON, with its checksum as the last key.

    ``compact`` is for long columns of numbers: in one line, whose checksum is compared quickly.
    """
    text = canonical_json(content).encode()
    checksum = _checksum(text, place)
    if compact:
        return text[:-1] + _last_key(checksum)
    return (json.dumps({**content, _KEY: checksum}, indent=1, allow_nan=False) + "\n").encode()


def checked_json(data: bytes, place: str) -> dict[str, Any]:
    """Read what ``sealed_json`` wrote, in any layout of the text. Raises Damaged."""
    try:
        content = from_json(data)
    except ValueError:
        raise Damaged(place, "it is not valid JSON") from None
    if not isinstance(content, dict):
        raise Damaged(place, "it is JSON, but not an object")
    rest = {key: value for key, value in content.items() if key != _KEY}
    known = content.get(_KEY)
    end = _last_key(str(known))
    # Where this matches, the text was canonical, and need not be made again.
    if data.endswith(end) and _checksum(data.removesuffix(end) + b"}", place) == known:
        return rest
    try:
        checksum = _checksum(canonical_json(rest).encode(), place)
    except (ValueError, RecursionError):  # NaN, a lone surrogate
        checksum = None
    if checksum is None or content.get(_KEY) != checksum:
        raise Damaged(place, "its checksum does not match")
    return rest


def _last_key(checksum: str) -> bytes:
    return f',"{_KEY}":"{checksum}"}}\n'.encode(errors="replace")


def _checksum(payload: bytes, place: str) -> str:
    return hashlib.sha256(place.encode() + b"\n" + payload).hexdigest()
