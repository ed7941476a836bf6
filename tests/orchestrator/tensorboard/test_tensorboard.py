import io
import os
import shutil
from collections import Counter
from dataclasses import replace

import hostile
import numpy as np
import pytest
from PIL import Image
from scipy import stats
from tensorboard.backend.event_processing import data_provider, plugin_event_multiplexer
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.backend.event_processing.event_multiplexer import EventMultiplexer
from tensorboard.context import RequestContext
from tensorboard.plugins import base_plugin
from tensorboard.plugins.custom_scalar import layout_pb2
from tensorboard.plugins.custom_scalar.metadata import CONFIG_SUMMARY_TAG
from tensorboard.plugins.hparams import api_pb2, backend_context, list_session_groups
from trials import TASKS, trial

from fsl_sweep.orchestrator.errors import RunFolderError
from fsl_sweep.orchestrator.records.measures import SCORE_KEYS, EpochRecord, TaskScores, TrialEnd
from fsl_sweep.orchestrator.report.figures.figures import Figure, Panel
from fsl_sweep.orchestrator.selection.select import select
from fsl_sweep.orchestrator.tensorboard import LiveView, rebuild, serving
from fsl_sweep.orchestrator.tensorboard.events import FILE
from fsl_sweep.orchestrator.tensorboard.names import places

PN = trial("PN", "0.1", base=[0.6, 0.8, 0.9], val=[0.5, 0.6, 0.55], novel=[0.4, 0.5, 0.45])
PN_AGAIN = trial("PN", "0.1", 1, base=[0.7, 0.8], val=[0.7, 0.7], novel=[0.5, 0.3])
RR = trial("RR/2", "0.2", 3, base=[0.6], val=[0.5], novel=[0.4])
DIVERGED = TrialEnd("diverged", "the training loss became nan in epoch 2")
NOTHING = trial("PN", "0.5", end=None)
CARDS = "configurations of PN"
BANDS = "~ bands of Custom Scalars"


@pytest.fixture
def view(tmp_path):
    return tmp_path / "tb"


def read(folder):
    events = EventAccumulator(str(folder), size_guidance={"scalars": 0, "tensors": 0})
    events.Reload()
    return events


def series(folder, tag):
    events = read(folder).Tensors(tag)
    return [(e.step, pytest.approx(float(e.tensor_proto.float_val[0]))) for e in events]


