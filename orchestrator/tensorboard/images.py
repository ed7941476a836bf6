"""The Images tab: the report's figures, one picture a panel."""

# TensorBoard's generated protocol modules define their classes at run time.
# pyright: reportAttributeAccessIssue=false

from collections import Counter
from collections.abc import Iterator, Sequence

from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto
from tensorboard.compat.proto.types_pb2 import DT_STRING
from tensorboard.plugins.image.metadata import create_summary_metadata

from fsl_sweep.orchestrator.report.figures.figures import Figure
from fsl_sweep.orchestrator.report.figures.painter import picture
from fsl_sweep.orchestrator.tensorboard.names import LONGEST
from fsl_sweep.orchestrator.text.printed import printable


def pictures(figures: Sequence[Figure]) -> Iterator[Summary]:
    """Yield an image for each panel, as ``figures 1: NAME/TITLE``, described by its caption.

    Figures of a name are a group of cards; the number keeps groups in the report's order.
    """
    taken: Counter[str] = Counter()
    names = list(dict.fromkeys(figure.name for figure in figures))
    for figure in figures:
        group = f"figures {names.index(figure.name) + 1}: {figure.name}"
        for panel in figure.panels:
            tag = f"{group}/{printable(panel.title)[:LONGEST]}"
            taken[tag] += 1
            if taken[tag] > 1:  # long titles that were cut
                tag = f"{tag} {taken[tag]}"
            png = picture(panel)
            size = (int.from_bytes(png[at : at + 4]) for at in (16, 20))  # of the IHDR chunk
            # What TensorBoard reads as an image: width and height as text, then the PNG.
            tensor = TensorProto(
                dtype=DT_STRING,
                string_val=[*(str(pixels).encode() for pixels in size), png],
                tensor_shape=TensorShapeProto(dim=[TensorShapeProto.Dim(size=3)]),
            )
            described = create_summary_metadata(*map(printable, (panel.title, figure.caption)))
            yield Summary(value=[Summary.Value(tag=tag, tensor=tensor, metadata=described)])
