"""The scalars of trials and of means over seeds, each with a band, and the charts of the bands."""

# TensorBoard's generated protocol modules define their classes at run time.
# pyright: reportAttributeAccessIssue=false

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.plugins.custom_scalar import layout_pb2, metadata
from tensorboard.util.tensor_util import make_tensor_proto

from fsl_sweep.orchestrator.records.measures import MEASURES, SHOWN_AS, EpochRecord, TrialHistory
from fsl_sweep.orchestrator.statistics.intervals import quantile
from fsl_sweep.orchestrator.tensorboard.events import scalars

TRIALS, MEANS = "95 % interval over selection tasks", "mean, lowest and highest of the seeds"
"""What a line with its band is."""

_BANDS = "~ bands of Custom Scalars"
"""The ends of bands are tags too. Sorted last, in a group that TensorBoard leaves closed."""

_Bands = Mapping[str, np.ndarray]
"""Middle, low and high end of each measure at each epoch, float64 ``[3, E]``."""


def live_event(record: EpochRecord, cards: str, date: float) -> Event:
    """Return one epoch as it is measured."""
    bands = {m: _over_tasks(record.scores[m, "selection"].accuracy[None]) for m in MEASURES}
    return _event(cards, record.epoch, date, record.train_loss, bands)


def recorded_events(trial: TrialHistory, cards: str, dates: np.ndarray) -> Iterator[Event]:
    """Yield all recorded epochs of a trial; ``dates [E]`` in seconds since 1970."""
    if len(trial.epochs) == 0:
        return
    bands = {m: _over_tasks(trial.scores[m, "selection"].load()) for m in MEASURES}
    losses = trial.curves["train_loss"]
    for i, epoch in enumerate(trial.epochs):
        yield _event(cards, int(epoch), float(dates[i]), float(losses[i]), bands, i)


def mean_events(
    trials: Sequence[TrialHistory], cards: str, dates: Sequence[np.ndarray]
) -> Iterator[Event]:
    """Yield the mean over a configuration's trials, at the epochs that all of them recorded.

    The band reaches from the lowest to the highest seed.
    """
    common = sorted(set.intersection(*(set(trial.epochs.tolist()) for trial in trials)))
    rows = [[trial.index(epoch) for epoch in common] for trial in trials]

    def table(columns: Sequence[np.ndarray]) -> np.ndarray:
        return np.array([column[at] for column, at in zip(columns, rows, strict=True)])

    bands: dict[str, np.ndarray] = {}
    for measure in MEASURES:
        means = table([trial.scores[measure, "selection"].means for trial in trials])
        bands[measure] = np.stack([means.mean(axis=0), means.min(axis=0), means.max(axis=0)])
    losses = table([trial.curves["train_loss"] for trial in trials]).mean(axis=0)
    latest = table(dates).max(axis=0)
    for i, epoch in enumerate(common):
        yield _event(cards, epoch, float(latest[i]), float(losses[i]), bands, i)


def layout(groups: Mapping[str, str]) -> Summary:
    """Lay out the custom scalars: a category for each group of cards, a chart for each measure.

    Args:
        groups: what the lines with their bands are, by group. Where there are means, the
            categories of single trials begin closed.
    """
    categories = [
        layout_pb2.Category(
            title=f"{cards} ({what})",
            chart=[_chart(f"{cards}/{SHOWN_AS[measure]}") for measure in MEASURES],
            closed=what == TRIALS and MEANS in groups.values(),
        )
        for cards, what in groups.items()
    ]
    tensor = make_tensor_proto(layout_pb2.Layout(category=categories).SerializeToString())
    value = Summary.Value(
        tag=metadata.CONFIG_SUMMARY_TAG, tensor=tensor, metadata=metadata.create_summary_metadata()
    )
    return Summary(value=[value])


def _chart(tag: str) -> layout_pb2.Chart:
    low, high = _ends(tag)
    series = layout_pb2.MarginChartContent.Series(value=tag, lower=low, upper=high)
    content = layout_pb2.MarginChartContent(series=[series])
    return layout_pb2.Chart(title=tag.rpartition("/")[2], margin=content)


def _ends(tag: str) -> tuple[str, str]:
    name = f"{_BANDS}/{tag.replace('/', ', ')}"
    return f"{name}, low", f"{name}, high"


def _over_tasks(table: np.ndarray) -> np.ndarray:
    """Return mean, low and high over tasks of each snapshot; ``[E, T]`` to ``[3, E]``."""
    mean, tasks = table.mean(axis=1), table.shape[1]
    if tasks < 2:
        return np.stack([mean, mean, mean])
    half = quantile(tasks, 0.95) * table.std(axis=1, ddof=1) / np.sqrt(tasks)
    return np.stack([mean, mean - half, mean + half])


def _event(cards: str, epoch: int, date: float, loss: float, bands: _Bands, at: int = 0) -> Event:
    values = {f"{cards}/train_loss": loss}
    for measure, band in bands.items():
        tag = f"{cards}/{SHOWN_AS[measure]}"
        values |= zip((tag, *_ends(tag)), map(float, band[:, at]), strict=True)
    return scalars(epoch, date, values)
