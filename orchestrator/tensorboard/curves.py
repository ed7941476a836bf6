"""A trial's scalars, and the chart that shows them with their confidence bands."""

# TensorBoard's generated protocol modules define their classes at run time.
# pyright: reportAttributeAccessIssue=false

from collections.abc import Iterator, Mapping

import numpy as np
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.plugins.custom_scalar import layout_pb2, metadata
from tensorboard.util.tensor_util import make_tensor_proto

from fsl_sweep.orchestrator.records.measures import MEASURES, SHOWN_AS, EpochRecord, TrialHistory
from fsl_sweep.orchestrator.statistics.intervals import quantile
from fsl_sweep.orchestrator.tensorboard.events import scalars

TAGS = tuple(SHOWN_AS[measure] for measure in MEASURES)

_SPLITS = {"base": "fresh examples of base classes", "val": "validation", "novel": "novel classes"}

DESCRIPTIONS = {
    "train_loss": "Mean training loss of the epoch.",
    **{
        SHOWN_AS[m]: f"Mean accuracy on the common *selection* tasks ({_SPLITS[m]}). "
        "Reported numbers come from the report tasks instead."
        for m in MEASURES
    },
    **{
        f"interval/{SHOWN_AS[m]}_{end}": f"{end.capitalize()} end of the 95 % interval of "
        f"{SHOWN_AS[m]} over the selection tasks."
        for m in MEASURES
        for end in ("low", "high")
    },
}


def live_event(record: EpochRecord, seconds: float, first: bool) -> Event:
    """One epoch as it is measured; ``seconds`` since the trial began, this epoch included."""
    bands = {m: _bands(record.scores[m, "selection"].accuracy[None]) for m in MEASURES}
    return _event(record.epoch, record.train_loss, bands, 0, seconds, first)


def recorded_events(trial: TrialHistory) -> Iterator[Event]:
    """All recorded epochs of a trial."""
    if len(trial.epochs) == 0:
        return
    bands = {m: _bands(trial.scores[m, "selection"].load()) for m in MEASURES}
    seconds = elapsed(trial)
    for i, epoch in enumerate(trial.epochs):
        loss = float(trial.curves["train_loss"][i])
        yield _event(int(epoch), loss, bands, i, float(seconds[i]), i == 0)


def elapsed(trial: TrialHistory) -> np.ndarray:
    """Seconds of training and measuring up to each recorded epoch, float64 ``[E]``."""
    return np.cumsum(trial.curves["train_seconds"] + trial.curves["evaluation_seconds"])


def layout() -> Summary:
    """The custom-scalars layout: each measure with its band, and all three together."""
    charts = [
        layout_pb2.Chart(
            title=f"{tag} (95 % interval over selection tasks)",
            margin=layout_pb2.MarginChartContent(
                series=[
                    layout_pb2.MarginChartContent.Series(
                        value=tag, lower=f"interval/{tag}_low", upper=f"interval/{tag}_high"
                    )
                ]
            ),
        )
        for tag in TAGS
    ]
    together = layout_pb2.Chart(
        title="BaseGen, ValGen and NovelGen",
        multiline=layout_pb2.MultilineChartContent(tag=[f"^{tag}$" for tag in TAGS]),
    )
    content = layout_pb2.Layout(
        category=[layout_pb2.Category(title="Generalisation", chart=[*charts, together])]
    )
    tensor = make_tensor_proto(content.SerializeToString())
    value = Summary.Value(
        tag=metadata.CONFIG_SUMMARY_TAG, tensor=tensor, metadata=metadata.create_summary_metadata()
    )
    return Summary(value=[value])


def _bands(table: np.ndarray) -> np.ndarray:
    """Mean, low and high over tasks of each snapshot; ``[E, T]`` to ``[3, E]``."""
    mean, tasks = table.mean(axis=1), table.shape[1]
    if tasks < 2:
        return np.stack([mean, mean, mean])
    half = quantile(tasks, 0.95) * table.std(axis=1, ddof=1) / np.sqrt(tasks)
    return np.stack([mean, mean - half, mean + half])


def _event(
    epoch: int, loss: float, bands: Mapping[str, np.ndarray], i: int, seconds: float, first: bool
) -> Event:
    values = {"train_loss": loss}
    for measure, (mean, low, high) in bands.items():
        tag = SHOWN_AS[measure]
        values |= {
            tag: float(mean[i]),
            f"interval/{tag}_low": float(low[i]),
            f"interval/{tag}_high": float(high[i]),
        }
    # TensorBoard needs a description only with the first value of a tag.
    return scalars(epoch, seconds, values, DESCRIPTIONS if first else {})
