"""Event files without a writer thread: opened, appended to and closed again."""

# TensorBoard's generated protocol modules define their classes at run time.
# pyright: reportAttributeAccessIssue=false

from collections.abc import Iterable, Mapping
from pathlib import Path

from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.compat.proto.types_pb2 import DT_FLOAT
from tensorboard.plugins.scalar.metadata import create_summary_metadata
from tensorboard.summary.writer.record_writer import RecordWriter

FILE = "events.out.tfevents.0.fsl-sweep"
"""One file a run, of one name, so that a rebuilt view replaces the one before."""


def append(folder: Path, events: Iterable[Event]) -> None:
    """Append events to a run's file; a new file begins with the format's version."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / FILE).open("ab") as file:
        writer = RecordWriter(file)
        if file.tell() == 0:
            writer.write(Event(wall_time=0.0, file_version="brain.Event:2").SerializeToString())
        for event in events:
            writer.write(event.SerializeToString())


def scalars(
    step: int,
    seconds: float,
    values: Mapping[str, float],
    descriptions: Mapping[str, str] | None,
) -> Event:
    """One event with many scalars.

    Args:
        step: the epoch.
        seconds: since the trial began. TensorBoard's wall time is the cost of the trial, not the
            date: a view that is rebuilt equals the one that was written live.
        values: by tag.
        descriptions: by tag, in Markdown. TensorBoard needs them only with a tag's first value:
            None leaves them out, and with them most of a file's size.
    """
    summary = Summary()
    for tag, value in values.items():
        tensor = TensorProto(dtype=DT_FLOAT, float_val=[value])
        one = Summary.Value(tag=tag, tensor=tensor)
        if descriptions is not None:
            one.metadata.CopyFrom(create_summary_metadata("", descriptions.get(tag, "")))
        summary.value.append(one)
    return Event(step=step, wall_time=seconds, summary=summary)


def of_summary(summary: Summary, seconds: float = 0.0) -> Event:
    """An event of step 0 around a plug-in's summary."""
    return Event(step=0, wall_time=seconds, summary=summary)
