"""The HParams tab: all methods' hyperparameters, and what each strategy's choice scored."""

# TensorBoard's generated protocol modules define their classes at run time.
# pyright: reportAttributeAccessIssue=false

from collections.abc import Sequence
from typing import Any

from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.plugins.hparams import api_pb2, metadata, plugin_data_pb2
from tensorboard.plugins.hparams import summary_v2 as hp

from fsl_sweep.orchestrator.records.measures import TrialEnd, TrialHistory
from fsl_sweep.orchestrator.selection.select import Selected, Strategy
from fsl_sweep.orchestrator.tensorboard.events import scalars
from fsl_sweep.orchestrator.tensorboard.names import group_name
from fsl_sweep.orchestrator.text.printed import printable

Plain = bool | float | str

LAST = "selected/last epoch"
"""The scalar that holds NovelGen at the end of a trial, on the selection tasks."""


def experiment(histories: Sequence[TrialHistory], selected: Selected | None) -> Summary:
    """List the hyperparameters and metrics: the union over all methods."""
    rows = [values_of(trial) for trial in histories]
    keys = list(dict.fromkeys(key for row in rows for key in row))
    parameters = [hp.HParam(key, _domain([row[key] for row in rows if key in row])) for key in keys]
    metrics = [
        hp.Metric(LAST, display_name="NovelGen, last epoch (selection tasks)"),
        *(
            hp.Metric(tag(strategy), display_name=f"NovelGen chosen by {strategy} (report tasks)")
            for strategy in (selected.strategies if selected else ())
        ),
    ]
    return hp.hparams_config_pb(parameters, metrics, time_created_secs=0.0)


def session(trial: TrialHistory) -> Summary:
    """Return the hyperparameters of one run, which joins the group of its configuration."""
    return hp.hparams_pb(values_of(trial), trial_id=group_name(trial), start_time_secs=0.0)


def session_end(end: TrialEnd, epoch: int, novel: float, date: float) -> list[Event]:
    """Say that a run ended, how, and with which epoch and NovelGen there on selection tasks.

    One that diverged has no network at its end, and no NovelGen there.
    """
    status = api_pb2.STATUS_FAILURE if end.status == "failed" else api_pb2.STATUS_SUCCESS
    info = plugin_data_pb2.SessionEndInfo(status=status, end_time_secs=date)
    # TensorBoard's own helper for this needs TensorFlow.
    content = plugin_data_pb2.HParamsPluginData(session_end_info=info)
    value = Summary.Value(
        tag=metadata.SESSION_END_INFO_TAG,
        metadata=metadata.create_summary_metadata(content),
        tensor=metadata.NULL_TENSOR,
    )
    last = scalars(epoch, date, {LAST: novel})
    ending = [] if end.status == "diverged" else [last]
    return [*ending, Event(summary=Summary(value=[value]), wall_time=date)]


def tag(strategy: Strategy) -> str:
    """Name the scalar that holds a strategy's choice: NovelGen on the report tasks."""
    return f"selected/{strategy.snapshot}/{strategy.hyperparameter}"


def values_of(trial: TrialHistory) -> dict[str, Plain]:
    """Return method and axis values of a trial; lists and the like become text.

    The seeds of a configuration are sessions of one group, so that seed is no hyperparameter:
    the tab shows a group's hyperparameters, and the mean of its metrics over the seeds.
    """
    values = {"method": trial.method, **trial.hyperparameters}
    return {printable(key): _plain(value) for key, value in values.items()}


def _plain(value: Any) -> Plain:
    return value if isinstance(value, (bool, int, float)) else printable(str(value))


def _domain(values: Sequence[Plain]) -> hp.Domain | None:
    """Return the values, where they are of one kind; TensorBoard has no mixed domain."""
    kinds = {type(value) for value in values}
    if len(kinds) != 1:
        return None
    return hp.Discrete(list(dict.fromkeys(values)), dtype=kinds.pop())
