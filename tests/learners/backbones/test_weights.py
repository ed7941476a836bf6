"""Weights from a file reach every backbone as they are, and those of another network none."""

import hashlib

import pytest
import safetensors.torch
import torch
from small import build, equal, images, narrow, network
from torch import nn

from fsl_sweep.learners.backbones.catalogue import BACKBONES
from fsl_sweep.learners.backbones.torchvision_guard import load_torchvision
from fsl_sweep.learners.batches import EpisodeBatch, LabelledBatch
from fsl_sweep.learners.building import build_backbone
from fsl_sweep.learners.catalogue import LEARNERS
from fsl_sweep.orchestrator.errors import ConfigError, MachineFailure

SHAPE = 3, 16, 16
RESNET, SHUFFLENET = "torchvision:resnet18", "torchvision:shufflenet_v2_x0_5"
TIMM = ["timm:tf_efficientnet_lite0", "timm:vit_tiny_patch16_224"]
OURS = [name for name in BACKBONES.names() if BACKBONES.find(name).cls.has_weights]
IMAGES = images(4, *SHAPE)


def drawn(name, seed=1, **options):
    """A backbone in evaluation mode whose running averages come from other images."""
    built = network(name, SHAPE, seed, **options)
    built(torch.randn(8, *SHAPE))
    return built.eval()


def started(name, path, **options):
    built, unused = build_backbone({"name": name, "weights": str(path), **options}, SHAPE)
    return built.eval(), unused


@pytest.mark.parametrize("name", [*OURS, SHUFFLENET, "torchvision:mnasnet0_5", *TIMM])
def test_weights_of_a_snapshot_give_every_backbone_the_same_features(name, tmp_path, monkeypatch):
    narrow(monkeypatch)
    learner = build("supervised", {"name": name}, SHAPE)
    learner.backbone(torch.randn(8, *SHAPE))
    path = tmp_path / "0005.safetensors"
    path.write_bytes(safetensors.torch.save(learner.state_dict()))
    restarted, unused = started(name, path)
    assert unused == ["classifier.bias", "classifier.weight"]
    if name == "resnet12":  # the drop schedule is not taken over
        assert (int(restarted.drop.step), restarted.drop.rate) == (0, 0.0)
    with torch.inference_mode():
        expected = learner.eval().backbone(IMAGES)
        assert torch.equal(restarted(IMAGES), expected)
        assert not torch.equal(network(name, SHAPE, seed=9).eval()(IMAGES), expected)


FORMS = {
    "": lambda state: state,
    "module.": lambda state: {"epoch": 3, "state_dict": state, "optimizer": {"lr": 0.1}},
    "module.encoder_q.": lambda state: {"model": state},
}


@pytest.mark.parametrize("prefix", FORMS)
def test_published_forms_are_read_and_a_classifier_is_named_and_left(prefix, tmp_path):
    published = drawn(SHUFFLENET)
    head = {"fc.weight": torch.ones(7, 1024), "fc.bias": torch.zeros(7)}
    state = {prefix + name: t for name, t in {**published.network.state_dict(), **head}.items()}
    torch.save(FORMS[prefix](state), tmp_path / "w.pth")
    restarted, unused = started(SHUFFLENET, tmp_path / "w.pth")
    assert unused == [f"{prefix}fc.bias", f"{prefix}fc.weight"]
    with torch.inference_mode():
        assert torch.equal(restarted(IMAGES), published(IMAGES))


def test_what_is_no_file_of_this_networks_weights_is_refused_by_what_it_holds(tmp_path, snapshot):
    state = drawn("conv4").state_dict()
    deeper = load_torchvision("torchvision.models").resnet34().state_dict()
    contents = {
        "narrower": (state, {"width": 4}),
        "deeper": (deeper, {"name": RESNET}),
        "missing": ({k: t for k, t in state.items() if k[:10] != "blocks.3.1"}, {}),
        "two networks": ({f"{who}.{k}": t for who in ("a", "b") for k, t in state.items()}, {}),
        "a module": (nn.Linear(2, 2), {}),
        "no names": (torch.ones(3), {}),
        "another wrapper": ({"teacher": {"a": torch.ones(1)}}, {}),
        "sparse": ({k: t.to_sparse() if t.ndim == 4 else t for k, t in state.items()}, {}),
        "meta": ({k: t.to("meta") for k, t in state.items()}, {}),
        "text.safetensors": (b"PK no weights", {}),
        "text": (b"no weights", {}),
    }
    problems = {}
    for name, (content, options) in contents.items():
        path = tmp_path / name
        path.write_bytes(content) if isinstance(content, bytes) else torch.save(content, path)
        with pytest.raises(ConfigError) as caught:
            started(**{"name": "conv4", **options}, path=path)
        assert caught.value.path == "backbone.weights"
        problems[name] = caught.value.problem.replace(str(path), "FILE")
    assert problems == snapshot


def test_a_file_that_was_changed_since_planning_stops_the_machine(tmp_path):
    path = tmp_path / "w.safetensors"
    path.write_bytes(safetensors.torch.save(drawn("conv4").state_dict()))
    checksum = hashlib.sha256(path.read_bytes()).hexdigest()
    started("conv4", path, weights_sha256=checksum)
    path.write_bytes(safetensors.torch.save(drawn("conv4", 2).state_dict()))
    with pytest.raises(MachineFailure, match="not those that the sweep was planned with"):
        started("conv4", path, weights_sha256=checksum)
    path.unlink()
    with pytest.raises(MachineFailure, match="cannot be read: No such file"):
        started("conv4", path, weights_sha256=checksum)


TRAINED = [n for n in LEARNERS.names() if n not in ("metadl", "finetune", "metadelta")]


@pytest.mark.parametrize(
    ("name", "backbone"),
    [
        *((name, "conv4") for name in TRAINED),
        ("ridge", "resnet12"),
        ("ridge", TIMM[0]),
    ],
)
def test_no_learner_trains_a_frozen_backbone(name, backbone):
    options = {"batch_norm": "running"} if "maml" in name else {}
    learner = build(name, {"name": backbone, "frozen": True}, SHAPE, **options).train()
    before = {key: value.clone() for key, value in learner.backbone.state_dict().items()}
    descent = torch.optim.SGD(learner.parameters(), lr=0.1, weight_decay=0.1)
    pictures = IMAGES[:1].repeat(30, 1, 1, 1) + torch.arange(30).view(30, 1, 1, 1)
    batches = {
        "batches": LabelledBatch(pictures, torch.arange(30) % 5),
        "episodes": EpisodeBatch(*pictures.view(2, 5, 3, *SHAPE).split((1, 2), dim=2)),
    }
    for kind, batch in batches.items():
        if kind in learner.trains_on and (loss := learner.training_loss(batch)).requires_grad:
            loss.backward()
            descent.step()
    assert not learner.backbone(IMAGES).requires_grad
    assert equal(learner.backbone.state_dict(), before)  # running averages and counters too
