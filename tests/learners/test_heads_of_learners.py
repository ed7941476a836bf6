"""What holds of the head of every embedding learner, and the formulas of each."""

import numpy as np
import pytest
import torch

from fsl_sweep.learners.building import build_learner
from fsl_sweep.learners.heads.svm import solve_dual

LEARNERS = [
    {"name": "protonet"},
    {"name": "protonet", "metric": "cosine"},
    {"name": "ridge"},
    {"name": "svm"},
    {"name": "supervised"},
    {"name": "conv-qda"},
]


def build(learner, features=6):
    return build_learner(learner, {"name": "identity"}, (features, 1, 1), 4, seed=0).double()


def features(seed, way, shot, queries=5, d=6, tasks=2):
    draws = torch.Generator().manual_seed(seed)
    support = torch.randn(tasks, way, shot, d, generator=draws, dtype=torch.float64)
    return support, torch.randn(tasks, queries, d, generator=draws, dtype=torch.float64)


@pytest.mark.parametrize("learner", LEARNERS, ids=str)
def test_gradients_of_the_head(learner):
    support, query = (part.requires_grad_() for part in features(2, 3, 2, queries=3, tasks=1))
    assert torch.autograd.gradcheck(build(learner).head, (support, query))


@pytest.mark.parametrize("learner", [*LEARNERS, {"name": "logistic"}], ids=str)
def test_heads_compute_in_float32_under_autocast(learner):
    head = build(learner).float().head
    support, query = (part.float() for part in features(2, 3, 2))
    expected = head(support, query)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.equal(head(support, query), expected)
        assert head(support.bfloat16(), query.bfloat16()).dtype == torch.float32


@pytest.mark.parametrize(("given", "scale"), [({"scale": 4.0}, 4), ({}, 10)])
def test_protonet_logits_are_scaled_distances_over_the_feature_length(given, scale):
    support, query = features(3, 3, 2)
    logits = build({"name": "protonet", **given}).head(support, query).detach().numpy()
    centres = support.numpy().mean(axis=2)
    differences = query.numpy()[:, :, None] - centres[:, None]
    np.testing.assert_allclose(logits, -scale * np.square(differences).sum(-1) / 6, rtol=1e-6)


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


def test_svm_logits_are_the_support_weighted_by_the_dual_with_the_papers_bound():
    support, query = features(3, 3, 2)
    examples = support.flatten(1, 2)
    targets = torch.eye(3).repeat_interleave(2, 0).repeat(2, 1, 1).double()
    dual = solve_dual(examples @ examples.mT, targets, 0.1).value
    logits = build({"name": "svm"}).head(support, query)
    torch.testing.assert_close(logits, query @ examples.mT @ dual)


@pytest.mark.parametrize(
    ("name", "fixed", "other"),
    [
        ("ridge", {"learn_scale": False}, {"lam": 1.0}),
        ("svm", {"learn_scale": False}, {"C": 0.01}),
        ("conv-qda", {}, {"shrinkage": 0.9}),
    ],
)
def test_a_scale_multiplies_and_the_other_option_counts(name, fixed, other):
    support, query = features(3, 2, 2)
    plain = build({"name": name}).head(support, query)
    seven = build({"name": name, "scale": 7.0, **fixed}).head(support, query)
    torch.testing.assert_close(seven, 7 * plain)
    assert not torch.allclose(build({"name": name, **other}).head(support, query), plain)


@pytest.mark.parametrize(
    ("learner", "learned"),
    [
        ({"name": "protonet"}, False),
        ({"name": "protonet", "learn_scale": True}, True),
        ({"name": "ridge"}, True),
        ({"name": "ridge", "learn_scale": False}, False),
        ({"name": "svm"}, True),
        ({"name": "svm", "learn_scale": False}, False),
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
