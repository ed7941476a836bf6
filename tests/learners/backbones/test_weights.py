"""Weights from a file reach every backbone as they are, and those of another network none."""

import copy
import hashlib

import pytest
import safetensors.torch
import torch
from torch import nn

from fsl_sweep.learners.backbones.catalogue import BACKBONES
from fsl_sweep.learners.backbones.torchvision_guard import load_torchvision
from fsl_sweep.learners.batches import EpisodeBatch, LabelledBatch
from fsl_sweep.learners.building import build_backbone, build_learner
from fsl_sweep.learners.catalogue import LEARNERS
from fsl_sweep.orchestrator.errors import ConfigError, MachineFailure

SHAPE = (3, 16, 16)
EXTRA = [
    "torchvision:resnet18",
    "torchvision:mnasnet0_5",
    "timm:tf_efficientnet_lite0",
    "timm:vit_tiny_patch16_224",
]
EVERY = [*(n for n in BACKBONES.names() if BACKBONES.find(n).cls.has_weights), *EXTRA]
IMAGES = torch.randn(4, *SHAPE, generator=torch.Generator().manual_seed(1))


def drawn(name, seed=1, **options):
    """A backbone whose weights come from the seed, its running averages from other images."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        built, _ = build_backbone({"name": name, **options}, SHAPE)
        built.train()(torch.randn(8, *SHAPE))
    return built.eval()


def started(name, path, **options):
    return build_backbone({"name": name, "weights": str(path), **options}, SHAPE)


def refused(name, path, **options):
    with pytest.raises(ConfigError) as caught:
        started(name, path, **options)
    assert caught.value.path == "backbone.weights"
    return caught.value.problem.replace(str(path), "FILE")


def saved(path, state):
    torch.save(state, path)
    return path


@pytest.mark.parametrize("name", EVERY)
def test_weights_of_a_snapshot_give_every_backbone_the_same_features(name, tmp_path):
    learner = build_learner({"name": "supervised"}, {"name": name}, SHAPE, 5, 0)
    learner.train().backbone(torch.randn(8, *SHAPE))
    other = build_backbone({"name": name}, SHAPE)[0].eval()
    path = tmp_path / "0005.safetensors"
    path.write_bytes(safetensors.torch.save(learner.state_dict()))
    found, unused = started(name, path)
    assert unused == ["classifier.bias", "classifier.weight"]
    with torch.inference_mode():
        expected = learner.backbone.eval()(IMAGES)
        assert torch.equal(found.eval()(IMAGES), expected)
        assert not torch.equal(other(IMAGES), expected)


FORMS = {
    "": lambda state: state,
    "module.": lambda state: {"epoch": 3, "state_dict": state, "optimizer": {"lr": 0.1}},
    "module.encoder_q.": lambda state: {"model": state},
}


@pytest.mark.parametrize("prefix", FORMS)
def test_published_forms_are_read_and_a_classifier_is_named_and_left(prefix, tmp_path):
    own = drawn("torchvision:resnet18")
    head = {"fc.weight": torch.ones(7, 512), "fc.bias": torch.zeros(7)}
    state = {prefix + name: t for name, t in {**own.network.state_dict(), **head}.items()}
    path = saved(tmp_path / "w.pth", FORMS[prefix](state))
    found, unused = started("torchvision:resnet18", path)
    assert unused == [f"{prefix}fc.bias", f"{prefix}fc.weight"]
    with torch.inference_mode():
        assert torch.equal(found.eval()(IMAGES), own(IMAGES))


def test_the_drop_schedule_of_a_snapshot_is_not_taken_over(tmp_path):
    path = saved(tmp_path / "w.pt", drawn("resnet12").state_dict())
    found, unused = started("resnet12", path)
    assert (int(found.drop.step), found.drop.rate, unused) == (0, 0.0, [])


def test_weights_of_another_architecture_are_refused_by_name(tmp_path):
    state = drawn("conv4", width=8).state_dict()
    narrow = saved(tmp_path / "narrow.pt", state)
    assert refused("conv4", narrow, width=4) == (
        "'FILE' holds weights of another architecture: 24 of 24 of another shape "
        "(blocks.0.0.weight: [8, 3, 3, 3], not [4, 3, 3, 3], blocks.0.0.bias: [8], not [4], "
        "blocks.0.1.weight: [8], not [4], and 21 more). Choose the backbone, with its options, "
        "that they were trained with"
    )
    del state["blocks.3.1.bias"], state["blocks.3.1.weight"]
    part = saved(tmp_path / "part.pt", state)
    found = refused("conv4", part, width=8)
    assert ": 2 of 24 missing (blocks.3.1.weight, blocks.3.1.bias). Choose" in found


def test_a_deeper_network_that_holds_the_whole_of_another_is_refused(tmp_path):
    deeper = load_torchvision("torchvision.models").resnet34(weights=None)
    path = saved(tmp_path / "resnet34.pth", deeper.state_dict())
    problem = refused("torchvision:resnet18", path)
    assert "superfluous (layer1.2.bn1.bias, " in problem
    assert "missing" not in problem


def test_two_networks_in_a_file_are_not_guessed_between(tmp_path):
    state = drawn("conv4").state_dict().items()
    both = {f"{one}.{name}": tensor for one in ("student", "teacher") for name, tensor in state}
    assert refused("conv4", saved(tmp_path / "w.pt", both)) == (
        "'FILE' holds several networks of this kind, whose names begin with 'student.', "
        "'teacher.'; save only one of them in a file"
    )


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("w.safetensors", b"PK no weights", "is not a file of weights that safetensors can read; "),
        ("w.pt", b"no weights", "weights that torch.load(weights_only=True) can read; save only"),
        ("w.pt", nn.Linear(2, 2), "weights that torch.load(weights_only=True) can read; save only"),
        ("w.pt", {"teacher": {"a": torch.ones(1)}}, "no named weights (keys: teacher)"),
        ("w.pt", torch.ones(3), "no named weights (Tensor)"),
    ],
)
def test_what_is_no_file_of_weights_is_refused(tmp_path, name, content, problem):
    path = tmp_path / name
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        saved(path, content)
    assert problem in refused("conv4", path)


def test_numbers_that_are_not_finite_are_refused(tmp_path):
    state = drawn("conv4").state_dict()
    state["blocks.2.0.bias"][3] = torch.nan
    path = saved(tmp_path / "w.pt", state)
    assert refused("conv4", path) == "'FILE' holds numbers that are not finite: blocks.2.0.bias"


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


@pytest.mark.parametrize("name", ["conv4", "resnet12", "timm:tf_efficientnet_lite0"])
def test_a_frozen_backbone_stays_as_it_is(name):
    learner, other = (
        build_learner({"name": "ridge"}, {"name": name, "frozen": frozen}, SHAPE, 5, 0)
        for frozen in (True, False)
    )
    features = learner.train().embed(IMAGES)
    assert torch.equal(features, other.eval().embed(IMAGES))
    assert not features.requires_grad
    state = other.state_dict()  # as it was built: running averages and counters too
    assert all(torch.equal(tensor, state[key]) for key, tensor in learner.state_dict().items())
    assert [n for n, p in learner.named_parameters() if p.requires_grad] == ["scale"]


TRAINED = [n for n in LEARNERS.names() if n not in ("metadl", "finetune", "metadelta")]


@pytest.mark.parametrize("name", TRAINED)
def test_no_learner_trains_a_frozen_backbone(name):
    options = {"batch_norm": "running"} if "maml" in name else {}
    backbone = {"name": "conv4", "width": 4, "frozen": True}
    learner = build_learner({"name": name, **options}, backbone, SHAPE, 5, 0).train()
    before = copy.deepcopy(learner.backbone.state_dict())
    descent = torch.optim.SGD(learner.parameters(), lr=0.1, weight_decay=0.1)
    images = IMAGES[:1].repeat(30, 1, 1, 1) + torch.arange(30).view(30, 1, 1, 1)
    batches = {
        "batches": LabelledBatch(images, torch.arange(30) % 5),
        "episodes": EpisodeBatch(*images.view(2, 5, 3, *SHAPE).split((1, 2), dim=2)),
    }
    for kind, batch in batches.items():
        if kind in learner.trains_on and (loss := learner.training_loss(batch)).requires_grad:
            loss.backward()
            descent.step()
    for key, tensor in learner.backbone.state_dict().items():
        assert torch.equal(tensor, before[key])
    assert all(parameter.grad is None for parameter in learner.backbone.parameters())
