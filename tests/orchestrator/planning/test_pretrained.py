"""Backbones that start from a file: how they are planned, what is refused, what the report says."""

import hashlib
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
import yaml
from made import benchmark, main_of, trainable
from planning_of import SMALL, changed, mistake

from fsl_sweep.learners.backbones.base import Backbone
from fsl_sweep.learners.building import build_backbone
from fsl_sweep.learners.options import Options
from fsl_sweep.orchestrator.cli import invoke
from fsl_sweep.orchestrator.ledger.ledger import Ledger
from fsl_sweep.orchestrator.measuring.images import PoolImages
from fsl_sweep.orchestrator.measuring.snapshots import Measuring
from fsl_sweep.orchestrator.planning.feasibility import check_feasible
from fsl_sweep.orchestrator.planning.plan_sweep import plan_sweep
from fsl_sweep.orchestrator.planning.prepare import opened_plan
from fsl_sweep.orchestrator.records.protocol import MAIN
from fsl_sweep.orchestrator.run import load_run
from fsl_sweep.orchestrator.sweepfile.reading import load_sweep
from fsl_sweep.orchestrator.trial.trial import Trial

STARTS = (
    "M: its backbone starts from the weights 'w.pt'; if these were trained on images of the val or "
    "novel classes, ValGen or NovelGen is not accuracy on new classes"
)
CONV = {"name": "conv4", "width": 8}