def record(epoch, accuracy):
    queries = np.full(TASKS, 100)
    correct = np.full(TASKS, round(100 * accuracy)) + np.tile([-5, 5], TASKS // 2)
    scores = dict.fromkeys(SCORE_KEYS, TaskScores(correct, queries))
    return EpochRecord(epoch, 1.0 / epoch, 0.1, scores, 2.0, 1.0)


def text_of(view):
    """The numbers of each run by tag and epoch, with their dates; what describes a tag; charts."""
    for file in sorted(view.rglob(FILE)):
        events = read(file.parent)
        yield file.parent.relative_to(view).as_posix()
        for tag in sorted(events.Tags()["tensors"]):
            about = events.SummaryMetadata(tag)
            names = about.plugin_data.plugin_name, about.display_name, about.summary_description
            yield ": ".join([f"  {tag}", *filter(None, names)])
            for event in events.Tensors(tag):
                values = "".join(f" {value:.5f}" for value in event.tensor_proto.float_val)
                yield f"    {event.step}:{values} at {event.wall_time:.1f}"
                if tag == CONFIG_SUMMARY_TAG:
                    yield str(layout_pb2.Layout.FromString(event.tensor_proto.string_val[0]))


def test_a_view_shows_trials_and_means_over_seeds_with_the_dates_of_the_records(
    tmp_path, view, snapshot
):
    """Means are of complete seeds at epochs that all of them have; an epoch costs 0.2 s."""
    for name, date in (
        (f"{PN.trial}/epochs/0003.json", 1.7e9),
        (f"{PN.trial}/end.json", 1.8e9),
        (f"{PN_AGAIN.trial}/end.json", 1.6e9),
    ):
        file = tmp_path / "trials" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
        os.utime(file, (date, date))
    unfinished = trial("PN", "0.1", 2, base=[0.1], val=[0.1], novel=[0.1], end=None)
    rebuild(view, [PN, PN_AGAIN, unfinished, RR, NOTHING], figures=drawn())
    assert "\n".join(text_of(view)) == snapshot
    tasks = PN.scores["val", "selection"].load()[1]
    interval = stats.t.interval(0.95, TASKS - 1, tasks.mean(), stats.sem(tasks))
    for end, expected in zip(("low", "high"), interval, strict=True):
        band = f"{BANDS}/seeds of PN lr=0.1, ValGen, {end}"
        assert series(view / "PN/lr=0.1/seed-0", band)[1] == (2, expected)
    for other in (unfinished, replace(PN_AGAIN, end=DIVERGED)):
        rebuild(view, [PN, other])
        assert not (view / "mean").exists()
    assert "closed: true" not in "\n".join(text_of(view))


def test_no_card_holds_more_lines_than_seeds_or_configurations(view):
    means = {"base": [0.6], "val": [0.5], "novel": [0.4]}
    grid = [trial(m, f"{c}", s, **means) for m in ("PN", "RR") for c in range(6) for s in range(4)]
    rebuild(view, grid)
    runs = EventMultiplexer().AddRunsFromDirectory(str(view)).Reload().Runs()
    lines = Counter(tag for tags in runs.values() for tag in tags["tensors"] if "Gen" in tag)
    assert len([tag for tag in lines if "~" not in tag]) == 3 * (2 + 2 * 6)
    assert max(lines.values()) == 6
    # TensorBoard shows none of more than 40 runs before one chooses.
    assert len(runs) == 48 + 12 + 1
    assert serving.opening(view).endswith("&regexInput=%5Emean%2F%7C%5Ereport%24")
    rebuild(view, grid[:12])
    assert serving.opening(view) == "?smoothing=0#timeseries&_smoothingWeight=0"


def tensorboards_own(folder):
    """What TensorBoard's server reads a view with."""
    multiplexer = plugin_event_multiplexer.EventMultiplexer(tensor_size_guidance={"tensors": 0})
    multiplexer.AddRunsFromDirectory(str(folder)).Reload()
    return data_provider.MultiplexerDataProvider(multiplexer, str(folder)), RequestContext()


def test_hparams_through_tensorboards_own_reader(view):
    other = trial("PN", "0.01", base=[0.1], val=[0.1], novel=[0.1])
    again = trial("PN", "0.1", 1, base=[0.9], val=[0.5], novel=[0.7])
    worse = trial("PN", "0.01", 1, base=[0.2], val=[0.2], novel=[0.2])
    lost = trial("RR/2", "0.2", 4, base=[0.6], val=[0.5], novel=[0.2], end=DIVERGED)
    planned = [PN, other, again, worse, RR, lost]
    # A class fold has its curves, and is no configuration to compare.
    fold = trial("PN", "0.1", fold=0, base=[0.2], val=[0.2], novel=[0.9])
    rebuild(view, [*planned, fold], select(planned, ["last", "val"], ["base"]))
    provider, ask = tensorboards_own(view)
    context = backend_context.Context(base_plugin.TBContext(data_provider=provider))
    known = context.hparams_metadata(ask, "")
    experiment = context.experiment_from_metadata(ask, "", True, known, [])
    assert {info.name for info in experiment.hparam_infos} == {"method", "optimizer.lr"}
    names = [info.name.tag for info in experiment.metric_infos]
    assert names == ["selected/last epoch", "selected/last/base", "selected/val/base"]
    kinds = {"metric": experiment.metric_infos, "hparam": experiment.hparam_infos}
    request = api_pb2.ListSessionGroupsRequest(
        allowed_statuses=[api_pb2.STATUS_SUCCESS, api_pb2.STATUS_UNKNOWN],
        col_params=[
            api_pb2.ColParams(**{kind: info.name}, include_in_result=True)
            for kind, infos in kinds.items()
            for info in infos
        ],
        start_index=0,
        slice_size=10,
        aggregation_type=api_pb2.AGGREGATION_AVG,
    )
    groups = list_session_groups.Handler(ask, context, "", request).run().session_groups
    shown = {
        (g.hparams["method"].string_value, g.hparams["optimizer.lr"].string_value): {
            m.name.tag: (m.value, m.training_step) for m in g.metric_values
        }
        for g in groups
    }
    # Seeds of a configuration are one group, which shows their mean.
    assert set(shown) == {("PN", "0.1"), ("PN", "0.01"), ("RR/2", "0.2")}
    assert sorted(len(group.sessions) for group in groups) == [2, 2, 2]
    assert shown["PN", "0.1"]["selected/last epoch"][0] == pytest.approx((0.45 + 0.7) / 2)
    assert shown["PN", "0.1"]["selected/val/base"][0] == pytest.approx((0.5 + 0.7) / 2)
    # One that diverged is an outcome, with its snapshots, and without a network at its end.
    assert shown["RR/2", "0.2"]["selected/val/base"] == (pytest.approx((0.4 + 0.2) / 2), 1)
    assert shown["RR/2", "0.2"]["selected/last epoch"] == (pytest.approx(0.4), 1)
    assert "selected/val/base" not in shown["PN", "0.01"]


def drawn():
    panel = Panel("PN / $\\bad$ 学 " + "long " * 60, lambda axes: axes.plot([1, 2], label="a"))
    first = Figure("trade-off", "What it *shows*.", ["a"], [panel, panel], True)
    return [first, Figure("mixtures", "Others.", ["a"], [Panel("", lambda axes: None)])]


def test_figures_are_images(view):
    rebuild(view, [PN], figures=drawn())
    events = read(view / "report")
    tags = [tag for tag in events.Tags()["tensors"] if tag.startswith("figures")]
    assert len(tags) == 3
    for tag in tags:
        (event,) = events.Tensors(tag)
        assert event.step == 0
        wide, tall, png = event.tensor_proto.string_val
        with Image.open(io.BytesIO(png)) as picture:
            assert picture.format == "PNG"
            assert picture.size == (int(wide), int(tall))
        assert 600 <= int(wide) <= 1000
        assert 400 <= int(tall) <= 1000
    provider, ask = tensorboards_own(view)
    about = {"experiment_id": "", "plugin_name": "images"}
    shown = provider.read_blob_sequences(ask, **about, downsample=10)["report"]
    assert len(shown) == 3
    for (sequence,) in shown.values():
        _, _, picture = sequence.values
        assert provider.read_blob(ask, blob_key=picture.blob_key).startswith(b"\x89PNG")


def test_a_live_view_grows_epoch_by_epoch(view, snapshot):
    live, folder = LiveView(view, [NOTHING, PN]), view / "PN/lr=0.5/seed-0"
    live.started(NOTHING.trial)
    # An epoch that is heard of twice is shown once.
    for epoch, accuracy in ((1, 0.5), (2, 0.6), (2, 0.9), (3, 0.7)):
        live.measured(NOTHING.trial, record(epoch, accuracy))
        assert len(series(folder, f"{CARDS}/NovelGen")) == epoch
    live.failed_once(NOTHING.trial, "a node died")
    live.ended(NOTHING.trial, TrialEnd("done"))
    assert "\n".join(text_of(folder)) == snapshot


def test_rebuilding_is_repeatable_and_repairs_what_a_kill_left(tmp_path, view):
    def files():
        return {p.relative_to(tmp_path): p.read_bytes() for p in tmp_path.rglob(FILE)}

    rebuild(view, [PN, RR], figures=drawn())
    first = files()
    # Killed between the two renames, with a half-written new view next to it.
    shutil.move(view, tmp_path / "tb.old")
    (tmp_path / "tb.new").mkdir()
    (tmp_path / "tb.new" / FILE).write_bytes(b"half")
    rebuild(view, [PN, RR], figures=drawn())
    assert files() == first
    assert [p.name for p in tmp_path.iterdir()] == ["tb"]
    # An event that was written halfway; live events follow.
    folder = view / "PN/lr=0.1/seed-0"
    (folder / FILE).write_bytes((folder / FILE).read_bytes()[:-200])
    assert len(series(folder, f"{CARDS}/NovelGen")) < 3
    LiveView(view, [PN]).measured(PN.trial, record(4, 0.8))
    assert series(folder, f"{CARDS}/NovelGen") == [(1, 0.4), (2, 0.5), (3, 0.45), (4, 0.8)]


def test_a_folder_with_other_files_is_not_replaced(view):
    view.mkdir()
    (view / "thesis.tex").write_text("dear")
    with pytest.raises(RunFolderError, match=r"thesis\.tex"):
        rebuild(view, [PN])
    assert (view / "thesis.tex").read_text() == "dear"
    with pytest.raises(RunFolderError, match="cannot be written"):
        rebuild(view / "thesis.tex" / "tb", [PN])


def test_names_are_distinct_and_stay_inside():
    long = "x" * 200
    both = [trial("..", long + end, base=[0.5], val=[0.5], novel=[0.5]) for end in "ab"]
    of = places([*both, trial("A", "1", fold=2)])
    names = [place.run for place in of]
    assert len(set(names)) == 3
    assert all(part not in ("", ".", "..") for name in names for part in name.split("/"))
    assert (names[2], of[2].cards) == ("A/lr=1/seed-0-fold-2", "seeds and folds of A lr=1")


@pytest.mark.timeout(60)
@pytest.mark.parametrize("kind", hostile.KINDS)
@pytest.mark.parametrize(
    "where", ["tensorboard", "tensorboard.new", "tensorboard.old", f"tensorboard/{FILE}"]
)
def test_a_view_is_not_written_through_what_is_no_file_of_it(tmp_path, where, kind):
    run, secret, other = tmp_path / "run", tmp_path / "secret", tmp_path / "other"
    path = run / where
    path.parent.mkdir(parents=True)
    if kind == "link" and path.name != FILE:  # a folder of another view
        other.mkdir()
        (other / FILE).write_bytes(b"events")
        path.symlink_to(other)
    else:
        hostile.put(kind, path, secret)
    if kind == "folder":  # as good as a view
        rebuild(run / "tensorboard", [PN])
        return
    before = hostile.state(tmp_path)
    with pytest.raises(RunFolderError, match="that no TensorBoard view holds"):
        rebuild(run / "tensorboard", [PN])
    assert hostile.state(tmp_path) == before
