"""How much is measured at once changes the time that it takes, and no number."""

import numpy as np
import pytest
import torch
from made import benchmark, trainable
from trained import CPU, drawn, measured

from fsl_sweep.learners.at_once import AtOnce, at_once
from fsl_sweep.learners.building import build_learner
from fsl_sweep.orchestrator.measuring import images
from fsl_sweep.orchestrator.trial.training import Training
from fsl_sweep.orchestrator.trial.trial import use_threads

CONV = {"name": "conv4", "width": 8}


@pytest.fixture(scope="module")
def data():
    use_threads(1)
    return benchmark(image_size=20)


@pytest.fixture(scope="module")
def tasks(data):
    return drawn(data, 50, 30)


@pytest.fixture(scope="module")
def trained(data):
    """Two heads over one network with weights and running averages of some steps of training."""
    spec = trainable(backbone=CONV, batches=10)
    learner, ridge = (
        build_learner({"name": name}, CONV, data.image_shape, 12, 0)
        for name in ("protonet", "ridge")
    )
    list(Training(spec, data, learner, CPU).epoch(1))
    ridge.backbone.load_state_dict(learner.backbone.state_dict())
    return learner, ridge


def test_sizes_follow_from_the_device_and_the_images():
    small, large = at_once(CPU, (3, 32, 32)), at_once(CPU, (3, 84, 84))
    assert (small.images, large.images) == (32, 16)
    assert small.floats == large.floats == 2**20
    assert at_once(CPU, (640, 1, 1)).images == 512  # features
    for shape in [(1, 28, 28), (3, 84, 84)]:
        assert at_once(torch.device("cuda", 1), shape).images == 512
        assert at_once(torch.device("cuda", 1), shape).floats == 2**25


# Chunks of another size give features that differ in their last bits (another kernel is chosen), so
# that a query halfway between two classes could change sides; none of these does.
@pytest.mark.parametrize("size", [7, 512])
def test_counts_are_the_same_in_chunks_of_any_size(data, tasks, trained, size, monkeypatch):
    usual = [measured(data, tasks, learner) for learner in trained]
    monkeypatch.setattr(images, "at_once", lambda *_: AtOnce(size, floats=8 * size, adapted=size))
    for learner, scores in zip(trained, usual, strict=True):
        found = measured(data, tasks, learner)
        for key, expected in scores.items():
            assert found[key].correct.tolist() == expected.correct.tolist()


def test_an_images_features_depend_on_no_other_image(data, trained):
    """To the last bit: the last chunk is no smaller than the others."""
    learner = trained[0].eval()
    pool = images.PoolImages(data.novel.pool, data, CPU)
    indices = np.random.default_rng(0).permutation(70)
    with torch.inference_mode():
        all_of_them = pool.through(learner.embed, indices)
        assert len(all_of_them) == 70
        for number in (1, 2, 31, 33):
            part = pool.through(learner.embed, indices[-number:])
            assert torch.equal(part, all_of_them[-number:])