def save_weights(path, seed=0, shape=(1, 16, 16), **more):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        torch.save({**build_backbone(CONV, shape)[0].state_dict(), **more}, path)


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A current folder with a file of weights."""
    monkeypatch.chdir(tmp_path)
    save_weights(tmp_path / "w.pt")
    return tmp_path


def write(path, backbone, learner, *changes):
    """A sweep file of images of 16 pixels, with options of the backbone and another learner."""
    section = f"defaults.backbone={{name: conv4, width: 8{backbone}}}"
    images = "benchmark={name: glyphs, image_size: 16}"
    tree = changed(SMALL, images, section, f"M.learner={{name: {learner}}}", *changes)
    Path(path).write_text(yaml.safe_dump(tree, sort_keys=False))


def planned(backbone="", learner="ncc", *changes):
    untrained = () if "maml" in learner else ("M.train",)
    write("s.yaml", backbone, learner, *untrained, *changes)
    return plan_sweep(load_sweep("s.yaml"))


FROZEN = ", weights: w.pt, frozen: true"


def test_a_trials_id_follows_the_content_of_the_file(place):
    first = planned(FROZEN)
    (trial,) = first.trials
    assert trial.spec.backbone.options == {
        **{"width": 8, "weights": str(place / "w.pt"), "frozen": True},
        "weights_sha256": hashlib.sha256((place / "w.pt").read_bytes()).hexdigest(),
    }
    assert planned(FROZEN).trials == first.trials
    save_weights(place / "w.pt", seed=1)
    assert planned(FROZEN).trials[0].id != trial.id


def test_what_is_unset_stays_out_of_ids(place):
    for backbone in ("", ", frozen: false, normalisation: benchmark"):
        (trial,) = planned(backbone).trials
        assert trial.spec.backbone.options == {"width": 8}


@pytest.mark.parametrize(
    "learner", ["protonet", "ncc", "metadelta, encoders: 1", "ridge, learn_scale: false"]
)
def test_a_frozen_backbone_leaves_most_learners_nothing_to_train(place, learner):
    (trial,) = planned(FROZEN, learner).trials
    assert (trial.spec.optimizer, trial.spec.epochs, trial.spec.train) == (None, 1, None)
    assert trial.draws_nothing
    random = planned(", frozen: true", learner)
    (drawn,) = random.trials
    assert (drawn.spec.train, drawn.draws_nothing) == (None, False)
    assert random.cautions == (
        "M: its backbone is frozen at random weights, because no file is given",
    )


def test_a_head_that_adapts_is_still_allowed(place):
    assert planned(FROZEN, "finetune, backbone_lr: 0").trials[0].spec.train is None
    (trial,) = planned(FROZEN, "fomaml, way: 3, batch_norm: running").trials
    assert trial.spec.train is not None


def test_timm_that_is_missing_is_asked_for(place, monkeypatch):
    monkeypatch.setitem(sys.modules, "timm", None)
    assert mistake(planned, "", "ncc", "defaults.backbone={name: 'timm:resnet10t'}") == (
        "s.yaml: defaults.backbone.name: models of timm need that package, which is not installed: "
        "pip install 'fsl-sweep[backbones]'"
    )


def test_weights_of_another_network_stop_a_run_and_a_dry_run(place, capsys):
    save_weights(place / "w.pt", shape=(3, 16, 16))
    planned(f"{FROZEN}, normalisation: benchmark")
    for command in (["run", "s.yaml", "--dry-run"], ["trial", "s.yaml", "--index", "0"]):
        assert invoke(command) == 2
        shown = capsys.readouterr()
        assert "M: backbone.weights: '" in shown.err
        assert "1 of 24 of another shape (blocks.0.0.weight: [8, 3, 3, 3], not [8, 1" in shown.err
        assert "Traceback" not in shown.err
        assert ("caution: " + STARTS in shown.out) == ("run" in command)
    assert not (place / "runs" / "tiny" / "trials").exists()


def test_the_report_says_what_the_weights_may_have_seen(place):
    save_weights(place / "w.pt", **{"fc.weight": torch.ones(3, 8), "fc.bias": torch.ones(3)})
    plan, data = planned(FROZEN), benchmark()
    assert plan.cautions[0] == STARTS
    assert plan.cautions[1].startswith("M: images are normalised by this benchmark's training im")
    unused = check_feasible(plan, {MAIN: data})[-1]
    assert unused == "the weights 'w.pt' hold 2 more tensors, not used: fc.bias, fc.weight"
    ledger = Ledger(place / "run")
    plan = opened_plan(plan, {MAIN: data})
    ledger.write_plan(plan, "")
    (trial,) = plan.trials
    list(Trial(trial.spec, ledger.trial(trial.id), data, plan.main).run())
    assert STARTS in " ".join(load_run(place / "run").report().cautions)


def test_only_the_scale_of_a_learner_with_a_frozen_backbone_is_trained(place):
    backbone = {**CONV, "weights": str(place / "w.pt"), "frozen": True}
    spec, data = trainable(learner={"name": "ridge"}, backbone=backbone), benchmark()
    training = Trial(spec, Ledger(place).trial(spec.id), data, main_of(data))._training()
    assert all(loss.isfinite() for loss in training.epoch(1))
    given = torch.load(place / "w.pt")
    found = training.learner.backbone.state_dict()
    assert all(torch.equal(found[name], given[name]) for name in given)
    assert training.learner.scale.item() != 1.0
    names = [name for name, _ in training.learner.named_parameters()]
    assert [names[number] for number in training.state()["optimizer"]["state"]] == ["scale"]


def test_of_a_snapshot_only_another_normalisation_is_told(place):
    spec, data = trainable(epochs=1), benchmark()
    list(Trial(spec, Ledger(place / "first").trial(spec.id), data, main_of(data)).run())
    weights = f"first/trials/{spec.id}/snapshots/0001.safetensors"
    same = planned(f", weights: {weights}, frozen: true")
    assert same.cautions == (STARTS.replace("w.pt", weights),)
    unused = f"the weights '{weights}' hold 1 more tensor, not used: scale"
    assert check_feasible(same, {MAIN: data}) == (unused,)
    other = planned(
        f", weights: {weights}, normalisation: {{mean: [0.25], std: [0.5]}}, frozen: true"
    )
    mean, std = f"{data.pixel_mean[0]:.3g}", f"{data.pixel_std[0]:.3g}"
    assert check_feasible(other, {MAIN: data}) == (
        unused,
        f"the weights '{weights}' were trained on images normalised by {{mean: [{mean}], std: "
        f"[{std}]}}, and these are normalised by {{mean: [0.25], std: [0.5]}}; write the former as "
        "backbone.normalisation",
    )


def test_a_snapshot_is_measured_again_without_the_file_that_it_began_with(place):
    normalised = {"mean": [0.2], "std": [0.7]}
    backbone = {**CONV, "weights": str(place / "w.pt"), "normalisation": normalised}
    spec, data = trainable(backbone=backbone, epochs=1), benchmark()
    storage, main = Ledger(place / "run").trial(spec.id), main_of(data)
    list(Trial(spec, storage, data, main).run())
    path = storage.folder.path / "measured" / f"{main.id}.parquet"
    before = path.read_bytes()
    (place / "w.pt").unlink()
    path.unlink()
    end = storage.folder.read_json("end.json")
    storage.folder.write_json("end.json", {**end, "measured": {}})
    assert storage.to_measure(main.id) == [1]
    list(Measuring(spec, storage, {MAIN: data}, {1: [main]}, torch.device("cpu")).run())
    assert path.read_bytes() == before


def test_images_are_normalised_as_the_backbone_says(tmp_path):
    spec = trainable(backbone={**CONV, "normalisation": {"mean": [0.25], "std": [0.5]}})
    data = benchmark()
    trial = Trial(spec, Ledger(tmp_path).trial(spec.id), data, main_of(data))
    images = PoolImages(data.train.pool, trial.benchmark, torch.device("cpu"))
    expected = (data.train.pool.images[:3] / 255 - 0.25) / 0.5
    found = images.normalised(images.unit(np.arange(3))).numpy()
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_a_backbone_cannot_take_the_name_of_a_common_option():
    class Own(Options):
        frozen: int = 0

    with pytest.raises(TypeError, match="frozen: every backbone has options of these names"):
        type("Mine", (Backbone,), {"Options": Own})
