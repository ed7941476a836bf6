"""The learner around the head: what `tests/learners/heads/test_svm.py` solves, with a scale."""

import pytest
import torch
from pydantic import ValidationError

from fsl_sweep.learners.batches import EpisodeBatch
from fsl_sweep.learners.building import build_learner
from fsl_sweep.learners.heads.svm import solve_dual


def build(**options):
    return build_learner({"name": "svm", **options}, {"name": "identity"}, (6, 1, 1), 4, seed=0)


def features():
    draws = torch.Generator().manual_seed(3)
    return torch.randn(2, 3, 2, 6, generator=draws), torch.randn(2, 5, 6, generator=draws)


def test_logits_are_the_support_weighted_by_the_dual_with_the_default_bound():
    support, query = features()
    examples = support.flatten(1, 2)
    targets = torch.eye(3).repeat_interleave(2, 0).repeat(2, 1, 1)
    dual = solve_dual(examples @ examples.mT, targets, 0.1).value
    logits = build().head(support, query)
    torch.testing.assert_close(logits, query @ examples.mT @ dual)


def test_scale_multiplies_and_the_bound_counts():
    plain = build().head(*features())
    torch.testing.assert_close(build(scale=7.0, learn_scale=False).head(*features()), 7 * plain)
    assert not torch.allclose(build(C=0.01).head(*features()), plain)


@pytest.mark.parametrize("learned", [True, False])
def test_the_scale_is_trained_only_where_it_should_be(learned):
    built = build(learn_scale=learned)
    support, query = (part.requires_grad_() for part in features())
    built.head(support, query).square().sum().backward()
    assert (built.scale.grad is not None) == learned
    assert support.grad.abs().sum() > 0


def test_one_class_is_an_error_and_nan_features_are_nan_logits_of_their_task():
    support, query = features()
    with pytest.raises(ValueError, match="at least 2 classes"):
        build().head(support[:, :1], query)
    support[0, 0, 0, 0] = torch.nan
    logits = build().head(support, query)
    assert logits[0].isnan().all()
    assert logits[1].isfinite().all()


@pytest.mark.parametrize("options", [{"C": 0}, {"C": -0.1}, {"C": float("inf")}, {"scale": 0}])
def test_options_that_make_no_sense_are_refused(options):
    with pytest.raises(ValidationError):
        build(**options)


def test_training_lowers_the_loss():
    learner = build_learner(
        {"name": "svm"}, {"name": "conv4", "width": 32}, (1, 28, 28), 4, seed=0
    ).train()
    draws = torch.Generator().manual_seed(0)
    centres = torch.randn(2, 5, 1, 1, 28, 28, generator=draws)
    images = centres + torch.randn(2, 5, 4, 1, 28, 28, generator=draws)
    batch = EpisodeBatch(images[:, :, :1], images[:, :, 1:])
    optimizer = torch.optim.SGD(learner.parameters(), lr=0.05, momentum=0.9)
    losses = []
    for _ in range(8):
        loss = learner.training_loss(batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.8 * losses[0]
