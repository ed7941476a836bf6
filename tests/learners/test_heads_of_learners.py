"""What holds of the head of every embedding learner, and the formulas of each."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from fsl_sweep.learners.building import build_learner

LEARNERS = [
    {"name": "protonet"},
    {"name": "protonet", "metric": "cosine"},
    {"name": "ridge"},
    {"name": "svm"},
    {"name": "supervised"},
]


def build(learner, features=6):
    return build_learner(learner, {"name": "identity"}, (features, 1, 1), 4, seed=0).double()


def features(seed, way, shot, queries=5, d=6, tasks=2):
    draws = torch.Generator().manual_seed(seed)
    support = torch.randn(tasks, way, shot, d, generator=draws, dtype=torch.float64)
    return support, torch.randn(tasks, queries, d, generator=draws, dtype=torch.float64)


@pytest.mark.parametrize("learner", LEARNERS, ids=str)
@given(seed=st.integers(0, 2**32), way=st.integers(2, 5), shot=st.integers(1, 4))
@settings(max_examples=20, deadline=None)
def test_order_within_a_class_does_not_matter(learner, seed, way, shot):
    support, query = features(seed, way, shot)
    order = np.random.default_rng(seed).permutation(shot)
    head = build(learner).head
    torch.testing.assert_close(head(support[:, :, order], query), head(support, query))


@pytest.mark.parametrize("learner", LEARNERS, ids=str)
@given(seed=st.integers(0, 2**32), way=st.integers(2, 5), shot=st.integers(1, 4))
@settings(max_examples=20, deadline=None)
def test_permuting_the_classes_permutes_the_logits(learner, seed, way, shot):
    support, query = features(seed, way, shot)
    order = np.random.default_rng(seed).permutation(way)
    head = build(learner).head
    torch.testing.assert_close(head(support[:, order], query), head(support, query)[..., order])


@pytest.mark.parametrize("learner", LEARNERS, ids=str)
def test_tasks_do_not_see_each_other(learner):
    support, query = features(1, 3, 2, tasks=3)
    head = build(learner).head
    alone = torch.cat([head(support[i : i + 1], query[i : i + 1]) for i in range(3)])
    torch.testing.assert_close(head(support, query), alone)


@pytest.mark.parametrize("learner", LEARNERS, ids=str)
def test_gradients_of_the_head(learner):
    support, query = (part.requires_grad_() for part in features(2, 3, 2, queries=3, tasks=1))
    assert torch.autograd.gradcheck(build(learner).head, (support, query))


def test_protonet_logits_are_scaled_distances_over_the_feature_length():
    support, query = features(3, 3, 2)
    logits = build({"name": "protonet", "scale": 4.0}).head(support, query).detach().numpy()
    centres = support.numpy().mean(axis=2)
    differences = query.numpy()[:, :, None] - centres[:, None]
    np.testing.assert_allclose(logits, -4 * np.square(differences).sum(-1) / 6, rtol=1e-6)


def test_protonet_defaults_to_the_papers_scale():
    support, query = features(3, 3, 2)
    ten = build({"name": "protonet", "scale": 10.0}).head(support, query)
    assert torch.equal(build({"name": "protonet"}).head(support, query), ten)


def test_protonet_cosine_is_of_the_mean_of_raw_features():
    support, query = features(3, 3, 2)
    logits = build({"name": "protonet", "metric": "cosine"}).head(support, query)
    centres = support.numpy().mean(axis=2)
    expected = np.einsum("tmd,tnd->tmn", query.numpy(), centres)
    expected /= np.linalg.norm(query.numpy(), axis=-1)[..., None]
    expected /= np.linalg.norm(centres, axis=-1)[:, None]
    np.testing.assert_allclose(logits.detach().numpy(), 10 * expected, rtol=1e-6)


def test_ridge_logits_are_the_dual_closed_form_with_the_papers_defaults():
    support, query = features(3, 2, 2)  # 4 examples of 6 features: the dual
    logits = build({"name": "ridge"}).head(support, query).detach().numpy()
    for task in range(2):
        S, Y = support[task].reshape(4, 6).numpy(), np.eye(2).repeat(2, axis=0)
        alpha = 2 * np.linalg.solve(S @ S.T + 50 * np.eye(4), Y)
        np.testing.assert_allclose(logits[task], query[task].numpy() @ S.T @ alpha, rtol=1e-9)


def test_ridge_scale_multiplies_and_its_lambda_counts():
    support, query = features(3, 2, 2)
    plain = build({"name": "ridge"}).head(support, query)
    seven = build({"name": "ridge", "scale": 7.0, "learn_scale": False}).head(support, query)
    torch.testing.assert_close(seven, 7 * plain)
    other = build({"name": "ridge", "lam": 1.0}).head(support, query)
    assert not torch.allclose(other, plain)


def test_ridge_gives_nan_for_a_task_with_nan_features_and_answers_the_others():
    support, query = features(3, 2, 2)
    support[0, 0, 0, 0] = torch.nan
    logits = build({"name": "ridge"}).head(support, query)
    assert logits[0].isnan().all()
    assert logits[1].isfinite().all()


@pytest.mark.parametrize(
    ("learner", "learned"),
    [
        ({"name": "protonet"}, False),
        ({"name": "protonet", "learn_scale": True}, True),
        ({"name": "ridge"}, True),
        ({"name": "ridge", "learn_scale": False}, False),
    ],
    ids=str,
)
def test_the_scale_is_trained_only_where_it_should_be(learner, learned):
    built = build(learner)
    support, query = (part.requires_grad_() for part in features(4, 3, 2))
    built.head(support, query).square().sum().backward()
    assert (built.scale.grad is not None) == learned
    assert "scale" in built.state_dict()


def test_supervised_embeds_to_unit_norm_and_answers_by_the_nearest_mean():
    built = build({"name": "supervised"})
    support, query = features(5, 3, 2)
    embedded = [
        built.embed(part.reshape(-1, 6, 1, 1)).view(part.shape) for part in (support, query)
    ]
    np.testing.assert_allclose(embedded[0].norm(dim=-1).numpy(), 1, rtol=1e-12)
    unit = [part / part.norm(dim=-1, keepdim=True) for part in (support, query)]
    centres = unit[0].numpy().mean(axis=2)
    squared = np.square(unit[1].numpy()[:, :, None] - centres[:, None]).sum(-1)
    np.testing.assert_allclose(built.head(*embedded).numpy(), -10 * squared, rtol=1e-9)
