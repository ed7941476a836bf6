"""Event files without a writer thread: opened, appended to and closed again."""

# TensorBoard's generated protocol modules define their classes at run time.
# pyright: reportAttributeAccessIssue=false

from collections.abc import Iterable, Mapping
from pathlib import Path

from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.plugins.scalar.summary_v2 import scalar_pb
from tensorboard.summary.writer.record_writer import RecordWriter

FILE = "events.out.tfevents.0.fsl-sweep"
"""One file a run, always of this name: a rebuilt view equals the one before."""


def append(folder: Path, events: Iterable[Event]) -> None:
    """Append events to a run's file; a new file begins with the format's version."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / FILE).open("ab") as file:
        writer = RecordWriter(file)
        if file.tell() == 0:
            writer.write(Event(wall_time=0.0, file_version="brain.Event:2").SerializeToString())
        for event in events:
            writer.write(event.SerializeToString())


def scalars(step: int, date: float, values: Mapping[str, float]) -> Event:
    """Return one event with many scalars.

    Args:
        step: the epoch.
        date: in seconds since 1970.
        values: by tag.
    """
    summary = Summary()
    for tag, value in values.items():
        summary.MergeFrom(scalar_pb(tag, value))
    return Event(step=step, wall_time=date, summary=summary)
