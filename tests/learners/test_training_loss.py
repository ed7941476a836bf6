import numpy as np
import pytest
import torch
from scipy.special import log_softmax

from fsl_sweep.learners.base import EpisodeBatch, LabelledBatch
from fsl_sweep.learners.building import build_learner


def images(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def episodes(tasks=2, way=3, shot=2, query=4, image=(1, 16, 16), seed=0):
    return EpisodeBatch(
        images(tasks, way, shot, *image, seed=seed),
        images(tasks, way, query, *image, seed=seed + 1),
    )


def test_label_smoothing_shares_among_the_other_classes():
    learner = build_learner(
        {"name": "ridge", "label_smoothing": 0.1}, {"name": "identity"}, (1, 4, 4), 7, seed=0
    )
    batch = episodes(image=(1, 4, 4))
    logits = learner.head(batch.support.flatten(3), batch.query.flatten(3).flatten(1, 2))
    logp = log_softmax(logits.detach().numpy(), axis=-1).reshape(-1, 3)
    target = np.full((24, 3), 0.1 / 2)
    target[np.arange(24), np.tile(np.repeat(np.arange(3), 4), 2)] = 0.9
    expected = -(target * logp).sum(axis=1).mean()
    np.testing.assert_allclose(learner.training_loss(batch).item(), expected, rtol=1e-5)


def test_meta_baseline_continues_with_ten_times_the_cosine_to_unit_norm_centroids():
    learner = build_learner({"name": "meta-baseline"}, {"name": "identity"}, (1, 4, 4), 7, seed=0)
    batch = episodes(image=(1, 4, 4))
    losses = []
    for task in range(2):
        support = batch.support[task].reshape(3, 2, 16).numpy()
        support /= np.linalg.norm(support, axis=-1, keepdims=True)
        centres = support.mean(axis=1)
        centres /= np.linalg.norm(centres, axis=-1, keepdims=True)
        query = batch.query[task].reshape(12, 16).numpy()
        query /= np.linalg.norm(query, axis=-1, keepdims=True)
        logp = log_softmax(10 * query @ centres.T, axis=1)
        losses.append(-logp[np.arange(12), np.repeat(np.arange(3), 4)].mean())
    loss = learner.training_loss(batch)
    np.testing.assert_allclose(loss.item(), np.mean(losses), rtol=1e-5)
    loss.backward()
    assert learner.temperature.grad.abs() > 0


def test_supervised_loss_is_cross_entropy_over_unit_norm_features_times_ten():
    learner = build_learner({"name": "supervised"}, {"name": "identity"}, (1, 4, 4), 7, seed=0)
    batch = LabelledBatch(images(9, 1, 4, 4), torch.arange(9) % 7)
    features = batch.images.reshape(9, 16).numpy()
    features /= np.linalg.norm(features, axis=1, keepdims=True)
    weight, bias = (p.detach().numpy() for p in learner.classifier.parameters())
    logits = 10 * (features @ weight.T + bias)
    expected = -log_softmax(logits, axis=1)[np.arange(9), np.arange(9) % 7].mean()
    np.testing.assert_allclose(learner.training_loss(batch).item(), expected, rtol=1e-5)


@pytest.mark.parametrize("name", ["supervised", "meta-baseline"])
def test_the_classifier_of_base_classes_begins_without_a_bias(name):
    learner = build_learner({"name": name}, {"name": "identity"}, (1, 4, 4), 7, seed=0)
    assert learner.classifier.bias.tolist() == [0.0] * 7
    assert learner.classifier.weight.std() > 0


@pytest.mark.parametrize(
    "name", ["protonet", "ridge", "supervised", "classifier", "fomaml", "maml"]
)
def test_training_under_bfloat16_gives_a_float32_loss_and_gradients(name):
    options = {"name": name, "way": 3} if name.endswith("maml") else {"name": name}
    learner = build_learner(options, {"name": "conv4", "width": 8}, (1, 16, 16), 6, seed=0)
    batch = (
        episodes()
        if learner.trains_on == "episodes"
        else LabelledBatch(images(12, 1, 16, 16), torch.arange(12) % 6)
    )
    exact = learner.training_loss(batch).item()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = learner.training_loss(batch)
    loss.backward()
    assert loss.dtype == torch.float32
    assert abs(loss.item() - exact) < 0.2
    assert all(p.grad.isfinite().all() for p in learner.parameters() if p.requires_grad)
