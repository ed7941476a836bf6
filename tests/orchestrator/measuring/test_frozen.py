"""Features of frozen backbones are computed once, and give the bytes that computing them gives."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from evaluated import CONV, CPU, built, main
from made import benchmark, trainable
from safetensors.torch import save_file
from trained import content, run

from fsl_sweep.datasets.store.features import LIMIT
from fsl_sweep.learners.backbones.conv4 import Conv4
from fsl_sweep.learners.methods.protonet import Protonet
from fsl_sweep.learners.snapshot import Description, restored, snapshot_bytes
from fsl_sweep.orchestrator.measuring import frozen
from fsl_sweep.orchestrator.measuring.features import PoolFeatures
from fsl_sweep.orchestrator.measuring.images import PoolImages
from fsl_sweep.orchestrator.measuring.snapshots import Measuring
from fsl_sweep.orchestrator.records.protocol import MAIN, Episode


@pytest.fixture
def passed(tmp_path, monkeypatch):
    """Images that passed through a `Conv4`, with a cache of this test."""
    monkeypatch.setenv("FSL_SWEEP_HOME", str(tmp_path / "home"))
    monkeypatch.setenv(LIMIT, "1")
    seen, forward = [], Conv4.forward

    def noted(self, images):
        seen.append(len(images))
        return forward(self, images)

    monkeypatch.setattr(Conv4, "forward", noted)
    return seen


def pool(data):
    return PoolImages(data.novel.pool, data, CPU)


@pytest.mark.parametrize(
    "backbone",
    [
        CONV,
        {"name": "conv4", "width": 6, "image_size": 40},  # 2 x 2 places, channels last
        {"name": "torchvision:resnet18"},
        {"name": "torchvision:squeezenet1_1", "image_size": 40},
    ],
    ids=lambda backbone: backbone["name"],
)
def test_features_have_the_bits_of_those_that_are_not_kept(backbone, passed, monkeypatch):
    backbone = {**backbone, "frozen": True}
    data = benchmark(image_size=backbone.pop("image_size", 16))
    images, indices = pool(data), np.random.default_rng(0).permutation(288)[:40]
    for name in ("ncc", "protonet"):
        learner = built(data, name, backbone=backbone)
        with torch.inference_mode():
            plain = images.through(learner.embed, indices).float()
        for limit, size in (("1", 9), ("1", 40), ("1", 40), ("0", 33)):
            monkeypatch.setenv(LIMIT, limit)
            rows = np.argsort(indices[:size])
            features = PoolFeatures(learner, images, indices[rows]).features
            assert features.equal(plain[rows])


def key(learner, images):
    return frozen._key(learner.backbone, images)


def test_equal_networks_have_one_key(data):
    """What DropBlock draws in training, and differs from seed to seed, is not what counts."""
    backbone = {"name": "resnet12", "frozen": True}
    learner, other = (built(data, name, backbone=backbone) for name in ("protonet", "ncc"))
    state = learner.backbone.state_dict()
    drawn = {f"drop.{name}": torch.tensor(9) for name in ("seed", "step")}
    assert drawn.keys() < state.keys()
    other.backbone.load_state_dict(state | drawn)
    description = Description(
        learner={"name": "protonet"},
        backbone=backbone,
        image_shape=data.image_shape,
        pixel_mean=data.pixel_mean,
        pixel_std=data.pixel_std,
        holds_features=False,
        n_base_classes=12,
        trial="t",
        epoch=1,
        version="0",
    )
    again = restored(snapshot_bytes(learner, description), "")[0]
    assert len({key(each, pool(data)) for each in (learner, other, again)}) == 1


def test_whatever_changes_features_changes_the_key(data, monkeypatch):
    learner = built(data, "protonet", backbone={**CONV, "frozen": True})
    keys = [key(learner, pool(data))]
    for tensor in learner.backbone.state_dict().values():
        before, last = tensor.clone(), tensor.view(-1)[-1:]
        step = torch.nextafter(last, last + 1) if tensor.is_floating_point() else last + 1
        last.copy_(step)
        keys.append(key(learner, pool(data)))
        tensor.copy_(before)
    assert key(learner, pool(data)) == keys[0]
    wider = built(data, "protonet", backbone={**CONV, "width": 9, "frozen": True})
    keys.append(key(wider, pool(data)))
    another = replace(data.novel.pool, fingerprint="another")
    keys += [key(learner, PoolImages(another, data, CPU))]
    deviations = 0.25, float(np.nextafter(np.float32(0.25), np.float32(1)))
    seen = [replace(data, pixels=((0.25,), (deviation,))) for deviation in deviations]
    keys += [key(learner, pool(of)) for of in (*seen, benchmark(image_size=32))]
    for target, value in (
        ("torch.get_num_threads", lambda: 64),
        ("torch.__config__.show", lambda: "another build"),
        ("torch.get_float32_matmul_precision", lambda: "medium"),
        ("fsl_sweep.orchestrator.measuring.frozen._processor", lambda: ["another"]),
        ("fsl_sweep.orchestrator.measuring.frozen.version_of", lambda _: "9"),
        ("fsl_sweep.orchestrator.measuring.frozen.VERSION", "9"),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(target, value)
            keys.append(key(learner, pool(data)))
    monkeypatch.setenv("ONEDNN_MAX_CPU_ISA", "AVX2")
    keys.append(key(learner, pool(data)))
    assert len({*keys}) == len(keys)


class Doubled(Protonet):
    """A third party's, which does more than pass images through its backbone."""

    def embed(self, images):
        return self.backbone(images) + self.backbone(images.flip(-1))


