"""How much a file of a run folder may hold: what says more is damage, and is not read.

Files are read whole, so that their checksums can be compared. A bound follows from the file's kind,
far above what any run writes, and where its rows are known, from their number.
"""

import struct
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.parquet as pq

from fsl_sweep.orchestrator.errors import Damaged

_MIB = 2**20
PER_ROW = 64 * _MIB
"""Bytes of what was measured of one snapshot: two million tasks of each measure and task set."""
UNPACKED = 1024 * _MIB
"""Bytes of one snapshot's answers."""
_BYTES = {
    "plan.json": 1024 * _MIB,  # half a million trials
    "lock": _MIB,
    "tasks": 1024 * _MIB,
    "json": 128 * _MIB,
    "yaml": 16 * _MIB,
    "record": PER_ROW,
    "answers": UNPACKED,
    # Weights and optimizers of ten billion parameters.
    "safetensors": 65536 * _MIB,
    "state": 131072 * _MIB,
}


def check_size(place: str, size: int, rows: int | None = None) -> None:
    """Check the size of a file before it is read.

    Args:
        place: where it is below the run folder.
        size: in bytes.
        rows: of a file of compacted measurements.

    Raises:
        Damaged: no run writes so large a file of its kind.
    """
    name = place.rpartition("/")[2]
    kind = "tasks" if place.startswith("tasks/") else name.rpartition(".")[2]
    most = _BYTES.get(name, _BYTES.get(kind, _BYTES["json"]))
    if rows is not None:
        most = _MIB + rows * PER_ROW
    if size > most:
        raise Damaged(place, f"it has {size:,} bytes, more than any run writes there")


def check_footer(place: str, about: pq.FileMetaData, rows: int) -> None:
    """Check what a Parquet file of measurements says that it holds, before it is unpacked.

    Raises:
        Damaged: these are more than so many rows, or larger ones than any run writes.
    """
    groups = [about.row_group(i) for i in range(about.num_row_groups)]
    columns = [group.column(i) for group in groups for i in range(about.num_columns)]
    # A value takes two bytes once it is read, however little it takes here.
    sizes = [max(c.total_uncompressed_size, 2 * c.num_values) for c in columns]
    if about.num_rows > rows or max(sizes, default=0) > rows * PER_ROW:
        raise Damaged(place, "it says that it unpacks to more than was recorded")


def check_stream(data: bytes) -> None:
    """Check what an Arrow stream says that it unpacks to. Raises ValueError."""
    try:
        messages = [*pa.ipc.MessageReader.open_stream(data)]
        if {message.type for message in messages} - {"schema", "record batch"}:
            raise ValueError("it holds something else than rows")
        unpacked = sum(
            size
            for message in messages
            if message.type == "record batch"
            for size in _unpacked(message.metadata.to_pybytes(), message.body)
        )
    except MemoryError:  # which Arrow's is too
        raise
    except (pa.ArrowException, OSError, struct.error, IndexError) as failure:
        raise ValueError("it is not an Arrow stream") from failure
    if unpacked > UNPACKED:
        raise ValueError("it says that it unpacks to more than any run writes")


def _unpacked(metadata: bytes, body: pa.Buffer) -> Iterator[int]:
    """Yield the size of each compressed buffer, which it begins with; none if none is compressed.

    Arrow's ``Message.fbs`` describes the metadata: the header is the message's third field, the
    buffers (offset and length) are the third of a record batch, and its fourth is the compression.
    """
    header = _field(metadata, struct.unpack_from("<I", metadata)[0], 2)
    batch = header + struct.unpack_from("<I", metadata, header)[0] if header else 0
    if not batch or not _field(metadata, batch, 3):
        return
    at = _field(metadata, batch, 2)
    at += struct.unpack_from("<I", metadata, at)[0]
    for number in range(struct.unpack_from("<I", metadata, at)[0]):
        offset, length = struct.unpack_from("<qq", metadata, at + 4 + 16 * number)
        if length:
            yield max(0, *struct.unpack("<q", body[offset : offset + 8]))


def _field(data: bytes, table: int, number: int) -> int:
    """Return where a field of a FlatBuffers table lies; 0 if it is left out."""
    vtable = table - struct.unpack_from("<i", data, table)[0]
    if 4 + 2 * number >= struct.unpack_from("<H", data, vtable)[0]:
        return 0
    offset = struct.unpack_from("<H", data, vtable + 4 + 2 * number)[0]
    return table + offset if offset else 0