def test_what_may_change_is_not_kept(passed, tmp_path):
    data = benchmark()
    trained = built(data, "protonet")
    mirrored = built(data, "protonet", backbone={**CONV, "frozen": True})
    mirrored.__class__ = Doubled
    ensemble = built(data, "metadelta", encoders=1, backbone={**CONV, "frozen": True})
    for learner in (trained, mirrored, ensemble):
        for _ in range(2):
            before = len(passed)
            PoolFeatures(learner, pool(data), np.arange(64))
            assert len(passed) - before == (2 if learner is mirrored else 1)
    assert not (tmp_path / "home").exists()


def test_trials_seeds_and_protocols_share_features_and_record_the_same_bytes(
    passed, tmp_path, data, monkeypatch
):
    """Each pool image passes once, and again only in the chunks that are compared."""
    weights = str(tmp_path / "weights.safetensors")
    save_file(built(data, "protonet").backbone.state_dict(), weights)
    start = {**CONV, "weights": weights, "frozen": True}
    nothing = {"train": None, "optimizer": None, "schedule": [], "epochs": 1, "batches": 0}
    specs = [trainable(learner={"name": "ncc"}, backbone=start, seed=s, **nothing) for s in (0, 1)]
    specs.append(trainable(learner={"name": "transfer"}, backbone=start, **nothing))
    specs.append(trainable(learner={"name": "ridge"}, backbone=start, epochs=2, batches=1))
    further = main(data, 6, 30, episode=Episode(way=4, shot=1, query=2))
    further = replace(further, name="further")

    def measured(folder):
        records = []
        for spec in specs:
            storage = run(folder, spec, data)
            todo = {epoch: [further] for epoch in storage.snapshots()}
            [*Measuring(spec, storage, {MAIN: data}, todo, CPU).run()]
            records += [content(storage, data), content(storage, data, further)]
        return records

    monkeypatch.setenv(LIMIT, "0")
    plain = measured(tmp_path / "plain")
    plainly = sum(passed)
    monkeypatch.setenv(LIMIT, "1")
    passed.clear()
    assert measured(tmp_path / "kept") == plain
    # Ten measurements: five snapshots under two protocols. Ridge trains on 2 x 2 passes.
    trained = [size for size in passed if size != 64]
    measuring = sum(passed) - sum(trained)
    used = 64 * -(-len(data.novel.pool) // 64)
    assert measuring <= used + 64 * (10 + 3) < plainly - sum(trained)
    # A bit that flips is found, whichever it is.
    for file in (tmp_path / "home/features").glob("*/*.npy"):
        flipped = bytearray(file.read_bytes())
        flipped[len(flipped) // 2] ^= 1
        file.write_bytes(flipped)
    assert measured(tmp_path / "flipped") == plain
